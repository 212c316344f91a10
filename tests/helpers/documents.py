"""PDF documents drawn by reportlab: pages with a text each, with or without a password."""

from __future__ import annotations

import io
from typing import Any

import pytest


def make_document(n_pages: int = 1, password: str | None = None, *, owner: str = "owner", **encryption: Any) -> bytes:
    """Return a PDF whose pages say "page 1" and so on, each with a ruled table of 2 x 2."""
    pytest.importorskip("reportlab")
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    buffer = io.BytesIO()
    encrypt = None if password is None else StandardEncryption(password, owner, **encryption)
    canvas = Canvas(buffer, pagesize=(300, 200), encrypt=encrypt)
    for number in range(1, n_pages + 1):
        canvas.drawString(60, 165, f"page {number}")
        canvas.grid([50, 150, 250], [50, 100, 150])
        for x, y, text in [(60, 120, "a"), (160, 120, "b"), (60, 70, "c"), (160, 70, str(number))]:
            canvas.drawString(x, y, text)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()
