"""Hypothesis strategies for random tables; other tests may import them."""

from hypothesis import strategies as st

from postprocess.table import Cell, HeaderKind, Quad, Table

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
        *("_x0041_", "表格（一）", "姓 名", "\u00a0", "e\u0301", "👩‍👩‍👧", "\U0001fffe", "\u202eabc", "\ud800"),
    ]
)
TEXTS = VALUES | HOSTILE | st.text(max_size=8)
PLAIN_TEXTS = st.text("abc xyz表格019.,%-", max_size=8).map(lambda text: " ".join(text.split()))
SCORES = st.none() | st.floats(0, 1)
COORDINATES = st.floats(-1e4, 1e4)


@st.composite
def quads(draw: st.DrawFn) -> Quad:
    x0, y0, x1, y1, x2, y2, x3, y3 = (draw(COORDINATES) for _ in range(8))
    return ((x0, y0), (x1, y1), (x2, y2), (x3, y3))


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
                cells.append(Cell(row, col, rowspan, colspan, quad, draw(texts), header, *scores))
    return Table(cells, draw(st.none() | quads()) if with_geometry else None)


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
