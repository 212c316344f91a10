"""Files of settings: whatever they hold, the answer is settings or a line that says what to change."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tablerec.errors import SettingsError, TablerecError
from tablerec.training.fields import to_settings
from tablerec.training.settings import Augmentation, LoRA, TrainSettings, read_settings

GOOD = {"source": "a:b", "output": "out", "steps": 1}
BOMB = "steps: &a [1,1,1,1,1,1,1,1]\n" + "".join(
    f"{name}: &{new} [{','.join([f'*{old}'] * 60)}]\n"
    for name, old, new in zip(("output", "batch", "side", "resume"), "abcd", "bcde", strict=True)
)
"""Each line holds the one before sixty times."""
NAMES = [each.name for each in fields(TrainSettings)]


def test_nothing_given_is_all_defaults() -> None:
    assert to_settings(Augmentation, {}, "file") == Augmentation()
    assert to_settings(TrainSettings, GOOD, "file") == TrainSettings("a:b", Path("out"), steps=1)


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("batch", "many", "whole number"),
        ("batch", [2], "whole number"),
        ("batch", 2.5, "whole number"),
        ("batch", True, "whole number"),
        ("batch", 10**30, "whole number"),
        ("batch", None, "whole number"),
        ("batch", -4, "1 or more"),
        ("side", 32 * 10**9, "8192 or less"),
        ("most_cells", 10**12, "32767 or less"),
        ("steps", 0, "1 or more"),
        ("seed", -1, "0 or more"),
        ("learning_rate", float("nan"), "a number"),
        ("learning_rate", float("inf"), "a number"),
        ("learning_rate", 10**400, "a number"),
        ("learning_rate", "fast", "a number"),
        ("learning_rate", -1e-3, "0 or more"),
        ("clip", 0, "above 0"),
        ("threshold", 7, "from 0 to 1"),
        ("tensorboard", "maybe", "true or false"),
        ("precision", "float8", "bfloat16"),
        ("precision", ["float32"], "bfloat16"),
        ("source", 5, "text"),
        ("source", "a\nb", "text"),
        ("output", "", "file or folder"),
        ("output", "a\0b", "file or folder"),
        ("initial", {"a": 1}, "file or folder"),
        ("network", "wide", "names with values"),
        ("network", {"widths": [[1], [2]]}, "a number, a text, or a list"),
        ("network", {1: 2}, "names with values"),
        ("augmentation", 3, "names with values"),
        ("augmentation", {"zoom": 2}, "a list of 2"),
        ("augmentation", {"zoom": [0, 1]}, "above 0"),
        ("augmentation", {"inverted": 3}, "from 0 to 1"),
        ("augmentation", {"noise": -3}, "0 or more"),
        ("lora", {"rank": 0}, "1 or more"),
        ("lora", {"rnak": 3}, "rank"),
        ("btach", 3, "batch"),
        (3, 3, "choose from"),
        (None, 3, "choose from"),
    ],
)
def test_a_wrong_value_names_file_and_field(name: Any, value: Any, advice: str) -> None:
    with pytest.raises(SettingsError, match=advice) as caught:
        to_settings(TrainSettings, {**GOOD, name: value}, "train.yaml")
    assert str(caught.value).startswith("train.yaml: ") and str(name) in str(caught.value)
    assert len(str(caught.value)) < 1500


def test_numbers_as_yaml_misreads_them(tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("source: a:b\noutput: out\nsteps: 1e3\nlearning_rate: 5e-4\nminutes: null\n")
    read = read_settings(path)
    assert (read.steps, read.learning_rate) == (1000, 5e-4)
    read = read_settings(path, minutes=3, device=None)
    assert (read.steps, read.minutes, read.device) == (None, 3, "cpu")


@given(
    st.sampled_from(NAMES),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3)
        ),
        max_leaves=6,
    ),
)
def test_any_value_is_taken_or_refused_with_a_line(name: str, value: Any) -> None:
    with suppress(TablerecError):
        taken = getattr(to_settings(TrainSettings, {**GOOD, name: value}, "train.yaml"), name)
        assert is_dataclass(taken) or taken == value or str(taken) == str(value) or taken == float(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- 1\n",
        "a: [1, 2",
        "source: &a [x]\noutput: *b\n",
        "a: !!python/object/apply:os.getcwd []\n",
        "x: " + "[" * 5000,
        "\x00",
        "? [a, b]\n: c\n",
        "steps: 2026-13-45\n",
        BOMB + "source: *e\n",
        BOMB + "source: a\nnetwork: {x: *e}\n",
        "#" * 2_000_000,
    ],
)
def test_broken_files(tmp_path: Path, text: str) -> None:
    from click.testing import CliRunner

    from tablerec.cli import command

    pytest.importorskip("paddle")
    path = tmp_path / "train.yaml"
    path.write_text(text)
    done = CliRunner().invoke(command, ["train", str(path)])
    assert done.exit_code in (1, 2) and isinstance(done.exception, SystemExit)
    assert "train.yaml" in done.output and len(done.output) < 2000


def test_our_recipes_are_read() -> None:
    for path in sorted((Path(__file__).resolve().parents[3] / "data/training").glob("*.yaml")):
        assert read_settings(path).model == yaml.safe_load(path.read_text(encoding="utf-8")).get("model", "cellnet")


def test_groups_are_read() -> None:
    read = to_settings(TrainSettings, {**GOOD, "lora": {"rank": 2}, "augmentation": {"zoom": [1, "2e0"]}}, "file")
    assert read.lora == LoRA(rank=2) and read.augmentation.zoom == (1.0, 2.0)
