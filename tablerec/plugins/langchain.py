"""tablerec as a loader of LangChain: a Document for each table.

>>> from tablerec import Settings
>>> from tablerec.plugins.langchain import TablerecLoader
>>> for document in TablerecLoader("data/samples/ruled.png", settings=Settings(ocr="none")).load():
...     print(document.metadata["page_number"], document.metadata["n_rows"], document.metadata["n_cols"])
1 13 8

The content is Markdown, which knows no spans, or HTML; ``metadata["text_as_html"]`` has the HTML in either case, as
with tables of unstructured. Values are plain texts and numbers, and what is not known is left out, so that any vector
store takes them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Literal

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from postprocess.export.html import table_to_html
from postprocess.export.markdown import table_to_markdown
from postprocess.table import Table
from tablerec import Recognizer, Result, Settings, TablerecError
from tablerec.errors import SettingsError
from tablerec.inputs.images import expand_inputs


class TablerecLoader(BaseLoader):
    """Reads the tables of pictures and documents, one input at a time.

    Args:
        sources: A path, or several: pictures, PDFs, folders and globs.
        content: What a Document holds: ``markdown`` or ``html``.
        settings: How tables are read; the defaults where None.
        jobs: Processes that read pages side by side, or ``auto``.
        on_error: Called with an input that cannot be read and the error, so that the others go on; without it the
            error is raised.

    Raises:
        SettingsError: ``content`` is unknown.
    """

    def __init__(
        self,
        sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        content: Literal["markdown", "html"] = "markdown",
        settings: Settings | None = None,
        jobs: int | str = 1,
        on_error: Callable[[Any, TablerecError], object] | None = None,
    ) -> None:
        if content not in ("markdown", "html"):
            raise SettingsError(f"content is {content!r}: choose markdown or html")
        given = [sources] if isinstance(sources, (str, os.PathLike)) else sources
        self.sources = [os.fsdecode(source) for source in given]
        self.content = content
        self.settings = settings or Settings()
        self.jobs = jobs
        self.on_error = on_error

    def lazy_load(self) -> Iterator[Document]:
        """Read the inputs one after the other.

        Raises:
            TablerecError: An input cannot be read, and there is no ``on_error``.
        """
        for result in Recognizer(self.settings).stream(self._inputs(), self.jobs, self.on_error):
            yield from _to_documents(result, self.content)

    def _inputs(self) -> Iterator[Any]:
        for source in self.sources:
            try:
                yield from expand_inputs([source])
            except TablerecError as error:
                if self.on_error is None:
                    raise
                self.on_error(source, error)


def _to_documents(result: Result, content: str) -> Iterator[Document]:
    """A Document for each table; one that goes on over several pages is where it begins."""
    places = iter([(page.picture.number, number) for page in result.pages for number in range(1, len(page.tables) + 1)])
    for table, parts in zip(result.tables, result.parts, strict=True):
        (page_number, table_number), *_ = islice(places, len(parts))
        html = table_to_html(table)
        yield Document(
            page_content=html if content == "html" else table_to_markdown(table),
            metadata={
                "source": result.source,
                "page_number": page_number,
                "table_number": table_number,
                "category": "Table",
                "text_as_html": html,
                "n_rows": table.n_rows,
                "n_cols": table.n_cols,
                **_known(table),
            },
        )


def _known(table: Table) -> dict[str, Any]:
    """What is known of some tables only."""
    known: dict[str, Any] = {}
    if table.title is not None:
        known["title"] = table.title.text
    if table.notes:
        known["notes"] = "\n".join(note.text for note in table.notes)
    if table.confidence is not None:
        known |= {"confidence": table.confidence.table, "check_first": table.confidence.weakest}
    return known
