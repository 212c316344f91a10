"""Recipes are checked to the last key, and the message says where."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tablerec.errors import SettingsError
from tablerec.synth import load_recipe, recipe_names
from tablerec.synth.recipe import EFFECTS, FILLS, FRAMINGS, RULES, STRUCTURES, THEMES, Recipe


def write(folder: Path, text: str, name: str = "own.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def all_parts(recipe: Recipe) -> list[Recipe]:
    return [recipe] if not recipe.parts else [part for child, _ in recipe.parts for part in all_parts(child)]


def test_recipes_of_the_package_say_what_they_are_for() -> None:
    assert {"mixed", "financial", "statistical", "scientific", "form", "page", "photo", "scan"} <= set(recipe_names())
    assert all(load_recipe(name).about for name in recipe_names())


UNSEEN = {"unseen_cards", "unseen_questionnaire", "unseen_rota"}
"""Recipes on which the network in the package was not trained: they measure what learning from a few brings."""


def test_mixed_holds_every_other_recipe_but_the_unseen_ones() -> None:
    assert {part.name for part, _ in load_recipe("mixed").parts} == set(recipe_names()) - {"mixed"} - UNSEEN


def test_no_part_of_mixed_draws_what_is_unseen() -> None:
    unseen = {kind for name in UNSEEN for kind in load_recipe(name).structures}
    assert len(unseen) == 3
    assert all(unseen.isdisjoint(part.structures) for part in all_parts(load_recipe("mixed")))


@pytest.mark.parametrize(
    ("field", "known"),
    [("structures", STRUCTURES[:-3]), ("rules", RULES), ("fills", FILLS), ("themes", THEMES), ("framing", FRAMINGS),
     ("effects", EFFECTS)],
)  # fmt: skip
def test_mixed_uses_everything_there_is(field: str, known: tuple[str, ...]) -> None:
    recipe = load_recipe("mixed")
    used = set()
    for seed in range(300):
        used |= getattr(recipe.choose(np.random.default_rng(seed)), field).keys()
    assert used == set(known)


def test_a_recipe_extends_and_mixes(tmp_path: Path) -> None:
    write(tmp_path, "extends: ruled\nrows: [2, 3]\n", "base.yaml")
    recipe = load_recipe(write(tmp_path, "mixture: {base.yaml: 1, lineless: 0}\nspans: 1\n"))
    chosen = recipe.choose(np.random.default_rng(0))
    assert (chosen.name, chosen.rows, chosen.spans) == ("own/base", (2, 3), 1)
    assert chosen.rules == load_recipe("ruled").rules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rows: [3, 9]\nrow: 4\n", r"own.yaml, line 2: key 'row' is unknown; is 'rows' meant\?"),
        ("xyz: 4\n", "line 1: key 'xyz' is unknown; known are about, cells"),
        ("rows: [3, 9]\nrows: 4\n", "line 2: key 'rows' stands twice"),
        ("rules: {grid: 1, grid: 2}\n", "line 1: key 'grid' stands twice"),
        (
            "rows: [9, 3]\n",
            "line 1: rows is .9, 3.; a number from 1 to 400, or two of them, the smaller",
        ),
        ("rows: [3, 9, 12]\n", "rows is .3, 9, 12.; a number from 1 to 400, or two"),
        ("rows: many\n", "rows is 'many'; a number from 1 to 400"),
        ("rows: .inf\n", "rows is inf; a number from 1 to 400"),
        ("rows: true\n", "rows is True; a number from 1 to 400"),
        ("spans: 1.5\n", "spans is 1.5; a number from 0 to 1 is needed"),
        ("rules: {grit: 1}\n", "rules: 'grit' is unknown; choose from grid"),
        ("rules: {grid: -1}\n", "rules: grid is -1; a number from 0 to 1,000,000 is needed"),
        ("rules: {grid: 0}\n", "all weights are 0"),
        ("rules: []\n", "rules is .*; names with weights are needed"),
        ("rules: 3\n", "rules is 3; names with weights are needed"),
        ("about: [1]\n", "about is .1.; a text is needed"),
        ("extends: nope\n", "own.yaml, line 1: recipe 'nope' is unknown; choose"),
        ("mixture: {nope: 1}\n", "own.yaml, line 1: recipe 'nope' is unknown"),
        ("extends: own.yaml\n", "refers to itself"),
        ("mixture: {own.yaml: 1}\n", "refers to itself"),
        ("extends: other.yaml\n", "line 1: .*other.yaml: cannot be read"),
        ("rows: [3\n", "is not YAML"),
        ("- 1\n", "holds no keys"),
        ("", "holds no keys"),
        ("? [1]\n: 2\n", "line 1: a key must be a word"),
        ("a: &x [1]\nb: *x\n", "line 2: aliases are not allowed"),
        ("rows: !!python/object/apply:os.system ['true']\n", "is not YAML"),
        ("rows: 2024-13-45\n", "cannot be understood|is not YAML|a number"),
        ("[" * 5000, "line 1: is nested too deeply"),
        ("#" + "x" * 200_000, "larger than 100,000 bytes"),
    ],
)
def test_hostile_recipes_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_recipe(write(tmp_path, text))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="it is no text in UTF-8"):
        load_recipe(path)
    with pytest.raises(SettingsError, match=r"recipe 'nope' is unknown; choose .*mixed"):
        load_recipe("nope")
