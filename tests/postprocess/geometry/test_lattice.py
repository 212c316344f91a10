from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from postprocess.arrays import Image
from postprocess.cell import Cell
from postprocess.geometry.boxes import as_boxes, boxes_to_quads, quads_to_boxes, spans_to_boxes
from postprocess.geometry.lattice import Lattice, RuledArea, lattice_to_spans, rulings_to_areas, segments_to_lattice
from postprocess.geometry.rulings import Rulings, image_to_rulings
from postprocess.grid.build import quads_to_grid
from postprocess.table import Table
from tests.helpers.layouts import (
    Layout,
    draw_borders,
    draw_layout,
    even_layout,
    layouts,
    needs_opencv_5,
    plain_table,
    turn_image,
    turn_quads,
    write,
)

PLAIN = even_layout(plain_table(4, 5), 80, 30, left=60, top=60)
SPANS = even_layout(
    Table(
        [
            *(Cell(0, 0, rowspan=2), Cell(0, 1, colspan=2), Cell(0, 3), Cell(1, 1), Cell(1, 2), Cell(1, 3, rowspan=3)),
            *(Cell(2, 0, colspan=2), Cell(2, 2, rowspan=2), Cell(3, 0), Cell(3, 1)),
        ]
    ),
    90,
    34,
    left=60,
    top=60,
)


def find(image: Image, words: np.ndarray | None = None, *, whole: bool = False) -> list[RuledArea]:
    return rulings_to_areas(image_to_rulings(image, words), whole=whole)


def check_found(areas: list[RuledArea], layout: Layout, slack: float = 3, quads: np.ndarray | None = None) -> None:
    """One area with the cells of the layout, each at its place, and the same spans."""
    assert [len(area.quads) for area in areas] == [len(layout.boxes)]
    found = areas[0].quads
    expected = boxes_to_quads(layout.boxes) if quads is None else quads
    distance = np.abs(found[:, None].mean(axis=2) - expected[None].mean(axis=2)).max(axis=-1)
    match = distance.argmin(axis=0)
    assert sorted(match) == list(range(len(found)))
    assert np.abs(found[match] - expected).max() <= slack
    grid = quads_to_grid(found[match])
    assert grid.spans[np.argsort(grid.kept)].tolist() == layout.spans
    assert ((areas[0].scores >= 0) & (areas[0].scores <= 1)).all()
    assert areas[0].spans[match].tolist() == layout.spans


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (2, 2), (1, 400), (400, 1), (3, 3), (6, 3000), (3000, 6), (50, 50)])
@pytest.mark.parametrize("value", [0, 128, 255])
@pytest.mark.parametrize("whole", [False, True])
def test_blank_picture_has_no_area(shape: tuple[int, int], value: int, whole: bool) -> None:
    assert find(np.full(shape, value, np.uint8), whole=whole) == []


@settings(max_examples=25)
@given(st.tuples(st.integers(1, 60), st.integers(1, 60)), st.integers(0, 2**32 - 1), st.booleans())
def test_noise_gives_cells_of_positive_size_or_none(shape: tuple[int, int], seed: int, whole: bool) -> None:
    for area in find(np.random.default_rng(seed).integers(0, 256, shape, np.uint8), whole=whole):
        boxes = quads_to_boxes(area.quads)
        assert len(boxes) == len(area.scores) > 0
        assert (boxes[:, 2:] > boxes[:, :2]).all()
        assert np.isfinite(boxes).all()


@settings(max_examples=35)
@given(
    layouts(widths=(40, 140), heights=(26, 60), max_size=4),
    st.integers(1, 4),
    st.sampled_from([(0, 255), (255, 0), (190, 255), (225, 255), (110, 40)]),
    st.booleans(),
)
def test_drawn_cells_are_found(layout: Layout, thickness: int, colors: tuple[int, int], with_words: bool) -> None:
    image = draw_layout(layout, thickness, *colors, margin=30)
    words = write(image, layout, 0 if colors[1] > 127 else 255, "ab")
    assume(with_words or len(words) > 4)  # the text height is seen from eight letters on
    check_found(find(image, words if with_words else None), layout, slack=thickness + 2)


