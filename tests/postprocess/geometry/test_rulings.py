from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postprocess.geometry import rulings as stage
from postprocess.geometry.boxes import boxes_to_quads, quads_to_boxes, rotate_points
from postprocess.geometry.rulings import Rulings, estimate_text_height, image_to_rulings, word_height
from tests.helpers.layouts import needs_opencv_5, turn_image

WHITE = np.full((200, 300), 255, np.uint8)


def page_with_line(thickness: int = 2, line: int = 0, ground: int = 255, length: int = 240) -> np.ndarray:
    page = np.full_like(WHITE, ground)
    page[100 : 100 + thickness, 30 : 30 + length] = line
    return page


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (1, 1), (2, 2), (1, 500), (500, 1), (3, 3), (4, 3000)])
@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize("value", [0, 255])
def test_blank_pictures_of_any_size_have_no_rulings(shape: tuple[int, int], channels: tuple[int], value: int) -> None:
    rulings = image_to_rulings(np.full(shape + channels, value, np.uint8))
    assert rulings.horizontal.shape == rulings.vertical.shape == (0, 4)
    assert rulings.text_height > 0


@settings(max_examples=30)
@given(st.tuples(st.integers(1, 40), st.integers(1, 40)), st.integers(0, 2**32 - 1), st.booleans())
def test_noise_never_crashes_and_segments_stay_in_the_picture(shape: tuple[int, int], seed: int, binary: bool) -> None:
    noise = np.random.default_rng(seed).integers(0, 256, shape, np.uint8)
    rulings = image_to_rulings(np.where(noise > 127, 255, 0).astype(np.uint8) if binary else noise)
    for segments in (rulings.horizontal, rulings.vertical):
        assert (segments >= 0).all()
        assert (segments[:, 2:] <= [shape[1], shape[0]]).all()
        assert (segments[:, 2:] > segments[:, :2]).all()


@pytest.mark.parametrize("thickness", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("line", "ground"), [(0, 255), (255, 0), (210, 255), (60, 20), (90, 130)], ids=lambda value: str(value)
)
def test_line_is_seen_where_it_is(thickness: int, line: int, ground: int) -> None:
    rulings = image_to_rulings(page_with_line(thickness, line, ground))
    assert len(rulings.vertical) == 0
    assert len(rulings.horizontal) > 0
    middles = (rulings.horizontal[:, 1] + rulings.horizontal[:, 3]) / 2
    assert np.abs(middles - 100 - thickness / 2).max() <= thickness + 2
    assert abs(rulings.horizontal[:, 0].min() - 30) <= 4
    assert abs(rulings.horizontal[:, 2].max() - 270) <= 4


@pytest.mark.parametrize("thickness", [1, 2, 3])
def test_both_directions_are_treated_alike(thickness: int) -> None:
    page = page_with_line(thickness)
    across, down = image_to_rulings(page), image_to_rulings(np.ascontiguousarray(page.T))
    assert down.vertical[:, [1, 0, 3, 2]] == pytest.approx(across.horizontal)
    assert len(down.horizontal) == len(across.vertical) == 0


@pytest.mark.parametrize("ground", [(255, 255, 255), (0, 0, 0), (230, 255, 230)], ids=["white", "black", "green"])
@pytest.mark.parametrize(
    "color", [(0, 0, 255), (255, 0, 0), (0, 160, 0), (0, 255, 255)], ids=["red", "blue", "green", "yellow"]
)
def test_coloured_line_is_seen(color: tuple[int, int, int], ground: tuple[int, int, int]) -> None:
    page = np.full((*WHITE.shape, 3), ground, np.uint8)
    page[100:102, 30:270] = color
    rulings = image_to_rulings(page)
    assert len(rulings.vertical) == 0
    assert np.concatenate(
        [rulings.horizontal[:, :2].min(axis=0), rulings.horizontal[:, 2:].max(axis=0)]
    ) == pytest.approx([30, 100, 270, 102], abs=3)


