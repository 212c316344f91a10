from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tablerec.course import Copied, copy_course, course, course_data
from tablerec.course.course import course_files, course_root
from tablerec.errors import OutputError

TOUR = Path("notebooks/00_tour.ipynb")
MINE = b"of a person"


@pytest.fixture
def older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the root of a course of one notebook, which the tests then change."""
    root = tmp_path / "older"
    (root / "notebooks").mkdir(parents=True)
    (root / TOUR).write_bytes(b"version 1")
    monkeypatch.setattr(course, "course_root", lambda: root)
    return root


def test_a_folder_that_is_not_there_gets_all_files(tmp_path: Path) -> None:
    copied = copy_course(tmp_path / "not" / "yet")
    assert set(copied.new) == set(course_files()) and not copied.renewed and not copied.beside
    for name in copied.new:
        assert (tmp_path / "not" / "yet" / name).read_bytes() == (course_root() / name).read_bytes()


def test_again_nothing_is_done(tmp_path: Path) -> None:
    copy_course(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert copy_course(tmp_path) == Copied()
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_what_a_person_changed_stays_and_what_she_removed_returns(tmp_path: Path) -> None:
    copy_course(tmp_path)
    (tmp_path / TOUR).write_bytes(MINE)
    (tmp_path / "notebooks" / "own.ipynb").write_bytes(MINE)
    (tmp_path / "data/samples/ruled.png").unlink()
    assert copy_course(tmp_path) == Copied(new=(Path("data/samples/ruled.png"),))
    assert (tmp_path / TOUR).read_bytes() == (tmp_path / "notebooks" / "own.ipynb").read_bytes() == MINE


def test_a_newer_course_renews_what_nobody_changed(tmp_path: Path, older: Path) -> None:
    folder = tmp_path / "copy"
    copy_course(folder)
    (older / TOUR).write_bytes(b"version 2")
    assert copy_course(folder) == Copied(renewed=(TOUR,))
    assert (folder / TOUR).read_bytes() == b"version 2"


def test_a_newer_course_lies_beside_what_a_person_changed(tmp_path: Path, older: Path) -> None:
    folder = tmp_path / "copy"
    copy_course(folder)
    (folder / TOUR).write_bytes(MINE)
    for version, name in ((2, "00_tour-2.ipynb"), (3, "00_tour-3.ipynb")):
        (older / TOUR).write_bytes(b"version %d" % version)
        assert copy_course(folder) == Copied(beside=(Path("notebooks") / name,))
        assert copy_course(folder) == Copied()
        assert (folder / TOUR).read_bytes() == MINE
        assert (folder / "notebooks" / name).read_bytes() == b"version %d" % version


@pytest.mark.parametrize("notes", [None, b"", b"\xff", b"[1]", b"[" * 100_000, b'{"notebooks/00_tour.ipynb": [1]}'])
def test_without_sound_notes_nothing_is_written_over(tmp_path: Path, older: Path, notes: bytes | None) -> None:
    folder = tmp_path / "copy"
    (folder / TOUR).parent.mkdir(parents=True)
    (folder / TOUR).write_bytes(MINE)
    if notes is not None:
        (folder / ".tablerec-lab.json").write_bytes(notes)
    assert copy_course(folder) == Copied(beside=(Path("notebooks/00_tour-2.ipynb"),))
    assert (folder / TOUR).read_bytes() == MINE


def test_a_folder_or_a_link_in_the_place_of_a_file_is_named(tmp_path: Path, older: Path) -> None:
    (tmp_path / "a" / TOUR).mkdir(parents=True)
    (tmp_path / "b" / "notebooks").mkdir(parents=True)
    (tmp_path / "b" / TOUR).symlink_to(tmp_path / "elsewhere")
    for folder in "ab":
        with pytest.raises(OutputError, match=r"00_tour\.ipynb"):
            copy_course(tmp_path / folder)
    assert not (tmp_path / "elsewhere").exists()


def test_a_checkout_is_left_alone(repository: Path) -> None:
    assert course_root() == repository and copy_course(repository) == Copied()
    assert not (repository / ".tablerec-lab.json").exists()


def files_of_notebooks(folder: Path) -> list[tuple[str, str]]:
    """Return the parts and files of the course's data that the code of the notebooks names."""
    found = []
    for path in sorted(folder.rglob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        found += re.findall(r"""course_data\("(\w+)"\)(?: / "([\w./-]+)")?""", code)
    return found


def test_notebooks_find_their_files_in_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_course(tmp_path)
    names = files_of_notebooks(tmp_path / "notebooks")
    assert ("samples", "") in names
    for folder, prefix in (("notebooks", "../data"), ("notebooks/zh", "../../data")):
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        assert course_data("samples") == Path(prefix, "samples")
        assert [name for name in names if not (course_data(name[0]) / name[1]).exists()] == []


def test_sources_are_not_copied(tmp_path: Path) -> None:
    copy_course(tmp_path)
    assert not (tmp_path / "notebooks" / "source").exists()
