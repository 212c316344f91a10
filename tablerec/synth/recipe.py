"""Recipes: what is drawn and how often, as YAML files that are checked to the last key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import lru_cache, partial
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tablerec.errors import SettingsError
from tablerec.fields import Check, list_of, number, read_text, short

T = TypeVar("T")
ValueCheck = Callable[[Any, str], Any]
"""Returns a value, or raises SettingsError with the place before it."""

Range = tuple[float, float]
"""Least and largest value; any value between is equally likely."""

Weights = Mapping[str, float]
"""How often each choice comes, relative to the others; what is not named never comes."""

STRUCTURES = (
    "statement",  # stub of labels, sections, sums: accounts
    "bilingual",  # the same with labels in two languages, each in a column
    "prospectus",  # tall headers, wrapped labels, texts and numbers without lines
    "statistical",  # years or groups by measures, ragged headers of several levels
    "census",  # boxed headers, groups of dense rows with dotted leaders
    "scientific",  # methods by data sets and metrics
    "journal",  # surveys, lists of studies, values with their share, panels
    "experiment",  # groups of rows named once, blocks with headers of their own, parameters: papers set with LaTeX
    "records",  # a line for each thing, columns of one type each
    "form",  # labels and values
    "official",  # irregular merged cells, vertical labels: Chinese forms
    "invoice",  # lines, sums below on the right
    "catalogue",  # groups of rows within groups, texts for whole groups
    "worksheet",  # values, ticks, formulas, cells to fill in: textbooks
    "receipt",  # articles and prices in two lines, wide blanks: tills
    "ledger",  # dated entries with wrapped descriptions, values beside them
    "banded",  # bands over all columns, labels over several rows, heads over several columns
    "register",  # many narrow columns under headers of many lines: official statistics
    "schedule",  # days by hours, or groups of rows, merged both ways
    "paragraphs",  # long texts
    "pairs",  # two or three columns: what and how much
    "rota",  # people by days in narrow columns, filled stretches; this and the next two are in no part of `mixed`
    "cards",  # sheets of cells with several lines each
    "questionnaire",  # questions with all answers in one cell
)
SCRIPTS = ("english", "latin", "chinese")
RULES = (
    "grid", "framed", "horizontal", "three_line", "double_line", "columns", "header", "partial", "dashed", "sums",
    "tabular", "none",
)  # fmt: skip
FILLS = ("none", "header", "dark_header", "bands", "columns", "stub", "totals", "current", "cells")
THEMES = ("light", "tinted", "dark", "coloured", "saturated")
FLAVORS = ("serif", "sans", "mono", "modern")
RENDERERS = ("fast", "browser")
FRAMINGS = ("flush", "tight", "captioned", "loose", "page")
EFFECTS = ("clean", "soft", "low", "thumbnail", "scan", "fax", "photo", "bent")

_MAX_BYTES = 100_000
_MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Recipe:
    """How tables are chosen. Lengths in font sizes are multiples of the font's size.

    Args:
        name: Of the recipe, as ``Sample.about`` keeps it.
        about: What it is for, one line.
        structures: Kinds of tables.
        scripts: Languages: ``english``, ``latin`` (others in Latin script), ``chinese``.
        rows: Number of rows, headers included.
        columns: Number of columns.
        cells: Bounds for rows times columns.
        header_levels: Levels of column headers, 0 to 3.
        font_size: px, before a picture is made smaller.
        flavors: Kinds of fonts; ``modern`` is Computer Modern, as LaTeX sets it, or else any with serifs.
        line_height: Distance of lines inside a cell, in font sizes.
        padding_x: Free space left and right of text, in font sizes.
        padding_y: Free space above and below, in font sizes.
        wrap: Width at which text is wrapped, in font sizes.
        rules: Where lines are drawn.
        rule_width: px.
        fills: What is shaded.
        themes: Colours of ground and ink.
        spans: Chance of merged cells where a structure has the choice, 0 to 1.
        empty: Share of empty cells in the body, 0 to 1.
        empty_columns: Chance of each column to be empty, 0 to 1.
        long_headers: Chance that column headers have long texts, which take several lines, 0 to 1.
        long_stubs: Chance that some labels of rows do, 0 to 1.
        paragraphs: Chance that a text column holds long texts, 0 to 1.
        stretch: Chance that the table is wider than its content, 0 to 1.
        tables: Number of tables in the picture.
        touching: Chance that tables follow one another without a gap, 0 to 1.
        surroundings: Chance of text or figures around the table, 0 to 1.
        report_heads: Chance of the head of a report above the column heads: company, subject, period, unit, 0 to 1.
        neighbours: Chance of text of other tables right above or below, 0 to 1.
        framing: ``flush``, hardly a pixel around what is drawn; ``tight``, a few; ``captioned``, with titles, units
            and notes, and a cut line of what follows; ``loose``, with surroundings; ``page``.
        effects: What happens to the picture.
        turns: Quarter turns counter-clockwise, in degrees: 0, 90, 180, 270.
        max_side: Longest side of a picture, px; larger ones are made smaller.
        renderers: What draws: ``fast``, or ``browser``, which needs Chromium.
        parts: Other recipes to choose from, with weights; what this recipe sets itself is used in their place.
    """

    name: str = ""
    about: str = ""
    structures: Weights = field(default_factory=lambda: {"records": 1})
    scripts: Weights = field(default_factory=lambda: {"english": 6, "latin": 1, "chinese": 3})
    rows: Range = (3, 16)
    columns: Range = (2, 8)
    cells: Range = (4, 300)
    header_levels: Weights = field(default_factory=lambda: {"0": 1, "1": 7, "2": 3})
    font_size: Range = (10, 26)
    flavors: Weights = field(default_factory=lambda: {"serif": 5, "sans": 5, "mono": 0.4})
    line_height: Range = (1.1, 1.4)
    padding_x: Range = (0.3, 1.2)
    padding_y: Range = (0.08, 0.6)
    wrap: Range = (8, 24)
    rules: Weights = field(default_factory=lambda: {"grid": 1})
    rule_width: Range = (0.6, 2)
    fills: Weights = field(default_factory=lambda: {"none": 6, "header": 2, "bands": 1})
    themes: Weights = field(default_factory=lambda: {"light": 8, "tinted": 1})
    spans: float = 0.3
    empty: Range = (0, 0.15)
    empty_columns: float = 0.01
    long_headers: float = 0.4
    long_stubs: float = 0.2
    paragraphs: float = 0.1
    stretch: float = 0.5
    tables: Range = (1, 1)
    touching: float = 0
    surroundings: float = 0.5
    report_heads: float = 0
    neighbours: float = 0
    framing: Weights = field(default_factory=lambda: {"tight": 7, "loose": 2, "page": 1})
    effects: Weights = field(default_factory=lambda: {"clean": 4, "soft": 4, "low": 1.5, "scan": 1})
    turns: Weights = field(default_factory=lambda: {"0": 1})
    max_side: Range = (1200, 1600)
    renderers: Weights = field(default_factory=lambda: {"fast": 1})
    parts: tuple[tuple[Recipe, float], ...] = ()
    own: frozenset[str] = frozenset()
    """Fields that the file sets itself."""

    def choose(self, rng: np.random.Generator) -> Recipe:
        """Return one of the parts, chosen by weight and overridden; itself where there are none.

        >>> load_recipe("ruled").choose(np.random.default_rng(0)).name
        'ruled'
        """
        if not self.parts:
            return self
        part = self.parts[pick(rng, {str(index): weight for index, (_, weight) in enumerate(self.parts)}, int)][0]
        chosen = part.choose(rng)
        own: dict[str, Any] = {name: getattr(self, name) for name in self.own - {"about", "parts"}}
        return replace(chosen, **own, name=f"{self.name}/{chosen.name}")


def pick(rng: np.random.Generator, weights: Weights, convert: Callable[[str], Any] = str) -> Any:
    """Return one of the names, chosen by weight.

    >>> pick(np.random.default_rng(0), {"a": 0, "b": 2})
    'b'
    """
    at = rng.random() * sum(weights.values())
    for name, weight in weights.items():
        at -= weight
        if at < 0:
            return convert(name)
    return convert(max(weights, key=lambda name: weights[name]))


def recipe_names() -> list[str]:
    """Return the names of the recipes in the package.

    >>> "mixed" in recipe_names()
    True
    """
    folder = resources.files("tablerec.synth") / "recipes"
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def load_recipe(name: str | Path) -> Recipe:
    """Read a recipe.

    Args:
        name: One of ``recipe_names()``, or the path of a YAML file.

    Returns:
        The recipe, complete: what it extends and what it mixes is read too.

    Raises:
        SettingsError: No such recipe; a key that does not exist, stands twice, or has a wrong
            value (the message names file, line and key); recipes that refer to each other in a circle.

    >>> load_recipe("financial").structures["statement"] > 0
    True
    """
    return _load(str(name), None, ())


def _load(name: str, origin: str | None, above: tuple[str, ...]) -> Recipe:
    path, text = _read(name, origin)
    if path in above:
        raise SettingsError(f"{path}: refers to itself by way of {' -> '.join([*above, path])}; break the circle")
    entries = _parse(text, path)
    known = {"extends", "mixture", "about", *_CHECKS}
    for key, (_, line) in entries.items():
        if key not in known:
            raise SettingsError(f"{path}, line {line}: key {short(key)} is unknown{_near(key, known)}")
    recipe = Recipe()
    if "extends" in entries:
        value, line = entries["extends"]
        recipe = _load(_take(_text, value, f"{path}, line {line}: extends"), f"{path}, line {line}", (*above, path))
    own: dict[str, Any] = {}
    for key, (value, line) in entries.items():
        place = f"{path}, line {line}: {key}"
        if key == "mixture":
            own["parts"] = tuple(
                (_load(part, f"{path}, line {line}", (*above, path)), weight)
                for part, weight in _weights(value, place, None).items()
            )
        elif key == "about":
            own["about"] = _take(_text, value, place)
        elif key != "extends":
            own[key] = _CHECKS[key](value, place)
    return replace(recipe, name=Path(path).stem, own=recipe.own | own.keys(), **own)


def _read(name: str, origin: str | None) -> tuple[str, str]:
    """Return where the recipe lies, for messages, and its text."""
    prefix = f"{origin}: " if origin else ""
    if not name.endswith((".yaml", ".yml")):
        names = recipe_names()
        if name not in names:
            known = ", ".join(names)
            raise SettingsError(f"{prefix}recipe {short(name)} is unknown; choose {known}, or name a .yaml file")
        return f"{name}.yaml", (resources.files("tablerec.synth") / "recipes" / f"{name}.yaml").read_text("utf-8")
    path = Path(name) if origin is None else Path(origin.rpartition(", line")[0]).parent / name
    try:
        return str(path), read_text(path, _MAX_BYTES)
    except ValueError as error:
        raise SettingsError(f"{prefix}{path}: cannot be read as a recipe ({error}); check the name") from error


@lru_cache(maxsize=64)
def _parse(text: str, path: str) -> dict[str, tuple[Any, int]]:
    """Return value and line by key."""
    import yaml

    try:
        _refuse_hostile(text, path)
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            raise SettingsError(f"{path}: holds no keys; a recipe is a list of lines such as 'rows: [3, 20]'")
        _refuse_twice(root, path)
        return {
            str(key.value): (loader.construct_object(value, deep=True), key.start_mark.line + 1)
            for key, value in root.value
        }
    except yaml.YAMLError as error:
        cause = " ".join(str(error).split())
        raise SettingsError(f"{path}: is not YAML ({cause}); correct it") from error
    except SettingsError:
        raise
    except Exception as error:  # a value that is none of its type raises all kinds
        cause = " ".join(str(error).split()) or type(error).__name__
        raise SettingsError(f"{path}: cannot be understood ({cause}); correct it") from error


def _refuse_hostile(text: str, path: str) -> None:
    """Refuse what a small file can blow up: aliases, which stand for trees of any size, and deep nesting."""
    import yaml

    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise SettingsError(f"{path}, line {line}: aliases are not allowed; write it out")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise SettingsError(f"{path}, line {line}: is nested too deeply; a recipe is a list of keys with values")


def _refuse_twice(node: Any, path: str) -> None:
    import yaml

    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise SettingsError(f"{path}, line {line}: a key must be a word")
            if key.value in seen:
                raise SettingsError(f"{path}, line {line}: key {short(key.value)} stands twice; keep one")
            seen.add(key.value)
            _refuse_twice(value, path)


def _near(key: str, known: Sequence[str] | set[str]) -> str:
    near = get_close_matches(key, sorted(known), 1, 0.6)
    return f"; is {near[0]!r} meant?" if near else f"; known are {', '.join(sorted(known))}"


def _take(check: Check[T], value: Any, place: str) -> T:
    try:
        return check(value)
    except ValueError as error:
        raise SettingsError(f"{place} is {short(value)}; {error} is needed") from error


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text")
    return value.strip()


def _range(low: float, high: float) -> ValueCheck:
    def check(value: Any) -> Range:
        bounds = value if isinstance(value, list) else [value, value]
        try:
            first, last = list_of(number(low, high), 2)(bounds)
        except ValueError:
            first, last = 1, 0
        if first > last:
            raise ValueError(f"a number from {low} to {high}, or two of them, the smaller first,")
        return bounds[0], bounds[1]

    return partial(_take, check)


def _weights(value: Any, place: str, known: Sequence[str] | None) -> Weights:
    named = {value: 1} if isinstance(value, str) else value
    if not isinstance(named, dict) or not named:
        raise SettingsError(f"{place} is {short(value)}; names with weights are needed, such as {{grid: 2, none: 1}}")
    weights = {str(name): _take(_WEIGHT, weight, f"{place}: {name}") for name, weight in named.items()}
    unknown = [name for name in weights if known is not None and name not in known]
    if known is not None and unknown:
        raise SettingsError(f"{place}: {short(unknown[0])} is unknown; choose from {', '.join(known)}")
    if not any(weights.values()):
        raise SettingsError(f"{place}: all weights are 0; one must be above")
    return weights


def _choice(*known: str) -> ValueCheck:
    return partial(_weights, known=known)


_WEIGHT = number(0, 1_000_000)
_chance = partial(_take, number(0, 1))

_CHECKS: dict[str, ValueCheck] = {
    "structures": _choice(*STRUCTURES),
    "scripts": _choice(*SCRIPTS),
    "rows": _range(1, 400),
    "columns": _range(1, 80),
    "cells": _range(1, 6000),
    "header_levels": _choice("0", "1", "2", "3"),
    "font_size": _range(5, 80),
    "flavors": _choice(*FLAVORS),
    "line_height": _range(0.9, 4),
    "padding_x": _range(0, 8),
    "padding_y": _range(0, 8),
    "wrap": _range(2, 200),
    "rules": _choice(*RULES),
    "rule_width": _range(0.3, 12),
    "fills": _choice(*FILLS),
    "themes": _choice(*THEMES),
    "spans": _chance,
    "empty": _range(0, 1),
    "empty_columns": _chance,
    "long_headers": _chance,
    "long_stubs": _chance,
    "paragraphs": _chance,
    "stretch": _chance,
    "tables": _range(1, 6),
    "touching": _chance,
    "surroundings": _chance,
    "report_heads": _chance,
    "neighbours": _chance,
    "framing": _choice(*FRAMINGS),
    "effects": _choice(*EFFECTS),
    "turns": _choice("0", "90", "180", "270"),
    "max_side": _range(64, 4000),
    "renderers": _choice(*RENDERERS),
}
assert _CHECKS.keys() == {item.name for item in fields(Recipe)} - {"name", "about", "parts", "own"}
