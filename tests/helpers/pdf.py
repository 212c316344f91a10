"""PDF files of a few operators, to test what is read from them, and documents drawn by reportlab."""

from __future__ import annotations

import io
from typing import Any

import pytest


def make_pdf(*contents, media="0 0 300 200", rotate=0, page_extra="", trailer_extra="", objects=()):
    """Build a PDF with one page for each content stream; further ``objects`` are numbered from 4."""
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        *objects,
    ]
    kids = []
    for content in contents:
        data = content.encode("latin-1")
        bodies.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(data), data))
        bodies.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [{media}] /Rotate {rotate} /Contents {len(bodies)} 0 R "
            f"/Resources << /Font << /F1 3 0 R >> /XObject << /X1 4 0 R >> >> {page_extra} >>".encode()
        )
        kids.append(f"{len(bodies)} 0 R")
    bodies[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>".encode()
    out, offsets = b"%PDF-1.7\n", []
    for number, body in enumerate(bodies, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(bodies) + 1
    return (
        out
        + b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
        + f"trailer << /Size {size} /Root 1 0 R {trailer_extra} >>\nstartxref\n{len(out)}\n%%EOF".encode()
    )


def text(x, y, string, size=10, setup=""):
    return f"BT {setup} /F1 {size} Tf {x} {y} Td ({string}) Tj ET\n"


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
