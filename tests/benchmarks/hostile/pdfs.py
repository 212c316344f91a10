"""Hostile PDFs: small sound ones to be changed byte by byte, and ones made of operators with wild numbers."""

from __future__ import annotations

import zlib
from functools import cache

import numpy as np

from tests.helpers.pdf import make_pdf, text

Rng = np.random.Generator

NUMBERS = (
    "0", "1", "-1", "0.5", "10", "12", "100", "300", "-300", "1e5", "100000", "1000000", "-1000000", "100000000",
    "2147483647", "2147483648", "-2147483649", "99999999999999999999", "0.0000000001", "nan", "inf", "--5", "1.2.3",
    ".", "1" * 400, "0" * 300 + "1",
)  # fmt: skip
_OPERATORS = (
    ("q", 0), ("Q", 0), ("cm", 6), ("w", 1), ("J", 1), ("j", 1), ("M", 1), ("m", 2), ("l", 2), ("c", 6), ("re", 4),
    ("h", 0), ("S", 0), ("f", 0), ("B", 0), ("n", 0), ("W", 0), ("W*", 0), ("BT", 0), ("ET", 0), ("Td", 2), ("Tm", 6),
    ("Tc", 1), ("Tw", 1), ("Tz", 1), ("TL", 1), ("Ts", 1), ("Tr", 1), ("T*", 0), ("rg", 3), ("g", 1), ("K", 4),
    ("i", 1), ("d0", 2), ("sh", 0), ("BX", 0), ("EX", 0),
)  # fmt: skip
_STRINGS = ("(Total)", "(1 234.5)", "(a b)", "<00ff>", "()", "(" + "x" * 300 + ")", "(\\377\\376)", "(-)")


@cache
def seed_pdfs() -> tuple[bytes, ...]:
    """Small sound PDFs: a ruled table, several pages, a form inside, a picture inside, turned and cropped."""
    table = "".join(
        text(20 + 60 * col, 150 - 20 * row, str(10 * row + col)) for row in range(4) for col in range(4)
    ) + "".join(f"10 {165 - 20 * k} 240 0.5 re f {10 + 60 * k} 85 0.5 80 re f\n" for k in range(5))
    form = (
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 300 200] /Resources << /Font << /F1 3 0 R >> >> /Length 31 >>\n"
    )
    form += b"stream\nBT /F1 10 Tf 9 9 Td (Form) Tj ET\nendstream"
    pixels = bytes(range(0, 240, 5)) * 4
    picture = b"<< /Type /XObject /Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceRGB /BitsPerComponent 8 "
    picture += b"/Length %d >>\nstream\n%s\nendstream" % (len(pixels), pixels)
    return (
        make_pdf(table),
        make_pdf(table, "", text(10, 10, "second"), rotate=90),
        make_pdf("/X1 Do\n" + table, objects=(form,)),
        make_pdf("q 100 0 0 100 20 20 cm /X1 Do Q\n", objects=(picture,)),
        make_pdf(table, media="10 10 200 180", page_extra="/CropBox [20 20 150 150]"),
        make_pdf(text(10, 10, "a\\260b", setup="3 Tr"), page_extra="/Annots [<< /Subtype /Text /Rect [1 1 9 9] >>]"),
    )


def craft_pdf(rng: Rng) -> bytes:
    """A well-formed PDF whose operators and dictionaries hold wild values."""
    contents = [_content(rng) for _ in range(int(rng.integers(1, 3)))]
    media = " ".join(_number(rng) for _ in range(4)) if rng.random() < 0.2 else "0 0 300 200"
    extra = ""
    if rng.random() < 0.2:
        extra += f" /UserUnit {_number(rng)}"
    if rng.random() < 0.2:
        extra += f" /CropBox [{' '.join(_number(rng) for _ in range(4))}]"
    if rng.random() < 0.1:
        extra += f" /Contents [{'5 0 R ' * int(rng.choice([2, 50, 1000]))}]"
    rotate = rng.choice([0, 90, 180, 270, 45, -90, 100000])
    return make_pdf(*contents, media=media, rotate=rotate, page_extra=extra, objects=(_object(rng),))


