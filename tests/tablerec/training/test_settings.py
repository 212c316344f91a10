"""Files of settings: whatever they hold, the answer is settings or a line that says what to change."""

from __future__ import annotations

from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tablerec.cli import command
from tablerec.errors import InputError, SettingsError, TablerecError
from tablerec.settings_fields import change, list_fields, merge, to_json, to_settings, to_values
from tablerec.training.settings import (
    RENAMED,
    DataSettings,
    LoRA,
    ScheduleSettings,
    TrainSettings,
    name_imports,
    read_settings,
)
from tests.helpers.strategies import HOSTILE_YAML
from tests.helpers.training import make_settings

GOOD = {"data": {"source": "a:b"}, "output": "out", "schedule": {"steps": 1}}
BOMB = "ranks: &a [1,1,1,1,1,1,1,1]\n" + "".join(
    f"{name}: &{new} [{','.join([f'*{old}'] * 60)}]\n"
    for name, old, new in zip(("output", "seed", "device", "resume"), "abcd", "bcde", strict=True)
)
"""Each line holds the one before sixty times."""
PATHS = [path for path, _, _ in list_fields(TrainSettings)]


def read(path: Path, values: dict[str, Any]) -> TrainSettings:
    """Read settings from a file with these values."""
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return read_settings(path, allow_import=True)


def test_nothing_given_is_all_defaults() -> None:
    assert to_settings(LoRA, {}) == LoRA()
    assert to_settings(TrainSettings, GOOD) == TrainSettings(Path("out"), DataSettings("a:b"), ScheduleSettings(1))


@pytest.mark.parametrize(
    ("path", "value", "advice"),
    [
        ("data.batch_size", "many", "a whole number"),
        ("data.batch_size", [2], "a whole number"),
        ("data.batch_size", 2.5, "a whole number"),
        ("data.batch_size", True, "a whole number"),
        ("data.batch_size", 10**30, "a whole number"),
        ("data.batch_size", None, "a whole number"),
        ("data.batch_size", -4, "at least 1"),
        ("data.image_size", 32 * 10**9, "at most 8192"),
        ("data.image_size", 100, "a multiple of 32"),
        ("data.max_cells", 10**12, "at most 32767"),
        ("data.buffer_size", 3, "less than min_buffer"),
        ("data.source", 5, "a text"),
        ("data.source", "a\nb", "a text"),
        ("data.augmentation", 3, "names with values"),
        ("data.augmentation.scale", 2, "a list of 2"),
        ("data.augmentation.scale", [0, 1], "above 0"),
        ("data.augmentation.scale", [2, 1], "the smaller value first"),
        ("data.augmentation.inversion_probability", 3, "at least 0 and at most 1"),
        ("data.augmentation.noise_std", -3, "at least 0"),
        ("schedule.steps", 0, "at least 1"),
        ("schedule.steps", None, "give one of the two"),
        ("optimizer.learning_rate", float("nan"), "a number"),
        ("optimizer.learning_rate", float("inf"), "a number"),
        ("optimizer.learning_rate", 10**400, "a number"),
        ("optimizer.learning_rate", "fast", "a number"),
        ("optimizer.learning_rate", -1e-3, "at least 0"),
        ("optimizer.max_grad_norm", 0, "above 0"),
        ("optimizer.ema_decay", 1, "at least 0 and below 1"),
        ("optimizer.trainable", "everything", "choose all, head"),
        ("optimizer.lora.rank", 0, "at least 1"),
        ("optimizer.lora.rnak", 3, "choose from rank"),
        ("memory.precision", "float8", "bfloat16"),
        ("memory.precision", ["float32"], "bfloat16"),
        ("memory.recompute", "auto", "give limit_gb"),
        ("validation.score_threshold", 7, "at most 1"),
        ("validation.patience", 0, "at least 1"),
        ("tensorboard", "maybe", "true or false"),
        ("output", "", "file or folder"),
        ("output", "a\0b", "file or folder"),
        ("initial", {"a": 1}, "file or folder"),
        ("network", "wide", "names with values"),
        ("network", {"widths": None}, "a number, a text, or lists"),
        ("network", {"widths": [0] * 10_000}, "a number, a text, or lists"),
        ("network", {1: 2}, "names with values"),
        ("seed", -1, "at least 0"),
        ("device", "abacus::3", "device"),
        ("modle", 3, "model"),
    ],
)
def test_a_wrong_value_names_file_and_field(tmp_path: Path, path: str, value: Any, advice: str) -> None:
    file = tmp_path / "train.yaml"
    file.write_text(yaml.safe_dump(GOOD), encoding="utf-8")
    with pytest.raises(SettingsError, match=advice) as caught:
        read_settings(file, {path: value})
    said = str(caught.value).removeprefix(f"{file}: ")
    assert path.rpartition(".")[0] in said and path.rpartition(".")[2] in said
    assert len(said) < 500


