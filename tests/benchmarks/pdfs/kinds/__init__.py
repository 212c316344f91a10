"""The kinds of PDFs, by what is special about them.

letters.py       fonts, codes, spacing, order, ligatures, raised signs
rtl.py           Hebrew and Arabic
hidden.py        clipped, covered, white, switched off; outlines, forms, patterns
pages.py         turned, cropped, moved, scaled
scans.py         pictures with and without a layer
annotations.py   notes and form fields
    reported.py      from public reports on other programs
    libraries.py     what reportlab writes
    programs.py      what Chromium and LibreOffice write
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from tests.benchmarks.pdfs.case import KINDS, Case
from tests.benchmarks.pdfs.fonts import find_dejavu

MODULES = ("letters", "rtl", "hidden", "pages", "scans", "annotations", "reported", "libraries", "programs")


def load_kinds() -> None:
    """Fill ``KINDS``."""
    for name in MODULES:
        import_module(f"tests.benchmarks.pdfs.kinds.{name}")


def lacking() -> dict[str, str]:
    """Kinds that cannot be made here, and why."""
    programs = import_module("tests.benchmarks.pdfs.kinds.programs")
    reasons = {}
    for name, each in KINDS.items():
        if each.program == "chromium" and not programs.has_browser():
            reasons[name] = "Chromium is not installed"
        elif each.program == "office" and not programs.has_office():
            reasons[name] = "LibreOffice is not installed"
        elif each.make.__module__.endswith(".rtl") and find_dejavu() is None:
            reasons[name] = "DejaVuSans.ttf is not installed"
    return reasons


def to_pdfs(cases: Sequence[Case]) -> list[bytes]:
    """The PDF of each case; documents are converted by one call of each program."""
    programs = import_module("tests.benchmarks.pdfs.kinds.programs")
    printed = iter(programs.browser_pdfs([case.data.decode() for case in cases if case.program == "chromium"]))
    converted = iter(programs.office_pdfs([case.data for case in cases if case.program == "office"]))
    return [
        next(printed) if case.program == "chromium" else next(converted) if case.program == "office" else case.data
        for case in cases
    ]
