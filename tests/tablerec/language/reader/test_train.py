from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tablerec.errors import SettingsError, TrainingError
from tablerec.language.reader.batches import Batches, shape_of
from tablerec.language.reader.config import Settings
from tablerec.language.reader.data import LEVELS
from tablerec.language.reader.train import main, train
from tablerec.language.reader.vocabulary import END

paddle = pytest.importorskip("paddle")
from tablerec.language.reader.network import load_reader  # noqa: E402
from tablerec.language.reader.train import Run  # noqa: E402

SMALL = {
    "levels": "numbers", "size": "tiny", "minutes": 0.03, "budget": 512, "min_buffer": 24, "log_every": 2,
    "warmup": 2, "learning_rate": 5e-3, "validate_every": 0, "save_every": 600.0,
}  # fmt: skip


def lines(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "curve.jsonl").read_text(encoding="utf-8").splitlines()]


def test_rows_hold_the_largest_example_of_each_level() -> None:
    levels = LEVELS["tables"]
    for number, level in enumerate(levels):
        shape = shape_of(levels, number, 65536)
        assert shape.patches >= level.patches and shape.tokens >= level.patches + level.tokens
        assert 0.9 * level.share * 65536 <= shape.token_rows * shape.tokens <= level.share * 65536


def test_a_training_learns_and_goes_on_where_it_was(tmp_path: Path) -> None:
    said: list[str] = []
    settings = Settings(tmp_path, **SMALL, stop_after=0.0)
    run = Run(settings, "cpu", said.append)
    steps = 0

    def after_ten() -> bool:
        nonlocal steps
        steps += 1
        return steps > 10

    run.settings = replace(settings, stop_after=None, minutes=5.0)
    run.go(after_ten)
    run.close()
    curve = lines(tmp_path)
    assert curve[-1]["loss"] < curve[0]["loss"] - 0.5 and curve[-1]["step"] == 10
    again = Run(replace(settings, minutes=5.0, stop_after=None), "cpu", said.append)
    try:
        assert again.step == 10 and again.seconds == run.seconds and again.n_seen == run.n_seen
        for name, each in again.parameters.items():
            assert bool((each == run.parameters[name]).all())
        batch = again.batches.take()
        first, second = float(again._train(batch)[0]), float(again.net.loss(batch).written)
        assert second < first < curve[-1]["loss"] + 0.3  # with the moments that it had
    finally:
        again.close()
    assert "from step 10" in "".join(said)
    assert load_reader(tmp_path).config == again.net.config


def test_the_end_comes_before_the_limit_and_is_saved(tmp_path: Path) -> None:
    train(Settings(tmp_path, **{**SMALL, "minutes": 60.0}, stop_after=0.0), report=lambda _: None)
    assert list(tmp_path.glob("checkpoint-*")) and list(tmp_path.glob("reader-*"))


def test_a_checkpoint_of_another_network_is_refused(tmp_path: Path) -> None:
    train(Settings(tmp_path, **SMALL, stop_after=0.0), report=lambda _: None)
    with pytest.raises(SettingsError, match="choose another --output"):
        Run(Settings(tmp_path, **{**SMALL, "size": "mini"}), "cpu", lambda _: None)


def test_another_process_packs_what_workers_draw(tmp_path: Path) -> None:
    settings = Settings(tmp_path, **SMALL, workers=1)
    batches = Batches(settings, 100)
    try:
        for _ in range(5):
            batch = batches.take()
            assert batch.n_examples == batch.owners.max() > 3 and (batch.labels == END).sum() == batch.n_examples
        assert batches.next_index >= 124
    finally:
        batches.close()


def test_what_cannot_be_drawn_ends_the_process_that_packs(tmp_path: Path) -> None:
    settings = {**SMALL, "levels": "tables", "scripts": (("none of these", 1.0),)}
    batches = Batches(Settings(tmp_path, **settings, workers=1), 0)
    with pytest.raises(TrainingError, match="none of these"):
        batches.take()
    batches.close()


def test_what_cannot_be_drawn_ends_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise TrainingError("nothing fits")

    monkeypatch.setattr("tablerec.training.data.feed.SampleFeed.take", broken)
    with pytest.raises(TrainingError, match="nothing fits"):
        train(Settings(tmp_path, **SMALL), report=lambda _: None)


def test_the_command_validates_and_says_what_is_wrong(tmp_path: Path) -> None:
    options = [
        "--levels", "numbers", "--size", "tiny", "--minutes", "0.02", "--budget", "512", "--min-buffer", "8",
        "--validate-every", "600",
    ]  # fmt: skip
    done = CliRunner().invoke(main, ["--output", str(tmp_path / "a"), *options])
    assert done.exit_code == 0, done.output
    assert "validation of level 0" in done.output and "whole tables: grid" in done.output
    done = CliRunner().invoke(main, ["--output", str(tmp_path / "a"), *options, "--no-places"])
    assert done.exit_code == 1 and "choose another --output" in done.output
