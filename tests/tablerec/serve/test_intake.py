"""Bodies become files: whole, wherever they are cut on their way."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.serve.serving import to_parts

pytest.importorskip("python_multipart")

from tablerec.serve.intake import IN_MEMORY, Body, Storage, clean_name
from tablerec.serve.limits import ServerLimits


async def pieces(content: bytes, cuts: Sequence[int]) -> AsyncIterator[bytes]:
    places = sorted({min(cut, len(content)) for cut in cuts} | {0, len(content)})
    for start, end in itertools.pairwise(places):
        yield content[start:end]


def contents(body: Body) -> list[bytes]:
    return [each.source if isinstance(each.source, bytes) else Path(each.source).read_bytes() for each in body.uploads]


@given(
    st.lists(
        st.binary(max_size=200) | st.sampled_from([b"\r\n--frontier", b"--frontier--", b"\r\n"]), min_size=1, max_size=4
    ),
    st.lists(st.integers(0, 1200), max_size=12),
)
def test_parts_are_the_files_wherever_the_body_is_cut(files: list[bytes], cuts: list[int]) -> None:
    files = [content.replace(b"--frontier", b"--frontie") for content in files] + [b"x"]
    content, kind = to_parts([(f"{number}.png", each) for number, each in enumerate(files)], {"layout": "表"})
    with tempfile.TemporaryDirectory() as folder, Body(Storage(Path(folder), 1e9), ServerLimits()) as body:
        asyncio.run(body.read({"content-type": kind}, pieces(content, cuts), None))
        assert contents(body) == files
        assert body.fields == {"layout": "表"}


@pytest.mark.parametrize("n_files", [1, 3])
def test_what_is_large_lies_on_the_disk_until_the_end(tmp_path: Path, n_files: int) -> None:
    files = [bytes([number]) * (IN_MEMORY // n_files + 100) for number in range(n_files)]
    storage = Storage(tmp_path, 1e9)
    content, kind = to_parts([("a", each) for each in files])
    with Body(storage, ServerLimits()) as body:
        asyncio.run(body.read({"content-type": kind}, pieces(content, range(0, len(content), 65536)), None))
        assert contents(body) == files
        assert all(each.path is not None for each in body.uploads)
        assert storage.used == sum(map(len, files)) == sum(file.stat().st_size for file in tmp_path.iterdir())
    assert (storage.used, list(tmp_path.iterdir())) == (0, [])


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        (None, "file-1"), ("", "file-1"), ("..", "file-1"), ("../../etc/passwd", "passwd"), ("a\\b\\表.png", "表.png"),
        ("/", "file-1"), ("\x1b[2J.png", "\\x1b[2J.png"), ("a" * 500, "a" * 200),
    ],
)  # fmt: skip
def test_names_are_no_paths(name: str | None, clean: str) -> None:
    assert clean_name(name, "file-1") == clean
