"""What is written in another format is read again as it was."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tablerec.cli import command
from tablerec.errors import OutputError
from tablerec.labels.convert import Format, choose_split, convert_labels
from tablerec.labels.label import Label, load_image
from tablerec.labels.read import read_labels
from tests.helpers.labels import SQUARE, read, write_bench, write_picture

FORMATS: tuple[Format, ...] = ("coco", "bench", "ppocrlabel", "labelme")

corner = st.tuples(st.floats(0, 4, width=32), st.floats(0, 4, width=32))
cells = st.lists(st.tuples(corner, corner, corner, corner, st.none() | st.text(max_size=9)), max_size=5)


def to_label(image: Path, drawn: list, split: str | None) -> Label:
    """Cells in a row, with corners moved a little: still convex, and first at the top left."""
    square = np.array([[0, 10], [20, 10], [20, 20], [0, 20]], float)
    quads = [square + np.array(corners) + [30 * place, 0] for place, (*corners, _) in enumerate(drawn)]
    texts = tuple(text for *_, text in drawn)
    slots = np.array([(0, 0, place, 1, 1) for place in range(len(drawn))], np.int32).reshape(-1, 5)
    return Label(image, "x", np.array(quads).reshape(-1, 4, 2), texts, texts, slots, split)  # type: ignore[arg-type]


@settings(max_examples=40)
@given(cells, st.sampled_from(["train", "val", None]))
def test_round_trip(drawn: list, split: str | None) -> None:
    with tempfile.TemporaryDirectory() as name:
        image = write_picture(Path(name) / "in" / "a.png", (200, 40))
        label = to_label(image, drawn, split)
        for format in FORMATS:
            folder = Path(name) / format
            assert list(convert_labels([label], folder, format)) == [label]
            (again,), problems = read(folder)
            assert problems == [] and np.array_equal(again.quads, label.quads), format
            assert again.split == (split or ("train" if format == "coco" else None))
            assert (load_image(again.image) == load_image(image)).all()
            if format == "bench":
                assert again.texts == label.texts and np.array_equal(again.slots, label.slots)
            elif format != "coco":
                assert [text or "" for text in again.texts] == [text or "" for text in label.texts]


@pytest.mark.parametrize("split", ["../../out", "/out", "..", "a/b", "a\\b", "\ud800", "x" * 300, "a\nb", "nul\0"])
def test_nothing_is_written_outside_the_folder_whatever_a_split_is_called(tmp_path: Path, split: str) -> None:
    write_bench(tmp_path / "in", "a", [SQUARE], split=split)
    before = set(tmp_path.rglob("*"))
    for format in FORMATS:
        (problem,) = convert_labels(read_labels(tmp_path / "in"), tmp_path / "new" / format, format)
        assert "is no plain name" in str(problem)
    assert all(path.is_relative_to(tmp_path / "new") for path in set(tmp_path.rglob("*")) - before)


@pytest.mark.parametrize("format", FORMATS[1:])
def test_half_of_a_surrogate_pair_in_a_text_is_kept(tmp_path: Path, format: Format) -> None:
    image = write_picture(tmp_path / "a.png", (200, 40))
    label = to_label(image, [((0, 0),) * 4 + ("a\ud800",)], None)
    assert list(convert_labels([label], tmp_path / "out", format)) == [label]
    (again,), problems = read(tmp_path / "out")
    assert problems == [] and again.texts == label.texts


@pytest.mark.parametrize("format", FORMATS)
def test_bad_labels_are_left_out_and_named(tmp_path: Path, format: str) -> None:
    write_bench(tmp_path / "in", "good", [SQUARE])
    write_bench(tmp_path / "in", "bad", [SQUARE[::-1]])
    write_bench(tmp_path / "in" / "more", "good", [SQUARE])  # of the same name
    arguments = ["labels", "convert", str(tmp_path / "in"), "--to", format, "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 1 and "bad.json: cells[0]: its corners run backwards" in done.output
    assert "2 pictures" in done.output
    assert sorted(label.image.name for label in read(tmp_path / "out")[0]) == ["good.png", "good_2.png"]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 1 and "not empty" in done.output


def test_a_split_stays_as_the_set_grows(tmp_path: Path) -> None:
    names = [f"{number}.png" for number in range(400)]
    trained = [name for name in names if choose_split(name, 0.8) == "train"]
    assert 290 < len(trained) < 350
    assert set(trained) <= {name for name in names if choose_split(name, 0.9) == "train"}
    write_bench(tmp_path / "in", "a", [SQUARE])
    (written,) = convert_labels(read(tmp_path / "in")[0], tmp_path / "out", "bench", split=0.0)
    assert written.split == "val" and read(tmp_path / "out")[0][0].split == "val"


def test_a_turned_photograph_is_written_upright(tmp_path: Path) -> None:
    import PIL.Image

    picture = PIL.Image.new("RGB", (30, 20), (200, 10, 20))
    exif = picture.getexif()
    exif[0x0112] = 6
    picture.save(tmp_path / "a.jpg", exif=exif)
    label = to_label(tmp_path / "a.jpg", [], None)
    list(convert_labels([label], tmp_path / "out", "coco"))
    ((again,), _) = read(tmp_path / "out")
    with PIL.Image.open(again.image) as plain:
        assert plain.size == again.size_wh == (20, 30) and 0x0112 not in plain.getexif()


def test_nothing_is_written_into_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError):
        list(convert_labels([], tmp_path / "file", "coco"))
