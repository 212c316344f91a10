from __future__ import annotations

import numpy as np
import pytest

from tablerec.language.reader.config import SIZES
from tablerec.language.reader.data import LEVELS, Drawing, Example
from tablerec.language.reader.grammar import Grammar
from tablerec.language.reader.packing import IGNORED, Shape, pack
from tablerec.language.reader.vocabulary import BEGIN, END

paddle = pytest.importorskip("paddle")
from tablerec.language.reader import generate  # noqa: E402
from tablerec.language.reader.generate import read, read_grey  # noqa: E402
from tablerec.language.reader.network import Reader  # noqa: E402

NOWHERE = np.zeros((0, 2), np.float32)
NO_PLACES = NOWHERE, NOWHERE, np.zeros(0, np.uint16)


@pytest.fixture(scope="module")
def net() -> Reader:
    paddle.seed(1)
    made = Reader(SIZES["tiny"])
    for each in made.parameters():
        each.set_value(each + 0.1 * paddle.randn(each.shape))
    made.eval()
    return made


def pictures(count: int) -> list[np.ndarray]:
    load = Drawing(tuple(LEVELS["numbers"][1:]), 3).load("")
    return [load(index).grey for index in range(count)]


def test_no_pictures_give_no_readings(net: Reader) -> None:
    assert read(net, []) == []


def test_a_batch_reads_as_its_pictures_do_alone(net: Reader) -> None:
    some = pictures(4)
    assert len({picture.shape for picture in some}) > 1
    for together, picture in zip(read_grey(net, some, 30), some, strict=True):
        alone = read_grey(net, [picture], 30)[0]
        assert np.array_equal(together.tokens, alone.tokens) and together.written.table == alone.written.table
        np.testing.assert_allclose(together.chances, alone.chances, atol=1e-5)


@pytest.mark.parametrize("growth", [5, 256])
def test_the_cache_changes_nothing(net: Reader, monkeypatch: pytest.MonkeyPatch, growth: int) -> None:
    monkeypatch.setattr(generate, "GROWTH", growth)
    picture = pictures(1)[0]
    reading = read_grey(net, [picture], 40)[0]
    written = np.concatenate([[BEGIN], reading.tokens, [END]]).astype(np.uint16)
    # Its places are not those that the picture has, so they are left as they were written.
    with monkeypatch.context() as patched:
        patched.setattr("tablerec.language.reader.packing.place", lambda tokens, *_: tokens.astype(np.int64))
        examples = iter([Example(picture, written, *NO_PLACES)])
        batch = pack(lambda: next(examples, None), Shape(1, 96, 1, 160))
    scores = net(batch)[0].numpy()[batch.labels != IGNORED]
    grammar = Grammar()
    for token, chance, score in zip(reading.tokens, reading.chances, scores, strict=False):
        allowed = np.where(grammar.allowed(), score, -np.inf)
        weights = np.exp(allowed - allowed.max())
        assert weights[token] / weights.sum() == pytest.approx(chance, abs=1e-5)
        grammar.take(int(token))


def test_a_table_that_is_cut_is_whole_and_says_so(net: Reader) -> None:
    reading = read_grey(net, pictures(1), 6)[0]
    assert reading.cut and len(reading.tokens) == 5 and len(reading.written.table.cells) >= 1


def test_large_pictures_are_made_smaller(net: Reader) -> None:
    reading = read(net, [np.full((900, 1200, 3), 255, np.uint8)], 4)[0]
    assert 0.3 < reading.scale < 0.7
