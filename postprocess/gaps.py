"""Cells of tables without rulings: rows and columns from words and the white gaps between them.

The stages, each a function::

    words -> tokens -> text lines -> column separators -> rows -> cells

A column separator is a vertical line that many text lines leave white and few
cross. Separators are chosen greedily: each time the position that explains most
gaps that no chosen separator explains yet, less the tokens that it would cut.
Ruling lines, where there are any, separate rows and columns for certain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from postprocess.boxes import Floats, as_boxes, as_quads, boxes_to_quads, quad_angles, quads_to_boxes
from postprocess.rulings import Rulings, word_height
from postprocess.words import Word

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GapSettings:
    """Tolerances; lengths are fractions of the text height.

    Args:
        token_gap: A wider gap inside a line of text may separate two columns.
        least_gap: A narrower gap between two tokens is no gap.
        crossing_cost: Explained gaps that one cut token outweighs.
        min_gain: Explained gaps, less the cost of cut tokens, that a separator must bring.
        same_line: Tokens share a text line when their middles are closer than this.
        tight_share: Lines closer than this share of the usual pitch are one row.
    """

    token_gap: float = 0.9
    least_gap: float = 0.15
    crossing_cost: float = 1.5
    min_gain: float = 0.9
    same_line: float = 0.5
    tight_share: float = 0.72


@dataclass(frozen=True, slots=True)
class Tokens:
    """Pieces of words between wide gaps, in the upright frame.

    Args:
        boxes_xyxy: ``(T, 4)`` boxes.
        texts: ``T`` texts.
        line: ``(T,)`` text line of each token, from top to bottom.
    """

    boxes_xyxy: Floats
    texts: tuple[str, ...]
    line: Ints

    @property
    def n_lines(self) -> int:
        """Number of text lines."""
        return int(self.line.max()) + 1 if len(self.line) else 0

    def select(self, chosen: NDArray[np.bool_]) -> Tokens:
        """The chosen tokens, with lines numbered anew."""
        _, line = np.unique(self.line[chosen], return_inverse=True)
        return Tokens(self.boxes_xyxy[chosen], tuple(t for t, keep in zip(self.texts, chosen, strict=True) if keep), line)


def words_to_tokens(words: Sequence[Word], frame: Rulings, settings: GapSettings) -> Tokens:
    """Cut words at wide gaps and number the text lines.

    >>> word = Word("a  b", ((0, 0), (80, 0), (80, 10), (0, 10)))
    >>> frame = Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)
    >>> words_to_tokens([word], frame, GapSettings()).texts
    ('a', 'b')
    """
    pieces = [piece for word in words for piece in _cut_at_gaps(word, settings.token_gap * frame.text_height)]
    pieces = [piece for piece in pieces if not _LEADER.fullmatch(piece.text)]
    if not pieces:
        return Tokens(as_boxes([]), (), np.zeros(0, np.int64))
    boxes = quads_to_boxes(frame.to_upright(as_quads([piece.quad for piece in pieces])))
    line = _number_lines(boxes, settings.same_line)
    order = np.lexsort([boxes[:, 0], line])
    return _with_currency(Tokens(boxes[order], tuple(pieces[i].text for i in order), line[order]), frame.text_height)


_CURRENCY = re.compile(r"[$€£¥￥₩₹]|(?:US|HK|NT|C|A|S)\$|RMB|USD|EUR|GBP|CHF", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")
_LEADER = re.compile(r"[\s.·…‥_\-—–•]{3,}|[·…‥.]+")
_NUMBER = re.compile(
    r"^[\s$€£¥￥(<>≤≥~+\-−–—±.,]*\d[\d.,:\s%‰)(*†‡±/×+\-−–—]*[a-z]{0,2}[)*†‡]*$|^[-–—]+$|^n/?a$", re.IGNORECASE
)


def is_number(text: str) -> bool:
    """Whether a text reads as a number, an amount, a percentage, or the dash that stands for nothing.

    >>> [is_number(text) for text in ("(1,234)", "12.5%", "-", "$ 7", "Total 7", "")]
    [True, True, True, True, False, False]
    """
    return _NUMBER.match(text) is not None


def _cut_at_gaps(word: Word, gap: float) -> list[Word]:
    spans = word.spans()
    width = float(np.linalg.norm(np.subtract(word.quad[1], word.quad[0])))
    cuts, last = [0], 0.0
    for index, (start, end) in enumerate(spans):
        if word.text[index].isspace():
            continue
        if index and (start - last) * width > gap:
            cuts.append(index)
        last = end
    cuts.append(len(word.text))
    parts = [word.part(a, b) for a, b in zip(cuts, cuts[1:], strict=False)] if len(cuts) > 2 else [word]
    return [part for part in parts if part.text.strip()]


def _number_lines(boxes: Floats, same_line: float) -> Ints:
    """``(T,)`` text line of each box: boxes whose middles are close follow one another along a line."""
    middle, height = (boxes[:, 1] + boxes[:, 3]) / 2, boxes[:, 3] - boxes[:, 1]
    line = np.zeros(len(boxes), np.int64)
    means: list[float] = []
    counts: list[int] = []
    sizes: list[float] = []
    for index in np.argsort(middle, kind="stable"):
        if means and middle[index] - means[-1] < same_line * min(height[index], sizes[-1]):
            means[-1] = (means[-1] * counts[-1] + middle[index]) / (counts[-1] + 1)
            counts[-1] += 1
            sizes[-1] = min(sizes[-1], float(height[index]))
        else:
            means.append(float(middle[index]))
            counts.append(1)
            sizes.append(float(height[index]))
        line[index] = len(means) - 1
    return line


def _with_currency(tokens: Tokens, height: float) -> Tokens:
    """Join a currency sign that stands apart with the number after it: they are one value."""
    boxes, texts = tokens.boxes_xyxy.copy(), list(tokens.texts)
    keep = np.ones(len(texts), bool)
    for i in range(len(texts) - 1):
        near = tokens.line[i] == tokens.line[i + 1] and boxes[i + 1, 0] - boxes[i, 2] < 8 * height
        if near and _CURRENCY.fullmatch(texts[i]) and is_number(texts[i + 1]):
            boxes[i + 1] = [*np.minimum(boxes[i, :2], boxes[i + 1, :2]), *np.maximum(boxes[i, 2:], boxes[i + 1, 2:])]
            texts[i + 1] = f"{texts[i]} {texts[i + 1]}"
            keep[i] = False
    return Tokens(boxes, tuple(texts), tokens.line).select(keep)


def tokens_to_separators(tokens: Tokens, height: float, settings: GapSettings, forced: Floats | None = None) -> Floats:
    """Positions of the column separators, left to right.

    Args:
        tokens: Tokens in lines.
        height: Text height, pixels.
        settings: Tolerances.
        forced: Positions of vertical rulings, taken as they are.

    >>> boxes = as_boxes([[0, 0, 30, 10], [50, 0, 70, 10], [0, 20, 40, 30], [55, 20, 70, 30]])
    >>> tokens = Tokens(boxes, ("a", "1", "b", "2"), np.array([0, 0, 1, 1]))
    >>> tokens_to_separators(tokens, 10.0, GapSettings()).tolist()
    [45.0]
    """
    chosen = [] if forced is None else [float(x) for x in forced]
    boxes = tokens.boxes_xyxy
    same = tokens.line[1:] == tokens.line[:-1]
    left, right = boxes[:-1, 2][same], boxes[1:, 0][same]
    white = right - left > settings.least_gap * height
    left, right = left[white], right[white]
    if not len(left):
        return np.sort(np.array(chosen))
    # A narrow gap may be no more than a blank, so it says less than a wide one.
    weight = np.minimum((right - left) / (settings.token_gap * height), 1.0)
    ends = np.unique(np.concatenate([left, right]))
    middles = (ends[:-1] + ends[1:]) / 2
    inset = 0.15 * height
    hits = (left[None] <= middles[:, None]) & (right[None] >= middles[:, None])
    cuts = ((boxes[None, :, 0] + inset < middles[:, None]) & (boxes[None, :, 2] - inset > middles[:, None])).sum(axis=1)
    open_gap = np.ones(len(left), bool)
    for x in chosen:
        open_gap &= ~((left <= x) & (right >= x))
    while open_gap.any():
        gain = hits @ (weight * open_gap) - settings.crossing_cost * cuts
        if gain.max() < settings.min_gain:
            break
        best = np.flatnonzero(gain > gain.max() - 1e-9)
        # Equal neighbours form one white band; take the middle of the widest one.
        bands = np.split(best, np.flatnonzero(np.diff(best) > 1) + 1)
        band = max(bands, key=lambda b: ends[b[-1] + 1] - ends[b[0]])
        chosen.append(float((ends[band[0]] + ends[band[-1] + 1]) / 2))
        open_gap &= ~hits[band].any(axis=0)
    return np.sort(np.array(chosen))


def tokens_to_columns(tokens: Tokens, separators: Floats) -> Ints:
    """``(T, 2)`` first column and column after the last that each token lies in.

    A token counts for a column when it covers more than a third of its own
    width or of the column's text there; at least its best column.
    """
    bounds = np.concatenate([[-np.inf], separators, [np.inf]])
    boxes = tokens.boxes_xyxy
    shared = np.minimum(boxes[:, None, 2], bounds[1:]) - np.maximum(boxes[:, None, 0], bounds[:-1])
    shared = np.clip(shared, 0, None)
    width = (boxes[:, 2] - boxes[:, 0])[:, None]
    best = shared.argmax(axis=1)
    inside = shared > 0.9 * width
    single = inside.any(axis=1)
    start = np.array([[_core(boxes[single & (best == c)]) for c in range(len(bounds) - 1)]]).reshape(-1, 2)
    core = np.clip(
        np.minimum(boxes[:, None, 2], start[None, :, 1]) - np.maximum(boxes[:, None, 0], start[None, :, 0]), 0, None
    )
    size = np.maximum(start[:, 1] - start[:, 0], 1e-9)
    covers = (core > 0.4 * size) | (np.arange(len(bounds) - 1) == best[:, None])
    covers[single] = np.arange(len(bounds) - 1) == best[single][:, None]
    first = covers.argmax(axis=1)
    last = covers.shape[1] - covers[:, ::-1].argmax(axis=1)
    return np.column_stack([first, last])


def _core(boxes: Floats) -> tuple[float, float]:
    """Middle extent of the tokens of a column."""
    if not len(boxes):
        return 0.0, 0.0
    return float(np.percentile(boxes[:, 0], 40)), float(np.percentile(boxes[:, 2], 60))


def lines_to_rows(tokens: Tokens, columns: Ints, horizontal: Floats, settings: GapSettings) -> Ints:
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
    top = np.array([boxes[tokens.line == i, 1].min() for i in range(n)])
    bottom = np.array([boxes[tokens.line == i, 3].max() for i in range(n)])
    ruled, long_ruled = _ruled_between((top + bottom) / 2, boxes, horizontal)
    numbers = _numbers_by_line(tokens, columns)
    close = _is_close(top, bottom, ruled, settings)
    joined = (
        _join_groups(~long_ruled, ruled, numbers, min_groups=3, even=True)
        | _join_groups(close & ~_same_columns(tokens, columns, close), ruled, numbers, min_groups=2, even=False)
        | _join_wrapped(tokens, columns, ruled, numbers)
        | _join_header(tokens, columns, np.diff((top + bottom) / 2), ruled, numbers)
    )
    return np.concatenate([[0], np.cumsum(~joined)]).astype(np.int64)


def _ruled_between(
    middle: Floats, boxes: Floats, horizontal: Floats
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """``(n_lines - 1,)`` whether any ruling, and whether a ruling over most of the width, lies between two lines."""
    y = (horizontal[:, 1] + horizontal[:, 3]) / 2
    between = (y > middle[:-1, None]) & (y < middle[1:, None])
    width = boxes[:, 2].max() - boxes[:, 0].min()
    inside = np.minimum(horizontal[:, 2], boxes[:, 2].max()) - np.maximum(horizontal[:, 0], boxes[:, 0].min())
    return between.any(axis=1), (between * np.clip(inside, 0, None)).sum(axis=1) > 0.8 * width


def _numbers_by_line(tokens: Tokens, columns: Ints) -> NDArray[np.bool_]:
    """``(n_lines, n_cols)`` where a line holds a number."""
    numbers = np.zeros((tokens.n_lines, int(columns[:, 1].max())), bool)
    for line, (first, _), text in zip(tokens.line, columns, tokens.texts, strict=True):
        numbers[line, first] |= is_number(text)
    return numbers


def _same_columns(tokens: Tokens, columns: Ints, close: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """``(n_lines - 1,)`` all true when most close lines fill the same columns: then they are rows, not wrapped text."""
    filled = np.zeros((tokens.n_lines, int(columns[:, 1].max())), bool)
    filled[tokens.line, columns[:, 0]] = True
    same = (filled[1:] == filled[:-1]).all(axis=1) & (filled[1:].sum(axis=1) > 1)
    return np.full(len(close), bool(close.any() and same[close].mean() > 0.5))


def _join_groups(
    together: NDArray[np.bool_],
    ruled: NDArray[np.bool_],
    numbers: NDArray[np.bool_],
    *,
    min_groups: int,
    even: bool,
) -> NDArray[np.bool_]:
    """Join the lines of each group when that is how the rows of the table are set.

    It is when joining brings few second numbers into a cell.

    Args:
        together: ``(n_lines - 1,)`` whether two neighbouring lines are in one group.
        ruled: ``(n_lines - 1,)`` whether any ruling lies between.
        numbers: ``(n_lines, n_cols)`` where a line holds a number.
        min_groups: Fewest groups that make a pattern.
        even: Whether one group that holds most of the lines spoils the pattern.
    """
    group = np.concatenate([[0], np.cumsum(~together)])
    sizes = np.bincount(group)
    joins = sizes - 1
    held = np.array([numbers[group == g].sum(axis=0) for g in range(len(sizes))])
    clashes = np.clip(held - 1, 0, None).max(axis=1, initial=0)
    dominated = even and sizes.max() > max(4, len(group) / 2)
    if len(sizes) < min_groups or dominated or clashes.sum() > 0.2 * joins.sum():
        return np.zeros(len(together), bool)
    return together & ~ruled & (clashes <= 0.34 * joins)[group[1:]]


def _join_header(
    tokens: Tokens, columns: Ints, pitch: Floats, ruled: NDArray[np.bool_], numbers: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Join the lines of wrapped column headers; a header over several columns keeps its own row."""
    joined = np.zeros(len(ruled), bool)
    height = np.median(tokens.boxes_xyxy[:, 3] - tokens.boxes_xyxy[:, 1])
    spanning = np.zeros(tokens.n_lines, bool)
    np.logical_or.at(spanning, tokens.line, columns[:, 1] - columns[:, 0] > 1)
    for line in range(_header_end(tokens, columns, ruled, numbers) - 1):
        new_level = spanning[line] and not spanning[line + 1]
        joined[line] = not ruled[line] and not new_level and pitch[line] < 1.6 * height
    return joined


