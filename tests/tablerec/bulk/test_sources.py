from __future__ import annotations

import os
from pathlib import Path

import pytest

from tablerec.bulk.sources import Source, find_sources
from tablerec.errors import InputError, MissingDependencyError


def names(*given: object, **options: object) -> list[str]:
    return [source.name for source in find_sources([str(each) for each in given], **options)]  # type: ignore[arg-type]


def touch(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def test_nothing_is_nothing() -> None:
    assert names() == []


def test_folders_hold_their_pictures_and_with_recursive_those_inside(tmp_path: Path) -> None:
    touch(tmp_path, "b.png", "a.PDF", ".hidden.png", "notes.txt", "b.overlay.png", "in/c.tif", "in/in/d.jpg")
    assert names(tmp_path) == [str(tmp_path / "a.PDF"), str(tmp_path / "b.png")]
    assert [Path(name).name for name in names(tmp_path, recursive=True)] == ["a.PDF", "b.png", "c.tif", "d.jpg"]


def test_globs_and_files_of_any_name(tmp_path: Path) -> None:
    touch(tmp_path, "a1.png", "a2.png", "b.png", "[x].png", "notes.txt")
    assert [Path(name).name for name in names(tmp_path / "a*")] == ["a1.png", "a2.png"]
    # A file that is there is meant, whatever signs its name has; what is judged is the content, not the suffix.
    assert names(tmp_path / "[x].png", tmp_path / "notes.txt", tmp_path / "none.png") == [
        str(tmp_path / name) for name in ("[x].png", "notes.txt", "none.png")
    ]


def test_what_names_nothing_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    touch(tmp_path, "a.png")
    (tmp_path / "empty").mkdir()
    told: list[str] = []
    given = [tmp_path / "empty", tmp_path / "x*.png", tmp_path / "a.png"]
    found = names(*given, on_error=lambda name, error: told.append(str(error)))
    assert [Path(name).name for name in found] == ["a.png"]
    assert "no pictures or PDFs in this folder; name another one, or use --recursive" in told[0]
    assert "no picture or PDF has such a name; check the pattern" in told[1]
    with pytest.raises(InputError):
        names(tmp_path / "empty")


def test_a_list_has_a_name_on_each_line_whatever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes(b"a b.png\r\n\n#c.png\ns3://bucket/[d].png\n\xff.png\nlast.png")
    found = [source.name for source in find_sources([], [path])]
    assert found == ["a b.png", "#c.png", "s3://bucket/[d].png", os.fsdecode(b"\xff.png"), "last.png"]
    with pytest.raises(InputError, match="the list cannot be read"):
        list(find_sources([], [tmp_path / "none.txt"]))


def test_urls_of_files_folders_and_globs() -> None:
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    for name in ("b.png", "a.pdf", "notes.txt", "in/c.png", "in/in/d.png"):
        files.pipe_file(f"/sources/{name}", b"x")
    place = "memory://sources"
    assert names(f"{place}/b.png") == [f"{place}/b.png"]
    assert names(f"{place}/none.png") == [f"{place}/none.png"]
    found = list(find_sources([f"{place}/"]))
    assert [source.name for source in found] == ["memory:///sources/a.pdf", "memory:///sources/b.png"]
    assert all(source.info is not None and source.info["size"] == 1 for source in found)
    assert [name[-5:] for name in names(place, recursive=True)] == ["a.pdf", "b.png", "c.png", "d.png"]
    assert [name[-5:] for name in names(f"{place}/**/*.png")] == ["b.png", "c.png", "d.png"]
    with pytest.raises(InputError, match="cannot be listed"):
        names(f"{place}/**.png")
    with pytest.raises(InputError, match="no picture or PDF has such a name"):
        names(f"{place}/x*.png")
    with pytest.raises(InputError, match="memory://nothing/: cannot be listed"):
        names("memory://nothing/")
    files.rm("/sources", recursive=True)


def test_a_url_without_what_reads_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(MissingDependencyError, match=r'run: pip install "tablerec\[batch\]"'):
        names("s3://bucket/")


def test_no_input_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("a.png\n" * 3)
    assert list(find_sources([], [path])) == [Source("a.png")] * 3
