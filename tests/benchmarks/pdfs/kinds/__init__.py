"""The kinds of PDFs, by what is special about them.

letters.py       fonts, codes, spacing, order, ligatures, raised signs
rtl.py           Hebrew and Arabic
hidden.py        clipped, covered, white, switched off; outlines, forms, patterns
pages.py         turned, cropped, moved, scaled
scans.py         pictures with and without a layer
annotations.py   notes and form fields
"""

from __future__ import annotations

from importlib import import_module

from tests.benchmarks.pdfs.case import KINDS, Case

MODULES = ("letters", "rtl", "hidden", "pages", "scans", "annotations")


def load_kinds() -> None:
    """Fill ``KINDS``."""
    for name in MODULES:
        import_module(f"tests.benchmarks.pdfs.kinds.{name}")


def lacking() -> dict[str, str]:
    """Kinds that cannot be made here, and why."""
    from tests.benchmarks.pdfs.fonts import find_dejavu

    return {
        name: "DejaVuSans.ttf is not installed"
        for name, each in KINDS.items()
        if find_dejavu() is None and each.make.__module__.endswith(".rtl")
    }


def to_pdfs(cases: list[Case]) -> list[bytes]:
    """The PDF of each case; documents are converted by one call of each program."""
    return [case.data for case in cases]
