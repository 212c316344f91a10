"""A PDF with what a viewer shows of it, and the list of all kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from postprocess.table import Table
from tests.benchmarks.pdfs.fonts import Font, fonts_of
from tests.benchmarks.pdfs.writer import Pdf, named

Program = Literal["", "chromium", "office"]


@dataclass(frozen=True)
class Case:
    """One PDF of one page.

    Args:
        truth: The table that a reader sees, in logical order. A hidden text is not in it.
        data: The file; HTML where ``program`` is Chromium, a workbook where it is LibreOffice.
        outside: Visible texts outside the table.
        maybe: By (row, column) the end of a text that is cut, which may be read or not: its characters count as
            neither lost nor invented.
        program: What turns ``data`` into a PDF; empty where it is one.
    """

    truth: Table
    data: bytes
    outside: tuple[str, ...] = ()
    maybe: Mapping[tuple[int, int], str] = field(default_factory=dict)
    program: Program = ""


Make = Callable[[int], Case]


@dataclass(frozen=True)
class Kind:
    """A way to write PDFs: ``make`` gives one for each seed from 0 on.

    Args:
        name: Of the kind.
        make: Makes a case from a seed.
        program: What it needs besides packages of Python.
        share: How many of the PDFs it gives, relative to others.
    """

    name: str
    make: Make
    program: Program = ""
    share: float = 1.0


KINDS: dict[str, Kind] = {}
"""All kinds, in the order of the modules in ``kinds``."""


def kind(name: str, program: Program = "", share: float = 1.0) -> Callable[[Make], Make]:
    """Enter a function as the maker of a kind."""

    def enter(make: Make) -> Make:
        KINDS[name] = Kind(name, make, program, share)
        return make

    return enter


def one_page(
    content: str,
    *fonts: Font,
    pdf: Pdf | None = None,
    resources: str = "",
    media: tuple[float, float, float, float] = (0, 0, 595, 842),
    extra: str = "",
) -> bytes:
    """Return a file with one page; fonts are added after the texts were encoded for ``content``."""
    pdf = pdf or Pdf()
    numbers = fonts_of({font.name: font for font in fonts}, pdf)
    pdf.page(content, f"{named('Font', numbers)} {resources}", media, extra)
    return bytes(pdf)
