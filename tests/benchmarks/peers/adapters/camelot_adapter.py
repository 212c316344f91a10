"""camelot 2.0.0 on a PDF page of the picture with the words as hidden text, in the flavour that it finds best.

Borders that its grid lacks make cells over several slots; the largest table counts. Words are set 10 points high, as on
a page of a report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from serve import Answer, Job, quad_to_box, serve

WORD_HEIGHT = 11.0
"""Of the box around a word, in points."""
CODES = [chr(code) for code in (*range(0x21, 0x7F), *range(0xA1, 0x100)) if code != 0xAD]
"""Characters of the fonts that each PDF viewer has."""


def load() -> Callable[[Job], Answer]:
    """Import camelot, and fpdf2 to write the page."""
    import camelot
    import cv2
    from fpdf import FPDF
    from fpdf.enums import TextMode

    def write_page(job: Job, code: dict[str, str], path: Path) -> None:
        height, width = cv2.imread(job["image"]).shape[:2]
        boxes = [quad_to_box(word["quad"]) for word in job["words"]]
        scale = WORD_HEIGHT / median([box[3] - box[1] for box in boxes] or [2 * WORD_HEIGHT])
        page = FPDF(unit="pt", format=(width * scale, height * scale))
        page.set_auto_page_break(False)
        page.add_page()
        page.image(job["image"], 0, 0, width * scale, height * scale)
        page.set_font("Helvetica", size=10)
        with page.local_context(text_mode=TextMode.INVISIBLE):
            for word, (x0, _, x1, y1) in zip(job["words"], boxes, strict=True):
                text = "".join(code.get(sign, sign) for sign in word["text"])
                page.set_stretching(100)
                page.set_stretching(100 * (x1 - x0) * scale / max(page.get_string_width(text), 0.1))
                page.text(x0 * scale, y1 * scale - WORD_HEIGHT / 4, text)
        page.output(str(path))

    def recognize(job: Job) -> Answer:
        code = make_code("".join(word["text"] for word in job["words"]))
        with TemporaryDirectory() as folder:
            path = Path(folder) / "page.pdf"
            write_page(job, code, path)
            tables = camelot.read_pdf(str(path), flavor="auto", suppress_stdout=True)
        largest = max(tables, key=lambda table: table.shape[0] * table.shape[1], default=None)
        signs = {shown: sign for sign, shown in code.items()}
        return {"html": "" if largest is None else cells_to_html(largest.cells, signs)}

    return recognize


def make_code(text: str) -> dict[str, str]:
    """For each character that the fonts lack one that the text lacks, as long as there are some.

    >>> make_code("ab 千")["千"]
    '!'
    """
    unused = iter([code for code in CODES if code not in text])
    return {sign: next(unused, "?") for sign in sorted(set(text)) if sign not in CODES and not sign.isspace()}


def cells_to_html(cells: Sequence[Sequence[Any]], signs: dict[str, str]) -> str:
    """The table of camelot's slots, each with its borders and its text."""
    taken, rows = set(), []
    for row, line in enumerate(cells):
        rows.append("<tr>")
        for col in range(len(line)):
            if (row, col) in taken:
                continue
            width, height = _run(line[col:], "right"), 1
            while row + height < len(cells) and _goes_on(
                cells[row + height - 1][col:], cells[row + height][col:], width
            ):
                height += 1
            slots = [(r, c) for r in range(row, row + height) for c in range(col, col + width)]
            taken.update(slots)
            text = " ".join(cells[r][c].text for r, c in slots).strip()
            shown = escape("".join(signs.get(sign, sign) for sign in text))
            rows.append(f"<td rowspan={height} colspan={width}>{shown}</td>")
    return f"<table>{''.join(rows)}</table>"


def _run(line: Sequence[Any], border: str) -> int:
    """Number of slots up to the first one with a border behind it."""
    return next((number for number, slot in enumerate(line, 1) if getattr(slot, border)), len(line))


def _goes_on(above: Sequence[Any], below: Sequence[Any], width: int) -> bool:
    """Whether no border lies between the first slots of two rows, and none within them in the lower one."""
    return not any(slot.bottom for slot in above[:width]) and _run(below, "right") == width


if __name__ == "__main__":
    serve(load, ["camelot-py"])