@settings(max_examples=25)
@given(layouts(widths=(30, 90), heights=(16, 40), max_size=3), st.integers(1, 2))
def test_blank_form_without_any_text(layout: Layout, thickness: int) -> None:
    check_found(find(draw_layout(layout, thickness, margin=30)), layout)


@settings(max_examples=20)
@given(layouts(widths=(50, 140), heights=(30, 60), max_size=3), st.integers(1, 3), st.floats(-5, 5))
def test_tilted_cells_are_found(layout: Layout, thickness: int, degrees: float) -> None:
    moved = Layout(layout.table, layout.xs + 60, layout.ys + 60)
    image = draw_layout(moved, thickness, margin=80)
    words = write(image, moved, text="ab")
    turned = turn_image(image, degrees)
    check_found(
        find(turned, turn_quads(words, degrees, image)),
        moved,
        5,
        turn_quads(boxes_to_quads(moved.boxes), degrees, turned),
    )


@pytest.mark.parametrize("layout", [PLAIN, SPANS], ids=["plain", "spans"])
@pytest.mark.parametrize("quality", [20, 40, 70, 95])
@pytest.mark.parametrize("line", [0, 200])
def test_jpeg(layout: Layout, quality: int, line: int) -> None:
    image = draw_layout(layout, 1, line, margin=60)
    write(image, layout)
    encoded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    check_found(find(cv2.imdecode(encoded, cv2.IMREAD_COLOR)), layout)


@pytest.mark.parametrize("sigma", [3, 8])
def test_noisy_scan(sigma: float) -> None:
    image = draw_layout(SPANS, 2, margin=60)
    write(image, SPANS)
    noise = np.random.default_rng(0).normal(0, sigma, image.shape)
    check_found(find(np.clip(image + noise, 0, 255).astype(np.uint8)), SPANS)


@pytest.mark.parametrize(
    "color", [(0, 0, 200), (200, 0, 0), (0, 180, 0), (0, 220, 255)], ids=["red", "blue", "green", "yellow"]
)
@pytest.mark.parametrize("ground", [(255, 255, 255), (0, 0, 0)], ids=["white", "black"])
def test_coloured_lines(color: tuple[int, int, int], ground: tuple[int, int, int]) -> None:
    drawn = draw_layout(PLAIN, 2, margin=60) == 0
    image = np.full((*drawn.shape, 3), ground, np.uint8)
    image[drawn] = color
    write(image, PLAIN, (255 - ground[0],) * 3)
    check_found(find(image), PLAIN)


def draw_dashes(layout: Layout, thickness: int, drawn: int, gap: int) -> Image:
    """All lines of a grid without spans, each dashed from its start on."""
    image = np.full((int(layout.ys[-1]) + 60, int(layout.xs[-1]) + 60), 255, np.uint8)
    is_gap = np.arange(max(image.shape)) % (drawn + gap) >= drawn
    (x0, *_, x1), (y0, *_, y1) = layout.xs.astype(int), layout.ys.astype(int)
    across, down = np.where(is_gap, 255, 0)[: x1 - x0 + thickness], np.where(is_gap, 255, 0)[: y1 - y0 + thickness]
    for y in layout.ys.astype(int):
        image[y : y + thickness, x0 : x1 + thickness] = across
    for x in layout.xs.astype(int):
        lines = image[y0 : y1 + thickness, x : x + thickness]
        np.minimum(lines, down[:, None], out=lines, casting="unsafe")
    return image


@needs_opencv_5
@pytest.mark.parametrize(("drawn", "gap"), [(4, 2), (6, 3), (8, 4), (10, 5), (12, 4), (20, 4)])
@pytest.mark.parametrize("thickness", [1, 2])
@pytest.mark.parametrize("with_words", [False, True])
def test_dashed_lines(drawn: int, gap: int, thickness: int, with_words: bool) -> None:
    image = draw_dashes(PLAIN, thickness, drawn, gap)
    words = write(image, PLAIN)
    check_found(find(image, words if with_words else None), PLAIN, slack=gap + 3)