def test_border_of_a_filled_area_is_a_ruling() -> None:
    page = WHITE.copy()
    page[60:140, 40:260] = 180
    rulings = image_to_rulings(page)
    assert {round(y / 10) * 10 for y in rulings.horizontal[:, 1]} == {60, 140}
    assert {round(x / 10) * 10 for x in rulings.vertical[:, 0]} == {40, 260}


def test_soft_shading_is_no_ruling() -> None:
    page = np.tile(np.linspace(120, 255, 300).astype(np.uint8), (200, 1))
    rulings = image_to_rulings(page)
    assert len(rulings.horizontal) == len(rulings.vertical) == 0


@pytest.mark.parametrize("degrees", [-8, -5, -1.5, 1.5, 5, 8])
def test_tilt_is_found_and_undone(degrees: float) -> None:
    page = np.full((400, 500), 255, np.uint8)
    for y in range(100, 301, 50):
        page[y : y + 2, 100:400] = 0
    rulings = image_to_rulings(turn_image(page, degrees))
    assert rulings.degrees == pytest.approx(degrees, abs=0.2)
    middles = (rulings.horizontal[:, 1] + rulings.horizontal[:, 3]) / 2
    assert np.abs(middles[:, None] - np.arange(100, 301, 50)).min(axis=0).max() < 4


def test_tilt_of_the_text_counts_where_there_are_no_lines() -> None:
    assert image_to_rulings(WHITE, of_text=(2.0, None)).degrees == 2.0
    assert image_to_rulings(page_with_line(), of_text=(2.0, None)).degrees == 0.0


def test_upright_picture_is_not_turned() -> None:
    for page in (page_with_line(), WHITE):
        rulings = image_to_rulings(page)
        assert (rulings.degrees, rulings.perspective) == (0.0, None)


@given(st.floats(-20, 20), st.tuples(st.floats(0, 500), st.floats(0, 500)))
@settings(max_examples=25)
def test_the_way_to_the_upright_frame_and_back(degrees: float, center: tuple[float, float]) -> None:
    frame = Rulings(np.zeros((0, 4)), np.zeros((0, 4)), degrees, center, 10.0)
    points = np.array([[0.0, 0.0], [100.0, 30.0]])
    assert frame.to_picture(frame.to_upright(points)) == pytest.approx(points, abs=1e-6)
    assert frame.to_picture(points) == pytest.approx(rotate_points(points, degrees, center))


def write(page: np.ndarray, text: str, size: float) -> np.ndarray:
    """Write a text seven times and return the quads of the words."""
    (width, height), below = cv2.getTextSize(text, cv2.FONT_HERSHEY_DUPLEX, size, 1)
    for y in range(40, 300, 40):
        cv2.putText(page, text, (20, y), cv2.FONT_HERSHEY_DUPLEX, size, 0, 1, cv2.LINE_AA)
    return boxes_to_quads([[20, y - height, 20 + width, y + below] for y in range(40, 300, 40)])


@needs_opencv_5
@pytest.mark.parametrize("size", [0.4, 0.6, 1.0])
def test_running_text_is_no_ruling(size: float) -> None:
    page = np.full((300, 600), 255, np.uint8)
    write(page, "Tall letters, 1741 fill", size)
    rulings = image_to_rulings(page)
    assert len(rulings.vertical) == len(rulings.horizontal) == 0


@pytest.mark.parametrize("size", [0.4, 0.6, 1.0])
def test_letters_of_known_words_are_no_rulings_however_straight(size: float) -> None:
    page = np.full((300, 600), 255, np.uint8)
    words = write(page, "EHTL 1741 FEZ - == TTTT", size)
    rulings = image_to_rulings(page, words)
    assert len(rulings.vertical) == len(rulings.horizontal) == 0


