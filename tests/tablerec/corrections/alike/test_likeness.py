"""How much two tables look alike."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.editing import steps as editing
from postprocess.editing.placing import complete
from postprocess.table import Table
from tablerec.corrections.alike.likeness import ALIKE, likeness, to_shape
from tests.helpers.review import make_table

HEADS = ["Name", "Price", "Total"]


def priced(*rows: list[str], box: tuple[float, float, float, float] = (0, 0, 300, 100)) -> Table:
    x0, y0, x1, y1 = box
    plain = replace(Table.from_texts([HEADS, *rows]), quad=((x0, y0), (x1, y0), (x1, y1), (x0, y1)))
    return complete(plain, (1000, 1000))


def test_a_single_cell_is_like_itself() -> None:
    shape = to_shape(complete(Table.from_texts([["a"]]), (9, 9)))
    assert likeness(shape, shape) == 1


@given(
    scale=st.floats(0.5, 3),
    x=st.floats(0, 300),
    y=st.floats(0, 300),
    n_rows=st.integers(1, 9),
    n_others=st.integers(1, 9),
)
def test_place_size_and_number_of_rows_make_no_difference(
    scale: float, x: float, y: float, n_rows: int, n_others: int
) -> None:
    one = priced(*[["a", "1", "2"]] * n_rows)
    other = priced(*[["b", "3", "4"]] * n_others, box=(x, y, x + 300 * scale, y + 100 * scale))
    assert likeness(to_shape(one), to_shape(other)) == pytest.approx(1, abs=1e-3)


def test_years_and_misread_letters_make_little_difference() -> None:
    one = priced(["a", "1", "2"])
    other = editing.set_text(one, 0, 0, "Narne")
    assert ALIKE < likeness(to_shape(one), to_shape(editing.set_text(one, 0, 1, "Pr1ce"))) < 1
    assert likeness(to_shape(one), to_shape(other)) > ALIKE
    years = [editing.set_text(one, 0, 2, f"FY {year}") for year in (2024, 2025)]
    assert likeness(*map(to_shape, years)) == 1


def test_other_columns_or_other_heads_are_not_alike() -> None:
    one = priced(["a", "1", "2"])
    assert likeness(to_shape(one), to_shape(make_table(2, 4))) == 0
    moved = editing.move_line(editing.move_line(one, "col", 1, 60.0), "col", 2, 70.0)
    other = editing.set_texts(moved, 0, 0, [["Date", "Place", "Weather"]])
    assert likeness(to_shape(one), to_shape(other)) < ALIKE


def test_likeness_is_the_same_both_ways() -> None:
    one, other = to_shape(priced(["a", "1", "2"])), to_shape(editing.move_line(priced(["a", "1", "2"]), "col", 1, 20.0))
    assert likeness(one, other) == likeness(other, one) < 1