@pytest.mark.parametrize("name", [3, None, ("a", 1)])
def test_a_name_that_is_no_text(name: Any) -> None:
    with pytest.raises(SettingsError, match="choose from"):
        to_settings(TrainSettings, {**GOOD, name: 3})


@pytest.mark.parametrize("path", ["output", "data", "data.source", "schedule"])
def test_what_is_missing_is_named(tmp_path: Path, path: str) -> None:
    group, _, name = path.rpartition(".")
    values = {key: dict(value) if isinstance(value, dict) else value for key, value in GOOD.items()}
    del (values[group] if group else values)[name]
    with pytest.raises(SettingsError, match=rf"{path} is missing: give it\. \w+"):
        read(tmp_path / "train.yaml", values)


def test_numbers_as_yaml_misreads_them(tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text(
        "data: {source: a:b}\noutput: out\nschedule: {steps: 1e3, minutes: null}\noptimizer: {learning_rate: 5e-4}\n"
    )
    found = read_settings(path, allow_import=True)
    assert (found.schedule.steps, found.optimizer.learning_rate) == (1000, 5e-4)
    found = read_settings(path, {"schedule.minutes": 3}, allow_import=True)
    assert (found.schedule.steps, found.schedule.minutes) == (None, 3)


@given(
    st.sampled_from(PATHS),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3)
        ),
        max_leaves=6,
    ),
)
def test_any_value_is_taken_or_refused_with_a_line(path: str, value: Any) -> None:
    with suppress(TablerecError):
        taken = attrgetter(path)(to_settings(TrainSettings, merge(GOOD, {path: value})))
        assert isinstance(value, dict) or taken == value or str(taken) == str(value) or taken == float(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- 1\n",
        "a: [1, 2",
        "data: {source: &a [x]}\noutput: *b\n",
        "a: !!python/object/apply:os.getcwd []\n",
        "x: " + "[" * 5000,
        "\x00",
        "? [a, b]\n: c\n",
        "schedule: {steps: 2026-13-45}\n",
        BOMB + "data: {source: *e}\n",
        BOMB + "data: *e\nnetwork: {x: *e}\n",
        "#" * 2_000_000,
    ],
)
def test_broken_files(tmp_path: Path, text: str) -> None:
    pytest.importorskip("paddle")
    path = tmp_path / "train.yaml"
    path.write_text(text)
    done = CliRunner().invoke(command, ["train", str(path)])
    assert done.exit_code in (1, 2) and isinstance(done.exception, SystemExit)
    assert "train.yaml" in done.output and len(done.output) < 2000


@pytest.mark.parametrize("name", [name for name, path in RENAMED.items() if name != path])
def test_an_old_name_is_refused_with_its_new_place(tmp_path: Path, name: str) -> None:
    assert RENAMED[name] in PATHS
    group = {"where": "lora", **dict.fromkeys(("zoom", "tilt"), "augmentation")}.get(name)
    old = {group: {name: 1}} if group else {name: 1}
    with pytest.raises(SettingsError, match=rf"has another place: it is {RENAMED.get(group or name)} now"):
        read(tmp_path / "train.yaml", {"output": "out", **old})
    with pytest.raises(SettingsError, match=rf"{name} has another place: it is {RENAMED[name]} now"):
        read_settings(Path("data/training/finetune_small.yaml"), {f"validation.{name}": 1, name: 1})