def test_stems_of_letters_above_each_other_are_no_dashed_line() -> None:
    page = np.full((300, 200), 255, np.uint8)
    tops = np.arange(20, 280, 40)
    for top in tops:
        page[top : top + 22, 100:103] = 0
    elsewhere = boxes_to_quads([[20, top - 5, 80, top + 27] for top in tops])
    around = boxes_to_quads([[60, top - 5, 160, top + 27] for top in tops])
    assert np.ptp(image_to_rulings(page, elsewhere).vertical[:, [1, 3]], axis=1).max() > 200
    assert len(image_to_rulings(page, around).vertical) == 0


def test_strokes_inside_words_are_dropped_and_lines_between_them_stay() -> None:
    page = page_with_line()
    page[60:62, 100:160] = 0
    word = boxes_to_quads([[98, 52, 162, 70]])
    with_word, without = image_to_rulings(page, word), image_to_rulings(page)
    assert (np.abs(without.horizontal[:, 1] - 60) < 3).any()
    assert not (np.abs(with_word.horizontal[:, 1] - 60) < 3).any()
    assert (np.abs(with_word.horizontal[:, 1] - 100) < 3).any()


@pytest.mark.parametrize("y", [49, 71])
def test_line_close_above_or_below_a_word_stays(y: int) -> None:
    page = WHITE.copy()
    page[y : y + 1, 60:200] = 0
    [line] = image_to_rulings(page, boxes_to_quads([[70, 52, 190, 70]])).horizontal
    assert line == pytest.approx([60, y, 200, y + 1], abs=3)


@pytest.mark.parametrize("size", [0.4, 0.6, 0.9])
@pytest.mark.parametrize("dark", [False, True])
def test_text_height_is_that_of_the_letters(size: float, dark: bool) -> None:
    page = np.full((300, 500), 255, np.uint8)
    for y in range(40, 300, 50):
        cv2.putText(page, "The quick brown fox", (20, y), cv2.FONT_HERSHEY_SIMPLEX, size, 0, 1, cv2.LINE_AA)
    height = cv2.getTextSize("T", cv2.FONT_HERSHEY_SIMPLEX, size, 1)[0][1]
    assert 0.7 * height < estimate_text_height(255 - page if dark else page) < 2 * height


@pytest.mark.parametrize("degrees", [0, 90, 30])
def test_word_height_is_the_short_side_also_of_vertical_words(degrees: float) -> None:
    quads = rotate_points(boxes_to_quads([[0, 0, 60, 10], [0, 20, 80, 30], [0, 40, 50, 52]]), degrees)
    assert word_height(quads) == pytest.approx(10)
    assert word_height(boxes_to_quads(quads_to_boxes(quads))) >= 10


def test_settings_and_result_hold_no_state() -> None:
    page = page_with_line()
    before = page.copy()
    first, second = image_to_rulings(page), image_to_rulings(page)
    assert np.array_equal(first.horizontal, second.horizontal)
    assert np.array_equal(page, before)


def test_two_ones_above_each_other_at_a_rule_are_letters() -> None:
    page = np.full((160, 300), 255, np.uint8)
    for y in (20, 80, 140):
        page[y : y + 2, 20:280] = 0
    page[56:104, 150:152] = 0  # the ones of "113" and of "410", as close to the rule between them as print comes
    words = boxes_to_quads([[130, 54, 170, 80], [130, 82, 170, 106]])
    assert not len(image_to_rulings(page, words).vertical)


def test_a_stem_in_the_gap_of_a_line_does_not_join_its_ends() -> None:
    """A line that others cross at one pitch looks dashed, so that a letter over a merged row cut the row."""
    page = np.full((420, 300), 255, np.uint8)
    for y in range(20, 401, 38):
        page[y, 20:281] = 0
    page[20:173, 150] = 0
    page[210:401, 150] = 0
    page[182:199, 150] = 0  # the stem
    found = image_to_rulings(page, boxes_to_quads([[100, 178, 200, 203]] * 3))
    ends = sorted({(round(y0, -1), round(y1, -1)) for x0, y0, x1, y1 in found.vertical if abs(x0 - 150) < 4})
    assert ends == [(20, 170), (210, 400)]