@pytest.mark.parametrize("gap", [1, 2, 4])
def test_lines_broken_once_on_each_side_of_each_cell(gap: int) -> None:
    image, random = draw_layout(PLAIN, 2, margin=60), np.random.default_rng(gap)
    for y in PLAIN.ys.astype(int):
        for x in PLAIN.xs[:-1].astype(int) + random.integers(5, 75 - gap, 5):
            image[y - 2 : y + 3, x : x + gap] = 255
    for x in PLAIN.xs.astype(int):
        for y in PLAIN.ys[:-1].astype(int) + random.integers(5, 25 - gap, 4):
            image[y : y + gap, x - 2 : x + 3] = 255
    check_found(find(image, write(image, PLAIN)), PLAIN)


@pytest.mark.parametrize("gap", [8, 14])
def test_one_larger_gap_in_a_long_line_does_not_merge_cells(gap: int) -> None:
    layout = even_layout(plain_table(3, 3), 150, 40, 60, 60)
    image = draw_layout(layout, 2, margin=60)
    image[98:103, 90 : 90 + gap] = 255
    check_found(find(image, write(image, layout)), layout)


@pytest.mark.parametrize("height", [8, 10, 12, 14])
@pytest.mark.parametrize("thickness", [1, 2])
@pytest.mark.parametrize("with_words", [False, True])
def test_low_rows(height: int, thickness: int, with_words: bool) -> None:
    layout = even_layout(plain_table(20, 5), 60, height, 40, 40)
    x0, y0, _, y1 = layout.boxes.T
    words = boxes_to_quads(np.column_stack([x0 + 4, y0 + thickness, x0 + 30, y1 - thickness])) if with_words else None
    check_found(find(draw_layout(layout, thickness), words), layout)


@pytest.mark.parametrize("thickness", [1, 2, 3, 5])
def test_framed_single_cell(thickness: int) -> None:
    layout = even_layout(plain_table(1, 1), 200, 60, 40, 40)
    image = draw_layout(layout, thickness)
    check_found(find(image, write(image, layout)), layout, slack=thickness + 1)


@pytest.mark.parametrize("outer", [True, False])
def test_open_sides_still_close_cells(outer: bool) -> None:
    """A table with inner lines only, and one without its left and right border."""
    image = draw_layout(PLAIN, 2, margin=60)
    x0, x1, y0, y1 = int(PLAIN.xs[0]), int(PLAIN.xs[-1]), int(PLAIN.ys[0]), int(PLAIN.ys[-1])
    for x in (x0, x1):
        image[y0 + 3 : y1 - 2, x - 2 : x + 3] = 255
    if outer:
        for y in (y0, y1):
            image[y - 2 : y + 3] = 255
    words = write(image, PLAIN)
    [area] = find(image, words)
    assert len(area.quads) == 20
    assert quads_to_grid(area.quads).spans.max(axis=0).tolist() == [3, 4, 4, 5]


def test_coloured_bands_of_rows_have_borders() -> None:
    layout = even_layout(plain_table(6, 1), 300, 30, 40, 40)
    image = np.full((260, 380), 255, np.uint8)
    for y in layout.ys[:-1:2].astype(int):
        image[y : y + 30, 40:340] = 215
    [area] = find(image, whole=True)
    assert len(area.quads) == 5


def test_two_tables_side_by_side_and_one_below() -> None:
    image = np.full((420, 560), 255, np.uint8)
    parts = [
        even_layout(plain_table(3, 2), 80, 30, 40, 40),
        even_layout(plain_table(2, 3), 60, 40, 300, 42),
        even_layout(plain_table(4, 4), 100, 30, 50, 220),
    ]
    for part in parts:
        draw_borders(image, part.boxes, 2)
    words = np.vstack([write(image, part) for part in parts])
    areas = find(image, words)
    assert [len(area.quads) for area in areas] == [6, 6, 16]
    tops = [area.box_xyxy[1] for area in areas]
    assert tops == sorted(tops)
    [whole] = find(image, words, whole=True)
    assert whole.box_xyxy == pytest.approx([40, 40, 480, 340], abs=15)


