"""The table editor in a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from postprocess.table import Table
from tablerec.corrections.editor import CorrectionFolder, Draft, page_to_drafts
from tablerec.corrections.editor.answers import answer, show
from tablerec.corrections.editor.reading import Reader
from tablerec.corrections.editor.scripts import to_one_module, to_one_style
from tablerec.corrections.proof.answer import correction_to_proof
from tablerec.errors import InputError
from tablerec.result import Page, Result


class TableEditor(anywidget.AnyWidget):
    """Shows a table over its picture and lets a person correct it; ``F1`` in the editor lists the keys.

    Every step is in the corrections folder at once: the same table, shown again, goes on where it was. Saving writes
    a workbook, a page and the label of the picture, see ``tablerec.corrections.editor.folder``;
    ``source: crops:corrections`` trains on them.

    Args:
        source: What a recognizer returned for one input, or one page of it.
        index: Number of the table, from 0, over all pages.
        folder: Where corrections are kept.
        height: Of the widget, as CSS says it.
        reader: Reads cells again: the ``ocr`` of a ``Recognizer``; without one that cannot be asked for.

    Raises:
        InputError: There is no such table.
        OutputError: Nothing can be written in the folder.
    """

    _esm = to_one_module()
    _css = to_one_style()
    picture = traitlets.Bytes().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    height = traitlets.Unicode("36rem").tag(sync=True)

    def __init__(
        self,
        source: Result | Page,
        index: int = 0,
        *,
        folder: str | Path = "corrections",
        height: str = "36rem",
        reader: Reader | None = None,
    ) -> None:
        self.reader = reader
        self.folder = CorrectionFolder(Path(folder))
        self.correction = self.folder.open(_find(source, index))
        picture = self.folder.read_picture(self.correction)
        super().__init__(picture=picture, state=self._view(), height=height)
        self.on_msg(self._answer)

    @property
    def table(self) -> Table:
        """The table as it is now."""
        return self.correction.table

    def save(self) -> list[Path]:
        """Write workbook, page and labels, and return their paths.

        Raises:
            OutputError: A file cannot be written.
        """
        saved = self.folder.save(self.correction)
        self.state = self._view()
        return saved

    def do(self, **step: Any) -> None:
        """Do one step, as the buttons of the editor do: ``editor.do(do="split", row=0, col=0)``.

        Raises:
            InputError: It is no step, see ``tablerec.corrections.editor.operations``.
            TableError: The table does not allow it.
        """
        self.folder.do(self.correction, step)
        self.state = self._view()

    def _answer(self, _: Any, content: Any, __: Any) -> None:
        """Do what the page asks for, and answer with the new state or the reason why not."""
        if not isinstance(content, dict):
            return
        reply = {"id": content.get("id"), "view": content.get("view")}
        if content.get("ask") == "proof":
            self.send({**reply, "proof": correction_to_proof(self.correction, self.picture)})
            return
        is_done, answered = answer(self.folder, self.correction, content.get("step"), self.reader)
        if not is_done:
            self.send({**reply, **answered})
            return
        self.state = self._view()
        self.send({**reply, "table": answered})

    def _view(self) -> dict[str, Any]:
        return show(self.correction, self.reader)


def _find(source: Result | Page, index: int) -> Draft:
    if not isinstance(source, (Result, Page)):
        kind = type(source).__name__
        raise InputError(f"the editor shows a Result, or a Page of one, no {kind}: give what recognize() returned")
    pages = source.pages if isinstance(source, Result) else (source,)
    drafts = [draft for page in pages for draft in page_to_drafts(page)]
    if not 0 <= index < len(drafts):
        raise InputError(f"there is no table {index}: {len(drafts)} were found, counted from 0")
    return drafts[index]
