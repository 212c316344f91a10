"""Text lines -> rows of a table without rulings between all rows."""

from __future__ import annotations

import numpy as np

from postprocess.arrays import Flags, Floats, Ints
from postprocess.text.numbers import is_number, is_year
from postprocess.text.tokens import Tokens

_TIGHT = 0.72
"""Lines closer than this share of the usual pitch are one row."""


def lines_to_rows(tokens: Tokens, columns: Ints, horizontal: Floats) -> Ints:
    """``(n_lines,)`` row of each text line.

    Neighbouring lines are one row when no ruling lies between them and

    - long rulings cut the table into bands like this one, or
    - they are clearly closer than other lines are, or
    - the second only holds the rest of text that did not fit into the first,

    and never when two numbers of one column would come into one cell.
    """
    n = tokens.n_lines
    if n < 2:
        return np.zeros(n, np.int64)
    boxes = tokens.boxes_xyxy
    top, bottom = tokens.line_extents()
    ruled, long_ruled = _ruled_between((top + bottom) / 2, boxes, horizontal)
    numbers = _numbers_by_line(tokens, columns)
    close = _is_close(top, bottom, ruled)
    joined = (
        _join_groups(~long_ruled, ruled, numbers, min_groups=3, even=True)
        | _join_groups(close & ~_same_columns(tokens, columns, close), ruled, numbers, min_groups=2, even=False)
        | _join_wrapped(tokens, columns, ruled, numbers)
        | _join_header(tokens, columns, np.diff((top + bottom) / 2), ruled, numbers)
    )
    return np.concatenate([[0], np.cumsum(~joined)]).astype(np.int64)


def _ruled_between(middle: Floats, boxes: Floats, horizontal: Floats) -> tuple[Flags, Flags]:
    """``(n_lines - 1,)`` whether any ruling, and whether a ruling over most of the width, lies between two lines."""
    y = (horizontal[:, 1] + horizontal[:, 3]) / 2
    between = (y > middle[:-1, None]) & (y < middle[1:, None])
    width = boxes[:, 2].max() - boxes[:, 0].min()
    inside = np.minimum(horizontal[:, 2], boxes[:, 2].max()) - np.maximum(horizontal[:, 0], boxes[:, 0].min())
    covered = (between * np.clip(inside, 0, None)).sum(axis=1)
    return np.asarray(between.any(axis=1)), np.asarray(covered > 0.8 * width)


def _numbers_by_line(tokens: Tokens, columns: Ints) -> Flags:
    """``(n_lines, n_cols)`` where a line holds a number."""
    numbers = np.zeros((tokens.n_lines, int(columns[:, 1].max())), bool)
    for line, (first, _), text in zip(tokens.line, columns, tokens.texts, strict=True):
        numbers[line, first] |= is_number(text)
    return numbers


def _same_columns(tokens: Tokens, columns: Ints, close: Flags) -> Flags:
    """``(n_lines - 1,)`` all true when most close lines fill the same columns: then they are rows, not wrapped text."""
    filled = np.zeros((tokens.n_lines, int(columns[:, 1].max())), bool)
    filled[tokens.line, columns[:, 0]] = True
    same = (filled[1:] == filled[:-1]).all(axis=1) & (filled[1:].sum(axis=1) > 1)
    return np.full(len(close), bool(close.any() and same[close].mean() > 0.5))


def _join_groups(
    together: Flags,
    ruled: Flags,
    numbers: Flags,
    *,
    min_groups: int,
    even: bool,
) -> Flags:
    """Join the lines of each group when that is how the rows of the table are set.

    It is when joining brings few second numbers into a cell.

    Args:
        together: ``(n_lines - 1,)`` whether two neighbouring lines are in one group.
        ruled: ``(n_lines - 1,)`` whether any ruling lies between.
        numbers: ``(n_lines, n_cols)`` where a line holds a number.
        min_groups: Fewest groups that make a pattern.
        even: The groups are bands between rulings: one that holds most of the lines spoils the
            pattern, but where it holds no band is an exception.
    """
    group = np.concatenate([[0], np.cumsum(~together)])
    sizes = np.bincount(group)
    joins = sizes - 1
    held = np.add.reduceat(numbers.astype(np.int64), np.cumsum(sizes) - sizes)
    clashes = np.clip(held - 1, 0, None).max(axis=1, initial=0)
    dominated = even and sizes.max() > max(4, len(group) / 2)
    if len(sizes) < min_groups or dominated or clashes.sum() > 0.2 * joins.sum():
        return np.zeros(len(together), bool)
    fits = np.ones(len(sizes), bool) if even else clashes <= 0.34 * joins
    return np.asarray(together & ~ruled & fits[group[1:]])


