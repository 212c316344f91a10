"""Batches from and to a real server of S3, which runs on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tablerec.bulk.journal import SegmentJournal, open_journal
from tablerec.bulk.open import open_batch
from tablerec.bulk.results import FileResults, ParquetResults
from tablerec.bulk.sources import find_sources
from tablerec.bulk.store import open_store
from tablerec.config import Settings
from tablerec.errors import InputError, OutputError
from tests.helpers.bulk.executor import TextExecutor
from tests.helpers.bulk.killing import make_results
from tests.helpers.bulk.running import Told, batch, inputs, tables

ROOT = Path(__file__).resolve().parents[3]

s3fs = pytest.importorskip("s3fs")
moto_server = pytest.importorskip("moto.server")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the server and of botocore
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    running = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    yield f"http://127.0.0.1:{running._server.server_port}"
    running.stop()


@pytest.fixture
def bucket(server: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A file system with a new bucket, as the variables of the environment set it up for everybody."""
    for name, value in (
        ("AWS_ENDPOINT_URL", server),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    files = s3fs.S3FileSystem(use_listings_cache=False)
    files.mkdir("bucket")
    yield files
    files.rm("bucket", recursive=True)
    s3fs.S3FileSystem.clear_instance_cache()


def put(files: Any, *texts: str) -> None:
    files.pipe({f"bucket/in/{number:02}.png": text.encode() for number, text in enumerate(texts)})


def test_from_and_to_a_bucket(bucket: Any) -> None:
    put(bucket, "a pages=2", "b", "a pages=2", "broken")
    store = open_store("s3://bucket/out")
    state, told, executor = batch(store, "s3://bucket/in/", "s3://bucket/in/none.png")
    assert (state.sums.pages, state.sums.equal, state.n_failures) == (3, 1, 2)
    assert sorted(told.errors) == [
        "s3://bucket/in/03.png: not a picture or PDF; give another file",
        "s3://bucket/in/none.png: no such file; check the name and the folder",
    ]
    written = bucket.find("bucket/out/tables")
    assert [name[-8:] for name in sorted(written, key=lambda name: name[-8:])][-2:] == ["_p1.json", "_p2.json"]
    assert len(written) == 3
    assert all(json.loads(bucket.cat_file(name))["source"].startswith("s3://bucket/in/") for name in written)
    assert json.loads(bucket.cat_file("bucket/out/summary.json"))["pages"] == 3
    # The listing tells what changed: nothing is fetched again, but for what did.
    bucket.pipe_file("bucket/in/01.png", b"changed")
    _, _, executor = batch(store, "s3://bucket/in/*.png")
    assert list(executor.counts) == [("s3://bucket/in/01.png", 1)]


def test_a_dataset_in_a_bucket_goes_on_after_a_stop(bucket: Any) -> None:
    pytest.importorskip("pyarrow")
    put(bucket, *(f"{number}" for number in range(12)))
    store = open_store("s3://bucket/out")

    def results() -> ParquetResults:
        made = ParquetResults()
        made.group_pages = 5
        return made

    class Stopped(TextExecutor):
        def run(self, tasks: Any) -> Iterator[Any]:
            for number, outcome in enumerate(super().run(tasks)):
                if number == 14:
                    raise KeyboardInterrupt
                yield outcome

    with pytest.raises(KeyboardInterrupt):
        batch(store, "s3://bucket/in/", executor=Stopped(), results=results())
    bucket.pipe_file("bucket/out/tables/part-00000000000000aa.parquet", b"written, not recorded")
    state, _, executor = batch(store, "s3://bucket/in/", results=results())
    assert (state.sums.pages, sum(executor.counts.values())) == (12, 5)
    found = bucket.ls("bucket/out/tables", detail=False, refresh=True)
    dataset = pytest.importorskip("pyarrow.dataset").dataset(found, filesystem=bucket, format="parquet")
    sources = sorted(dataset.to_table()["source"].to_pylist())
    assert sources == [f"s3://bucket/in/{number:02}.png" for number in range(12)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_each_row_is_there_once_whenever_the_process_is_killed(bucket: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    folder = inputs(tmp_path / "in", *(f"{number} pages={1 + number % 3}" for number in range(9)))
    code = "from pathlib import Path; from tests.helpers.bulk.killing import killed_until_done\n"
    code += f"print(killed_until_done('parquet', 1, 's3://bucket/out', Path({str(folder)!r}), True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    state, _, executor = batch(open_store("s3://bucket/out"), folder, results=make_results("parquet"))
    assert (executor.counts, state.sums.pages, state.open) == ({}, 18, {})
    found = bucket.ls("bucket/out/tables", detail=False, refresh=True)
    dataset = pytest.importorskip("pyarrow.dataset").dataset(found, filesystem=bucket, format="parquet")
    cells = [json.loads(text)[0]["text"] for text in dataset.to_table()["cells"].to_pylist()]
    batch(tmp_path / "clean", folder)
    assert sorted(cells) == sorted(tables(tmp_path / "clean").values())


def test_of_two_writers_one_is_refused(bucket: Any) -> None:
    put(bucket, "a")
    store = open_store("s3://bucket/out")
    with open_batch(store, Settings(), FileResults(("json",))) as first:
        second = open_journal(store)
        assert isinstance(second, SegmentJournal)

        def goes_on(_: float) -> None:
            first.run(TextExecutor(), Told(), partial(find_sources, ["s3://bucket/in/"]))

        second._sleep = goes_on
        with pytest.raises(OutputError, match="another tablerec batch writes here"):
            second.lock()
    assert batch(store, "s3://bucket/in/")[0].sums.pages == 1


def test_an_object_that_is_there_is_not_written_as_new(bucket: Any) -> None:
    store = open_store("s3://bucket/out")
    store.write("journal/1", b"a", new=True)
    with pytest.raises(FileExistsError):
        store.write("journal/1", b"b", new=True)
    assert store.read("journal/1") == b"a"
    store.write("journal/1", b"c")
    assert (store.read("journal/1"), store.read("none"), store.list(""), store.list("none")) == (
        b"c", None, ["journal"], []
    )  # fmt: skip
    store.remove("journal/1")
    store.remove("journal/1")


def test_a_bucket_that_is_not_there(bucket: Any) -> None:
    with pytest.raises(InputError, match="s3://nowhere/in/: cannot be listed"):
        list(find_sources(["s3://nowhere/in/"]))
    with pytest.raises(OutputError, match="s3://nowhere/out"):
        batch(open_store("s3://nowhere/out"))
