"""PDF files of numbered objects, with content streams of plain operators: for what no library would write."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping


class Pdf:
    """Collects objects; ``bytes`` gives the file.

    Args:
        catalog: Further entries of the catalog, such as ``/AcroForm 7 0 R``.
    """

    def __init__(self, catalog: str = "") -> None:
        self.catalog = catalog
        self._bodies: list[bytes] = [b"", b""]
        self._pages: list[int] = []

    def add(self, body: str | bytes) -> int:
        """Add an object and return its number."""
        self._bodies.append(body if isinstance(body, bytes) else body.encode("latin-1"))
        return len(self._bodies)

    def reserve(self) -> int:
        """Return the number of an object whose body comes later, see ``fill``."""
        return self.add(b"")

    def fill(self, number: int, body: str | bytes) -> None:
        """Give a reserved object its body."""
        self._bodies[number - 1] = body if isinstance(body, bytes) else body.encode("latin-1")

    def stream(self, data: str | bytes, entries: str = "") -> int:
        """Add a compressed stream and return its number."""
        raw = zlib.compress(data if isinstance(data, bytes) else data.encode("latin-1"))
        head = f"<< {entries} /Filter /FlateDecode /Length {len(raw)} >>\nstream\n"
        return self.add(head.encode("latin-1") + raw + b"\nendstream")

    def page(
        self,
        content: str | bytes,
        resources: str,
        media: tuple[float, float, float, float] = (0, 0, 595, 842),
        extra: str = "",
    ) -> int:
        """Add a page and return its number."""
        drawn = self.stream(content)
        box = " ".join(f"{value:g}" for value in media)
        number = self.add(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [{box}] /Contents {drawn} 0 R"
            f" /Resources << {resources} >> {extra} >>"
        )
        self._pages.append(number)
        return number

    def __bytes__(self) -> bytes:
        kids = " ".join(f"{number} 0 R" for number in self._pages)
        self.fill(1, f"<< /Type /Catalog /Pages 2 0 R {self.catalog} >>")
        self.fill(2, f"<< /Type /Pages /Kids [{kids}] /Count {len(self._pages)} >>")
        out, offsets = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), []
        for number, body in enumerate(self._bodies, start=1):
            offsets.append(len(out))
            out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
        start, size = len(out), len(self._bodies) + 1
        out += b"xref\n0 %d\n0000000000 65535 f \n" % size
        out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
        return bytes(out + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, start))


def named(kind: str, numbers: Mapping[str, int]) -> str:
    """Return an entry of a resource dictionary.

    >>> named("Font", {"F1": 4})
    '/Font << /F1 4 0 R >>'
    """
    return f"/{kind} << {' '.join(f'/{name} {number} 0 R' for name, number in numbers.items())} >>"


def hexadecimal(codes: Iterable[int], digits: int) -> str:
    """Return a string operand.

    >>> hexadecimal([1, 65], 4)
    '<00010041>'
    """
    return f"<{''.join(f'{code:0{digits}X}' for code in codes)}>"


def unicode_map(codes: Mapping[int, str], digits: int) -> str:
    """Return a ToUnicode CMap that gives each code its text."""
    lines = [
        f"{hexadecimal([code], digits)} <{text.encode('utf-16-be').hex().upper()}>"
        for code, text in sorted(codes.items())
    ]
    blocks = [lines[start : start + 100] for start in range(0, len(lines), 100)]
    body = "".join(f"{len(block)} beginbfchar\n" + "\n".join(block) + "\nendbfchar\n" for block in blocks)
    span = f"<{'0' * digits}> <{'F' * digits}>"
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"
        "/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n"
        f"/CMapName /Made def /CMapType 2 def 1 begincodespacerange {span} endcodespacerange\n"
        f"{body}endcmap CMapName currentdict /CMap defineresource pop end end"
    )
