"""Rulings found and false ones in drawn tables, by kind: ``python -m tests.benchmarks.geometry.rulings``.

Found is the share of the drawn length that a segment covers; false is the length of segments, in text heights a table,
that lie on no ruling and on no border of a fill. ``--out`` keeps the pictures with the segments drawn in.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np

from postprocess.arrays import Floats, Image
from postprocess.geometry.boxes import as_boxes, boxes_to_quads
from postprocess.geometry.rulings import Rulings, image_to_rulings

ROW, N_ROWS, N_COLS = 30, 9, 6
TEXTS = ("Total", "1,204", "Rent", "till", "12.50", "Null", "Item", "(35)", "-", "Public", "Fill")
SATURATED = {
    "yellow": (0, 255, 255), "orange": (0, 192, 255), "lime": (0, 204, 153), "green": (80, 176, 0),
    "dark green": (0, 80, 0), "blue": (255, 0, 0), "navy": (96, 32, 0), "red": (0, 0, 255), "cyan": (255, 255, 0),
    "magenta": (255, 0, 255),
}  # fmt: skip
"""Colours of fills, BGR."""
NEAR = 4
"""A segment lies on a ruling within so many pixels."""


@dataclass
class Drawing:
    """A table as it is drawn.

    Args:
        random: Source of everything that varies.
        image: The picture so far.
        rulings: ``[x0, y0, x1, y1]`` of the middle of each drawn ruling.
        neutral: The same of borders of fills, which may be found or not.
        words: ``[x0, y0, x1, y1]`` of the words.
        xs: Lines between columns.
        ys: Lines between rows.
    """

    random: np.random.Generator
    image: Image
    rulings: list[tuple[int, int, int, int]] = field(default_factory=list)
    neutral: list[tuple[int, int, int, int]] = field(default_factory=list)
    words: list[tuple[int, int, int, int]] = field(default_factory=list)
    xs: list[int] = field(default_factory=list)
    ys: list[int] = field(default_factory=list)

    def fill(self, row: int, colour: tuple[int, int, int], col: int = 0, end_col: int | None = None) -> None:
        """Fill a row or a part of it."""
        x0, x1 = self.xs[col], self.xs[N_COLS if end_col is None else end_col]
        y0, y1 = self.ys[row], self.ys[row + 1]
        self.image[y0:y1, x0:x1] = colour
        self.neutral += [(x0, y0, x1, y0), (x0, y1, x1, y1), (x0, y0, x0, y1), (x1, y0, x1, y1)]

    def rule(
        self,
        ends: tuple[int, int, int, int],
        colour: tuple[int, int, int] = (0, 0, 0),
        thickness: int = 1,
        dash: tuple[int, int] | None = None,
    ) -> None:
        """Draw a ruling, of dashes and gaps of so many pixels where given."""
        x0, y0, x1, y1 = ends
        along = np.arange(max(x1 - x0, y1 - y0) + 1)
        drawn = along % sum(dash) < dash[0] if dash else np.ones(len(along), bool)
        for offset in range(thickness):
            if x1 > x0:
                self.image[y0 + offset, x0 + along[drawn]] = colour
            else:
                self.image[y0 + along[drawn], x0 + offset] = colour
        self.rulings.append(ends)

    def rules(self, **style: object) -> None:
        """Draw all rulings of the grid."""
        for y in self.ys:
            self.rule((self.xs[0], y, self.xs[-1], y), **style)  # type: ignore[arg-type]
        for x in self.xs:
            self.rule((x, self.ys[0], x, self.ys[-1]), **style)  # type: ignore[arg-type]

    def write(self, text: str, x: int, y: int, colour: tuple[int, int, int] = (0, 0, 0)) -> None:
        """Write a word with its baseline at a point."""
        (width, height), below = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.5, 1)
        cv2.putText(self.image, text, (x, y), cv2.FONT_HERSHEY_SIMPLEX, 0.5, colour, 1, cv2.LINE_AA)
        self.words.append((x - 1, y - height - 1, x + width + 1, y + below))

    def texts(self, colour: tuple[int, int, int] = (0, 0, 0), left: int = 6, base: int = 20) -> None:
        """Write a word into three of four cells."""
        for y in self.ys[:-1]:
            for x in self.xs[:-1]:
                if self.random.random() < 0.75:
                    self.write(str(self.random.choice(TEXTS)), x + left, y + base, colour)


def blank(seed: int) -> Drawing:
    """White paper with the lines of a grid known."""
    random = np.random.default_rng(seed)
    xs = np.cumsum([20, *random.integers(60, 110, N_COLS)]).tolist()
    ys = np.cumsum([20, *random.integers(ROW - 4, ROW + 6, N_ROWS)]).tolist()
    page = np.full((ys[-1] + 20, xs[-1] + 20, 3), 255, np.uint8)
    return Drawing(random, page, xs=xs, ys=ys)


def _plain(table: Drawing, **style: object) -> None:
    table.rules(**style)
    table.texts()


def _filled(table: Drawing, fill: tuple[int, int, int], line: tuple[int, int, int]) -> None:
    share = 0.5 if sum(line) == 0 else 1.0  # white lines are seen on fills only
    for row in np.flatnonzero(table.random.random(N_ROWS) < share).tolist():
        table.fill(row, fill)
    table.rules(colour=line)
    table.texts()


def _double(table: Drawing) -> None:
    _plain(table)
    for y in table.ys[1::3]:
        table.rule((table.xs[0], y + 3, table.xs[-1], y + 3))


def _gaps(table: Drawing) -> None:
    table.rules()
    for x0, y0, x1, y1 in table.rulings:
        for at in table.random.integers(0, max(x1 - x0, y1 - y0), 4).tolist():
            x, y = (x0 + at, y0) if x1 > x0 else (x0, y0 + at)
            table.image[y : y + 1 + 2 * (x1 == x0), x : x + 1 + 2 * (x1 > x0)] = 255
    table.texts()


def _touched(table: Drawing) -> None:
    table.rules()
    table.texts(left=1)
    for y in table.ys[:-1]:  # numbers that end on the line, and words that lie across it
        for x in table.xs[1:-1]:
            if table.random.random() < 0.4:
                text = str(table.random.choice(TEXTS))
                (width, _), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.5, 1)
                table.write(text, x - width + int(table.random.integers(-2, 4)), y + 20)


def _bands(table: Drawing) -> None:
    """Rows without rules within them, whose letters stand on the lines between columns."""
    bands = [0, 3, 6]
    for y in table.ys:
        table.rule((table.xs[0], y, table.xs[-1], y))
    for x in table.xs[1:-1]:
        for row, below in zip(bands, [*bands[1:], N_ROWS], strict=True):
            table.rule((x, table.ys[row + 1], x, table.ys[below]))
    for x in (table.xs[0], table.xs[-1]):
        table.rule((x, table.ys[0], x, table.ys[-1]))
    for row in range(N_ROWS):
        base = (table.ys[row] + table.ys[row + 1]) // 2 + 7
        for x in table.xs[1:-1] if row in bands else ():
            table.write("TlIl1tl", x - 20 + int(table.random.integers(-6, 7)), base)
        for x in table.xs[:-1] if row not in bands else ():
            table.write(str(table.random.choice(TEXTS)), x + 6, base)


def _underlined(table: Drawing) -> None:
    table.rules()
    table.texts()
    for x0, _, x1, y1 in table.words[::3]:
        if x1 - x0 > 15:
            cv2.line(table.image, (x0 + 1, y1 - 2), (x1 - 1, y1 - 2), (0, 0, 0), 1)


def _faint_head(table: Drawing) -> None:
    """Lines in a shaded head, and seams between the fills of cells that are no lines."""
    table.fill(0, (215, 215, 215))
    table.rules(colour=(120, 120, 120))
    for x in table.xs[1:-1]:
        table.image[table.ys[0] + 1 : table.ys[1], x] = (190, 190, 190)
    table.texts()


def _seams(table: Drawing) -> None:
    """Filled rows where the white of the page shines through beside each text, which has a fill of its own."""
    colour = np.array(table.random.choice([(154, 255, 255), (215, 215, 215), (230, 200, 170), (90, 60, 30)]))
    for row in range(0, N_ROWS, 2):
        table.fill(row, tuple(colour.tolist()))
        for x in table.xs[:-1]:
            seam = x + int(table.random.integers(8, 50))
            table.image[table.ys[row] : table.ys[row + 1], seam] = colour + (255 - colour) // 5
    for y in table.ys[:2]:
        table.rule((table.xs[0], y, table.xs[-1], y))
    table.texts()


def _narrow(table: Drawing) -> None:
    """Short rules of narrow columns, half of them with a digit that touches."""
    width = 14
    table.xs = [20 + width * k for k in range(N_COLS * 4 + 1)]
    table.rules(colour=(90, 90, 90))
    for y in table.ys[:-1]:
        for x in table.xs[:-1]:
            if table.random.random() < 0.6:
                table.write(str(table.random.choice(list("1579IlH"))), x + int(table.random.integers(1, 5)), y + 20)


KINDS: dict[str, Callable[[Drawing], None]] = {
    "black": _plain,
    "faint": lambda table: _plain(table, colour=(225, 225, 225)),
    "thick": lambda table: _plain(table, thickness=3),
    "dotted": lambda table: _plain(table, dash=(1, 2)),
    "dashed": lambda table: _plain(table, dash=(5, 4)),
    "double": _double,
    "gaps": _gaps,
    "touched": _touched,
    "bands": _bands,
    "underlined": _underlined,
    "faint head": _faint_head,
    "seams": _seams,
    "narrow": _narrow,
    **{f"black on {name}": lambda t, c=colour: _filled(t, c, (0, 0, 0)) for name, colour in SATURATED.items()},  # type: ignore[misc]
    **{f"white on {name}": lambda t, c=colour: _filled(t, c, (255, 255, 255)) for name, colour in SATURATED.items()},  # type: ignore[misc]
}


def covered(lines: Floats, segments: Floats) -> Floats:
    """``(N,)`` share of each horizontal line within ``NEAR`` of segments."""
    shares = []
    for x0, y0, x1, y1 in lines.tolist():
        near = segments[(segments[:, 1] <= max(y0, y1) + NEAR) & (segments[:, 3] >= min(y0, y1) - NEAR)]
        hit = np.zeros(int(x1 - x0) + 1, bool)
        for a, b in near[:, [0, 2]].astype(int).tolist():
            hit[max(a - int(x0) - NEAR, 0) : max(b - int(x0) + NEAR, 0)] = True
        shares.append(hit.mean())
    return np.array(shares, np.float64)


def judge(table: Drawing, found: Rulings) -> tuple[float, float, float]:
    """Drawn length, how much of it was found, and the false length in text heights."""
    drawn = length = false = 0.0
    turned = [1, 0, 3, 2]
    for axis, segments in enumerate((found.horizontal, found.vertical[:, turned])):
        lines, neutral = (
            as_boxes([each for each in known if (each[2] - each[0] > 0) == (axis == 0)])
            for known in (table.rulings, table.neutral)
        )
        if axis:
            lines, neutral = lines[:, turned], neutral[:, turned]
        size = lines[:, 2] - lines[:, 0]
        drawn += float(covered(lines, segments) @ size)
        length += float(size.sum())
        middle = segments.copy()
        middle[:, 1] = middle[:, 3] = (segments[:, 1] + segments[:, 3]) / 2
        false += float((1 - covered(middle, np.vstack([lines, neutral]))) @ (segments[:, 2] - segments[:, 0]))
    return length, drawn, false / found.text_height


def main() -> None:
    """Print one line a kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=6, help="tables of each kind, half of them as JPEG (default 6)")
    parser.add_argument("--kind", choices=KINDS, help="only this kind")
    parser.add_argument("--out", type=Path, help="folder for pictures with the segments in red and blue")
    given = parser.parse_args()
    for name, draw in KINDS.items():
        if given.kind not in (None, name):
            continue
        sums, seconds = np.zeros(3), 0.0
        for seed in range(given.tables):
            table = blank(seed)
            draw(table)
            image = table.image
            if seed % 2:
                image = cv2.imdecode(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 75])[1], cv2.IMREAD_COLOR)
            started = time.process_time()
            found = image_to_rulings(image, boxes_to_quads(table.words))
            seconds += time.process_time() - started
            sums += judge(table, found)
            if given.out:
                given.out.mkdir(parents=True, exist_ok=True)
                seen = (image // 2 + 127).astype(np.uint8)
                for segments, colour in ((found.horizontal, (0, 0, 255)), (found.vertical, (255, 0, 0))):
                    for x0, y0, x1, y1 in segments.astype(int).tolist():
                        cv2.rectangle(seen, (x0, y0), (x1 - 1, y1 - 1), colour)
                cv2.imwrite(str(given.out / f"{name.replace(' ', '_')}_{seed}.png"), np.vstack([image, seen]))
        found_share, false = sums[1] / sums[0], sums[2] / given.tables
        print(f"{name:22s} found {found_share:6.3f}  false {false:7.2f}  {1000 * seconds / given.tables:5.0f} ms")


if __name__ == "__main__":
    main()
