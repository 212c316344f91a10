"""Two rows of two cells, 60 by 20 pixels each; text is 10 pixels high."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from postprocess.candidates.borders import Borders
from postprocess.geometry.boxes import boxes_to_quads
from postprocess.word import Word
from tests.helpers.candidates import candidate_of, make_scene, slots


def borders(words: Sequence[Word] = (), *rules: Sequence[float]) -> Borders:
    cells = slots([0, 60, 120], [0, 20, 40])
    return Borders(
        candidate_of(cells).in_scene(make_scene([Word("x", ((2, 2), (8, 2), (8, 9), (2, 9))), *words], *rules))
    )


def word(box: Sequence[float], text: str = "Scenario") -> Word:
    [quad] = boxes_to_quads([box]).tolist()
    return Word(text, quad)


def test_nothing_crosses_and_nothing_is_ruled() -> None:
    plain = borders()
    assert not plain.crossed_rows()
    assert not plain.crossed_columns()
    assert not plain.across.any()
    assert not plain.down.any()


def test_a_ruling_counts_for_the_columns_along_which_it_runs() -> None:
    assert borders([], [0, 19, 60, 21]).across[1].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("y", [13.0, 16.0, 27.0])
def test_strokes_and_underlines_of_a_word_are_no_rulings(y: float) -> None:
    assert not (borders([word([65, 14, 110, 24])], [66, y, 108, y + 1]).across[1] > 0).any()


def test_a_text_hides_whether_its_border_is_ruled() -> None:
    across = borders([word([62, 14, 118, 26])], [0, 19, 120, 21]).across
    assert across[1, 0] == 1
    assert np.isnan(across[1, 1])


def test_words_across_borders_are_found() -> None:
    found = borders([word([70, 15, 110, 25]), word([30, 24, 90, 34])])
    assert found.crossed_rows() == [(1, 1, 2)]
    assert found.crossed_columns() == [(2, 1)]
    assert found.columns(2) == (0, 2)


def test_borders_of_the_same_layout_are_the_same() -> None:
    plain = borders()
    assert plain.with_layout(plain.layout) is plain
    assert plain.with_layout(plain.layout.joined(0, 0, 1, 2)).layout.owner.tolist() == [[0, 0], [1, 2]]
