"""The report says what came of a run, however it ended."""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tablerec.errors import OutputError
from tablerec.training.settings import TrainSettings
from tests.helpers.training import make_settings

pytest.importorskip("paddle")

from tablerec.training.report import Outcome, list_warnings, summarize, write_report

VOID = {"meta", "img", "path", "use", "br"}


def settings(output: Path, **changes: Any) -> TrainSettings:
    return make_settings(
        output, **{"source": "crops:a<b", "steps": 40, "batch_size": 2, "initial": "cellnet", **changes}
    )


def outcome(**changes: Any) -> Outcome:
    values = {
        "ended": "finished", "weights": Path("out/cellnet.safetensors"), "checkpoint": Path("out/checkpoint-00000040"),
        "seconds": 60.0, "n_samples": 50, "n_parameters": 1000, "n_trainable": 10, "peak_bytes": 2_000_000_000,
    }  # fmt: skip
    return Outcome(**{**values, **changes})


def losses(values: list[float]) -> list[dict[str, float]]:
    return [{"step": step, "learning_rate": 1e-3, "total": value} for step, value in enumerate(values, 1)]


def scores(values: dict[int, float]) -> list[dict[str, float]]:
    return [{"step": step, "f1_60": value, "f1_80": value, "exact": value} for step, value in values.items()]


def write_lines(path: Path, lines: list[dict[str, float]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


class Tags(HTMLParser):
    """Checks that each tag is closed, and keeps what the page would load."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script"
        self.loaded += [value or "" for name, value in attrs if name == "src"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [value or "" for name, value in attrs if name == "src"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(output: Path) -> tuple[dict[str, Any], str]:
    return json.loads((output / "summary.json").read_text()), (output / "report.html").read_text()


def test_a_run_that_failed_at_once_has_a_report(tmp_path: Path) -> None:
    failed = outcome(ended="failed", weights=None, checkpoint=None, seconds=0.0, n_samples=0, problem="no <font>")
    write_report(settings(tmp_path), failed)
    summary, page = read(tmp_path)
    assert (summary["steps"], summary["images_per_second"], summary["before"], summary["after"]) == (
        0,
        None,
        None,
        None,
    )
    Tags(page)
    assert "no &lt;font&gt;" in page and "No checkpoint was written" in page and "tablerec export" not in page


@pytest.mark.parametrize("drawn", [True, False])
def test_a_whole_run(tmp_path: Path, drawn: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if drawn:
        pytest.importorskip("matplotlib")
    else:
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    write_lines(tmp_path / "log.jsonl", losses([2 - step / 40 for step in range(40)]))
    write_lines(tmp_path / "curve.jsonl", scores({0: 0.5, 20: 0.6, 40: 0.75}))
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures/step-00000040.jpg").write_bytes(b"jpeg")
    page_path = write_report(settings(tmp_path), outcome())
    summary, page = read(tmp_path)
    assert page_path == tmp_path / "report.html"
    assert summary["before"]["f1_80"] == 0.5 and summary["after"] == {
        "step": 40,
        "f1_60": 0.75,
        "f1_80": 0.75,
        "exact": 0.75,
    }
    assert summary["images_per_second"] == pytest.approx(80 / 60, abs=0.01) and summary["minutes"] == 1
    assert summary["warnings"] == []
    assert "from 0.500 to 0.750" in page and "+0.2500" in page and "10 of 1,000 weights" in page and "2.00 GB" in page
    assert ("<svg" in page) == drawn and "crops:a&lt;b" in page
    assert [source[:22] for source in Tags(page).loaded] == ["data:image/jpeg;base64"]
    assert {path.name for path in tmp_path.iterdir()} == {
        "log.jsonl",
        "curve.jsonl",
        "pictures",
        "summary.json",
        "report.html",
    }


def test_failed_after_a_checkpoint(tmp_path: Path) -> None:
    write_lines(tmp_path / "log.jsonl", losses([1.0, float("nan")]))
    write_report(settings(tmp_path), outcome(ended="failed", problem="the loss is not finite"))
    page = read(tmp_path)[1]
    Tags(page)
    assert "the loss is not finite" in page and "checkpoint-00000040 is whole" in page


def test_the_kept_weights_are_told(tmp_path: Path) -> None:
    curve = scores({0: 0.5, 20: 0.8, 40: 0.7})
    kept = [
        summarize(settings(tmp_path, validation_patience=patience), outcome(), [], curve)["after"]
        for patience in (None, 2)
    ]
    assert [(each["step"], each["f1_80"]) for each in kept] == [(40, 0.7), (20, 0.8)]


@pytest.mark.parametrize(
    ("curve", "values", "expected"),
    [
        ({}, [1.0] * 3, "Nothing was validated"),
        ({0: 0.7, 40: 0.702}, [1.0] * 3, "No progress"),
        ({0: 0.7, 40: 0.5}, [1.0] * 3, "It became worse"),
        ({0: 0.5, 20: 0.8, 40: 0.7}, [2 - step / 40 for step in range(40)], "Overfitting"),
        ({0: 0.5, 40: 0.8}, [1.0] * 40, "The loss does not fall"),
    ],
)
def test_warnings(tmp_path: Path, curve: dict[int, float], values: list[float], expected: str) -> None:
    (warning,) = list_warnings(settings(tmp_path), outcome(), losses(values), scores(curve))
    assert warning.startswith(expected)


def test_few_samples(tmp_path: Path) -> None:
    found = list_warnings(settings(tmp_path, batch_size=64, validation_samples=5), outcome(), [], scores({40: 0.8}))
    assert [text.split(",")[0] for text in found] == [
        "Only 50 samples were prepared",
        "The scores are over 5 samples only: they say little. Validate on 30 or more.",
    ]


def test_an_output_that_cannot_be_written_keeps_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_report(settings(tmp_path), outcome())
    before = read(tmp_path)

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OutputError, match="make room"):
        write_report(settings(tmp_path), outcome(ended="stopped"))
    assert read(tmp_path) == before and len(list(tmp_path.iterdir())) == 2
