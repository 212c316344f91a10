"""LineNet in the training loop: it learns, goes on exactly, takes new characters, and saves memory as others do."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

from tablerec.errors import InputError, SettingsError, TrainingError
from tablerec.training import train
from tablerec.training.settings import TrainSettings
from tests.helpers.training import DIGITS, line_settings, lines, losses, write_line

paddle = pytest.importorskip("paddle")

from tablerec.models.arrays import load_arrays  # noqa: E402
from tablerec.models.export import load_linenet  # noqa: E402
from tablerec.training.checkpoint import checkpoints, load_checkpoint  # noqa: E402
from tablerec.training.readers.linenet import LineNetTask, decode  # noqa: E402


def test_it_learns_digits(tmp_path: Path) -> None:
    few = line_settings(
        tmp_path, steps=160, batch_size=16, buffer_size=64, min_buffer=64, uses_per_sample=1e9, warmup_steps=10,
        learning_rate=8e-3, ema_decay=0.95, log_every=40, bn_batches=4, validation_first_index=0, validation_samples=24,
        noise_std=0,
    )  # fmt: skip
    weights = train(few)
    last = lines(tmp_path, "curve.jsonl")[-1]
    assert last["cer"] < 0.2 and {"cer", "exact", "cer_number"} <= last.keys()
    assert losses(tmp_path)[-1] < 0.2 * losses(tmp_path)[0]
    assert list((tmp_path / "pictures").glob("*.jpg"))
    net, characters = load_linenet(weights)
    assert characters == "0123456789" and net.han is None
    page = (tmp_path / "report.html").read_text()
    assert "character error rate" in page and "--ocr-dir" in page and "F1 at" not in page


def test_a_resumed_run_is_the_uninterrupted_one(tmp_path: Path) -> None:
    train(line_settings(tmp_path / "whole", steps=6))
    train(line_settings(tmp_path / "first", steps=6, max_minutes_per_run=0.0))
    assert len(losses(tmp_path / "first")) == 0 if (tmp_path / "first/log.jsonl").exists() else True
    train(line_settings(tmp_path / "first", steps=6))
    assert losses(tmp_path / "first") == losses(tmp_path / "whole")
    states = [load_checkpoint(checkpoints(tmp_path / name)[-1]) for name in ("whole", "first")]
    assert states[0][1]["buffer"] == states[1][1]["buffer"]


def test_worker_processes_give_the_same_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[4]))
    train(line_settings(tmp_path / "here", steps=3, validation_samples=0))
    train(line_settings(tmp_path / "workers", steps=3, validation_samples=0, workers=2))
    assert losses(tmp_path / "here") == losses(tmp_path / "workers")


@pytest.mark.parametrize(
    "changes",
    [
        {"recompute": "all"},
        {"recompute": "auto", "limit_gb": 4.0},
        {"optimizer_name": "adamw8bit"},
        {"accumulation_steps": 2},
        {"trainable": "lora", "lora": {"rank": 2}, "frozen_precision": "int8"},
        {"trainable": "head"},
        {"trainable": "norm_bias", "bn_batches": 0},
    ],
    ids=lambda changes: "-".join(map(str, changes.values())),
)
def test_what_saves_memory_works(changes: dict, tmp_path: Path) -> None:
    weights = train(line_settings(tmp_path, steps=2, validation_samples=2, **changes))
    assert np.isfinite(losses(tmp_path)).all() and len(losses(tmp_path)) == 2
    load_linenet(weights)


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    folder = tmp_path / "lists"
    for number in range(8):
        write_line(folder / f"{number}.png", str(number))
    texts = ["12", "ก3", "ข", "表", "4ก", "5", "ก", "格"]
    folder.joinpath("rec_gt.txt").write_text("".join(f"{k}.png\t{text}\n" for k, text in enumerate(texts)), "utf-8")
    return folder


NETWORK = {"widths": [8, 16, 32, 64, 32], "depths": [0, 0, 1]}


def test_new_characters_extend_the_list(lists: Path, tmp_path: Path) -> None:
    first = train(line_settings(tmp_path / "first", steps=1, validation_samples=0))
    source = {"source": f"lines:{lists}", "initial": first, "validation_samples": 2}
    with pytest.warns(UserWarning, match="learns 4 characters that it has not known: ก"):
        weights = train(line_settings(tmp_path / "second", steps=2, learning_rate=0.0, **{"network": {}, **source}))
    net, characters = load_linenet(weights)
    assert characters[:11] == "0123456789ก" and set(characters[11:]) == set("ข表格") and characters[-2:] != "ขก"
    assert net.arguments["n_han"] == 2
    before, after = load_arrays(first), load_arrays(weights)
    for name, columns in (("letters.weight", slice(0, 11)), ("last.0.weight", slice(None))):
        np.testing.assert_allclose(after[name][:, columns], before[name][:, columns], rtol=1e-5, atol=1e-7)
    with pytest.warns(UserWarning, match="does not read"):
        kept = train(line_settings(tmp_path / "third", steps=1, **{"network": {"characters": "keep"}, **source}))
    assert load_linenet(kept)[1] == "0123456789"


def test_it_goes_on_from_what_it_wrote(lists: Path, tmp_path: Path) -> None:
    """Characters are found again, and weights before any training answer as given."""
    chosen = {"network": NETWORK | {"characters": "extend"}, "source": f"lines:{lists}", "validation_samples": 0}
    for steps in (1, 2):
        with pytest.warns(UserWarning, match="learns"):
            train(line_settings(tmp_path / "out", steps=steps, **chosen))
    assert len(losses(tmp_path / "out")) == 2


@pytest.mark.parametrize(
    "network", [{"characters": 3}, {"characters": ""}, {"characters": "aa"}, {"characters": "a", "widths": [1]},
                {"characters": "a", "strange": 1}],
)  # fmt: skip
def test_a_network_that_cannot_be(network: dict, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="network"):
        LineNetTask(line_settings(tmp_path, network=network))


def test_lines_that_do_not_fit_are_counted(tmp_path: Path) -> None:
    source = "tests.tablerec.training.readers.test_linenet:draw_too_long"
    said: list[str] = []
    train(line_settings(tmp_path, source=source, steps=3, validation_samples=0, log_every=1), said.append)
    assert any("skipped" in line for line in said)
    with pytest.raises(TrainingError, match="positions"):
        train(line_settings(tmp_path / "all", source=f"{source}_always", min_buffer=40, buffer_size=40))


def draw_too_long(index: int) -> object:
    """Draw digits; each fifth line has more characters than it shows."""
    from tests.helpers.training import draw_digits

    drawn = draw_digits(index)
    return drawn._replace(text="1" * 70) if index % 5 == 0 else drawn


def draw_too_long_always(index: int) -> object:
    """Draw lines with more characters than they show."""
    return draw_too_long(0)


def test_initial_weights_of_another_network(tmp_path: Path) -> None:
    (tmp_path / "net.safetensors").write_bytes(b"none")
    for path in (tmp_path / "net.safetensors", tmp_path / "missing.safetensors"):
        with pytest.raises(InputError):
            LineNetTask(line_settings(tmp_path, initial=path))


def test_decoding() -> None:
    assert decode(np.array([], np.int64), "ab") == "" and decode(np.array([0, 0]), "ab") == ""
    assert decode(np.array([1, 1, 2, 0, 2, 1]), "ab") == "abba"


def test_settings_of_the_recipes_can_be_read(tmp_path: Path) -> None:
    from tablerec.training.settings import read_settings

    for name in ("linenet", "finetune_lines"):
        chosen = read_settings(Path(__file__).resolve().parents[4] / f"data/training/{name}.yaml")
        assert isinstance(chosen, TrainSettings) and chosen.model == "linenet" and chosen.data.image_size == 512
    assert DIGITS


def test_steps_are_measured_and_their_costs_fitted(tmp_path: Path) -> None:
    from tablerec.training.tuning.costs import Point, fit_costs
    from tablerec.training.tuning.measure import measure_here
    from tablerec.training.tuning.search import list_image_sizes, plan_sizes

    chosen = line_settings(tmp_path)
    assert list_image_sizes(chosen) == [256]
    points = []
    for count, size in plan_sizes(chosen)[1]:
        changes = {"batch_size": count, "image_size": size, "buffer_size": 20, "min_buffer": 16}
        gc.collect()  # tensors of other tests count too
        found = measure_here(line_settings(tmp_path, **changes), steps=1)
        assert not found.problem and found.n_cells == 0
        points.append(Point(count, size, found.n_cells, found.peak_bytes, found.seconds))
    assert fit_costs(points).peak_bytes(64, 256, 0) > points[0].peak_bytes
