"""The names that users import: there, documented, and not lost by accident."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from importlib.util import find_spec
from types import ModuleType

import pytest

import postprocess
import tablerec
from tablerec import errors

SERVE = ("fastapi", "prometheus_client", "python_multipart", "uvicorn")
# A name that leaves this list breaks users: say so in CHANGELOG.md.
PROMISED = {
    "Cell",
    "Page",
    "Recognizer",
    "Result",
    "Settings",
    "Table",
    "TablerecError",
    "Word",
    "__version__",
    "recognize",
}


def test_promised_names_are_offered() -> None:
    assert set(tablerec.__all__) >= PROMISED


def test_all_is_true_and_listed_by_dir() -> None:
    names = tablerec.__all__
    assert len(set(names)) == len(names)
    assert [name for name in names if not hasattr(tablerec, name)] == []
    assert set(names) <= set(dir(tablerec)), "completion at the prompt needs __dir__"


def test_unknown_names_are_attribute_errors() -> None:
    assert not hasattr(tablerec, "no_such_name")


def test_version_is_a_version() -> None:
    packaging_version = pytest.importorskip("packaging.version")
    assert str(packaging_version.Version(tablerec.__version__)) == tablerec.__version__


def test_every_error_has_one_root() -> None:
    classes = [value for value in vars(errors).values() if inspect.isclass(value)]
    assert classes
    assert all(issubclass(value, errors.TablerecError) for value in classes)
    assert set(errors.__all__) == {value.__name__ for value in classes}


def modules() -> Iterator[ModuleType]:
    for package in (postprocess, tablerec):
        yield package
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            # Networks, training, plugins, server and widgets need their extras; __main__ would run the command.
            late = ["tablerec.models", "tablerec.training", "tablerec.plugins.", "tablerec.__main__"]
            late += [] if all(map(find_spec, SERVE)) else ["tablerec.serve."]
            late += [] if find_spec("anywidget") else ["tablerec.corrections.widgets."]
            if not info.name.startswith(tuple(late)):
                yield importlib.import_module(info.name)


def test_everything_public_is_documented() -> None:
    bare = []
    for module in modules():
        if not module.__doc__ and not module.__name__.endswith("__init__"):
            bare.append(module.__name__)
        for name, value in vars(module).items():
            is_own = getattr(value, "__module__", None) == module.__name__
            if name.startswith("_") or not is_own or not (inspect.isclass(value) or inspect.isfunction(value)):
                continue
            if not inspect.getdoc(value) or (inspect.isclass(value) and "__doc__" not in vars(value)):
                bare.append(f"{module.__name__}.{name}")
    assert bare == []
