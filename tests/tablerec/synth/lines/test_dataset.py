from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tablerec.errors import OutputError, SettingsError
from tablerec.models.characters import unknown_characters
from tablerec.synth.command import command
from tablerec.synth.lines import dataset
from tablerec.synth.lines.dataset import LIST, LineDataset


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "_IN_PART", 3)


def test_list_and_pictures(tmp_path: Path) -> None:
    lines = LineDataset(tmp_path / "lines", "number", seed=3)
    assert sorted(lines.draw(7)) == list(range(7))
    rows = (lines.folder / LIST).read_text("utf-8").splitlines()
    assert len(rows) == 7
    for row in rows:
        name, text = row.split("\t")
        assert (lines.folder / name).is_file() and text and unknown_characters(text, f"{text}") == ""


def test_a_stopped_run_goes_on_and_a_larger_one_keeps_what_is_there(tmp_path: Path) -> None:
    whole = LineDataset(tmp_path / "whole", seed=1)
    list(whole.draw(8))
    parts = LineDataset(tmp_path / "parts", seed=1)
    drawing = parts.draw(8)
    for _ in range(4):
        next(drawing)
    del drawing
    kept = {path: path.stat().st_mtime_ns for path in (parts.folder / "images").rglob("*.png")}
    assert not (parts.folder / LIST).exists()
    list(parts.draw(5))
    list(parts.draw(8))
    assert (parts.folder / LIST).read_bytes() == (whole.folder / LIST).read_bytes()
    first = parts.folder / "images" / "000000"
    assert all(path.stat().st_mtime_ns == time for path, time in kept.items() if path.parent == first)


def test_another_set_is_not_mixed_in(tmp_path: Path) -> None:
    list(LineDataset(tmp_path, "dash").draw(1))
    with pytest.raises(OutputError, match="lines dash"):
        list(LineDataset(tmp_path, "number").draw(1))
    with pytest.raises(SettingsError, match="klingon"):
        list(LineDataset(tmp_path / "new", "klingon").draw(1))
    assert not (tmp_path / "new").exists()


def test_command(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, ["lines/single", "-n", "2", "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "2 samples" in done.output
    assert len((tmp_path / "out" / LIST).read_text("utf-8").splitlines()) == 2
    for wrong in (["lines"], ["lines", "-o", str(tmp_path / "x"), "--sheet", str(tmp_path / "s.png")]):
        assert CliRunner().invoke(command, wrong).exit_code == 2
    refused = CliRunner().invoke(command, ["lines/klingon", "-o", str(tmp_path / "y")])
    assert refused.exit_code == 1 and "klingon" in refused.output