@pytest.mark.parametrize("scale", [1, 3])
def test_scale_of_the_picture_does_not_matter(scale: int) -> None:
    image = draw_layout(SPANS, 1, margin=60)
    words = write(image, SPANS)
    larger = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
    layout = Layout(SPANS.table, scale * SPANS.xs, scale * SPANS.ys)
    check_found(find(larger, scale * words), layout, slack=3 * scale)


def test_no_segments_no_lattice() -> None:
    lattice = segments_to_lattice(as_boxes([]), as_boxes([]), 10.0)
    spans, scores = lattice_to_spans(lattice)
    assert spans.shape == (0, 4) and scores.shape == (0,)
    assert rulings_to_areas(Rulings(as_boxes([]), as_boxes([]), 0.0, (0.0, 0.0), 10.0)) == []


@settings(max_examples=40)
@given(layouts())
def test_segments_of_a_known_lattice_give_its_cells(layout: Layout) -> None:
    x0, y0, x1, y1 = layout.boxes.T
    horizontal = np.vstack([np.column_stack([x0, y - 1, x1, y + 1]) for y in (y0, y1)])
    vertical = np.vstack([np.column_stack([x - 1, y0, x + 1, y1]) for x in (x0, x1)])
    lattice = segments_to_lattice(horizontal, vertical, 10.0)
    assert lattice.xs == pytest.approx(layout.xs) and lattice.ys == pytest.approx(layout.ys)
    spans, scores = lattice_to_spans(lattice)
    assert sorted(spans_to_boxes(spans, lattice.xs, lattice.ys).tolist()) == pytest.approx(
        np.array(sorted(layout.boxes.tolist()))
    )
    assert scores == pytest.approx(1.0)


@settings(max_examples=60)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_any_walls_give_rectangles_that_tile_the_lattice(n_rows: int, n_cols: int, seed: int, share: float) -> None:
    random = np.random.default_rng(seed)
    walls_h = (random.random((n_rows + 1, n_cols)) < share).astype(float)
    walls_v = (random.random((n_rows, n_cols + 1)) < share).astype(float)
    lattice = Lattice(np.arange(n_cols + 1.0), np.arange(n_rows + 1.0), walls_h, walls_v)
    spans, scores = lattice_to_spans(lattice)
    covered = np.zeros((n_rows, n_cols), int)
    for row, col, end_row, end_col in spans:
        covered[row:end_row, col:end_col] += 1
    assert (covered == 1).all()
    assert len(scores) == len(spans) and ((scores >= 0) & (scores <= 1)).all()


@given(st.integers(1, 4), st.integers(1, 4), st.booleans())
@settings(max_examples=10)
def test_all_walls_or_none(n_rows: int, n_cols: int, walls: bool) -> None:
    assume(n_rows * n_cols > 1)
    lattice = Lattice(
        np.arange(n_cols + 1.0),
        np.arange(n_rows + 1.0),
        np.full((n_rows + 1, n_cols), float(walls)),
        np.full((n_rows, n_cols + 1), float(walls)),
    )
    assert len(lattice_to_spans(lattice)[0]) == (n_rows * n_cols if walls else 1)


def test_a_double_line_is_one_line_and_a_low_row_with_rulings_in_it_stays() -> None:
    """Double lines below a head, or a double frame, were rows without text."""
    ys, xs = np.array([0.0, 30, 36, 60, 90]), np.array([0.0, 50, 100, 150])
    horizontal = as_boxes([[0, y, 150, y + 1] for y in ys])
    whole = as_boxes([[x, 0, x + 1, 91] for x in xs])
    parted = as_boxes([[x, *ends] for x in xs for ends in ((0, x + 1, 31), (36, x + 1, 91))])
    assert len(segments_to_lattice(horizontal, whole, 12.0).ys) == 5
    frame = np.vstack([whole[[0, -1]], parted[2:-2]])
    for vertical in (parted, frame):
        lattice = segments_to_lattice(horizontal, vertical, 12.0)
        assert lattice.ys.tolist() == pytest.approx([0.5, 33.5, 60.5, 90.5])
        assert (lattice.walls_h == 1).all()
        assert (lattice.walls_v > 0.85).all()
