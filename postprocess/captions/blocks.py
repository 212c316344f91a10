"""Text above and below a table: words in lines, lines in blocks, from the table outwards.

All boxes are in the level frame of the table, in which its text runs from left to right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from postprocess.arrays import Floats, Ints
from postprocess.geometry.boxes import as_boxes, outer_box
from postprocess.text.lines import SAME_LINE, number_lines

WIDE = 2.0
"""A gap of so many heights inside a line parts two pieces of text."""
LEADING = 0.9
"""Lines of one block lie closer than so many of their heights."""
SAME_SIZE = 1.4
"""Lines of one block are at most so many times as high as one another."""
OVER = 0.5
"""Text is above or below a table, or a line, where so much of the narrower one's width is."""
REACH = 4.0
"""Text further away than so many of its heights, from the table or from the last block, does not belong to it."""
MOST_BLOCKS = 4
"""Blocks on each side that are considered."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of text that stand together.

    Args:
        lines: Indices of the words of each line, from left to right.
        box_xyxy: ``(4,)`` hull.
        height: Median height of its lines.
        is_above: Whether it stands above the table, else below.
        gap: Distance to the table, 0 or more.
        before: Distance to the block between it and the table, or to the table.
        behind: Distance to the text on its other side, infinite where there is none.
        is_alone: Whether no other text over the width of the table is level with one of its lines.
    """

    lines: tuple[tuple[int, ...], ...]
    box_xyxy: Floats
    height: float
    is_above: bool
    gap: float
    before: float
    behind: float
    is_alone: bool

    @property
    def words(self) -> tuple[int, ...]:
        """Indices of all its words, in reading order."""
        return tuple(word for line in self.lines for word in line)


def blocks_beside(
    table_xyxy: Floats, others_xyxy: Floats, words_xyxy: Floats, begins: Callable[[Sequence[int], Sequence[int]], bool]
) -> list[Block]:
    """Blocks of text above and below a table, on each side from the table outwards.

    Args:
        table_xyxy: ``(4,)`` the table.
        others_xyxy: ``(T, 4)`` other tables: what lies behind one of them is skipped.
        words_xyxy: ``(W, 4)`` words outside all tables.
        begins: Whether a line, the second one, begins a block although it is close to the line above it; lines are
            given by the indices of their words.

    >>> words = as_boxes([[0, -20, 40, -10], [45, -20, 90, -10], [0, 55, 30, 65], [0, 300, 30, 310]])
    >>> found = blocks_beside(np.array([0.0, 0.0, 100.0, 50.0]), as_boxes([]), words, lambda above, line: False)
    >>> [(block.lines, block.is_above, block.gap) for block in found]
    [(((0, 1),), True, 10.0), (((2,),), False, 5.0)]
    """
    return [
        block
        for is_above in (True, False)
        for block in _blocks_on_side(table_xyxy, others_xyxy, words_xyxy, begins, is_above)
    ]


def _blocks_on_side(
    table: Floats, others: Floats, words: Floats, begins: Callable[[Sequence[int], Sequence[int]], bool], is_above: bool
) -> list[Block]:
    distance = _distances(table, words, is_above).mean(axis=1)
    behind_it = _distances(table, others, is_above)[_over(others, table) > 0]
    end = float(behind_it[behind_it.mean(axis=1) > 0, 0].min(initial=np.inf))
    chosen = np.flatnonzero((distance > 0) & (distance < end))
    pieces = [(piece := chosen[each], outer_box(words[piece])) for each in pieces_of_text(words[chosen])]
    near_by = [(piece.tolist(), hull) for piece, hull in pieces if _over(hull[None], table)[0] >= OVER]
    blocks = _join(near_by, begins)
    levels = as_boxes([hull for _, hull in near_by])
    hulls = as_boxes([hull for _, hull, _ in blocks])
    near, far = _distances(table, hulls, is_above).clip(0).T
    found: list[Block] = []
    edge = 0.0
    for index in np.argsort(near, kind="stable")[:MOST_BLOCKS].tolist():
        lines, hull, height = blocks[index]
        before = max(float(near[index]) - edge, 0.0)
        if before > REACH * height:
            break
        behind = float(np.append(near[near > near[index]], end).min()) - float(far[index])
        # Its own lines are level with themselves.
        is_alone = sum(_n_level(levels, outer_box(words[list(line)])) for line in lines) == len(lines)
        found.append(Block(lines, hull, height, is_above, float(near[index]), before, max(behind, 0.0), is_alone))
        edge = max(edge, float(far[index]))
    return found


