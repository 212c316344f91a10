"""What a request may say of how files are read, and what an answer says: for checks, OpenAPI and JSON schema."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tablerec.config import Settings

DOCUMENT_FIELDS = ("mark_below", "join_pages", "name", "format")
"""Options that are no settings of the reading of a page."""


class Options(BaseModel):
    """How files are read; what is left out is as the server was started."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    layout: Literal["page", "table"] | None = Field(
        None, description="page: look for tables; table: the whole picture is one table."
    )
    detector: Literal["auto", "rulings", "words", "cellnet"] | None = Field(None, description="What finds cells.")
    ocr: Literal["auto", "tablerec", "rapidocr", "none"] | None = Field(None, description="What reads the text.")
    turn: Literal["auto", "0", "90", "180", "270"] | None = Field(
        None, description="Degrees clockwise by which pictures are turned first; auto: so that their text is upright."
    )
    seals: Literal["separate", "keep"] | None = Field(
        None, description="separate: read print without the seals over it, and these apart."
    )
    unwarp: Literal["auto", "off"] | None = Field(None, description="auto: flatten bent pages.")
    cell_pictures: bool | None = Field(None, description="Keep pictures that lie in cells, in HTML and workbooks.")
    min_ocr_score: float | None = Field(None, ge=0, le=1, description="Words below it are in no cell.")
    text_layer: Literal["auto", "use", "ignore"] | None = Field(
        None, description="Text that a PDF holds. auto: believed where the page shows it; ignore: the picture is read."
    )
    pages: str | None = Field(
        None, max_length=200, description="Pages of documents, counted from 1, such as 1-3,7 or 5-."
    )
    pdf_dpi: int | None = Field(None, ge=36, le=400, description="Resolution at which pages of PDFs are drawn.")
    join_pages: bool | None = Field(None, description="Join tables that go on over several pages.")
    mark_below: float | None = Field(
        None, ge=0, le=1, description="Mark cells less sure than this in HTML and workbooks."
    )
    format: str | None = Field(
        None, max_length=20, description="json, html, xlsx, csv, md, tex, ndjson or zip, in place of Accept."
    )
    name: str | None = Field(None, max_length=200, description="Name of the file where the body is the file.")

    def to_settings(self, settings: Settings, password: str | None) -> Settings:
        """Return the server's settings with what was asked for.

        Raises:
            SettingsError: A value that the settings refuse.

        >>> Options(turn="90", pages="2-3").to_settings(Settings(), None).turn
        90
        """
        asked = self.model_dump(exclude_none=True)
        for name in DOCUMENT_FIELDS:
            asked.pop(name, None)
        if asked.get("turn", "auto") != "auto":
            asked["turn"] = int(asked["turn"])
        return replace(settings, **asked, password=password)


Point = tuple[float, float]
Quad = tuple[Point, Point, Point, Point]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ProblemDetails(BaseModel):
    """An error, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str = Field(description="A line for people: the cause and the next step.")
    code: str = Field(description="A word for programs, such as input, busy, page-timeout.")


class FailedPage(ProblemDetails):
    """A page that was not read."""

    page: int | None = Field(description="Its number, counted from 1; null for the file as a whole.")


class Caption(_Answer):
    """A title or note."""

    text: str
    quad: Quad | None
    score: float | None


class CellPicture(_Answer):
    """Where a picture lies in a cell."""

    quad: Quad | None


class Cell(_Answer):
    """A cell: its place in the grid and in the picture, its text, and what that means."""

    row: int
    col: int
    rowspan: int
    colspan: int
    text: str
    header: str | None
    quad: Quad | None = Field(description="Corners in reading direction, in pixels; null for a slot not seen.")
    detector_score: float | None
    ocr_score: float | None
    alignment_score: float | None
    confidence: float | None
    header_score: float | None
    is_total: bool
    doubt: str
    role: str | None
    value: Any = None
    number_format: str | None = None
    tables: list[Table] = []
    pictures: list[CellPicture] = []


class TableConfidence(_Answer):
    """How sure a table and its lines are, 0 to 1."""

    table: float
    rows: list[float]
    cols: list[float]
    weakest: str


class Table(_Answer):
    """A table."""

    n_rows: int
    n_cols: int
    direction: str
    quad: Quad | None
    confidence: TableConfidence | None
    title: Caption | None
    notes: list[Caption]
    columns: list[dict[str, Any]]
    cells: list[Cell]


class Unplaced(_Answer):
    """A word that is in no cell."""

    text: str
    quad: Quad | None
    score: float
    reason: str


class DroppedCell(_Answer):
    """A detected cell that is in no grid."""

    quad: Quad
    score: float
    reason: str


class Seal(_Answer):
    """A seal or stamp."""

    text: str
    quad: Quad
    score: float
    color: str


class Page(_Answer):
    """A page and its tables."""

    number: int
    width: int
    height: int
    turn: int
    detector: str
    seconds: dict[str, float]
    n_words: int
    n_unread: int
    tables: list[Table]
    unplaced: list[Unplaced]
    dropped: list[DroppedCell]
    seals: list[Seal]


class JoinedPart(_Answer):
    """Where a part of a joined table is."""

    page: int
    table: int


class JoinedTable(_Answer):
    """A table that goes on over several pages."""

    parts: list[JoinedPart]
    table: Table


class FileAnswer(_Answer):
    """What was read of one file."""

    format: Literal["tablerec-result"]
    version: int
    source: str
    pages: list[Page]
    joined: list[JoinedTable] | None = None
    failed: list[FailedPage] = Field([], description="Pages that were not read, and why.")


class FilesAnswer(_Answer):
    """What was read of several files, in their order."""

    format: Literal["tablerec-results"]
    version: int
    results: list[FileAnswer]


class JobPages(_Answer):
    """How far a job or a file is."""

    total: int
    done: int


class JobFile(_Answer):
    """A file of a job."""

    name: str
    pages: JobPages
    tables: int
    failed: list[FailedPage]


class JobAnswer(_Answer):
    """A job and how far it is."""

    id: str
    state: Literal["queued", "running", "done", "failed"]
    submitted: str
    expires: str | None
    pages: JobPages
    files: list[JobFile]
    problem: ProblemDetails | None = None


Cell.model_rebuild()