def test_high_boxes_of_words_do_not_take_the_lines_that_tell_the_perspective(repository: Path) -> None:
    photograph = cv2.imread(str(repository / "data/samples/photo.jpg"))
    letters = image_to_rulings(photograph).text_height
    words = boxes_to_quads([[200 + 90 * k, 300, 260 + 90 * k, 300 + 2 * letters] for k in range(6)])
    alone, beside_words = image_to_rulings(photograph), image_to_rulings(photograph, words)
    assert beside_words.text_height > 1.5 * letters
    assert beside_words.degrees == alone.degrees
    np.testing.assert_array_equal(beside_words.perspective, alone.perspective)


@pytest.mark.parametrize("height", [0.0, 1e-9, 1e5, 1e9, 1e100])
def test_words_of_any_height_give_a_text_height_within_the_picture(height: float) -> None:
    words = boxes_to_quads([[10, 10, 60, 10 + height], [80, 10, 130, 10 + height]])
    assert 1 <= image_to_rulings(page_with_line(), words).text_height <= min(WHITE.shape)


def test_rulings_of_a_picture_of_large_letters_are_found_in_a_smaller_copy_and_lie_where_they_are() -> None:
    page = np.full((3000, 4000), 255, np.uint8)
    page[600:612, 400:3600], page[600:2400, 1200:1212] = 0, 0
    words = boxes_to_quads([[500, 900, 1000, 1200], [1400, 900, 2000, 1200]])
    found = image_to_rulings(page, words)
    assert found.text_height == pytest.approx(300)
    assert found.horizontal[:1] == pytest.approx(np.array([[400, 600, 3600, 612]]), abs=8)
    assert found.vertical[:1] == pytest.approx(np.array([[1200, 600, 1212, 2400]]), abs=16)


def test_a_tilted_picture_of_too_many_pixels_has_the_frame_of_its_smaller_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    page = np.full((900, 1200), 255, np.uint8)
    page[200:700:100, 100:1100], page[200:604, 100:1100:200] = 0, 0
    tilted = np.asarray(turn_image(page, 3.0), np.uint8)
    whole = image_to_rulings(tilted)
    monkeypatch.setattr(stage, "_MOST_PIXELS", tilted.size / 3)
    reduced = image_to_rulings(tilted)
    points = np.array([[200.0, 300], [1000, 600]])
    assert reduced.degrees == pytest.approx(whole.degrees, abs=0.3)
    assert reduced.to_upright(points) == pytest.approx(whole.to_upright(points), abs=6)
    assert reduced.to_picture(reduced.to_upright(points)) == pytest.approx(points, abs=1e-6)


@pytest.mark.parametrize("ink", [0, 255], ids=["black", "white"])
@pytest.mark.parametrize(
    "fill",
    [(0, 255, 255), (0, 192, 255), (0, 204, 153), (0, 80, 0), (255, 0, 0), (0, 0, 255), (255, 0, 255)],
    ids=["yellow", "orange", "lime", "dark green", "blue", "red", "magenta"],
)
def test_line_on_a_saturated_fill_is_seen(fill: tuple[int, int, int], ink: int) -> None:
    """The darkest channel of such a fill is as dark as ink."""
    page = np.full((*WHITE.shape, 3), 255, np.uint8)
    page[60:140, 40:260] = fill
    page[100, 40:260] = ink
    lines = image_to_rulings(page).horizontal
    inside = lines[(lines[:, 1] > 90) & (lines[:, 3] < 110)]
    assert len(inside)
    assert [inside[:, 0].min(), inside[:, 2].max()] == pytest.approx([40, 260], abs=3)


