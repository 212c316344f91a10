from __future__ import annotations

from pathlib import Path

import pytest

from postprocess.cell import Cell
from postprocess.table import Table
from postprocess.word import Word
from tablerec.errors import InputError, OutputError
from tablerec.evaluate.files import Prediction, read_prediction, read_words, write_prediction, write_text, write_words

QUAD = ((0.0, 0.0), (9.5, 0.0), (9.5, 9.0), (0.0, 9.0))


def test_words_come_back_as_they_were(tmp_path: Path) -> None:
    words = (Word("合计 <1>", QUAD, 0.5, ((0.0, 0.5), (0.5, 1.0))), Word("x", QUAD))
    write_words(tmp_path / "deep" / "a.json", words)
    assert read_words(tmp_path / "deep" / "a.json") == words
    write_words(tmp_path / "none.json", ())
    assert read_words(tmp_path / "none.json") == ()
    assert read_words(tmp_path / "absent.json") is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "words"),
        ('[{"text": 7}]', r"words\[0\].text"),
        ('[{"text": "a", "quad": [[0, 0]]}]', r"words\[0\].quad is \[\[0, 0\]\]; a list of 4 pairs"),
        ('[{"text": "a", "quad": [[0,0],[1,0],[1,1],[0,1]], "score": "high"}]', r"words\[0\].score"),
    ],
)
def test_a_file_that_holds_no_words_is_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(InputError, match=rf"a\.json: {message}"):
        read_words(path)


@pytest.mark.parametrize(
    "prediction",
    [
        Prediction("nothing"),
        Prediction("zero", Table([Cell(0, 0)]), characters_kept=0.0),
        Prediction("a", Table([Cell(0, 0, 1, 2, QUAD, "a\nb"), Cell(1, 0), Cell(1, 1)]), 2, "rulings", 3, 4, 0.5,
                   {"read": 1.5}, 2.5, True, detected=((0.0, 0.5, 9.5, 9.0, 0.75), (1.0, 0.0, 2.0, 3.0, 1.0))),
    ],
)  # fmt: skip
def test_a_prediction_comes_back_as_it_was(tmp_path: Path, prediction: Prediction) -> None:
    write_prediction(tmp_path / "a.json", prediction, {"detector": "auto"})
    assert read_prediction(tmp_path / "a.json", {"detector": "auto"}) == prediction
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_prediction_of_other_settings_or_a_failed_one_is_not_reused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert read_prediction(path, {}) is None
    write_prediction(path, Prediction("a"), {"detector": "auto"})
    assert read_prediction(path, {"detector": "rulings"}) is None
    write_prediction(path, Prediction("a", error="ValueError: no"), {})
    assert read_prediction(path, {}) is None


def test_a_prediction_that_is_no_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_prediction(path, Prediction("a", Table([Cell(0, 0)])), {})
    path.write_text(path.read_text().replace('"col": 0', '"col": 3'))
    with pytest.raises(InputError, match=r"a\.json: cells form no table"):
        read_prediction(path, {})


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        write_text(tmp_path / "file" / "a.json", "x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match="folder: a folder"):
        write_text(tmp_path / "folder", "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
