"""Glyphs become words: made by hand, so that each test says what PDFium would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablerec.inputs.pdf.glyphs import GENERATED, GLYPH, LINE_END, SPACE, VISIBLE
from tablerec.inputs.pdf.words import HIDDEN, find_watermarks, glyphs_to_pieces

SIZE = 20.0


def glyph(char, start, *, baseline=100.0, size=SIZE, width=0.5, shown=1.0, number=0, font=0, direction=(1.0, 0.0)):
    end = start + width * size
    box = (start, baseline - 0.7 * size, end, baseline)
    return (ord(char), VISIBLE, font, number, *direction, size, start, end, baseline, shown, box)


def between(kind):
    return (ord(" "), kind, -1, -1, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, (0.0,) * 4)


def line(text, start=0.0, gap=0.0, **options):
    """Glyphs of a text one after another, each half as wide as its size, with blanks that the document has."""
    rows, x = [], start
    size = options.get("size", SIZE)
    for char in text:
        if char == " ":
            rows.append(between(SPACE))
        else:
            rows.append(glyph(char, x, **options))
        x += 0.5 * size + gap
    return rows


def pieces_of(*rows):
    return glyphs_to_pieces(np.array(list(rows), GLYPH))


def texts(*rows):
    return [piece.word.text for piece in pieces_of(*rows)]


def test_no_glyphs_are_no_words():
    assert pieces_of() == []
    assert pieces_of(between(SPACE), between(LINE_END)) == []


def test_blanks_stay_in_a_piece_and_wide_gaps_part_pieces():
    assert texts(*line("two words"), *line("next", 400)) == ["two words", "next"]
    assert texts(*line("one"), between(LINE_END), *line("two", 30)) == ["one", "two"]


def test_letters_set_apart_are_one_word_and_columns_of_digits_are_not():
    apart = [
        row for char, x in zip("Total", range(0, 200, 18), strict=False) for row in (glyph(char, x), between(GENERATED))
    ]
    assert texts(*apart) == ["Total"]
    columns = [
        row for char, x in zip("12345", range(0, 200, 18), strict=False) for row in (glyph(char, x), between(GENERATED))
    ]
    assert texts(*columns) == ["1 2 3 4 5"]


@pytest.mark.parametrize(
    ("rise", "size", "read"),
    [(8, 12, "24.91²"), (8, 20, "24.91²"), (-4, 12, "24.91₂"), (0, 20, "24.912"), (1, 18, "24.912")],
)
def test_signs_are_raised_or_lowered_by_size_and_baseline(rise, size, read):
    number = line("24.91")
    assert texts(*number, glyph("2", 50, baseline=100 - rise, size=size)) == [read]


def test_a_sign_that_pdfium_takes_for_a_line_of_its_own_joins_its_number():
    rows = [*line("24.91"), between(LINE_END), glyph("2", 50, baseline=90, size=11), between(LINE_END), *line("5", 300)]
    assert texts(*rows) == ["24.91²", "5"]


def test_what_follows_a_lowered_sign_goes_on():
    rows = [glyph("H", 0), between(LINE_END), glyph("2", 10, baseline=104, size=12), between(GENERATED), glyph("O", 16)]
    assert texts(*rows) == ["H₂O"]


@pytest.mark.parametrize("order", ["seen", "read"])
def test_text_from_right_to_left_is_read_so_in_whatever_order_it_comes(order):
    seen = line("5% הניבג")
    rows = seen if order == "seen" else seen[::-1]
    assert texts(*rows) == ["גבינה 5%"]


def test_brackets_in_text_from_right_to_left_open_before_they_close():
    assert texts(*line("(2023) הלבוה")) == ["הובלה (2023)"]


def test_lam_and_alef_share_a_glyph_in_either_order():
    for pair in ("لا", "ال"):
        rows = [glyph("ك", 0), *(glyph(char, 10) for char in pair), glyph("ه", 20), glyph("إ", 30)]
        assert texts(*rows) == ["إهلاك"]


def test_wide_characters_below_one_another_run_downwards():
    rows = [glyph(char, 0, baseline=100 + 20 * k, width=1) for k, char in enumerate("货物名称")]
    [piece] = pieces_of(*rows)
    assert piece.word.text == "货物名称"
    top_left, top_right, *_ = piece.word.quad
    assert top_right[1] - top_left[1] == pytest.approx(80) and top_right[0] == pytest.approx(top_left[0])


def test_wide_characters_in_rows_of_a_table_do_not():
    rows = [glyph(char, 0, baseline=100 + 30 * k, width=1) for k, char in enumerate("是否是")]
    assert texts(*rows) == ["是", "否", "是"]


def test_what_is_hidden_is_a_piece_of_its_own_and_the_rest_says_so():
    rows = [*line("Freight"), *line("4411", 70, shown=0.0)]
    shown, hidden = pieces_of(*rows)
    assert (shown.word.text, shown.is_shown) == ("Freight", True)
    assert (hidden.word.text, hidden.is_shown) == ("4411", False)
    assert "4411" in shown.word.doubt


def test_a_dark_spot_hides_no_word():
    rows = line("shadow")
    rows[2] = glyph("a", 20, shown=0.0)
    [piece] = pieces_of(*rows)
    assert piece.word.text == "shadow" and piece.is_shown and piece.word.doubt


def test_large_slanted_words_are_watermarks():
    rows = [*line("many words"), between(LINE_END), *line("more of them", 0, baseline=130), between(LINE_END)]
    slanted = [glyph(char, 400 + 30 * k, size=60, direction=(0.8, 0.6)) for k, char in enumerate("DRAFT")]
    pieces = pieces_of(*rows, *slanted)
    assert [piece.word.text for piece in find_watermarks(pieces)] == ["DRAFT"]
    assert find_watermarks([]) == [] and HIDDEN


CHARACTERS = st.sampled_from("ab12.,אבלا表 ")


@given(
    st.lists(
        st.tuples(CHARACTERS, st.floats(0, 500), st.sampled_from([100.0, 108.0, 140.0]), st.sampled_from([12.0, 20.0]))
    )
)
def test_no_glyph_is_lost_or_invented(placed):
    rows = [
        between(GENERATED) if char == " " else glyph(char, x, baseline=baseline, size=size, number=k)
        for k, (char, x, baseline, size) in enumerate(placed)
    ]
    from postprocess.raised import raised_runs

    plain = "".join(run for text in texts(*rows) for run, _ in raised_runs(text))
    assert sorted(plain.replace(" ", "")) == sorted(char for char, *_ in placed if char != " ")
