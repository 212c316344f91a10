"""Pictures and documents that are dropped into the page."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from tablerec.config import Settings
from tablerec.corrections.editor import CorrectionFolder
from tablerec.corrections.review.desk import Desk
from tablerec.corrections.review.dropping import clean_name, take_input
from tablerec.errors import InputError, OutputError
from tablerec.result import Page
from tests.helpers.pdf import make_document
from tests.helpers.review import make_page, make_table


def picture(size: tuple[int, int] = (30, 20)) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", size, "white").save(content, "PNG")
    return content.getvalue()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    def read(source: str) -> Iterator[Page]:
        yield make_page(make_table(), source=source)

    made = Desk([], tmp_path, CorrectionFolder(tmp_path / "corrections"), read, settings=Settings(max_megapixels=1))
    yield made
    made.stop()


def take(desk: Desk, name: str, content: bytes) -> str:
    return take_input(desk, name, io.BytesIO(content)).name


def settled(desk: Desk) -> list[str]:
    """Names on the list, when everything is read."""
    worker = desk._worker
    if worker is not None:
        worker.join(20)
    return sorted(table["source"] for table in desk.listing()["tables"])


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a", "a.", ".png", "a.exe", "a.svg", "\x00", "a.png\x00.exe", "../..", "C:\\"]
)
def test_a_name_that_is_none_of_a_picture_is_refused(desk: Desk, name: str) -> None:
    with pytest.raises(InputError, match="by its name"):
        take(desk, name, picture())
    assert not (desk.corrections.folder / "inputs").exists()


@pytest.mark.parametrize("name", ["a.png", "../../a.png", "/etc/a.png", "..\\a.png", "\x1b[2Ja.png", "表 1.PDF"])
def test_a_name_is_a_file_of_one_folder(name: str) -> None:
    clean = clean_name(name)
    assert clean.isprintable() and not {*clean} & {*'/\\<>:"|?*'} and not clean.startswith(".")


def test_a_long_name_is_cut_in_bytes() -> None:
    assert len(clean_name("表" * 300 + ".png").encode()) < 200


def test_what_is_dropped_joins_the_list_and_stays_over_a_restart(desk: Desk, tmp_path: Path) -> None:
    assert take(desk, "a.png", picture()) == "a.png"
    assert settled(desk) == ["a.png"]
    take(desk, "b.pdf", make_document(1))
    assert settled(desk) == ["a.png", "b.pdf"]
    listing = desk.listing()
    assert (listing["n_read"], listing["n_inputs"], listing["problems"]) == (2, 2, [])

    def read(source: str) -> Iterator[Page]:
        raise AssertionError(f"{source} is read again")
        yield

    again = Desk([], tmp_path, CorrectionFolder(tmp_path / "corrections"), read)
    again.read_all()
    assert settled(again) == ["a.png", "b.pdf"] and again.listing()["problems"] == []


def test_two_files_of_one_name_are_both_kept(desk: Desk) -> None:
    assert [take(desk, "a.png", picture(size)) for size in [(30, 20), (20, 30)]] == ["a.png", "a-2.png"]
    assert settled(desk) == ["a-2.png", "a.png"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "a.png"),
        (b"text", "a.png"),
        (picture()[:-30], "a.png"),
        (b"PK\x03\x04" + bytes(40), "Office"),
        (picture((2000, 1000)), "megapixel"),
        (make_document(1, "secret"), "password"),
    ],
)
def test_what_cannot_be_read_is_refused_and_not_kept(desk: Desk, content: bytes, says: str) -> None:
    with pytest.raises(InputError) as refused:
        take(desk, "a.png", content)
    assert says in str(refused.value) and ".part" not in str(refused.value) and "corrections" not in str(refused.value)
    assert list((desk.corrections.folder / "inputs").iterdir()) == []
    assert desk.listing()["n_inputs"] == 0


def test_a_file_that_ends_early_is_not_kept(desk: Desk) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise ConnectionResetError("gone")

    with pytest.raises(OutputError):
        take_input(desk, "a.png", Broken())
    assert list((desk.corrections.folder / "inputs").iterdir()) == []


def test_nothing_is_kept_through_a_link(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "corrections").mkdir()
    (tmp_path / "corrections" / "inputs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="leads out"):
        take(desk, "a.png", picture())
    assert list((tmp_path / "elsewhere").iterdir()) == []
