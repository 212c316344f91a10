"""Column separators, and the columns that each token lies in."""

from __future__ import annotations

import numpy as np

from postprocess.arrays import Flags, Floats, Ints
from postprocess.geometry.boxes import quantile
from postprocess.text.tokens import TOKEN_GAP, Tokens

_LEAST_GAP = 0.15
"""A narrower gap between two tokens, in text heights, is no gap."""
_CROSSING_COST = 1.5
"""Explained gaps that one cut token outweighs."""
_BLANK_COST = 0.5
"""Explained gaps that one entry outweighs which is cut between its words, where letters are equally wide."""
_LEAST_GAIN = 0.9
"""Explained gaps, less the cost of cut tokens, that a separator must bring."""

MOST_COLUMNS = 2000
"""So many columns are no table: nobody sets one, and each would be compared with each word."""
_AT_ONCE = 2_000_000
"""Pairs of a token and a column that are compared at a time, for their memory."""


def tokens_to_separators(tokens: Tokens, height: float, forced: Floats | None = None) -> Floats:
    """Positions of the column separators, left to right; at most ``MOST_COLUMNS``.

    Args:
        tokens: Tokens in lines.
        height: Text height, pixels.
        forced: Positions of vertical rulings, taken as they are.

    >>> from postprocess.geometry.boxes import as_boxes
    >>> boxes = as_boxes([[0, 0, 30, 10], [50, 0, 70, 10], [0, 20, 40, 30], [55, 20, 70, 30]])
    >>> tokens = Tokens(boxes, ("a", "1", "b", "2"), np.array([0, 0, 1, 1]))
    >>> tokens_to_separators(tokens, 10.0).tolist()
    [45.0]
    """
    chosen = [] if forced is None else [float(x) for x in forced]
    boxes = tokens.boxes_xyxy
    same = tokens.line[1:] == tokens.line[:-1]
    left, right = boxes[:-1, 2][same], boxes[1:, 0][same]
    white = right - left > max(_LEAST_GAP * height, tokens.blank)
    left, right = left[white], right[white]
    if not len(left):
        return np.sort(np.array(chosen))
    # A narrow gap may be no more than a blank, so it says less than a wide one.
    weight = np.minimum((right - left) / (TOKEN_GAP * height), 1.0)
    ends = np.unique(np.concatenate([left, right]))
    middles = (ends[:-1] + ends[1:]) / 2
    inset = 0.15 * height
    cuts = (_CROSSING_COST - _BLANK_COST) * _cut_tokens(boxes, middles, inset)
    cuts += _BLANK_COST * _cut_tokens(_entries(tokens), middles, inset)
    # The middles that lie in each gap.
    first, end = np.searchsorted(middles, left), np.searchsorted(middles, right, side="right")
    open_gap = np.ones(len(left), bool)
    for x in chosen:
        open_gap &= ~((left <= x) & (right >= x))
    while open_gap.any() and len(chosen) < MOST_COLUMNS:
        starts, stops = (np.bincount(at, weight * open_gap, len(middles) + 1) for at in (first, end))
        gain = np.cumsum(starts - stops)[:-1] - cuts
        if gain.max() < _LEAST_GAIN:
            break
        best = np.flatnonzero(gain > gain.max() - 1e-9)
        # Equal neighbours form one white band; take the middle of the widest one.
        steps = np.flatnonzero(np.diff(best) > 1)
        low, high = best[np.append(0, steps + 1)], best[np.append(steps, len(best) - 1)]
        widest = int((ends[high + 1] - ends[low]).argmax())
        start, stop = low[widest], high[widest]
        chosen.append(float((ends[start] + ends[stop + 1]) / 2))
        open_gap &= (first > stop) | (end <= start)
    return np.sort(np.array(chosen))