def _number(rng: Rng) -> str:
    if rng.random() < 0.7:
        return str(round(float(rng.normal(0, 10.0 ** rng.integers(0, 4))), 2))
    return str(NUMBERS[int(rng.integers(len(NUMBERS)))])


def _content(rng: Rng) -> str:
    parts = [text(20, 150, "Item"), text(80, 150, "Total")] if rng.random() < 0.7 else []
    match int(rng.integers(6)):
        case 0:  # one huge or tiny sign
            size = NUMBERS[int(rng.integers(len(NUMBERS)))]
            parts.append(f"BT /F1 {size} Tf 10 10 Td (W) Tj ET\n")
        case 1:  # a word far away
            parts.append(f"BT /F1 12 Tf 1 0 0 1 {_number(rng)} {_number(rng)} Tm (far) Tj ET\n")
        case 2:  # a strange matrix
            matrix = " ".join(_number(rng) for _ in range(6))
            parts.append(f"q {matrix} cm BT /F1 12 Tf {matrix} Tm (odd) Tj ET 0 0 9 9 re f /X1 Do Q\n")
        case 3:
            parts.append("/X1 Do\n" * int(rng.choice([1, 3, 200])))
        case 4:
            parts.append("q " * int(rng.choice([1, 100, 20_000])) + "[" * int(rng.choice([0, 1, 3000])))
    for _ in range(int(rng.integers(0, 60))):
        if rng.random() < 0.2:
            parts.append(f"BT /F1 {_number(rng)} Tf {_STRINGS[int(rng.integers(len(_STRINGS)))]} Tj ET\n")
        else:
            name, n = _OPERATORS[int(rng.integers(len(_OPERATORS)))]
            parts.append(" ".join([*(_number(rng) for _ in range(n)), name]) + "\n")
    return "".join(parts)


def _object(rng: Rng) -> bytes:
    """The object that pages know as X1: a form that may call itself, a picture of any size, a stream of any filter."""
    match int(rng.integers(7)):
        case 0:  # calls itself
            head = "/Subtype /Form /BBox [0 0 300 200] /Resources << /XObject << /X1 4 0 R >> >>"
            return _stream(head, b"/X1 Do " * int(rng.choice([1, 2, 8])), rng)
        case 1:
            box = " ".join(_number(rng) for _ in range(4))
            matrix = " ".join(_number(rng) for _ in range(6))
            return _stream(f"/Subtype /Form /BBox [{box}] /Matrix [{matrix}]", b"0 0 99 99 re f", rng)
        case 2:
            width, height = (rng.choice([0, 1, 8, 60000, 2**31 - 1, -5]) for _ in range(2))
            space = rng.choice(["/DeviceRGB", "/DeviceGray", "/DeviceCMYK", "[/Indexed /DeviceRGB 255 <00>]", "/X"])
            head = f"/Subtype /Image /Width {width} /Height {height} /ColorSpace {space} /BitsPerComponent "
            return _stream(head + str(rng.choice([1, 8, 16, 7])), rng.bytes(200), rng)
        case 3:  # inflates a thousandfold
            zeros = zlib.compress(bytes(5_000_000), 9)
            head = "/Subtype /Image /Width 3000 /Height 1600 /ColorSpace /DeviceGray /BitsPerComponent 8"
            return b"<< /Type /XObject %s /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (
                head.encode(), len(zeros), zeros)  # fmt: skip
        case 4:
            return b"<< /Type /XObject /Subtype /Form /BBox 4 0 R /Resources 4 0 R /Length 4 0 R >>"
        case 5:
            name = rng.choice(["/LZWDecode", "/RunLengthDecode", "/ASCII85Decode", "/CCITTFaxDecode", "/DCTDecode",
                               "/JBIG2Decode", "/JPXDecode"])  # fmt: skip
            head = f"/Subtype /Image /Width 64 /Height 64 /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter {name}"
            return _stream(head, rng.bytes(300), rng)
        case _:
            return b"null"


def _stream(head: str, body: bytes, rng: Rng) -> bytes:
    length = len(body) if rng.random() < 0.9 else int(rng.choice([0, 5, 10**9, -1]))
    return f"<< /Type /XObject {head} /Length {length} >>\nstream\n".encode() + body + b"\nendstream"
