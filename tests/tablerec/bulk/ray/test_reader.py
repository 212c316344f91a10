"""What an actor does, without Ray."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tablerec import Settings, __version__
from tablerec.bulk.ray.reader import Contents, Order, Reader, remove_left
from tablerec.bulk.results import FileResults, Origin, ParquetResults
from tablerec.errors import InputError, ModelNotFoundError
from tablerec.result import Page
from tests.helpers.bulk.ray_nodes import draw_numbered, shape_of


def order(name: str, content: str) -> Order:
    return Order(name, content * 64, 1, Origin(name, content * 64, True))


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    reader = Reader(Settings(detector="rulings", ocr="none"))
    yield reader
    reader.close()


def test_it_says_that_it_can_read(reader: Reader) -> None:
    begun = reader.begin()
    assert begun.version == __version__ and begun.error is None


def test_a_page_travels_without_its_pixels(reader: Reader) -> None:
    content = draw_numbered(63)
    answer = reader.read(order("s3://bucket/a.png", "a"), lambda: content)
    assert len(pickle.dumps(answer)) < 40_000
    page = pickle.loads(pickle.dumps(answer)).result()
    assert isinstance(page, Page)
    assert [(table.n_rows, table.n_cols) for table in page.tables] == [shape_of(63)]
    assert page.picture.source == "s3://bucket/a.png" and page.picture.image.shape == (237, 381, 3)
    assert page.picture.image.base is not None  # one byte


def test_with_an_encoder_only_files_and_sums_travel() -> None:
    files = FileResults(("html", "json"))
    reader = Reader(Settings(detector="rulings", ocr="none"), encode=pickle.loads(pickle.dumps(files.encode)))
    answer = pickle.loads(pickle.dumps(reader.read(order("s3://bucket/a.png", "a"), lambda: draw_numbered(63))))
    page = answer.result()
    assert isinstance(page, Page)
    assert [len(table) for table in page.tables] == [0]
    assert page.tables[0].confidence is not None and page.tables[0].confidence.table > 0.5
    assert [name for name, _ in answer.encoded] == [f"tables/aaa/a-{'a' * 20}.{suffix}" for suffix in ("html", "json")]
    data = json.loads(answer.encoded[1][1])
    assert data["source"] == "s3://bucket/a.png"
    assert (data["pages"][0]["tables"][0]["n_rows"], data["pages"][0]["tables"][0]["n_cols"]) == shape_of(63)
    reader.close()


def test_rows_of_parquet_are_made_without_pyarrow() -> None:
    pytest.importorskip("pyarrow")
    encode = pickle.dumps(ParquetResults().encode)
    assert b"pyarrow" not in encode and pickle.loads(encode) is ParquetResults().encode


def test_what_is_wrong_is_told_by_the_name_of_the_input(reader: Reader) -> None:
    answer = reader.read(order("s3://bucket/b.png", "b"), lambda: b"\x89PNG")
    error = answer.result()
    assert isinstance(error, InputError)
    assert str(error) == "s3://bucket/b.png: broken or incomplete PNG picture; export it again"
    assert pickle.loads(pickle.dumps(answer)).result().args == error.args


def test_a_reader_without_its_model_says_so(tmp_path: Path) -> None:
    reader = Reader(Settings(detector="cellnet", detector_dir=tmp_path))
    assert isinstance(reader.begin().error, ModelNotFoundError)
    reader.close()


def test_a_content_is_fetched_once_for_all_pages_and_the_last_ones_stay() -> None:
    fetched = []

    def fetch(name: str) -> Callable[[], bytes]:
        return lambda: fetched.append(name) or name.encode()  # type: ignore[func-returns-value]

    contents = Contents(most=1, large=1)
    for name in ("a", "a", "b", "b", "a"):
        with contents.hold(name, fetch(name)) as path:
            assert path.read_text() == name
            folder = path.parent
    assert fetched == ["a", "b", "a"]
    assert [path.name for path in folder.iterdir()] == ["a"]
    contents.close()
    assert not folder.exists()


def test_a_content_that_is_read_is_not_removed() -> None:
    contents = Contents(most=1, large=1)
    with contents.hold("a", lambda: b"a") as first:
        for name in "bcd":
            with contents.hold(name, name.encode):
                pass
        assert first.read_bytes() == b"a"
    contents.close()


def test_a_content_that_cannot_be_fetched_leaves_nothing() -> None:
    contents = Contents(most=1, large=1)

    def fail() -> bytes:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"), contents.hold("a", fail):
        pass
    with contents.hold("a", lambda: b"a") as path:
        assert path.read_bytes() == b"a"
    contents.close()


def test_small_contents_are_no_files_and_an_empty_one_is_none_either() -> None:
    contents = Contents(most=1, large=2)
    for content in (b"", b"a"):
        with contents.hold(f"{len(content)}", lambda content=content: content) as held:  # type: ignore[misc]
            assert held == content
    contents.close()


def test_what_killed_actors_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left = tmp_path / "tablerec-actor-999999999-abc"
    ours, other = tmp_path / f"tablerec-actor-{os.getpid()}-abc", tmp_path / "tablerec-actor-notes"
    for folder in (left, ours, other):
        folder.mkdir()
    remove_left()
    assert [folder.exists() for folder in (left, ours, other)] == [False, True, True]
