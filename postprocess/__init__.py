"""Geometry and tables: from boxes, rulings and words to a grid of cells, and from there to files.

Works on the output of any detector and any OCR engine, and needs neither.

What travels, and what it is made of:

- ``table``, ``cell``: rows, columns and spans with texts, scores and roles; ``preview`` shows them as text
- ``word``: what an OCR engine read, with its place; ``values``: what a text is worth to a spreadsheet
- ``characters``, ``raised``: what exports ask of a text, superscripts and subscripts as Unicode has them
- ``arrays``, ``odds``, ``errors``: types of arrays, weights of evidence, what goes wrong

The rooms, each of which imports those before it:

- ``geometry``: boxes, frames and ruling lines
- ``text``: words in lines, in cells, and what they say
- ``grid``: rows, columns and spans of detected cells
- ``lineless``: the same of words and the gaps between them
- ``candidates``: the tables that several detectors propose, compared, corrected and rated
- ``meaning``: header rows, stubs, sections and totals
- ``captions``: titles and notes, and tables that go on over pages
- ``editing``: steps of a person who corrects a table
- ``export``: HTML, Excel, CSV, JSON, Markdown, LaTeX and data frames
"""

from typing import TYPE_CHECKING

if not TYPE_CHECKING:
    import sys
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec
    from pkgutil import extend_path
    from types import ModuleType
    from typing import Any

    # People have a postprocess.py or a folder postprocess of their own: here both go on being found, behind ours.
    __path__ = extend_path(__path__, __name__)
    _OWNER = "tablerec"
    _theirs = []  # the module of that name that is not ours, once it was looked for; None where there is none

    def __getattr__(name: str) -> Any:
        """Look a name up that is not ours in the ``postprocess.py`` of whoever imports this package in its place."""
        theirs = None if name.startswith("_") and name != "__all__" else _find_theirs()
        if name == "__all__" and theirs is not None:
            return vars(theirs).get("__all__", [each for each in vars(theirs) if not each.startswith("_")])
        if theirs is not None and hasattr(theirs, name):
            return getattr(theirs, name)
        raise AttributeError(
            f"module 'postprocess' is that of tablerec, {__file__!a}, and has no {name!r}: "
            "give a file of yours with this name another one"
        )

    def _find_theirs() -> ModuleType | None:
        if not _theirs:
            specs = (PathFinder.find_spec(__name__, [folder]) for folder in sys.path)
            spec = next((each for each in specs if each and each.origin and not _is_ours(each.origin)), None)
            _theirs.append(spec and module_from_spec(spec))
            if spec:
                spec.loader.exec_module(_theirs[0])
        return _theirs[0]

    def _is_ours(file: str) -> bool:
        try:
            with open(file, "rb") as opened:
                return b'_OWNER = "tablerec"' in opened.read()
        except OSError:
            return False