def _header_end(tokens: Tokens, columns: Ints, ruled: NDArray[np.bool_], numbers: NDArray[np.bool_]) -> int:
    """Number of text lines that belong to the column headers.

    They end at the last ruling above the first line of data; without one, at
    the first line of data or the labels right above it.
    """
    share = numbers.mean(axis=0)
    numeric = share > 0.5 * share.max(initial=0)
    amounts = numbers.copy()
    for line, (first, _), text in zip(tokens.line, columns, tokens.texts, strict=True):
        if _YEAR.fullmatch(text):
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


def _is_close(
    top: Floats, bottom: Floats, ruled: NDArray[np.bool_], settings: GapSettings
) -> NDArray[np.bool_]:
    """``(n_lines - 1,)`` whether two lines are clearly closer than others are."""
    pitch = np.diff((top + bottom) / 2)
    if len(pitch) < 2:
        return np.zeros(len(pitch), bool)
    cut, contrast = _two_levels(pitch)
    return (pitch < cut) & ~ruled & (contrast > 1 / settings.tight_share)


def _two_levels(values: Floats) -> tuple[float, float]:
    """Threshold that best splits values into a low and a high group (Otsu), and the ratio of their means."""
    ordered = np.sort(values)
    counts = np.arange(1, len(ordered))
    low = np.cumsum(ordered)[:-1] / counts
    high = (ordered.sum() - np.cumsum(ordered)[:-1]) / (len(ordered) - counts)
    best = int((counts * (len(ordered) - counts) * (high - low) ** 2).argmax())
    return float((ordered[best] + ordered[best + 1]) / 2), float(high[best] / max(low[best], 1e-9))


