from __future__ import annotations

import numpy as np
import pytest

from tablerec.errors import TableError
from tablerec.language.reader.grammar import MAX_COLUMNS, MAX_ROWS, Grammar, complete
from tablerec.language.reader.vocabulary import (
    BEGIN,
    BYTES,
    CELLS,
    CROSS,
    END,
    LEFT,
    N_TOKENS,
    ROW_END,
    UP,
    X_PLACES,
    Y_PLACES,
    describe,
    tokens_to_table,
)

CELL = CELLS[None]


def test_a_table_begins_with_a_cell() -> None:
    assert set(describe(np.flatnonzero(Grammar().allowed()))) == {"<cell>", "<column>", "<row>", "<section>"}


@pytest.mark.parametrize("places", [True, False])
def test_whatever_is_chosen_is_a_whole_table(places: bool) -> None:
    rng = np.random.default_rng(1)
    spans = 0
    for length in range(120):
        grammar, chosen = Grammar(places), []
        while not grammar.done and len(chosen) < length:
            allowed = np.flatnonzero(grammar.allowed())
            # Bytes and places are many: as often as all others together.
            few = allowed[allowed < BYTES]
            pool = few if len(few) and rng.random() < 0.6 else allowed
            chosen.append(int(rng.choice(pool)))
            grammar.take(chosen[-1])
        whole = complete(chosen, places)
        table = tokens_to_table(whole).table
        assert table.shape[0] >= 1 and whole[-1] == END
        spans += sum(cell.rowspan * cell.colspan > 1 for cell in table.cells)
        assert all("\ufffd" not in cell.text for cell in table.cells)
        for cell in table.cells:
            cell.text.encode("utf-8")
    assert spans > 20


def test_a_cell_is_a_rectangle() -> None:
    grammar = Grammar()
    for token in (CELL, LEFT, CELL, ROW_END, UP):
        grammar.take(token)
    assert np.flatnonzero(grammar.allowed()).tolist() == [CROSS]
    grammar.take(CROSS)
    assert grammar.allowed()[UP] and not grammar.allowed()[LEFT] and not grammar.allowed()[ROW_END]


def test_rows_are_as_long_as_the_first() -> None:
    grammar = Grammar()
    for token in (CELL, CELL, ROW_END, CELL):
        grammar.take(token)
    with pytest.raises(TableError, match="<row end> may not follow in row 1, slot 1"):
        grammar.take(ROW_END)
    grammar.take(CELL)
    assert not grammar.allowed()[CELL] and grammar.allowed()[ROW_END]


def test_a_text_is_utf_8_behind_its_place() -> None:
    grammar = Grammar()
    grammar.take(CELL)
    assert not grammar.allowed()[BYTES + 65] and grammar.allowed()[X_PLACES + 5]
    for token in (X_PLACES + 5, Y_PLACES + 1):
        grammar.take(token)
        assert not grammar.between
    assert not grammar.allowed()[[BYTES + 0x80, BYTES + 0xC0, BYTES + 0xFF, BYTES, ROW_END]].any()
    grammar.take(BYTES + 0xE0)
    assert np.flatnonzero(grammar.allowed()).tolist() == [BYTES + byte for byte in range(0xA0, 0xC0)]
    grammar.take(BYTES + 0xA0)
    grammar.take(BYTES + 0x80)
    assert grammar.between and grammar.allowed()[ROW_END] and grammar.allowed()[BYTES + 65]


def test_tables_have_an_end() -> None:
    grammar = Grammar()
    for _ in range(MAX_COLUMNS):
        grammar.take(CELL)
    allowed = grammar.allowed()
    assert allowed[ROW_END] and not allowed[CELL]
    tall = Grammar()
    for _ in range(MAX_ROWS):
        tall.take(CELL)
        tall.take(ROW_END)
    assert np.flatnonzero(tall.allowed()).tolist() == [END]
    tall.take(END)
    assert tall.done and tall.allowed().sum() == 1 and len(tall.allowed()) == N_TOKENS


def test_a_whole_table_is_complete() -> None:
    assert complete([BEGIN, CELL, ROW_END, END]) == [CELL, ROW_END, END]