def _entries(tokens: Tokens) -> Floats:
    """``(E, 4)`` boxes of the tokens, as one what only single blanks of letters of equal width part."""
    boxes = tokens.boxes_xyxy
    if not tokens.blank:
        return boxes
    apart = (np.diff(tokens.line) != 0) | (boxes[1:, 0] - boxes[:-1, 2] > tokens.blank)
    starts = np.flatnonzero(np.concatenate([[True], apart]))
    low, high = (each.reduceat(boxes, starts, axis=0) for each in (np.minimum, np.maximum))
    return np.column_stack([low[:, :2], high[:, 2:]])


def _cut_tokens(boxes: Floats, places: Floats, inset: float) -> Ints:
    """``(P,)`` number of tokens that each place cuts, more than ``inset`` from their ends."""
    start, end = boxes[:, 0] + inset, boxes[:, 2] - inset
    start, end = np.sort(start[start < end]), np.sort(end[start < end])
    return np.searchsorted(start, places) - np.searchsorted(end, places, side="right")


def dividing_rules(vertical: Floats, tokens: Tokens, height: float) -> Floats:
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


def tokens_to_columns(tokens: Tokens, separators: Floats) -> Ints:
    """``(T, 2)`` first column and column after the last that each token lies in.

    A token counts for a column when it covers more than a third of its own
    width or of the column's text there; at least its best column.
    """
    bounds = np.concatenate([[-np.inf], separators, [np.inf]])
    boxes, n_cols = tokens.boxes_xyxy, len(separators) + 1
    parts = np.array_split(boxes, -(-len(boxes) * n_cols // _AT_ONCE) or 1)
    found = [_best_columns(part, bounds) for part in parts]
    best, single = (np.concatenate(each) for each in zip(*found, strict=True))
    cores = np.array([[_core(boxes[single & (best == c)]) for c in range(n_cols)]]).reshape(-1, 2)
    spans = [_covered_columns(part, cores, own) for part, (own, _) in zip(parts, found, strict=True)]
    columns = np.concatenate(spans)
    columns[single] = np.column_stack([best, best + 1])[single]
    return columns


def _best_columns(boxes: Floats, bounds: Floats) -> tuple[Ints, Flags]:
    """``(T,)`` the column that shares most of each token, and whether it holds nearly all of it."""
    shared = np.minimum(boxes[:, None, 2], bounds[1:]) - np.maximum(boxes[:, None, 0], bounds[:-1])
    shared = np.clip(shared, 0, None)
    width = (boxes[:, 2] - boxes[:, 0])[:, None]
    return shared.argmax(axis=1), (shared > 0.9 * width).any(axis=1)


def _covered_columns(boxes: Floats, cores: Floats, best: Ints) -> Ints:
    """``(T, 2)`` first column and column after the last that each token covers, at least its best one."""
    core = np.clip(np.minimum(boxes[:, None, 2], cores[:, 1]) - np.maximum(boxes[:, None, 0], cores[:, 0]), 0, None)
    size = np.maximum(cores[:, 1] - cores[:, 0], 1e-9)
    covers = (core > 0.4 * size) | (np.arange(len(cores)) == best[:, None])
    last = covers.shape[1] - covers[:, ::-1].argmax(axis=1)
    return np.column_stack([covers.argmax(axis=1), last])


def _core(boxes: Floats) -> tuple[float, float]:
    """Middle extent of the tokens of a column."""
    if not len(boxes):
        return 0.0, 0.0
    return float(quantile(boxes[:, 0], 0.4)), float(quantile(boxes[:, 2], 0.6))


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
    for x0, y0, x1, _ in horizontal:
        if x1 - x0 > 0.9 * (boxes[:, 2].max() - boxes[:, 0].min()):
            continue
        gap = y0 - boxes[:, 3]
        over = (gap > -0.3 * height) & (gap < 0.9 * height) & (boxes[:, 0] > x0 - height) & (boxes[:, 2] < x1 + height)
        under = np.flatnonzero((centers > x0) & (centers < x1))
        if over.sum() == 1 and len(under) > 1:
            token = int(np.flatnonzero(over)[0])
            columns[token] = min(columns[token, 0], under[0]), max(columns[token, 1], under[-1] + 1)
    return columns