def _join_wrapped(
    tokens: Tokens, columns: Ints, ruled: NDArray[np.bool_], numbers: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Join a line with the next one that only holds the rest of its text."""
    edges = _column_edges(tokens, columns)
    joined = np.zeros(len(ruled), bool)
    held = numbers[0].copy()
    for line in range(len(ruled)):
        fits = not ruled[line] and not (held & numbers[line + 1]).any()
        joined[line] = fits and _continues(tokens, columns, line, edges)
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


def _continues(tokens: Tokens, columns: Ints, line: int, edges: dict[int, tuple[float, float]]) -> bool:
    """Whether the next line only holds wrapped text of this line."""
    above, below = np.flatnonzero(tokens.line == line), np.flatnonzero(tokens.line == line + 1)
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


def words_to_quads(
    words: Sequence[Word], rulings: Rulings | None = None, settings: GapSettings | None = None
) -> Floats:
    """Cells of one table from its words.

    Args:
        words: Words of the table.
        rulings: Ruling lines of the picture: they separate rows and columns for
            certain, and a short one below a header shows which columns it spans.
        settings: Tolerances.

    Returns:
        ``(N, 4, 2)`` cells in pixels of the picture: each slot or span of the grid that holds text.
    """
    settings = settings or GapSettings()
    if not words:
        return as_quads([])
    quads = as_quads([word.quad for word in words])
    frame = rulings
    if frame is None or not frame.degrees:
        frame = Rulings(
            as_boxes([]) if frame is None else frame.horizontal,
            as_boxes([]) if frame is None else frame.vertical,
            words_tilt(quads),
            (0.0, 0.0) if frame is None else frame.center,
            word_height(quads),
        )
    tokens = words_to_tokens(words, frame, settings)
    if not len(tokens.line):
        return as_quads([])
    height = word_height(quads)
    separators = tokens_to_separators(tokens, height, settings, _dividing(frame.vertical, tokens, height))
    columns = tokens_to_columns(tokens, separators)
    columns = spans_from_rules(tokens, columns, frame.horizontal, height)
    rows = lines_to_rows(tokens, columns, frame.horizontal, settings)
    return frame.to_picture(boxes_to_quads(_grid_boxes(tokens, columns, rows, separators, height)))


def _dividing(vertical: Floats, tokens: Tokens, height: float) -> Floats:
    """Positions of vertical rulings that run along most of the lines and cut no text."""
    boxes = tokens.boxes_xyxy
    top, bottom = boxes[:, 1].min(), boxes[:, 3].max()
    positions = (vertical[:, 0] + vertical[:, 2]) / 2
    order = np.argsort(positions)
    groups = np.split(order, np.flatnonzero(np.diff(positions[order]) > 0.4 * height) + 1) if len(order) else []
    dividing = []
    for group in groups:
        x = float(positions[group].mean())
        drawn = np.clip(np.minimum(vertical[group, 3], bottom) - np.maximum(vertical[group, 1], top), 0, None).sum()
        inside = boxes[:, 0].min() < x < boxes[:, 2].max()
        cuts = ((boxes[:, 0] + 0.3 * height < x) & (boxes[:, 2] - 0.3 * height > x)).mean()
        if inside and drawn > 0.5 * (bottom - top) and cuts < 0.1:
            dividing.append(x)
    return np.array(dividing)


def spans_from_rules(tokens: Tokens, columns: Ints, horizontal: Floats, height: float) -> Ints:
    """Widen tokens that stand alone above a short rule to the columns under the rule."""
    boxes = tokens.boxes_xyxy
    columns = columns.copy()
    n_cols = int(columns[:, 1].max())
    centers = np.full(n_cols, np.nan)
    for col in range(n_cols):
        own = (columns[:, 0] == col) & (columns[:, 1] == col + 1)
        if own.any():
            centers[col] = np.median((boxes[own, 0] + boxes[own, 2]) / 2)
    for x0, y0, x1, y1 in horizontal:
        if x1 - x0 > 0.9 * (boxes[:, 2].max() - boxes[:, 0].min()):
            continue
        gap = y0 - boxes[:, 3]
        over = (gap > -0.3 * height) & (gap < 0.9 * height) & (boxes[:, 0] > x0 - height) & (boxes[:, 2] < x1 + height)
        under = np.flatnonzero((centers > x0) & (centers < x1))
        if over.sum() == 1 and len(under) > 1:
            token = int(np.flatnonzero(over)[0])
            columns[token] = min(columns[token, 0], under[0]), max(columns[token, 1], under[-1] + 1)
    return columns


def words_tilt(quads: Floats) -> float:
    """Median direction of the longer words in degrees; 0 for words that are nearly upright."""
    width = np.linalg.norm(quads[:, 1] - quads[:, 0], axis=1)
    height = np.linalg.norm(quads[:, 3] - quads[:, 0], axis=1)
    long = width > 3 * height
    if not long.any():
        return 0.0
    tilt = float(np.median(quad_angles(quads[long])))
    return tilt if 0.2 < abs(tilt) < 45 else 0.0


def _grid_boxes(tokens: Tokens, columns: Ints, rows: Ints, separators: Floats, height: float) -> Floats:
    """``(N, 4)`` boxes of the slots and spans that hold tokens, borders in the middle of the gaps."""
    boxes = tokens.boxes_xyxy
    row_of = rows[tokens.line]
    n_rows = int(rows.max()) + 1
    top = np.array([boxes[row_of == r, 1].min() for r in range(n_rows)])
    bottom = np.array([boxes[row_of == r, 3].max() for r in range(n_rows)])
    margin = height / 4
    ys = np.concatenate([[top[0] - margin], (bottom[:-1] + top[1:]) / 2, [bottom[-1] + margin]])
    xs = np.concatenate([[boxes[:, 0].min() - margin], separators, [boxes[:, 2].max() + margin]])
    cells = _merge_spans(row_of, columns)
    return as_boxes([[xs[c0], ys[r], xs[c1], ys[r + 1]] for r, c0, c1 in cells])


def _merge_spans(row_of: Ints, columns: Ints) -> list[tuple[int, int, int]]:
    """(row, first column, end column) of the cells; overlapping spans of one row become one."""
    cells: list[tuple[int, int, int]] = []
    for row, first, end in sorted({(int(r), int(a), int(b)) for r, (a, b) in zip(row_of, columns, strict=True)}):
        if cells and cells[-1][0] == row and first < cells[-1][2]:
            cells[-1] = (row, cells[-1][1], max(end, cells[-1][2]))
        else:
            cells.append((row, first, end))
    return cells
