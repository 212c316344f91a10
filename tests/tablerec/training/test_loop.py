"""The training loop: the loss falls, it goes on exactly where it stopped, and says what is wrong."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tablerec.errors import InputError, OutputError, SettingsError, TrainingError
from tablerec.training import train
from tablerec.training.settings import Augmentation, TrainSettings, read_settings
from tests.helpers.training import NETWORK, SOURCE, lines, losses, settings

paddle = pytest.importorskip("paddle")

from tablerec.models.arrays import load_arrays  # noqa: E402
from tablerec.training.checkpoint import checkpoints, load_checkpoint  # noqa: E402

STILL = Augmentation(identity_probability=1, contrast=(1, 1), brightness=0, inversion_probability=0, noise_std=0)


def test_it_learns_a_few_tables(tmp_path: Path) -> None:
    network = {"widths": [8, 16, 24, 32, 48], "depths": [0, 1, 1, 1], "pyramid": [32, 24]}
    few = settings(
        tmp_path, network=network, steps=60, max_images_per_canvas=1, buffer_size=4, uses_per_sample=1e9,
        warmup_steps=10, learning_rate=8e-3, bn_batches=4, log_every=20, validation_first_index=0,
        validation_samples=4, augmentation=STILL,
    )  # fmt: skip
    weights = train(few)
    curve = lines(tmp_path, "curve.jsonl")
    assert curve[-1]["f1_60"] == 1.0 and curve[-1]["exact"] == 1.0
    assert losses(tmp_path)[-1] < 0.3 * losses(tmp_path)[0]
    assert len(load_arrays(weights)) > 50
    assert list((tmp_path / "pictures").glob("*.jpg"))


def test_a_resumed_run_is_the_uninterrupted_one(tmp_path: Path) -> None:
    train(settings(tmp_path / "whole", steps=8))
    first = settings(tmp_path / "first", steps=8, max_minutes_per_run=1e9, checkpoint_every=1)
    stop_at(first, 3)
    assert losses(tmp_path / "first") == losses(tmp_path / "whole")[:3]
    train(settings(tmp_path / "second", steps=8, resume=tmp_path / "first"))
    assert losses(tmp_path / "second") == losses(tmp_path / "whole")
    last = [load_checkpoint(checkpoints(tmp_path / name)[-1]) for name in ("whole", "second")]
    for group, arrays in last[0][0].items():
        for name, array in arrays.items():
            assert (array == last[1][0][group][name]).all(), (group, name)
    assert last[0][1]["buffer"] == last[1][1]["buffer"]


def stop_at(chosen: TrainSettings, step: int) -> list[str]:
    """Train until a line of the log speaks of a step, then send SIGTERM."""
    said: list[str] = []

    def report(line: str) -> None:
        said.append(line)
        if line.startswith(f"step {step} total"):
            os.kill(os.getpid(), signal.SIGTERM)

    train(chosen, report)
    return said


def test_a_signal_stops_after_the_step_with_a_checkpoint(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    said = stop_at(settings(tmp_path), 2)
    assert [path.name for path in checkpoints(tmp_path)] == ["checkpoint-00000002"]
    assert any("stopping" in line for line in said) and "the same command goes on" in said[-1]
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_end_of_a_run_leaves_a_checkpoint(tmp_path: Path) -> None:
    train(settings(tmp_path, max_minutes_per_run=0.0))
    assert [path.name for path in checkpoints(tmp_path)] == ["checkpoint-00000000"]
    train(settings(tmp_path, steps=2))
    assert len(losses(tmp_path)) == 2


def test_a_schedule_by_time_adds_up(tmp_path: Path) -> None:
    train(settings(tmp_path, steps=None, minutes=0.01, uses_per_sample=None))
    _, state = load_checkpoint(checkpoints(tmp_path)[-1])
    assert state["seconds"] >= 0.6
    n_steps = len(losses(tmp_path))
    train(settings(tmp_path, steps=None, minutes=0.01, uses_per_sample=None))
    assert len(losses(tmp_path)) == n_steps  # nothing is left of the schedule


def test_worker_processes_give_the_same_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[3]))
    train(settings(tmp_path / "here", steps=3, validation_samples=0))
    train(settings(tmp_path / "workers", steps=3, validation_samples=0, workers=2))
    assert losses(tmp_path / "here") == losses(tmp_path / "workers")


def test_samples_may_wait_on_the_host(tmp_path: Path) -> None:
    for offload in (False, True):
        train(settings(tmp_path / str(offload), steps=3, validation_samples=0, offload_buffer=offload))
    assert losses(tmp_path / "False") == losses(tmp_path / "True")


def test_accumulated_batches_make_one_step(tmp_path: Path) -> None:
    train(settings(tmp_path, steps=4, batch_size=2, accumulation_steps=3, validation_samples=0))
    assert len(losses(tmp_path)) == 4
    _, state = load_checkpoint(checkpoints(tmp_path)[-1])
    assert state["step"] == 4 and state["n_taken"] == 4 + 3 * 6 // 4  # filled before each step


def test_without_progress_the_best_weights_stay(tmp_path: Path) -> None:
    still = settings(
        tmp_path, steps=200, learning_rate=0.0, validation_every=1, validation_patience=3, validation_pictures=0
    )
    weights = train(still)
    n_validations = len(lines(tmp_path, "curve.jsonl"))
    assert n_validations == 4 and len(losses(tmp_path)) == 4  # one to compare with, and three no better
    before = load_arrays(weights)
    train(still)  # it stays ended
    assert len(losses(tmp_path)) == len(lines(tmp_path, "curve.jsonl")) == 4
    assert all((load_arrays(weights)[name] == array).all() for name, array in before.items())


def test_weights_to_start_from_are_scored_first(tmp_path: Path) -> None:
    weights = train(settings(tmp_path / "first", steps=2))
    train(settings(tmp_path / "second", steps=2, initial=weights))
    scores = [lines(tmp_path / name, "curve.jsonl") for name in ("first", "second")]
    assert [line["step"] for line in scores[1]] == [0, 2]
    assert scores[1][0]["f1_60"] == scores[0][-1]["f1_60"]


def test_a_precision_that_the_device_lacks(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="Choose float32"):
        train(settings(tmp_path, precision="bfloat16"))


def test_a_loss_that_is_not_finite_stops_with_advice(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"lower optimizer\.learning_rate"):
        train(settings(tmp_path, learning_rate=1e30, warmup_steps=1))


def test_the_report_of_a_loss_that_is_not_finite_names_the_checkpoint(tmp_path: Path) -> None:
    train(settings(tmp_path, steps=2, validation_samples=0))
    with pytest.raises(TrainingError, match="not finite"):
        train(settings(tmp_path, steps=12, learning_rate=1e30, validation_samples=0))
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["ended"] == "failed" and "lower optimizer.learning_rate" in summary["problem"]
    assert "checkpoint-00000002 is whole" in (tmp_path / "report.html").read_text()
    load_checkpoint(checkpoints(tmp_path)[-1])


def test_a_second_signal_ends_at_once_and_leaves_whole_checkpoints(tmp_path: Path) -> None:
    said: list[str] = []

    def report(line: str) -> None:
        said.append(line)
        if line.startswith("step 3 total"):
            signal.raise_signal(signal.SIGINT)  # in this thread: two that wait are one
            signal.raise_signal(signal.SIGINT)  # in this thread: two that wait are one

    with pytest.raises(KeyboardInterrupt):
        train(settings(tmp_path, checkpoint_every=2), report)
    assert any("once more" in line for line in said)
    assert [path.name for path in checkpoints(tmp_path)] == ["checkpoint-00000002"]
    train(settings(tmp_path, steps=4))
    assert len(losses(tmp_path)) == 4


@pytest.mark.parametrize("name", ["log.jsonl", "curve.jsonl"])
def test_a_full_disk(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    train(settings(tmp_path, steps=2, checkpoint_every=1))
    opened = Path.open

    def open_unless_full(self: Path, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if self.name == name and "a" in mode:
            raise OSError(28, "No space left on device", str(self))
        return opened(self, mode, *args, **kwargs)

    monkeypatch.setattr(Path, "open", open_unless_full)
    with pytest.raises(OutputError, match=rf"{name}.*No space left.*make room"):
        train(settings(tmp_path, steps=4))
    load_checkpoint(checkpoints(tmp_path)[-1])
    monkeypatch.undo()
    train(settings(tmp_path, steps=4))
    assert len(losses(tmp_path)) == 4


def test_an_output_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(OutputError, match="choose another output"):
        train(settings(tmp_path / "out"))
    assert (tmp_path / "out").read_text() == "mine"


def test_a_network_that_is_none(tmp_path: Path) -> None:
    for network in ({"width": 3}, {**NETWORK, "widths": ["a"]}, {**NETWORK, "widths": [-8, 8, 16, 16, 16]}):
        with pytest.raises(SettingsError, match="network"):
            train(settings(tmp_path, network=network))


def test_weights_of_another_network(tmp_path: Path) -> None:
    weights = train(settings(tmp_path / "one", steps=1))
    train(settings(tmp_path / "two", steps=1, initial=weights))
    with pytest.raises(InputError, match="here it is"):
        train(settings(tmp_path / "three", initial=weights, network={**NETWORK, "pyramid": [16, 24]}))


def test_training_goes_on_from_an_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnx")
    from tablerec.models.arrays import load_arrays
    from tablerec.models.export import export_cellnet, load_cellnet

    weights = train(settings(tmp_path / "one", steps=1))
    export_cellnet(load_cellnet(weights), tmp_path / "export")
    monkeypatch.setattr("tablerec.training.detectors.cellnet.WEIGHTS", tmp_path / "export")
    results = [
        load_arrays(train(settings(tmp_path / str(number), steps=1, initial=initial)))
        for number, initial in enumerate((weights, tmp_path / "export", Path("cellnet")))
    ]
    assert results[0].keys() == results[1].keys() == results[2].keys()
    for name, array in results[1].items():
        np.testing.assert_array_equal(array, results[2][name])
        np.testing.assert_allclose(array, results[0][name], rtol=0.05, atol=0.05)  # an export has weights of 16 bits


def test_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="holds no checkpoint"):
        train(settings(tmp_path / "output", resume=tmp_path))


def fails(index: int) -> None:
    raise ValueError("no such font")


def test_a_source_that_fails_is_shown(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="no such font"):
        train(settings(tmp_path, source="tests.tablerec.training.test_loop:fails", validation_source=SOURCE))


def test_no_such_source(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="MODULE:FUNCTION"):
        train(settings(tmp_path, source="nowhere:draw"))


def test_settings_are_read_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("data: {source: a:b, augmentation: {scale: [0.5, 2]}}\noutput: out\nschedule: {steps: 5}\n")
    read = read_settings(path, {"output": tmp_path}, allow_import=True)
    assert (read.output, read.device, read.data.augmentation.scale) == (tmp_path, "cpu", (0.5, 2))
    for data, rest, message in (
        ("source: a:b", "schedule: {}", r"schedule\.steps or minutes"),
        ("source: a:b", "schedule: {steps: 1}\nspeed: 9", "speed is unknown"),
        ("source: a:b, image_size: 100", "schedule: {steps: 1}", r"data\.image_size is 100: give a multiple of 32"),
        ("source: a:b, batch_size: 0", "schedule: {steps: 1}", r"data\.batch_size is 0"),
        ("source: a:b, augmentation: {blur: 1}", "schedule: {steps: 1}", r"data\.augmentation\.blur is unknown"),
        ("workers: 0", "schedule: {steps: 1}", r"data\.source is missing"),
        ("source: a:b", "", "schedule is missing"),
    ):
        text = f"output: out\ndata: {{{data}}}\n{rest}\n"
        path.write_text(text)
        with pytest.raises(SettingsError, match=message):
            read_settings(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_settings(tmp_path / "absent.yaml")


def test_the_command_line(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from tablerec.cli import command
    from tablerec.detect.cellnet import CellNetDetector

    config = tmp_path / "train.yaml"
    config.write_text(
        f"data: {{source: {SOURCE}, batch_size: 2, image_size: 96, buffer_size: 4, min_buffer: 2}}\noutput: elsewhere\n"
        "schedule: {steps: 2, log_every: 1}\noptimizer: {bn_batches: 1}\nvalidation: {samples: 1}\n"
        f"network: {json.dumps(NETWORK)}\n"
    )
    done = CliRunner().invoke(command, ["train", str(config), "--output", str(tmp_path / "run"), "--allow-import"])
    assert done.exit_code == 0, done.output
    assert "step 2 validation" in done.output and "finished" in done.output
    pytest.importorskip("onnx")
    weights, folder = tmp_path / "run" / "cellnet.safetensors", tmp_path / "model"
    done = CliRunner().invoke(command, ["export", str(weights), "--output", str(folder)])
    assert done.exit_code == 0, done.output
    assert isinstance(CellNetDetector(folder).detect(np.zeros((40, 50, 3), np.uint8), []), list)
    done = CliRunner().invoke(command, ["train", str(tmp_path / "absent.yaml")])
    assert done.exit_code == 1 and "cannot be read" in done.output


def test_statistics_that_are_kept(tmp_path: Path) -> None:
    weights = train(settings(tmp_path / "first", steps=3))
    kept = train(settings(tmp_path / "second", steps=3, initial=weights, bn_batches=0))
    before, after = load_arrays(weights), load_arrays(kept)
    moved = {name for name, array in after.items() if (array != before[name]).any()}
    assert moved and not any(name.endswith(("_mean", "_variance")) for name in moved)
    assert any(name.endswith("_mean") for name in after)
    values = [line["f1_60"] for line in lines(tmp_path / "second", "curve.jsonl")]
    assert values[0] == lines(tmp_path / "first", "curve.jsonl")[-1]["f1_60"]
