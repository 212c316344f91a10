"""Pictures of tables in, HTML and Excel out.

>>> from tablerec import recognize
>>> import numpy as np
>>> recognize(np.full((40, 40, 3), 255, np.uint8), ocr="none").tables
()
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from os import path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from postprocess.cell import Caption, Cell
    from postprocess.table import Table
    from postprocess.word import Unplaced, Word
    from tablerec.config import Settings
    from tablerec.errors import TablerecError
    from tablerec.outputs.files import save
    from tablerec.pipeline import Recognizer, recognize
    from tablerec.result import Page, PageImage, Result

__version__ = "0.1.0"

_HOME = {
    "Caption": "postprocess.cell",
    "Cell": "postprocess.cell",
    "Table": "postprocess.table",
    "Unplaced": "postprocess.word",
    "Word": "postprocess.word",
    "Settings": "tablerec.config",
    "TablerecError": "tablerec.errors",
    "Recognizer": "tablerec.pipeline",
    "recognize": "tablerec.pipeline",
    "save": "tablerec.outputs.files",
    "Page": "tablerec.result",
    "PageImage": "tablerec.result",
    "Result": "tablerec.result",
}

__all__ = [
    "Caption",
    "Cell",
    "Page",
    "PageImage",
    "Recognizer",
    "Result",
    "Settings",
    "Table",
    "TablerecError",
    "Unplaced",
    "Word",
    "__version__",
    "recognize",
    "save",
]


def _import_postprocess() -> None:
    """Take the package ``postprocess`` that lies beside this one, whatever else is called so on ``sys.path``.

    A module of that name that was imported before goes on being used by those who have it, and ours gives its names
    to those who import it from now on.

    Raises:
        ImportError: A module of such a package has the name of one of ours.
    """
    beside = PathFinder.find_spec("postprocess", [path.dirname(folder) for folder in __path__])
    if beside is None or beside.loader is None or beside.origin is None:
        return
    there = sys.modules.get("postprocess")
    if there is not None and "_theirs" in vars(there):
        return
    ours = module_from_spec(beside)
    # Its modules find one another by this entry, which sys.path has no say in.
    sys.modules["postprocess"] = ours
    beside.loader.exec_module(ours)
    if there is None:
        return
    ours._theirs.append(there)
    for name, module in list(sys.modules.items()):
        is_inside = name.startswith("postprocess.") and name.count(".") == 1
        if is_inside and PathFinder.find_spec(name, [path.dirname(beside.origin)]) is not None:
            sys.modules["postprocess"] = there
            file = str(getattr(module, "__file__", None) or module)
            raise ImportError(
                f"{file!a} is imported as {name}, which is the name of a module of tablerec: give it another name",
                name=name,
                path=file,
            )


_import_postprocess()


def __getattr__(name: str) -> Any:
    """Import public names at first use, so that ``import tablerec`` stays light."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tablerec' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, those not yet imported included."""
    return __all__
