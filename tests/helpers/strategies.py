"""Hypothesis strategies for random tables; other tests may import them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from postprocess.cell import Caption, Cell, Direction, HeaderKind, Picture, Quad
from postprocess.geometry.boxes import boxes_to_quads, rotate_points
from postprocess.grid.build import Grid, quads_to_grid
from postprocess.table import Table

PNG = bytes(cv2.imencode(".png", np.full((3, 4, 3), 200, np.uint8))[1])
VALUES = st.sampled_from(
    [
        *("", " ", "-", "00123", "12.50", "1,234", "(5.2)", "12%", "2026-01-02"),
        *("$1,200.00", "1 234 567", "２０２６年１月２日", "n/a"),
    ]
)
HOSTILE = st.sampled_from(
    [
        *("=1+1", "+A1", "-A1", "@SUM(A1)", "＝1", '=HYPERLINK("x")', "#N/A", "#REF!", "TRUE", "'quoted"),
        *("x<b", "p<0.05 & q", "<script>alert(1)</script>", "&amp;", "]]>", "-->", "</td></table>", '"', "`"),
        *("a|b", "a\\", "\\|", "*a* _b_", "[x](y)", "%", "$x$", "{}", "a & b \\\\ c", "~^#_", "--", "[1]"),
        *("a\nb", "\n", "a\r\nb", "\ttab", "  two  blanks ", "\x00nul\x07bell", "\x85\u2028", "\ufffe\ufdd0"),
        *("שלום", "-5 ₪", "سعر 12", "ABC שלום", "\u200f1"),
        *("m²", "7¹,²", "H₂O", "5.2×10⁻⁴", "SO₄²⁻", "41ᵃ", "⁼1 ᵐ", "_x⁰₀₄₁_", "41ª"),
        *("_x0041_", "表格（一）", "姓 名", "\u00a0", "e\u0301", "👩‍👩‍👧", "\U0001fffe", "\u202eabc", "\ud800"),
    ]
)
TEXTS = VALUES | HOSTILE | st.text(max_size=8)
PLAIN_TEXTS = st.text("abc xyz表格019.,%-", max_size=8).map(lambda text: " ".join(text.split()))
PICTURES = [Picture(((0, 0), (4, 0), (4, 3), (0, 3)), PNG), Picture(None, PNG)]
SCORES = st.none() | st.floats(0, 1)
DIRECTIONS: st.SearchStrategy[Direction] = st.sampled_from(["ltr", "rtl"])
COORDINATES = st.floats(-1e4, 1e4)


@st.composite
def quads(draw: st.DrawFn) -> Quad:
    x0, y0, x1, y1, x2, y2, x3, y3 = (draw(COORDINATES) for _ in range(8))
    return ((x0, y0), (x1, y1), (x2, y2), (x3, y3))


def captions(texts: st.SearchStrategy[str] = TEXTS, *, with_geometry: bool = False) -> st.SearchStrategy[Caption]:
    """Titles and notes that hold some text."""
    return st.builds(
        Caption,
        texts.filter(str.strip),
        st.none() | quads() if with_geometry else st.none(),
        SCORES if with_geometry else st.none(),
    )


def captioned(
    plain: st.SearchStrategy[Table], texts: st.SearchStrategy[str] = TEXTS, *, with_geometry: bool = False
) -> st.SearchStrategy[Table]:
    """The same tables with any title and notes."""
    each = captions(texts, with_geometry=with_geometry)
    return st.builds(
        lambda table, title, notes: replace(table, title=title, notes=notes),
        plain,
        st.none() | each,
        st.lists(each, max_size=2),
    )


@st.composite
def nested(draw: st.DrawFn, plain: st.SearchStrategy[Table], depth: int = 2) -> Table:
    """The same tables with others in some of their cells, and pictures in some."""
    table = draw(plain)
    cells = list(table.cells)
    for index, cell in enumerate(cells[:4]):
        inner = draw(st.lists(nested(plain, depth - 1), max_size=2)) if depth else []
        pictures = draw(st.lists(st.sampled_from(PICTURES), max_size=2)) if draw(st.booleans()) else []
        cells[index] = replace(cell, tables=tuple(inner), pictures=tuple(pictures))
    return replace(table, cells=cells)


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    max_rows: int = 6,
    max_cols: int = 6,
    texts: st.SearchStrategy[str] = TEXTS,
    with_geometry: bool = False,
) -> Table:
    """Any valid table, also 0 x 0: any spans, any text, header marks that make sense and some that do not."""
    n_rows, n_cols = draw(st.integers(0, max_rows)), draw(st.integers(1, max_cols))
    n_header_rows = draw(st.integers(0, 3))
    free = {(row, col) for row in range(n_rows) for col in range(n_cols)}
    cells = []
    for row in range(n_rows):
        for col in range(n_cols):
            if (row, col) in free:
                rowspan, colspan = _draw_span(draw, free, row, col)
                free -= {(r, c) for r in range(row, row + rowspan) for c in range(col, col + colspan)}
                header: HeaderKind | None = "column" if row < n_header_rows else draw(_HEADERS)
                scores = [draw(SCORES) for _ in range(3)] if with_geometry else [None] * 3
                quad = draw(st.none() | quads()) if with_geometry else None
                meaning = {"header_score": draw(SCORES) if header else None, "is_total": draw(st.booleans())}
                cells.append(Cell(row, col, rowspan, colspan, quad, draw(texts), header, *scores, **meaning))
    return Table(cells, draw(st.none() | quads()) if with_geometry else None, direction=draw(DIRECTIONS))


_HEADERS = st.sampled_from([None, None, None, None, "row", "section", "column"])


def _draw_span(draw: st.DrawFn, free: set[tuple[int, int]], row: int, col: int) -> tuple[int, int]:
    wanted_rows, wanted_cols = draw(st.sampled_from([(1, 1), (1, 1), (1, 1), (1, 2), (2, 1), (2, 2), (9, 1), (1, 9)]))
    colspan = 1
    while colspan < wanted_cols and (row, col + colspan) in free:
        colspan += 1
    rowspan = 1
    while rowspan < wanted_rows and all((row + rowspan, c) in free for c in range(col, col + colspan)):
        rowspan += 1
    return rowspan, colspan


@dataclass(frozen=True)
class Disturbance:
    """What happens to the boxes of a table before they are seen.

    Args:
        jitter: Each edge moves by at most this share of the smaller slot beside it.
        dropped: Share of the cells that is missing.
        doubled: Share of the cells that is found twice, the second time with a lower score and a tenth of a slot aside
            at most.
        degrees: Turn clockwise.
        perspective: How much smaller the right and the lower end are than the middle, as shares for a square table.
        curl: Rise of the rows in the middle of the table, in rows of the least height; 4 % of the width at most, and
            none below three columns, where the cells do not show it.
    """

    jitter: float = 0.0
    dropped: float = 0.0
    doubled: float = 0.0
    degrees: float = 0.0
    perspective: tuple[float, float] = (0.0, 0.0)
    curl: float = 0.0


@dataclass(frozen=True)
class NoisyTable:
    """Cells of a known table as a detector may give them.

    Args:
        spans: ``(N, 4)`` row, column, end row, end column of every cell of the table.
        boxes: ``(M, 4)`` what is found, before the table is turned and bent.
        quads: ``(M, 4, 2)`` what is found.
        scores: ``(M,)``.
        cell: ``(M,)`` the cell that each find shows.
    """

    spans: NDArray[np.int64]
    boxes: NDArray[np.float64]
    quads: NDArray[np.float64]
    scores: NDArray[np.float64]
    cell: NDArray[np.int64]

    @property
    def is_determined(self) -> bool:
        """Whether what is found still says how the grid must be.

        It does where each row and each column has a cell that spans nothing else, which parts its two lines (without
        one it may as well be a part of the next row), on each inner line two cells meet (where all cells lie askew, one
        may end on another line than that on which the next begins), and no edge is further from its line than a quarter
        of the way to the next, the lines being where the edges that were found are on average.
        """
        return all(self._axis_is_determined(axis) for axis in (0, 1))

    def _axis_is_determined(self, axis: int) -> bool:
        spans = self.spans[self.cell]
        first, end = spans[:, axis], spans[:, axis + 2]
        n = int(self.spans[:, axis + 2].max())
        if set(first[end - first == 1].tolist()) != set(range(n)):
            return False
        low, high = (
            np.maximum.outer(spans[:, 1 - axis], spans[:, 1 - axis]),
            np.minimum.outer(spans[:, 3 - axis], spans[:, 3 - axis]),
        )
        meets = (end[:, None] == first) & (low < high)
        if set(end[meets.any(axis=1)].tolist()) != set(range(1, n)):
            return False
        line, edge = np.concatenate([first, end]), np.concatenate([self.boxes[:, 1 - axis], self.boxes[:, 3 - axis]])
        middle = np.bincount(line, edge) / np.bincount(line)
        off = np.abs(edge[:, None] - middle)
        own = off[np.arange(len(line)), line]
        off[np.arange(len(line)), line] = np.inf
        return bool((np.diff(middle) > 0).all() and (3 * own < off.min(axis=1)).all())


def make_noisy_table(seed: int, n_rows: int, n_cols: int, sizes: tuple[float, float], noise: Disturbance) -> NoisyTable:
    """A table of which all but these numbers is left to chance.

    Args:
        seed: Of the spans, the sizes and the noise.
        n_rows: Rows of the table.
        n_cols: Columns of the table.
        sizes: Least and largest height of a row and half the width of a column, pixels.
        noise: What happens to the cells.
    """
    random = np.random.default_rng(seed)
    spans = _random_spans(random, n_rows, n_cols)
    heights, widths = (
        np.exp(random.uniform(*np.log(sizes), count)) * scale for count, scale in ((n_rows, 1), (n_cols, 2))
    )
    rows, cols = (
        _disturbed_ends(random, spans[:, [axis, axis + 2]], slots, noise.jitter)
        for axis, slots in ((0, heights), (1, widths))
    )
    seen = np.flatnonzero(random.random(len(spans)) >= noise.dropped)
    copied = seen[random.random(len(seen)) < noise.doubled]
    cell = np.concatenate([seen, copied])
    again = np.repeat([0, 1], [len(seen), len(copied)])
    boxes = np.column_stack([cols[again, cell, 0], rows[again, cell, 0], cols[again, cell, 1], rows[again, cell, 1]])
    scores = random.uniform([0.6, 0.3], [1.0, 0.5], (len(cell), 2))[np.arange(len(cell)), again]
    order = random.permutation(len(cell))
    rise = noise.curl * min(float(heights.min()), 0.04 * float(widths.sum())) if n_cols > 2 else 0.0
    quads = _warped(boxes_to_quads(boxes), noise, float(heights.sum()), float(widths.sum()), rise)
    return NoisyTable(spans, boxes[order], quads[order], scores[order], cell[order])


NOISY_SIZES = [(20.0, 20.0), (15.0, 60.0), (6.0, 200.0)]
"""Least and largest height of a row, pixels."""


def random_noisy_table(seed: int) -> tuple[NoisyTable, Disturbance]:
    """A table of up to 9 x 9 with each kind of noise in half of the cases, or two thirds."""
    random = np.random.default_rng(seed)
    bent = random.random(3) < 0.5
    noise = Disturbance(
        jitter=random.choice([0.0, 0.1, 0.25]),
        dropped=random.choice([0.0, 0.1]),
        doubled=random.choice([0.0, 0.1]),
        degrees=bent[0] * random.uniform(-180, 180),
        perspective=tuple(bent[1] * random.uniform(-0.1, 0.1, 2)),
        curl=bent[2] * random.uniform(-1, 1),
    )
    return make_noisy_table(seed, *random.integers(1, 10, 2).tolist(), NOISY_SIZES[seed % 3], noise), noise


def _random_spans(random: np.random.Generator, n_rows: int, n_cols: int) -> NDArray[np.int64]:
    """Single slots, of which some rectangles are merged, and some rows into one cell or into two."""
    owner = np.arange(n_rows * n_cols).reshape(n_rows, n_cols)
    for _ in range(random.integers(0, 1 + n_rows * n_cols // 4)):
        row, col = random.integers(n_rows), random.integers(n_cols)
        height, width = random.choice([1, 1, 2, 3], 2)
        _merge(owner, row, row + height, col, col + width)
    for row in np.flatnonzero(random.random(n_rows) < 0.1):
        middle = random.choice([0, n_cols // 2, 2 * n_cols // 3])
        _merge(owner, row, row + 1, 0, middle)
        _merge(owner, row, row + 1, middle, n_cols)
    spans = []
    for number in np.unique(owner):
        rows, cols = np.nonzero(owner == number)
        spans.append([rows.min(), cols.min(), rows.max() + 1, cols.max() + 1])
    return np.array(spans)


def _merge(owner: NDArray[np.int64], row: int, end_row: int, col: int, end_col: int) -> None:
    """Make one cell of these slots, where they are single slots yet."""
    slots = owner[row:end_row, col:end_col]
    if slots.size and all((owner == number).sum() == 1 for number in slots.ravel()):
        slots[...] = slots.min()


def _disturbed_ends(
    random: np.random.Generator, spans: NDArray[np.int64], slots: NDArray[np.float64], jitter: float
) -> NDArray[np.float64]:
    """``(2, N, 2)`` start and end of each cell along an axis, and those of a second find of it."""
    lines = np.concatenate([[0.0], np.cumsum(slots)])
    smaller = np.minimum(np.append(slots, slots[-1]), np.append(slots[0], slots))
    found = lines[spans] + jitter * smaller[spans] * random.uniform(-1, 1, spans.shape)
    return np.stack([found, found + 0.4 * jitter * smaller[spans] * random.uniform(-1, 1, spans.shape)])


def _warped(
    quads: NDArray[np.float64], noise: Disturbance, height: float, width: float, rise: float
) -> NDArray[np.float64]:
    """Curl, then perspective, then turn."""
    reach = np.array([width, height]) / 2
    place = quads / reach - 1
    curled = quads + np.stack([np.zeros(quads.shape[:2]), rise * np.cos(1.5 * place[..., 0])], axis=-1)
    place = curled - reach
    seen = reach + place / (1 + place / reach.max() @ np.array(noise.perspective))[..., None]
    return rotate_points(seen, noise.degrees, (0.0, 0.0))


DISTURBANCES = st.builds(
    Disturbance,
    jitter=st.sampled_from([0.0, 0.1, 0.25]),
    dropped=st.sampled_from([0.0, 0.1]),
    doubled=st.sampled_from([0.0, 0.1]),
    degrees=st.just(0.0) | st.floats(-180, 180),
    perspective=st.tuples(st.floats(-0.1, 0.1), st.floats(-0.1, 0.1)) | st.just((0.0, 0.0)),
    curl=st.just(0.0) | st.floats(-1, 1),
)
NOISY_TABLES = st.builds(
    make_noisy_table,
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 9),
    n_cols=st.integers(1, 9),
    sizes=st.sampled_from(NOISY_SIZES),
    noise=DISTURBANCES,
)


def rebuild(table: NoisyTable) -> Grid:
    """The grid; all cells are kept or dropped with a reason, and what is kept makes a table."""
    grid = quads_to_grid(table.quads, table.scores)
    assert sorted([*grid.kept.tolist(), *(index for index, _ in grid.dropped)]) == list(range(len(table.quads)))
    assert all(reason for _, reason in grid.dropped)
    cells = [Cell(row, col, end_row - row, end_col - col) for row, col, end_row, end_col in grid.spans.tolist()]
    rebuilt = Table([*cells, *grid.empty_cells()])
    assert not cells or rebuilt.shape == (len(grid.row_lines) - 1, len(grid.col_lines) - 1)
    return grid


def is_exact(grid: Grid, table: NoisyTable) -> bool:
    """Whether each cell that was found once or twice is there once, with its span, and the others are empty."""
    cells = table.cell[grid.kept]
    return (
        sorted(cells.tolist()) == np.unique(table.cell).tolist()
        and bool((grid.spans == table.spans[cells]).all())
        and (len(grid.row_lines) - 1, len(grid.col_lines) - 1) == tuple(table.spans[:, 2:].max(axis=0))
    )


def _laughs(levels: int = 9) -> str:
    """YAML in which each list holds the one before ten times: a billion values in a few lines."""
    lists = ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels + 1))]
    return "\n".join(lists)


HOSTILE_YAML = {
    "no such date": "a: 2020-13-45",
    "no number": "a: !!int abc",
    "no date": "a: !!timestamp x",
    "no truth": "a: !!bool x",
    "nested lists": "[" * 20_000,
    "nested dashes": "- " * 20_000,
    "nested mappings": "".join(" " * n + "a:\n" for n in range(500)),
    "a billion laughs": _laughs(),
    "an alias of itself": "a: &a [*a]",
    "an alias of nothing": "a: *b",
    "an object": "a: !!python/object/apply:os.system [echo]",
    "a number without end": "a: " + "9" * 5000,
    "a number without end, in hexadecimal": "a: 0x" + "f" * 50_000,
    "a control character": "a: \x07",
    "a key that is a list": "? [a]\n: b",
}
"""Texts of a few bytes or kilobytes that break readers or keep them busy, by what is wrong."""

HOSTILE_JSON = {
    "nothing": "",
    "nested lists": "[" * 100_000,
    "nested objects": '{"a":' * 100_000,
    "a number without end": "9" * 5000,
    "half of it": '{"a": ',
}
"""Texts of a few bytes or kilobytes that break readers or keep them busy, by what is wrong."""
