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
        read = read_settings(recipe)
        # A training on labels is judged by others.
        assert read.data.source.startswith("synth:") or read.validation.source not in (None, read.data.source)
