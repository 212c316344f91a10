from __future__ import annotations

import numpy as np
import pytest

from postprocess.cell import Cell
from postprocess.table import Table
from tablerec.errors import TableError
from tablerec.language.reader.grammar import Grammar
from tablerec.language.reader.vocabulary import (
    BEGIN,
    BYTES,
    CELLS,
    END,
    N_TOKENS,
    PLACES,
    ROW_END,
    UP,
    X_PLACES,
    describe,
    table_to_tokens,
    tokens_to_table,
)

TEXTS = ("", "7", "Σ 1,5 %", "两行\n文字", "naïve 😀", "<cell>")


def random_table(rng: np.random.Generator) -> Table:
    """A grid with random rectangles merged."""
    n_rows, n_cols = rng.integers(1, 7, 2).tolist()
    free = np.ones((n_rows, n_cols), bool)
    cells = []
    for row in range(n_rows):
        for col in range(n_cols):
            if not free[row, col]:
                continue
            width = 1
            while col + width < n_cols and free[row, col + width] and rng.random() < 0.3:
                width += 1
            height = 1
            while row + height < n_rows and free[row + height, col : col + width].all() and rng.random() < 0.3:
                height += 1
            free[row : row + height, col : col + width] = False
            header = (None, "column", "row", "section")[rng.integers(4)]
            text = TEXTS[rng.integers(len(TEXTS))]
            cells.append(Cell(row, col, rowspan=height, colspan=width, header=header, text=text))
    return Table(cells)


def test_a_table_without_cells_is_refused() -> None:
    with pytest.raises(TableError, match="without cells"):
        table_to_tokens(Table([]))


@pytest.mark.parametrize("places", [True, False])
def test_what_is_written_is_read_back_and_follows_the_grammar(places: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        table = random_table(rng)
        starts = [tuple(pair) for pair in rng.integers(0, PLACES, (len(table.cells), 2)).tolist()]
        tokens = table_to_tokens(table, starts if places else None)
        assert tokens.min() >= 0 and tokens.max() < N_TOKENS and len(describe(tokens)) == len(tokens)
        written = tokens_to_table(tokens)
        assert written.table == table
        for cell, start, found in zip(table.cells, starts, written.places.tolist(), strict=True):
            assert found == (list(start) if places and cell.text else [-1, -1])
        grammar = Grammar(places)
        for token in tokens[1:]:
            grammar.take(int(token))
        assert grammar.done


def test_places_outside_are_moved_to_the_border() -> None:
    tokens = table_to_tokens(Table.from_texts([["a"]]), [(-3, 9999)])
    assert describe(tokens)[2:4] == ["<x 0>", f"<y {PLACES - 1}>"]


def test_blanks_around_a_text_are_not_written() -> None:
    assert tokens_to_table(table_to_tokens(Table.from_texts([[" a \n"]]))).table[0, 0].text == "a"


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([BYTES + 65], "before the first cell"),
        ([UP], "above, where there is none"),
        ([CELLS[None], ROW_END, CELLS[None], UP, ROW_END], "above, where there is none"),
    ],
)
def test_tokens_that_write_no_table_are_refused(tokens: list[int], message: str) -> None:
    with pytest.raises(TableError, match=message):
        tokens_to_table([BEGIN, *tokens, END])


def test_a_character_that_was_cut_is_left_out() -> None:
    tokens = [CELLS[None], X_PLACES, *(BYTES + byte for byte in "aé".encode()[:-1]), ROW_END, END]
    assert tokens_to_table(tokens).table[0, 0].text == "a"
