"""Two rows of two cells, 60 by 20 pixels each; text is 10 pixels high."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from postprocess.candidates.contents import Contents
from postprocess.geometry.boxes import boxes_to_quads
from postprocess.word import Word
from tests.helpers.candidates import candidate_of, make_scene, slots

CELLS = slots([0, 60, 120], [0, 20, 40])


def contents(words: Sequence[Word] = (), *rules: Sequence[float]) -> Contents:
    scene = make_scene([Word("x", ((2, 2), (8, 2), (8, 9), (2, 9))), *words], *rules)
    return candidate_of(CELLS).in_scene(scene).contents


def word(box: Sequence[float], text: str = "Scenario") -> Word:
    [quad] = boxes_to_quads([box]).tolist()
    return Word(text, quad)


def test_nothing_crosses_and_nothing_is_ruled() -> None:
    plain = contents()
    assert not plain.crossed_rows(boxes_to_quads(CELLS))
    assert not plain.crossed_columns()
    assert not plain.across.any()
    assert not plain.down.any()


def test_a_ruling_counts_for_the_columns_along_which_it_runs() -> None:
    assert contents([], [0, 19, 60, 21]).across[1].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("y", [13.0, 16.0, 27.0])
def test_strokes_and_underlines_of_a_word_are_no_rulings(y: float) -> None:
    assert not (contents([word([65, 14, 110, 24])], [66, y, 108, y + 1]).across[1] > 0).any()


def test_a_text_hides_whether_its_border_is_ruled() -> None:
    across = contents([word([62, 14, 118, 26])], [0, 19, 120, 21]).across
    assert across[1, 0] == 1
    assert np.isnan(across[1, 1])


def test_words_across_borders_are_found() -> None:
    found = contents([word([70, 15, 110, 25]), word([30, 24, 90, 34])])
    assert found.crossed_rows(boxes_to_quads(CELLS)) == [(1, 1, 2)]
    assert found.crossed_columns() == [(2, 1)]
    assert found.columns(2) == (0, 2)


def test_texts_have_an_extent_and_fill_slots() -> None:
    found = contents([word([70, 25, 110, 35])])
    assert found.filled.tolist() == [[True, False], [False, True]]
    assert found.extent(np.array([0, 3])).tolist() == [2, 2, 110, 35]
    assert np.isnan(found.extent(np.array([1, 2]))).all()


def test_tokens_outside_the_grid_are_in_no_row_and_in_no_column() -> None:
    outside = make_scene([word([5, 5, 45, 15]), word([130, 25, 170, 35]), word([70, 45, 110, 55])])
    found = Contents(candidate_of(CELLS).layout, outside)
    assert found.token_rows.tolist() == [0, 1, -1]
    assert found.token_columns.tolist() == [0, -1, 1]
