"""Living text: words go to other cells where the grid is corrected, and what a person typed stays.

``deal`` comes after each step that moves cells. Only cells whose place has changed are dealt words anew, by
``postprocess.text.assignment``, and only the words of such cells and those in no cell are dealt; so nothing changes far
from the step. A typed text stays whole and keeps the words in whose place it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np
import shapely

from postprocess.arrays import Flags, Floats, Ints
from postprocess.cell import Cell, WordPart
from postprocess.editing.axes import check
from postprocess.editing.state import State, unite, with_words
from postprocess.editing.steps import typed
from postprocess.editing.texts import indices_in
from postprocess.geometry.boxes import cells_to_quads, quads_to_polygons
from postprocess.table import Table, alter
from postprocess.text.assignment import Placement, fill_cells, place_words, words_to_cells
from postprocess.text.lines import words_to_text
from postprocess.text.lookalikes import STROKES, settle_strokes
from postprocess.text.strays import LOOSE
from postprocess.word import Word, Words

_APART = 0.45
"""White between two pieces of a word, in heights of it, from which they may belong to two cells."""


def deal(before: State, table: Table, removed: Collection[tuple[int, int]] = ()) -> State:
    """Give the cells that a step has moved, made or joined their texts by the words.

    Args:
        before: The state before the step.
        table: What the step made of its table.
        removed: First row and column of cells of the table before whose words belong to no other cell now.

    >>> from postprocess.editing.placing import complete
    >>> from postprocess.editing.steps import divide
    >>> name = Word("Los Angeles", ((2, 5), (50, 5), (50, 15), (2, 15)))
    >>> number = Word("7", ((60, 5), (70, 5), (70, 15), (60, 15)))
    >>> table = complete(Table([Cell(0, 0, text="Los Angeles 7", words=((0, 0, 11), (1, 0, 1)))]), (80, 20))
    >>> deal(State(table, (name, number)), divide(table, "col", 0, 0.7)).table.to_grid()
    [['Los Angeles', '7']]
    """
    if not before.words:
        return replace(before, table=table)
    now, then = (_new_in(*pair) for pair in ((table.cells, before.table.cells), (before.table.cells, table.cells)))
    if not any(now):
        return replace(before, table=table)
    changed, vanished = np.array(now), [cell for cell, it in zip(before.table.cells, then, strict=True) if it]
    cells = _settle_typed(before, vanished, list(table.cells), changed)
    held = {
        part
        for cell, is_changed in zip(cells, changed.tolist(), strict=True)
        if is_changed and cell.typed
        for part in cell.words
    }
    free = [part for cell in vanished if (cell.row, cell.col) not in removed for part in cell.words if part not in held]
    known = {cell.words: cell for cell in vanished if cell.words and not cell.typed}
    united = unite(free, before.words)
    dealt = [cell for cell, is_changed in zip(cells, changed.tolist(), strict=True) if is_changed]
    parts = [piece for part in _at_new_borders(before, united, vanished, dealt) for piece in _apart(before, part)]
    return _fill(before, alter(table, cells=tuple(cells)), changed, parts, before.outside, known)


def _new_in(cells: Sequence[Cell], others: Sequence[Cell]) -> list[bool]:
    """For each cell whether no other one has its place in the picture: mostly the very same one has."""
    places = {id(cell.quad) for cell in others}
    new = [id(cell.quad) not in places for cell in cells]
    if any(new):
        quads = {cell.quad for cell in others}
        new = [is_new and cell.quad not in quads for cell, is_new in zip(cells, new, strict=True)]
    return new


def _at_new_borders(
    state: State, parts: Sequence[WordPart], vanished: Sequence[Cell], cells: Sequence[Cell]
) -> list[WordPart]:
    """Cut words at blanks through which a border runs now, and none ran before: a person has drawn it there."""
    blanks = [
        (at, blank.start() + first, blank.end() + first)
        for at, (index, first, end) in enumerate(parts)
        if state.words[index].char_spans is not None
        for blank in re.finditer(r"\s+", state.words[index].text[first:end])
        if blank.start() and blank.end() + first < end
    ]
    if not blanks:
        return list(parts)
    sides = np.array([_beside(state.words[parts[at][0]], start, after) for at, start, after in blanks])
    old, new = (_owners(sides.reshape(-1, 2), each).reshape(-1, 2) for each in (vanished, cells))
    is_cut = (old[:, 0] == old[:, 1]) & (new[:, 0] != new[:, 1]) & (new >= 0).all(axis=1)
    cut: list[WordPart] = []
    begun = {at: first for at, (_, first, _) in enumerate(parts)}
    for (at, start, after), is_here in zip(blanks, is_cut.tolist(), strict=True):
        if is_here:
            cut.append((parts[at][0], begun[at], start))
            begun[at] = after
    return sorted([*cut, *((index, begun[at], end) for at, (index, _, end) in enumerate(parts))])


def _beside(word: Word, start: int, after: int) -> list[list[float]]:
    """The middles of the characters before and after a blank: where they end is not known to the pixel."""
    assert word.char_spans is not None
    quad = np.array(word.quad)
    left, right = (quad[0] + quad[3]) / 2, (quad[1] + quad[2]) / 2
    shares = [sum(word.char_spans[at]) / 2 for at in (start - 1, after)]
    return [(left + share * (right - left)).tolist() for share in shares]


def _owners(points: Floats, cells: Sequence[Cell]) -> Ints:
    """``(N,)`` in which cell each point lies; -1 in none."""
    owner = np.full(len(points), -1)
    tree = shapely.STRtree(quads_to_polygons(cells_to_quads(cells)))
    at, cell = tree.query(shapely.points(points), predicate="intersects")
    owner[at] = cell
    return owner


def _apart(state: State, part: WordPart) -> list[WordPart]:
    """Pieces of a word with much white between them: a sign far before a number may be of another column."""
    index, first, end = part
    word = state.words[index]
    if word.char_spans is None:
        return [part]
    left, right, below = (np.array(word.quad[corner]) for corner in (0, 1, 3))
    widest = _APART * float(np.linalg.norm(below - left)) / max(float(np.linalg.norm(right - left)), 1e-9)
    pieces = []
    for blank in re.finditer(r"\s+", word.text[first:end]):
        start, after = first + blank.start(), first + blank.end()
        if part[1] < start and after < end and word.char_spans[after][0] - word.char_spans[start - 1][1] > widest:
            pieces.append((index, part[1], start))
            part = index, after, end
    return [*pieces, part]


def _settle_typed(before: State, vanished: Sequence[Cell], cells: list[Cell], changed: Flags) -> list[Cell]:
    """Of the parts into which a cell with a typed text was divided, that with most of its words has it whole."""
    parts: dict[tuple[WordPart, ...], list[int]] = {}
    for index in np.flatnonzero(changed).tolist():
        if cells[index].typed and cells[index].words:
            parts.setdefault(cells[index].words, []).append(index)
        elif not cells[index].typed or not cells[index].text:
            cells[index] = replace(cells[index], typed=False, words=())
    texts = {cell.words: cell.text for cell in vanished if cell.typed}
    for held, several in parts.items():
        if len(several) == 1:
            continue
        homes, _ = words_to_cells([before.part(part) for part in held], [cells[index].quad for index in several])
        most = max(range(len(several)), key=lambda at: sum(len(word.text) for word in homes[at]))
        for at, index in enumerate(several):
            cell = cells[index]
            cells[index] = (
                replace(cell, text=texts.get(held, cell.text))
                if at == most
                else replace(cell, text="", typed=False, words=())
            )
    return cells


def _fill(
    state: State,
    table: Table,
    changed: Flags,
    free: Sequence[WordPart],
    outside: Sequence[WordPart],
    known: dict[tuple[WordPart, ...], Cell],
) -> State:
    """Deal words to the cells that have changed.

    Args:
        state: Whose words they are.
        table: Its changed cells have no words, unless they are typed.
        changed: ``(N,)`` for each cell.
        free: Words that those cells had.
        outside: Words that were in no cell: they are dealt only where they lie in one.
        known: Cells by their words: one with the same words as before has its text as before.
    """
    placement = place_words([table], [state.part(part) for part in (*free, *outside)], changed)
    pieces, owner, origin = placement.pieces
    strays = (origin >= len(free)) & (placement.homes[origin] == LOOSE)
    number = np.where(changed, np.cumsum(changed) - 1, -1)  # among those that have changed
    owner = np.where(strays | (owner < 0), -1, number[np.maximum(owner, 0)])
    indices, cells = np.flatnonzero(changed).tolist(), list(table.cells)
    dealt: list[list[WordPart]] = [[] for _ in indices]
    for at, part in zip(owner.tolist(), to_parts(placement, (*free, *outside), state.words), strict=True):
        if at >= 0 and part is not None:
            dealt[at].append(part)
    read = fill_cells([cells[index] for index in indices], pieces, owner)
    for index, parts, filled in zip(indices, dealt, read, strict=True):
        cell, own = cells[index], tuple(unite(parts, state.words))
        if cell.typed:
            cells[index] = _append(cell, own, filled.text) if own else cell
        else:
            cells[index] = _with_text(replace(cell, words=own), known.get(own) or filled)
    return replace(state, table=_settle(alter(table, cells=tuple(cells)), changed))


def to_parts(placement: Placement, given: Sequence[WordPart], words: Sequence[Word]) -> list[WordPart | None]:
    """Which part of a word each piece of a placement is; None for a word that is in no cell as a whole.

    Args:
        placement: Of ``given``.
        given: Words, or parts of them.
        words: All words.
    """
    pieces, owner, origin = placement.pieces
    parts: list[WordPart | None] = [
        part if at >= 0 else None for part, at in zip(given, owner[: len(given)].tolist(), strict=True)
    ]
    ends = [start for _, start, _ in given]
    for piece, source in zip(pieces[len(given) :].texts, origin[len(given) :].tolist(), strict=True):
        index, _, end = given[source]
        start = words[index].text.index(piece, ends[source], end)
        ends[source] = start + len(piece)
        parts.append((index, start, ends[source]))
    return parts


def _append(cell: Cell, parts: Sequence[WordPart], text: str) -> Cell:
    """A cell into which further words have come."""
    joined = " ".join(filter(None, [cell.text, text]))
    return replace(cell, text=joined, words=(*cell.words, *parts), confirmed=False)


def _with_text(cell: Cell, source: Cell) -> Cell:
    """The cell with the text of another, and what is known of that."""
    if (cell.text, cell.ocr_score, cell.doubt) == (source.text, source.ocr_score, source.doubt):
        return cell
    is_same = cell.text == source.text
    return replace(
        cell,
        text=source.text,
        ocr_score=source.ocr_score,
        doubt=source.doubt,
        confidence=cell.confidence if is_same else None,
        confirmed=cell.confirmed and is_same,
    )


def _settle(table: Table, changed: Flags) -> Table:
    if not any(table.cells[index].text in STROKES for index in np.flatnonzero(changed).tolist()):
        return table
    settled = settle_strokes(table).cells
    cells = [
        replace(cell, text=other.text) if it and not cell.typed else cell
        for cell, other, it in zip(table.cells, settled, changed.tolist(), strict=True)
    ]
    return alter(table, cells=tuple(cells))


def reset_texts(state: State, row: int, col: int, end_row: int, end_col: int) -> State:
    """Take back what was typed in a block: its cells get the texts of their words.

    Raises:
        TableError: The block is not in the table, or its words are not known.
    """
    chosen = sorted(indices_in(state.table, row, col, end_row, end_col))
    check(bool(state.words), "the words of this table are not known: read the cell again", "no_words")
    return _deal_block(state, chosen, [part for index in chosen for part in state.table.cells[index].words])


def set_words(state: State, row: int, col: int, end_row: int, end_col: int, words: Iterable[Word]) -> State:
    """Put words that were read anew in the place of those in a block; what was typed there goes.

    Args:
        state: Any.
        row: First row.
        col: First column.
        end_row: First row below.
        end_col: First column after it.
        words: In pixels of the picture. In a block of one cell they are all its own.

    Raises:
        TableError: The block is not in the table.
    """
    state = state if state.words else with_words(state.table, ())
    chosen = sorted(indices_in(state.table, row, col, end_row, end_col))
    gone = {part[0] for index in chosen for part in state.table.cells[index].words}
    gone |= {part[0] for part in _outside_in(state, chosen)}
    first = len(state.words)
    added = tuple(words)
    parts = [(first + number, 0, len(word.text)) for number, word in enumerate(added)]
    read = State(state.table, (*state.words, *added), state.replaced | gone)
    if len(chosen) == 1:
        cell = replace(state.table.cells[chosen[0]], typed=False, words=tuple(parts))
        [filled] = fill_cells([cell], Words(added), np.zeros(len(added), np.int64))
        return replace(read, table=_replace_cells(state.table, {chosen[0]: _with_text(cell, filled)}))
    return _deal_block(read, chosen, parts)


def set_readings(state: State, readings: Iterable[tuple[int, int, Sequence[Word] | str]]) -> State:
    """Put what a person has chosen in the place of the texts of some cells, which are confirmed by that.

    Args:
        state: Any.
        readings: Row and column of each cell, and its words, in pixels of the picture; none empty it. A text in their
            place is one that was typed.

    Raises:
        TableError: There is no such cell.
    """
    for row, col, words in readings:
        [index] = indices_in(state.table, row, col, row + 1, col + 1)
        cell = state.table.cells[index]
        if isinstance(words, str):
            chosen = typed(cell, words)
        else:
            state = set_words(state, cell.row, cell.col, cell.end_row, cell.end_col, words)
            chosen = replace(state.table.cells[index], confirmed=True)
        state = replace(state, table=_replace_cells(state.table, {index: chosen}))
    return state


def place_word(state: State, word: int, row: int, col: int) -> State:
    """Put a word that is in no cell into one, which counts as typed then.

    Args:
        state: Any.
        word: Its index.
        row: Of the cell.
        col: Of the cell.

    Raises:
        TableError: There is no such cell, or the word is in one.
    """
    parts = [part for part in state.outside if part[0] == word]
    check(bool(parts), "this word is in a cell, or there is none of that number", "word_is_placed")
    [index] = indices_in(state.table, row, col, row + 1, col + 1)
    cell, own = state.table.cells[index], [state.part(part) for part in parts]
    there = [state.part(part) for part in cell.words]
    if not cell.typed and words_to_text(there) == cell.text:
        text, held = words_to_text([*there, *own]), (*cell.words, *parts)
        cell = replace(cell, text=text, words=held, confirmed=False)
    else:
        cell = _append(cell, parts, words_to_text(own))
    cell = replace(cell, typed=True, ocr_score=None, confidence=None)
    return replace(state, table=_replace_cells(state.table, {index: cell}))


def _deal_block(state: State, chosen: Sequence[int], parts: Sequence[WordPart]) -> State:
    """Deal words to some cells, whose texts and words go; those that lie in other cells now go there."""
    cells = state.table.cells
    _, owner, _ = place_words([state.table], [state.part(part) for part in parts]).pieces
    others = [index for index in {*owner[owner >= 0].tolist()} - {*chosen} if not cells[index].typed]
    changed = np.zeros(len(cells), bool)
    changed[[*chosen, *others]] = True
    bare = {index: replace(cells[index], typed=False, words=()) for index in (*chosen, *others)}
    free = unite([*parts, *(part for index in others for part in cells[index].words)], state.words)
    known = {cells[index].words: cells[index] for index in others}
    return _fill(state, _replace_cells(state.table, bare), changed, free, (), known)


def _outside_in(state: State, chosen: Sequence[int]) -> list[WordPart]:
    """Words in no cell whose middle is in one of these."""
    areas = quads_to_polygons(cells_to_quads(state.table.cells[index] for index in chosen))
    middles = Words(state.part(part) for part in state.outside).middles
    inside = shapely.intersects_xy(areas[:, None], middles[:, 0], middles[:, 1]).any(axis=0)
    return [part for part, is_inside in zip(state.outside, inside.tolist(), strict=True) if is_inside]


def _replace_cells(table: Table, changed: dict[int, Cell]) -> Table:
    return alter(table, cells=tuple(changed.get(index, cell) for index, cell in enumerate(table.cells)))
