"""The training recipes that come with the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablerec.training.settings import read_settings


def test_recipes_are_read(repository: Path) -> None:
    pytest.importorskip("yaml")
    recipes = sorted((repository / "data" / "training").glob("*.yaml"))
    assert recipes
    for recipe in recipes:
        assert read_settings(recipe).source.startswith("synth:")