def test_changes_by_path() -> None:
    base = make_settings()
    changed = change(base, {"data.batch_size": 4, "data.augmentation.noise_std": 1, "seed": 3})
    assert (changed.data.batch_size, changed.data.augmentation.noise_std, changed.seed) == (4, 1.0, 3)
    assert change(changed, {"data": base.data, "seed": 0}) == base
    with pytest.raises(SettingsError, match="batch_size is 0"):
        change(base, {"data.batch_size": 0})
    with pytest.raises(SettingsError, match="data is 3: give names"):
        merge({"data": 3}, {"data.batch_size": 4})


def test_settings_go_around_through_files(tmp_path: Path) -> None:
    chosen = make_settings(
        tmp_path, batch_size=4, scale=(1.0, 2.0), rank=3, network={"widths": [8]}, initial=Path("cellnet")
    )
    assert read(tmp_path / "few.yaml", to_values(chosen)) == chosen
    assert len(to_values(chosen)) == 6
    (tmp_path / "all.json").write_text(to_json(chosen), encoding="utf-8")
    assert read_settings(tmp_path / "all.json", allow_import=True) == chosen


def test_the_command_line_explains_every_field() -> None:
    done = CliRunner().invoke(command, ["train", "--settings"])
    assert done.exit_code == 0
    for path, each, _ in list_fields(TrainSettings):
        assert f"\n{path}: " in f"\n{done.output}"
        assert " ".join(each.metadata["help"].split()) in " ".join(done.output.split())
    assert "data.batch_size: a whole number, at least 1 (default 32)" in done.output


@pytest.mark.parametrize("group", ["data", "validation"])
@pytest.mark.parametrize("source", ["os:_exit", "synth:mixed*3, os:_exit*1", " os:_exit", "os"])
def test_a_file_imports_no_code_unless_that_is_allowed(tmp_path: Path, group: str, source: str) -> None:
    """`os:_exit` in a file of settings ended the training with exit code 0."""
    file = tmp_path / "a.yaml"
    values = {**GOOD, "data": {"source": "synth:mixed"}}
    file.write_text(yaml.safe_dump(merge(values, {f"{group}.source": source})), encoding="utf-8")
    with pytest.raises(SettingsError, match=rf"a\.yaml: {group}\.source imports and runs .*'os.*--allow-import"):
        read_settings(file)
    assert read_settings(file, allow_import=True)


@pytest.mark.parametrize("verb", [["train"], ["tune", "--memory", "1GB", "--minutes", "1"]])
def test_the_command_line_imports_no_code_unless_asked_to(tmp_path: Path, verb: list[str]) -> None:
    pytest.importorskip("safetensors")
    (tmp_path / "a.yaml").write_text(yaml.safe_dump({**GOOD, "data": {"source": "os:_exit"}}), encoding="utf-8")
    done = CliRunner().invoke(command, [*verb, str(tmp_path / "a.yaml")])
    assert done.exit_code == 2 and "--allow-import" in done.output


def test_sources_that_import_nothing(tmp_path: Path) -> None:
    for source in ("synth:mixed", "folder:tables#train", "crops:tables*2, synth:mixed@3*1"):
        assert name_imports(read(tmp_path / "a.yaml", {**GOOD, "data": {"source": source}})) == {}
        assert read_settings(tmp_path / "a.yaml").data.source == source


@pytest.mark.parametrize("content", HOSTILE_YAML.values(), ids=HOSTILE_YAML)
def test_hostile_files_are_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.yaml").write_text(content)
    with pytest.raises(InputError, match=r"a\.yaml cannot be read \(.*\): write the settings") as caught:
        read_settings(tmp_path / "a.yaml")
    assert "\n" not in str(caught.value)
