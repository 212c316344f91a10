"""Tuning: what cannot fit is left out, the rest is tried, and nothing is done twice."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tablerec.cli import command
from tablerec.errors import SettingsError, TrainingError
from tablerec.settings_fields import change
from tablerec.training.settings import TrainSettings, read_settings
from tests.helpers.training import make_settings
from tests.helpers.training import settings as small_settings

paddle = pytest.importorskip("paddle")

from tablerec.training.tuning.costs import Point, fit_costs  # noqa: E402
from tablerec.training.tuning.measure import Measured, measure_apart  # noqa: E402
from tablerec.training.tuning.search import (  # noqa: E402
    SAFETY,
    Option,
    Tried,
    Way,
    choose_options,
    list_image_sizes,
    list_ways,
    plan_sizes,
    tune,
)


def settings(output: Path, **changes: object) -> TrainSettings:
    values = {
        "initial": Path("cellnet"),
        "batch_size": 8,
        "image_size": 640,
        "validation_samples": 4,
        "steps": 10,
        **changes,
    }
    return make_settings(output, **values)


def law(changed: TrainSettings) -> Measured:
    """A machine whose costs are known."""
    of_all = {"all": 1.0, "lora": 0.8, "head": 0.3}[changed.optimizer.trainable]
    kept, again = (0.5, 1.4) if changed.memory.recompute == "all" else (1.0, 1.0)
    batch_size = changed.data.batch_size
    pixels = batch_size * changed.data.image_size**2
    seconds = (0.1 + 1e-6 * pixels * of_all) * again
    return Measured(3e7 + 400 * pixels * of_all * kept + 2e3 * batch_size * 200, seconds, 0.0, 200)


def test_costs_are_predicted_where_nothing_was_measured() -> None:
    rng = np.random.default_rng(0)
    points = []
    for batch, side in plan_sizes(settings(Path("out")))[0]:
        noise = rng.uniform(0.99, 1.01, 2)
        found = law(settings(Path("out"), batch_size=batch, image_size=side))
        points.append(Point(batch, side, 200, found.peak_bytes * noise[0], found.seconds * noise[1]))
    model = fit_costs(points)
    for batch, side in ((4, 640), (8, 480), (3, 800)):
        found = law(settings(Path("out"), batch_size=batch, image_size=side))
        assert model.peak_bytes(batch, side, 200) == pytest.approx(found.peak_bytes, rel=0.1)
        assert model.seconds(batch, side, 200) == pytest.approx(found.seconds, rel=0.1)


def test_one_measurement_is_no_model() -> None:
    with pytest.raises(TrainingError, match="fewer than two"):
        fit_costs([Point(1, 640, 0, 1e9, 1.0)])


def test_only_what_the_file_leaves_open_is_varied() -> None:
    assert {way.trainable for way in list_ways(settings(Path("out")))} == {"all", "lora", "head"}
    assert {way.trainable for way in list_ways(settings(Path("out"), initial=None))} == {"all"}
    assert {way.trainable for way in list_ways(settings(Path("out"), trainable="norm_bias"))} == {"norm_bias"}
    assert list_image_sizes(settings(Path("out"))) == [640, 480]
    assert list_image_sizes(settings(Path("out"), model="rtdetr_l")) == [640]


@pytest.mark.parametrize("limit", [2e9, 6e8, 1.5e8])
def test_options_fit_and_are_the_fastest_that_do(limit: float) -> None:
    chosen = settings(Path("out"), accumulation_steps=2)
    models = {}
    for way in list_ways(chosen):
        sizes = plan_sizes(chosen)[0]
        points = []
        for batch, side in sizes:
            found = law(change(chosen, Option(way, side, batch, 1, 0, 0).changes))
            points.append(Point(batch, side, 200, found.peak_bytes, found.seconds))
        models[way] = fit_costs(points)
    said: list[str] = []
    options = choose_options(chosen, models, 200, limit, said.append)
    assert len(said) == 6 and len(options) == 6 - sum("does not fit" in line for line in said)
    assert [option.seconds for option in options] == sorted(option.seconds for option in options)
    for option in options:
        truth = law(change(chosen, option.changes))
        assert option.batch_size * option.accumulation_steps == 16
        assert truth.peak_bytes * SAFETY <= limit * 1.001 and option.peak_bytes == pytest.approx(truth.peak_bytes, 1e-3)
        faster = change(chosen, {**option.changes, "memory.recompute": "none"})
        assert option.way.recompute == "none" or law(faster).peak_bytes * SAFETY > limit


class Machine:
    """Counts what is asked of it."""

    def __init__(self) -> None:
        self.measured: list[TrainSettings] = []
        self.tried: list[TrainSettings] = []

    def measure(self, changed: TrainSettings) -> Measured:
        self.measured.append(changed)
        return law(changed)

    def attempt(self, changed: TrainSettings) -> Tried:
        self.tried.append(changed)
        return Tried(0.9 if changed.optimizer.trainable == "lora" and changed.data.image_size == 480 else 0.5)


def test_the_best_trial_is_chosen_and_nothing_is_done_twice(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    machine, said, chosen = Machine(), list[str](), settings(tmp_path)
    path = tune(chosen, 6e8, 8.0, said.append, measure=machine.measure, attempt=machine.attempt)
    assert path == tmp_path / "tune" / "chosen.yaml" and "0.9000, the best of" in said[-1]
    found = read_settings(path, allow_import=True)
    assert (found.optimizer.trainable, found.data.image_size, found.samples_per_step) == ("lora", 480, 8)
    varied = [*Option(Way("", "", ""), 0, 0, 0, 0, 0).changes, "optimizer.learning_rate"]
    assert change(found, {path: attrgetter(path)(chosen) for path in varied}) == chosen
    counts = len(machine.measured), len(machine.tried)
    assert counts == (18, 8)
    assert {(s.optimizer.trainable, s.data.image_size) for s in machine.tried[:6]} == {
        (a, b) for a in ("all", "lora", "head") for b in (640, 480)
    }
    assert all(0 < s.schedule.minutes <= 1.0 and s.schedule.steps is None for s in machine.tried)
    tune(chosen, 6e8, 8.0, measure=machine.measure, attempt=machine.attempt)
    assert (len(machine.measured), len(machine.tried)) == counts
    tune(chosen, 6e8, 11.0, measure=machine.measure, attempt=machine.attempt)
    assert len(machine.measured) == counts[0] and len(machine.tried) > counts[1]


def test_ways_that_fail_are_left_out_with_their_reason(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    machine, said = Machine(), list[str]()
    measure = lambda s: Measured(problem="not enough memory") if s.optimizer.trainable == "all" else law(s)  # noqa: E731
    path = tune(settings(tmp_path), 2e9, 8.0, said.append, measure=measure, attempt=machine.attempt)
    assert sum("left out, not enough memory" in line for line in said) == 2
    assert read_settings(path, allow_import=True).optimizer.trainable == "lora"


def test_trials_that_fail_are_told(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    said: list[str] = []
    with pytest.raises(TrainingError, match="all trials failed"):
        tune(settings(tmp_path), 2e9, 8.0, said.append, measure=law, attempt=lambda s: Tried(None, "the loss"))
    assert any("failed, the loss" in line for line in said)


def test_without_time_the_fastest_is_taken(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    said: list[str] = []
    tune(settings(tmp_path), 2e9, 0.0, said.append, measure=law, attempt=lambda s: Tried(1.0))
    assert "no time was left to try it" in said[-1]


def test_limits_that_nothing_keeps(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nothing fits into 0\.01 GB"):
        tune(settings(tmp_path), 1e7, 1.0, measure=law, attempt=lambda s: Tried(1.0))
    with pytest.raises(SettingsError, match=r"validation\.samples is 0"):
        tune(settings(tmp_path, validation_samples=0), 1e9, 1.0)


def test_the_command_line_checks_its_values(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        f"data: {{source: synth:mixed}}\noutput: {tmp_path / 'out'}\nschedule: {{steps: 1}}\n", encoding="utf-8"
    )
    done = CliRunner().invoke(command, ["tune", str(config), "--memory", "much", "--minutes", "1"])
    assert done.exit_code == 2 and "no size" in done.output
    done = CliRunner().invoke(command, ["tune", str(tmp_path / "none.yaml"), "--memory", "1GB", "--minutes", "1"])
    assert done.exit_code == 1 and "cannot be read" in done.output


def test_steps_are_measured_in_a_process_of_their_own(tmp_path: Path) -> None:
    chosen = small_settings(tmp_path, min_buffer=2, buffer_size=2, batch_size=2)
    found = measure_apart(chosen, steps=1)
    assert not found.problem and found.n_cells >= 4
    assert 1e5 < found.peak_bytes < found.process_bytes and found.seconds > 0
    cut = measure_apart(change(chosen, {"initial": tmp_path / "none"}), steps=1)
    assert "cannot be read" in cut.problem


def test_an_option_in_words() -> None:
    option = Option(Way("lora", "all", "bfloat16"), 640, 2, 4, 1e9, 1.0)
    assert str(option) == "lora trained, recompute all, bfloat16, image size 640, batch size 2 x 4"
