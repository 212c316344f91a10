"""Stand-ins are there while a model is imported, and only where the real package is missing."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from types import ModuleType

import pytest

from tablerec.errors import MissingDependencyError
from tablerec.language.standins import STAND_INS, require_paddleformers, stand_ins
from tests.helpers.devices.plugin_process import ROOT


def test_all_modules_of_all_stand_ins_import_and_are_gone_after() -> None:
    before = set(sys.modules)
    with stand_ins() as missing:
        for package in missing:
            assert importlib.util.find_spec(package).has_location  # type: ignore[union-attr]
            for path, names in STAND_INS[package].items():
                module = importlib.import_module(path)
                assert all(hasattr(module, name) for name in names)
    assert not {name for name in set(sys.modules) - before if name.split(".")[0] in STAND_INS}


def test_they_are_gone_after_a_failure_too() -> None:
    with pytest.raises(ZeroDivisionError), stand_ins():
        _ = 1 / 0
    assert "paddlefleet" not in sys.modules


def test_an_installed_package_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    (tmp_path / "paddlefleet_ops.py").write_text("real = True\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with stand_ins() as missing:
        assert "paddlefleet_ops" not in missing and "paddlefleet" in missing
        assert importlib.import_module("paddlefleet_ops").real
    monkeypatch.delitem(sys.modules, "paddlefleet_ops")


def test_what_stands_in_may_be_inherited_from_and_not_be_used() -> None:
    with stand_ins():
        base = importlib.import_module("paddlefleet.models.gpt").GPTModel
    derived = type("GPTModel", (base,), {})
    with pytest.raises(
        MissingDependencyError, match=r"GPTModel needs paddlefleet\.models\.gpt\.GPTModel, which is not"
    ):
        derived(1, size=2)


@pytest.mark.parametrize("missing", ["paddle", "paddleformers"])
def test_without_paddleformers_the_message_says_what_to_install(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    there = ModuleType("there").__spec__
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == missing else there or find("importlib")
    )
    with pytest.raises(MissingDependencyError, match=r'is not installed: run pip install "tablerec\[language\]"'):
        require_paddleformers()


def test_a_broken_installation_is_no_traceback(tmp_path) -> None:
    (tmp_path / "paddleformers").mkdir()
    (tmp_path / "paddleformers" / "__init__.py").write_text("import no_such_package\n", encoding="utf-8")
    (tmp_path / "paddle.py").write_text("", encoding="utf-8")
    code = f"""
import sys
sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]
from tablerec.errors import MissingDependencyError
from tablerec.language.standins import import_model
try:
    import_model("qwen3")
except MissingDependencyError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "PaddleFormers cannot be imported (No module named 'no_such_package'): run pip install" in done.stdout


@pytest.mark.skipif(importlib.util.find_spec("paddleformers") is None, reason="needs PaddleFormers")
def test_models_import_and_what_needs_paddlefleet_is_refused() -> None:
    code = """
import sys
from tablerec.language.standins import STAND_INS, import_model
texts = []
for family, call in (("gpt9", None), ("qwen3", lambda module: module.Qwen3ForCausalLM(module.Qwen3Config()))):
    try:
        call(import_model(family))
    except Exception as error:
        texts.append(f"{type(error).__name__}: {error}")
families = [import_model(name).__name__ for name in ("qwen3_moe", "deepseek_v3", "paddleocr_vl")]
from paddleformers.utils.import_utils import is_paddlefleet_available
for text in (*texts, *families, is_paddlefleet_available(), set(STAND_INS) & set(sys.modules)):
    print(text)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    *_, absent, fleet, moe, deepseek, vision, available, left = done.stdout.splitlines()
    assert absent == "SettingsError: PaddleFormers has no models named 'gpt9'"
    assert fleet.startswith("MissingDependencyError: Qwen3ModelProvider needs paddlefleet.")
    assert [name.split(".")[2] for name in (moe, deepseek, vision)] == ["qwen3_moe", "deepseek_v3", "paddleocr_vl"]
    assert available == "False" and left == "set()"