@pytest.mark.parametrize("blur", [0, 3, 5])
def test_blurred_border_of_a_dark_fill_is_a_ruling(blur: int) -> None:
    page = WHITE.copy()
    page[60:140, 40:260] = 50
    lines = image_to_rulings(cv2.GaussianBlur(page, (blur, blur), 0) if blur else page).horizontal
    assert {round(y / 10) * 10 for y in lines[:, 1]} == {60, 140}


@pytest.mark.parametrize(("fill", "seam"), [(173, 190), (173, 199), (215, 223), (60, 95)])
def test_seam_where_two_fills_meet_is_no_ruling(fill: int, seam: int) -> None:
    """A text with a fill of its own in a shaded head: the page shines through at its border."""
    page = WHITE.copy()
    page[60:140, 40:260] = fill
    page[60:140, 150] = seam
    assert not (np.abs(image_to_rulings(page).vertical[:, 0] - 150) < 9).any()


@pytest.mark.parametrize(("dot", "gap"), [(1, 1), (1, 2), (2, 2), (5, 4)])
def test_dotted_and_dashed_lines_are_rulings(dot: int, gap: int) -> None:
    page = WHITE.copy()
    page[100, 30:270][np.arange(240) % (dot + gap) < dot] = 0
    [line] = image_to_rulings(page).horizontal
    assert line == pytest.approx([30, 100, 270, 101], abs=4)


@pytest.mark.parametrize(("dot", "pitch"), [(2, 9), (1, 3), (2, 4)])
@pytest.mark.parametrize("start", [60, 96], ids=["in the box of the word", "after it"])
def test_dots_of_a_leader_are_no_ruling(dot: int, pitch: int, start: int) -> None:
    page = WHITE.copy()
    page[100:102, start:270][:, np.arange(270 - start) % pitch < dot] = 0
    assert len(image_to_rulings(page, boxes_to_quads([[20, 85, 90, 105], [20, 50, 90, 70]])).horizontal) == 0


@pytest.mark.parametrize("y", [79, 95, 112], ids=["above", "beside the middle", "below"])
def test_a_dotted_ruling_near_a_word_stays(y: int) -> None:
    page = WHITE.copy()
    page[y, 100:270][np.arange(170) % 3 < 1] = 0
    assert len(image_to_rulings(page, boxes_to_quads([[20, 85, 90, 105], [20, 50, 90, 70]])).horizontal) == 1


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("words_touch", [False, True])
def test_a_stem_between_two_rulings_of_a_column_does_not_join_them(noisy: bool, words_touch: bool) -> None:
    """A letter of a band stood on the line between two columns and cut the band."""
    page = np.full((160, 300), 255, np.uint8)
    for y in (20, 60, 90, 130):
        page[y, 20:281] = 0
    page[20:61, 150] = page[90:131, 150] = 0
    page[64:86, 150] = 0
    if noisy:
        page = np.clip(page - np.random.default_rng(0).integers(0, 10, page.shape), 0, 255).astype(np.uint8)
    word = [[100, 61 if words_touch else 63, 200, 89 if words_touch else 87]]
    vertical = image_to_rulings(page, boxes_to_quads([*word, [30, 30, 80, 54], [30, 98, 80, 122]])).vertical
    ends = [(y0, y1) for x0, y0, x1, y1 in vertical if abs(x0 - 150) < 4 and y1 - y0 > 30]
    assert len(ends) == 2
    assert all(y1 < 70 or y0 > 80 for y0, y1 in ends)


def test_a_ruling_that_goes_on_in_letters_ends_before_them() -> None:
    """A row line went on under the letters of a cell over two rows and cut it."""
    page = WHITE.copy()
    page[100, 30:150] = 0
    page[100, 153:210][np.arange(57) % 8 < 6] = 0
    for line in image_to_rulings(page, boxes_to_quads([[152, 90, 211, 110]])).horizontal:
        assert line == pytest.approx([30, 100, 150, 101], abs=3)