def _join_header(tokens: Tokens, columns: Ints, pitch: Floats, ruled: Flags, numbers: Flags) -> Flags:
    """Join the lines of wrapped column headers; a header over several columns keeps its own row."""
    joined = np.zeros(len(ruled), bool)
    height = np.median(tokens.boxes_xyxy[:, 3] - tokens.boxes_xyxy[:, 1])
    spanning = np.zeros(tokens.n_lines, bool)
    np.logical_or.at(spanning, tokens.line, columns[:, 1] - columns[:, 0] > 1)
    for line in range(_header_end(tokens, columns, ruled, numbers) - 1):
        new_level = spanning[line] and not spanning[line + 1]
        joined[line] = not ruled[line] and not new_level and pitch[line] < 1.6 * height
    return joined


def _header_end(tokens: Tokens, columns: Ints, ruled: Flags, numbers: Flags) -> int:
    """Number of text lines that belong to the column headers.

    They end at the last ruling above the first line of data; without one, at
    the first line of data or the labels right above it.
    """
    share = numbers.mean(axis=0)
    numeric = share > 0.5 * share.max(initial=0)
    amounts = numbers.copy()
    for line, (first, _), text in zip(tokens.line, columns, tokens.texts, strict=True):
        if is_year(text):
            amounts[line, first] = False
    data = amounts[:, numeric].sum(axis=1) >= max(1, 0.5 * numeric.sum())
    if not data.any():
        first_rule = np.flatnonzero(ruled)
        return int(first_rule[0]) + 1 if len(first_rule) and first_rule[0] < 0.4 * len(numbers) else 0
    end = int(data.argmax())
    rules = np.flatnonzero(ruled[:end])
    if len(rules):
        return int(rules[-1]) + 1
    while end and _is_label_only(tokens, columns, np.flatnonzero(tokens.line == end - 1)):
        end -= 1
    return end


def _is_close(top: Floats, bottom: Floats, ruled: Flags) -> Flags:
    """``(n_lines - 1,)`` whether two lines are clearly closer than others are."""
    pitch = np.diff((top + bottom) / 2)
    if len(pitch) < 2:
        return np.zeros(len(pitch), bool)
    cut, contrast = _two_levels(pitch)
    return (pitch < cut) & ~ruled & (contrast > 1 / _TIGHT)


def _two_levels(values: Floats) -> tuple[float, float]:
    """Threshold that best splits values into a low and a high group (Otsu), and the ratio of their means."""
    ordered = np.sort(values)
    counts = np.arange(1, len(ordered))
    low = np.cumsum(ordered)[:-1] / counts
    high = (ordered.sum() - np.cumsum(ordered)[:-1]) / (len(ordered) - counts)
    best = int((counts * (len(ordered) - counts) * (high - low) ** 2).argmax())
    return float((ordered[best] + ordered[best + 1]) / 2), float(high[best] / max(low[best], 1e-9))


def _join_wrapped(tokens: Tokens, columns: Ints, ruled: Flags, numbers: Flags) -> Flags:
    """Join a line with the next one that only holds the rest of its text."""
    edges, lines = _column_edges(tokens, columns), tokens.by_line()
    joined = np.zeros(len(ruled), bool)
    held = numbers[0].copy()
    for line in range(len(ruled)):
        fits = not ruled[line] and not (held & numbers[line + 1]).any()
        joined[line] = fits and _continues(tokens, columns, lines[line], lines[line + 1], edges)
        held = held | numbers[line + 1] if joined[line] else numbers[line + 1].copy()
    return joined


def _column_edges(tokens: Tokens, columns: Ints) -> dict[int, tuple[float, float]]:
    """Leftmost and rightmost text of each column, tokens over several columns aside."""
    edges: dict[int, tuple[float, float]] = {}
    for (x0, _, x1, _), (first, end) in zip(tokens.boxes_xyxy, columns.tolist(), strict=True):
        if end - first == 1:
            a, b = edges.get(first, (np.inf, -np.inf))
            edges[first] = (min(a, float(x0)), max(b, float(x1)))
    return edges


def _continues(tokens: Tokens, columns: Ints, above: Ints, below: Ints, edges: dict[int, tuple[float, float]]) -> bool:
    """Whether the tokens of a line only hold wrapped text of the line above."""
    col_above = {int(columns[i, 0]): i for i in above}
    if any(int(columns[i, 0]) not in col_above for i in below) and not _is_label_only(tokens, columns, above):
        return False
    for i in below:
        text = tokens.texts[i]
        partner = col_above.get(int(columns[i, 0]))
        if partner is None:
            continue
        if is_number(text) or is_number(tokens.texts[partner]):
            return False
        x0, x1 = edges.get(int(columns[i, 0]), (0.0, 0.0))
        full = tokens.boxes_xyxy[partner, 2] > x1 - 0.15 * (x1 - x0)
        lower = text[:1].islower() or text[:1] in "(（"
        if not (lower or (full and not text[:1].isupper() and not text[:1].isdigit())):
            return False
    return len(below) < len(above) or _is_label_only(tokens, columns, above)


def _is_label_only(tokens: Tokens, columns: Ints, line: Ints) -> bool:
    return len(line) == 1 and int(columns[line[0], 0]) == 0 and not is_number(tokens.texts[line[0]])
