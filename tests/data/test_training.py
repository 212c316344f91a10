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
        # What was learnt from labels is judged on others.
        assert read.source.startswith("synth:") or read.validation_source not in (None, read.source)