def test_a_ruling_between_columns_stays_where_words_of_both_were_read_as_one() -> None:
    page = WHITE.copy()
    for y in (40, 60, 80, 100):
        page[y, 20:281] = 0
    page[40:101, 150] = 0
    page[40:61, 220] = 0
    words = boxes_to_quads([*[[100, y + 1, 200, y + 19] for y in (40, 60, 80)], [205, 41, 260, 59]])
    vertical = image_to_rulings(page, words).vertical
    for x, bottom in ((150, 101), (220, 61)):
        [line] = vertical[np.abs(vertical[:, 0] - x) < 4]
        assert line == pytest.approx([x, 40, x + 1, bottom], abs=3)


def test_the_edge_of_a_fill_inside_a_ruled_cell_is_no_ruling() -> None:
    """A fill that leaves a margin in its cell made a thin column beside the frame."""
    page = WHITE.copy()
    page[40:160, 20] = page[40:160, 280] = 0
    page[40, 20:281] = page[160, 20:281] = 0
    page[46:155, 26:275] = 200
    rulings = image_to_rulings(page, boxes_to_quads([[40, 60, 90, 80], [40, 100, 90, 120]]))
    assert {round(x / 20) * 20 for x in rulings.vertical[:, 0]} == {20, 280}
    assert (np.abs(rulings.vertical[:, 0] - 26) > 3).all()
    assert (np.abs(rulings.horizontal[:, 1] - 46) > 3).all()


@pytest.mark.parametrize(("dash", "gap"), [(4, 3), (1, 2)])
def test_a_dashed_ruling_stays_where_words_lie_on_it(dash: int, gap: int) -> None:
    page = WHITE.copy()
    page[20:180, 150][np.arange(160) % (dash + gap) < dash] = 0
    [line] = image_to_rulings(page, boxes_to_quads([[100, y, 200, y + 18] for y in (40, 90)])).vertical
    assert line == pytest.approx([150, 20, 151, 180], abs=4)


@pytest.mark.parametrize("turned", [False, True])
def test_a_dashed_ruling_close_to_text_stays_where_its_dashes_are_alike(turned: bool) -> None:
    """On a page that was bent the dashes leave one row of pixels, and the rows of text come nearer to them."""
    page = np.full((200, 400), 255, np.uint8)
    for x in range(30, 370, 9):
        page[100 + x // 180 : 102 + x // 180, x : x + 6] = 0
    for x in range(30, 370, 24):
        page[81:96, x : x + 12 : 4] = page[92:96, x : x + 16] = 0
    words = boxes_to_quads([[x - 2, 79, x + 108, 98] for x in (30, 150, 270)])
    if turned:
        page, words = np.ascontiguousarray(page.T), words[:, [0, 3, 2, 1], ::-1]
    found = image_to_rulings(page, words)
    [line] = found.vertical[:, [1, 0, 3, 2]] if turned else found.horizontal
    assert line == pytest.approx([30, 100, 369, 104], abs=4)


@pytest.mark.parametrize(("top", "n_vertical"), [(0, 4), (20, 5), (50, 5)], ids=["streak", "from the table", "short"])
def test_a_streak_from_edge_to_edge_of_a_scan_is_no_ruling(top: int, n_vertical: int) -> None:
    """A dirty sensor draws through the table and both margins; the rulings of a table end at its frame."""
    page = np.full((300, 400), 255, np.uint8)
    for y in range(40, 270, 40):
        page[y : y + 2, 20:380] = 0
    for x in (20, 140, 260, 378):
        page[40:242, x : x + 2] = 0
    page[top : 300 if not top else 242, 320:322] = 0
    vertical = image_to_rulings(page, boxes_to_quads([[30, 52, 80, 72], [150, 92, 200, 112]])).vertical
    assert len({round(x / 4) for x in vertical[:, 0].tolist()}) == n_vertical