def _distances(table: Floats, boxes: Floats, is_above: bool) -> Floats:
    """``(N, 2)`` of the nearer and the farther edge of boxes from the table's upper or lower edge, outwards."""
    return np.asarray(table[1] - boxes[:, [3, 1]] if is_above else boxes[:, [1, 3]] - table[3])


def pieces_of_text(boxes_xyxy: Floats) -> list[Ints]:
    """Indices of the words of each piece of a line, from top to bottom; wide gaps part the pieces.

    >>> [piece.tolist() for piece in pieces_of_text(as_boxes([[60, 1, 90, 11], [0, 0, 30, 10], [35, 0, 39, 9]]))]
    [[1, 2], [0]]
    """
    line = number_lines(boxes_xyxy)
    order = np.argsort(line, kind="stable")
    lines = np.split(order, np.flatnonzero(np.diff(line[order])) + 1)
    return [piece for each in lines if len(each) for piece in _cut_at_gaps(each, boxes_xyxy)]


def _cut_at_gaps(line: Ints, boxes: Floats) -> list[Ints]:
    line = line[np.argsort(boxes[line, 0], kind="stable")]
    reached = np.maximum.accumulate(boxes[line, 2])
    gaps = boxes[line[1:], 0] - reached[:-1]
    height = float(np.median(boxes[line, 3] - boxes[line, 1]))
    return list(np.split(line, np.flatnonzero(gaps > WIDE * height) + 1))


def _join(
    pieces: Sequence[tuple[list[int], Floats]], begins: Callable[[Sequence[int], Sequence[int]], bool]
) -> list[tuple[tuple[tuple[int, ...], ...], Floats, float]]:
    """Blocks of pieces that follow one another, given from top to bottom: their lines, hull and height."""
    blocks: list[list[tuple[list[int], Floats]]] = []
    for words, hull in pieces:
        fitting = [block for block in blocks if _goes_on(block[-1][1], hull)]
        if fitting and not begins(fitting[-1][-1][0], words):
            fitting[-1].append((words, hull))
        else:
            blocks.append([(words, hull)])
    joined = []
    for block in blocks:
        hulls = as_boxes([hull for _, hull in block])
        height = float(np.median(hulls[:, 3] - hulls[:, 1]))
        joined.append((tuple(tuple(words) for words, _ in block), outer_box(hulls), height))
    return joined


def _goes_on(line: Floats, following: Floats) -> bool:
    low, high = sorted((float(line[3] - line[1]), float(following[3] - following[1])))
    is_near = -0.5 * low < float(following[1] - line[3]) < LEADING * low
    return is_near and high <= SAME_SIZE * low and bool(_over(line[None], following)[0] >= OVER)


def _n_level(boxes: Floats, box: Floats) -> int:
    """Number of boxes that share the line of a box."""
    shared = np.minimum(boxes[:, 3], box[3]) - np.maximum(boxes[:, 1], box[1])
    least = np.minimum(boxes[:, 3] - boxes[:, 1], box[3] - box[1])
    return int((shared >= SAME_LINE * least).sum())


def _over(boxes: Floats, box: Floats) -> Floats:
    """``(N,)`` how much of the narrower width boxes share with a box."""
    shared = np.minimum(boxes[:, 2], box[2]) - np.maximum(boxes[:, 0], box[0])
    least = np.minimum(boxes[:, 2] - boxes[:, 0], box[2] - box[0])
    return np.asarray(shared / np.maximum(least, 1e-9))
