"""What holds for every drawn sample, whatever the recipe."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tablerec.synth import Sample, describe, draw, load_recipe, recipe_names
from tablerec.synth.camera.framing import _ink_box, crop, frame
from tablerec.synth.camera.warp import bend, curl, perspective, quarter_turn, rescale, rotate
from tablerec.synth.description import WHITE, Page, Paragraph, Placed, TextStyle
from tablerec.synth.drawing import fonts
from tablerec.synth.drawing.render import render
from tablerec.synth.labels import label_to_sample, sample_to_label
from tablerec.synth.sample import TEXT_ROLES, Words
from tests.helpers.labels import fingerprint

RECIPES = recipe_names()
PER_RECIPE = 3


@cache
def samples(name: str) -> tuple[Sample, ...]:
    recipe = load_recipe(name)
    return tuple(draw(recipe, 11, index) for index in range(PER_RECIPE))


def squeezed(text: str) -> str:
    return "".join(text.split())


def turns(quads: np.ndarray) -> np.ndarray:
    """Return the cross product at each corner: positive where a quad runs clockwise."""
    sides = np.roll(quads, -1, axis=1) - quads
    following = np.roll(sides, -1, axis=1)
    return sides[..., 0] * following[..., 1] - sides[..., 1] * following[..., 0]


@pytest.mark.parametrize("name", RECIPES)
def test_cells_cover_each_grid_once(name: str) -> None:
    for sample in samples(name):
        tables = sample.to_tables()  # refuses holes and overlaps
        assert [table.n_rows for table in tables] == sample.tables.n_rows.tolist()
        assert len(sample.tables) >= 1
        assert (sample.cells.rowspans >= 1).all() and (sample.cells.colspans >= 1).all()


@pytest.mark.parametrize("name", RECIPES)
def test_quads_are_convex_and_inside_the_picture(name: str) -> None:
    for sample in samples(name):
        height, width = sample.image.shape[:2]
        assert sample.image.dtype == np.uint8 and sample.image.shape[2] == 3
        assert max(height, width) <= 1600
        for quads in (sample.cells.quads, sample.tables.quads):
            assert (turns(quads) > 0).all()
            assert quads.min() >= -1.5
            assert (quads <= np.array([width, height]) + 1.5).all()


@pytest.mark.parametrize("name", RECIPES)
def test_words_lie_in_their_cell(name: str) -> None:
    for sample in samples(name):
        if sample.about["effect"] == "bent":
            continue  # the sides of a wide cell are bent, those of its quad are straight
        words, cells = sample.words, sample.cells
        owned = words.cells >= 0
        centres = words.quads[owned].mean(axis=1)[:, None]
        quads = cells.quads[words.cells[owned]]
        sides = np.roll(quads, -1, axis=1) - quads
        to_centre = centres - quads
        assert (sides[..., 0] * to_centre[..., 1] - sides[..., 1] * to_centre[..., 0] > 0).all()
        assert all(
            word in squeezed(cells.texts[cell])
            for word, cell in zip(words.texts, words.cells, strict=True)
            if cell >= 0
        )


@pytest.mark.parametrize("name", RECIPES)
def test_text_is_that_of_the_description(name: str) -> None:
    recipe = load_recipe(name)
    for index in range(2):
        page = describe(recipe, 12, index)
        sample = render(page)
        specs = [cell for table in page.tables for cell in table.cells]
        words = defaultdict(list)
        for word, cell in zip(sample.words.texts, sample.words.cells.tolist(), strict=True):
            words[cell].append(word)
        wanted = [squeezed(spec.full_text) for spec in specs]
        assert [squeezed(text) for text in sample.cells.texts] == wanted
        assert [squeezed("".join(words[at])) for at in range(len(specs))] == wanted


def test_a_sample_does_not_depend_on_what_came_before() -> None:
    recipe = load_recipe("mixed")
    forward = [fingerprint(draw(recipe, 5, index)) for index in range(4)]
    backward = [fingerprint(draw(recipe, 5, index)) for index in reversed(range(4))]
    assert forward == backward[::-1]
    assert len(set(forward)) == 4
    assert fingerprint(draw(recipe, 6, 0)) != forward[0]


def test_a_sample_is_the_same_in_another_process(repository: Path) -> None:
    code = (
        "from tablerec.synth import draw, load_recipe; from tests.helpers.labels import fingerprint; "
        "print(fingerprint(draw(load_recipe('mixed'), 5, 2)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == fingerprint(draw(load_recipe("mixed"), 5, 2))


def test_dense_tables_are_dense() -> None:
    assert all(len(sample.cells) >= 250 for sample in samples("dense"))


def test_a_flush_crop_ends_at_the_ink() -> None:
    for index in range(12):
        page = describe(load_recipe("ruled"), 5, index)
        sample = frame(render(page), "flush", np.random.default_rng(index))
        other = np.abs(sample.image.astype(int) - np.array(page.background)).max(axis=2) > 48
        rows, columns = np.flatnonzero(other.any(axis=1)), np.flatnonzero(other.any(axis=0))
        height, width = other.shape
        margins = (columns[0], rows[0], width - 1 - columns[-1], height - 1 - rows[-1])
        assert max(margins) <= 5
        assert (sample.tables.n_rows == [len(table.rows) for table in page.tables]).all()
    empty = np.full((9, 9, 3), 255, np.uint8)
    assert _ink_box(sample.mapped(empty, lambda points: points), (1, 2, 7, 8)) == (1, 2, 7, 8)


def test_thumbnails_are_small_or_have_become_soft(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text("extends: thumbnail\neffects: thumbnail\nscripts: english\n", encoding="utf-8")
    heights = []
    for index in range(16):
        quads = draw(load_recipe(path), 3, index).words.quads
        heights.append(float(np.median(quads[:, 3, 1] - quads[:, 0, 1])))
    assert 3 < min(heights) < 10 < max(heights) < 22


def test_tight_crops_are_the_most_frequent_framing() -> None:
    recipe = load_recipe("mixed")
    framings = [dict(describe(recipe, 1, index).about)["framing"] for index in range(60)]
    assert max(set(framings), key=framings.count) == "tight"


@pytest.mark.parametrize(
    "change",
    [
        lambda sample: quarter_turn(sample, 90),
        lambda sample: quarter_turn(sample, 180),
        lambda sample: quarter_turn(sample, 270),
        lambda sample: rotate(sample, 7),
        lambda sample: rescale(sample, 1.5),
        lambda sample: curl(sample, np.random.default_rng(3)),
        lambda sample: perspective(sample, np.random.default_rng(4)),
        lambda sample: bend(sample, np.random.default_rng(5)),
        lambda sample: bend(sample, np.random.default_rng(6), sag=0.12),
    ],
)
def test_truth_moves_with_the_picture(change) -> None:
    """Find the ink of one word, painted red, where its quad says that it is."""
    page = describe(load_recipe("lineless"), 1, 0)
    sample = render(page)
    image = np.full_like(sample.image, 255)
    x0, y0 = np.floor(sample.words.quads[0].min(axis=0)).astype(int)
    x1, y1 = np.ceil(sample.words.quads[0].max(axis=0)).astype(int)
    image[y0:y1, x0:x1] = (255, 0, 0)
    moved = change(sample.mapped(image, lambda points: points))
    ys, xs = np.nonzero((moved.image[..., 0] > 180) & (moved.image[..., 1] < 100) & (moved.image[..., 2] < 100))
    centre = moved.words.quads[0].mean(axis=0)
    assert np.abs(centre - [xs.mean() + 0.5, ys.mean() + 0.5]).max() < 2.5


def test_a_page_is_bent_as_far_as_asked() -> None:
    """Seen from near, a little further than on the flat page."""
    sample = draw(load_recipe("ruled"), 0, 1)
    height, width = sample.image.shape[:2]
    line = np.stack([np.linspace(0, width, 50), np.full(50, height / 2)], axis=1)
    quads = np.repeat(line[:, None], 4, axis=1).astype(np.float32)
    words = Words(quads, ("a",) * 50, np.full(50, -1, np.int32))
    for seed, sag in ((0, 0.0), (1, 0.03), (2, 0.11)):
        places = bend(replace(sample, words=words), np.random.default_rng(seed), sag).words.quads[:, 0]
        chord = places[-1] - places[0]
        away = np.abs((places - places[0]) @ [-chord[1], chord[0]]).max() / (chord @ chord)
        assert 0.95 * sag - 1e-3 <= away <= 1.3 * sag + 1e-3


def test_words_outside_say_what_they_are_to_the_table() -> None:
    roles = set()
    for index in range(12):
        sample = draw(load_recipe("report"), 4, index)
        words = sample.words
        assert len(words.roles) == len(words)
        assert all(role == "none" for role, cell in zip(words.roles, words.cells, strict=True) if cell >= 0)
        roles |= set(words.roles)
        label = sample_to_label(sample, "a")
        assert label_to_sample(label, sample.image).words.roles == words.roles
    assert roles == set(TEXT_ROLES)


def test_a_captioned_crop_holds_title_and_note_and_cuts_the_neighbour() -> None:
    table, style = describe(load_recipe("ruled"), 5, 0).tables[0], TextStyle("Sans", 12)
    texts = (("Above", "none"), ("Title", "title"), (None, ""), ("Note", "note"), ("Table 8", "none"))
    blocks = tuple(
        Placed(table if text is None else Paragraph(text, style, role=role), 6)  # type: ignore[arg-type]
        for text, role in texts
    )
    sample = render(Page(blocks, 30, WHITE, "captioned"))
    heights = set()
    for seed in range(20):
        cropped = frame(sample, "captioned", np.random.default_rng(seed))
        outside = [text for text, cell in zip(cropped.words.texts, cropped.words.cells, strict=True) if cell < 0]
        assert outside == ["Title", "Note"]
        assert len(cropped.cells) == len(sample.cells)
        heights.add(cropped.image.shape[0])
    assert len(heights) > 5
    assert frame(
        render(Page((Placed(table),), 30, WHITE, "captioned")), "captioned", np.random.default_rng(0)
    ).image.size


def test_crop_leaves_whole_grids() -> None:
    sample = render(describe(load_recipe("ruled"), 2, 1))
    x0, y0 = sample.tables.quads[0, 0]
    x1, y1 = sample.tables.quads[0, 2]
    for share in (0.2, 0.5, 0.8):
        part = crop(sample, (x0 + share * (x1 - x0) / 2, y0, x1, y0 + share * (y1 - y0)))
        part.to_tables()
        height, width = part.image.shape[:2]
        assert (part.cells.quads >= 0).all() and (part.cells.quads <= [width, height]).all()
        assert part.words.cells.max() < len(part.cells)
    nothing = crop(sample, (0, 0, 2, 2))
    assert len(nothing.tables) == len(nothing.cells) == 0


def test_a_missing_chinese_font_falls_back_with_one_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    latin = tuple(family for family in fonts.find_families() if "chinese" not in family.scripts)
    monkeypatch.setattr(fonts, "find_families", lambda: latin)
    fonts._warn_once.cache_clear()
    path = tmp_path / "chinese.yaml"
    path.write_text("extends: ruled\nscripts: chinese\n", encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        drawn = [draw(load_recipe(path), 0, index) for index in range(2)]
    assert [str(warning.message)[:34] for warning in recwarn] == ["no chinese font on this machine: L"]
    assert {sample.about["script"] for sample in drawn} == {"english"}
    fonts._warn_once.cache_clear()


def test_a_huge_page_is_drawn_smaller(tmp_path: Path) -> None:
    path = tmp_path / "huge.yaml"
    path.write_text("extends: ruled\nfont_size: 80\nrows: 60\ncolumns: 40\ncells: 2400\n", encoding="utf-8")
    sample = render(describe(load_recipe(path), 0, 0))
    assert sample.image.shape[0] * sample.image.shape[1] < 12e6
    assert sample.to_tables()[0].shape[1] == 40
