"""The first method that fits is chosen, and why others were not is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tablerec.cli import command
from tablerec.errors import SettingsError
from tablerec.language.choose import SAFETY, choose, describe, list_methods
from tablerec.language.memory import Decoder, predict
from tablerec.language.method import Method, read_method

SMALL = Decoder(28, 1024, 3072, 16, 8, 128, 151936, tied=True)
CONFIG = {
    "num_hidden_layers": 28,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
}


def test_the_kinds_of_methods_come_in_order() -> None:
    kinds = list(dict.fromkeys((method.lora is None, method.frozen) for method in list_methods()))
    assert kinds == [(True, "whole"), (False, "whole"), (False, "int8"), (False, "int4")]
    assert len({describe(method) for method in list_methods()}) == len(list_methods())


@pytest.mark.parametrize("gigabytes", [400, 40, 16, 8, 5, 3])
def test_the_choice_fits_and_nothing_before_it_does(gigabytes: int) -> None:
    said: list[str] = []
    methods = list_methods()
    choice = choose(SMALL, gigabytes * 1e9, 512, 6, methods, report=said.append)
    assert SAFETY * choice.predicted.peak <= gigabytes * 1e9
    assert choice.batch * choice.accumulation == 6
    before = methods[: methods.index(choice.method)]
    assert all(SAFETY * predict(SMALL, method, 1, 512).peak > gigabytes * 1e9 for method in before)
    larger = [batch for batch in (1, 2, 3, 6) if batch > choice.batch]
    assert all(SAFETY * predict(SMALL, choice.method, batch, 512).peak > gigabytes * 1e9 for batch in larger)
    assert len(said) == len(before) + 1 and all("does not fit" in line for line in said[:-1])


def test_less_memory_never_gives_an_earlier_method() -> None:
    methods = list_methods()
    places = [methods.index(choose(SMALL, size * 1e9, 512, 6, methods).method) for size in (40, 20, 10, 6, 4, 3)]
    assert places == sorted(places) and places[0] < places[-1]


def test_what_cannot_fit_is_said() -> None:
    with pytest.raises(SettingsError, match=r"nothing fits into 0\.10 GB: LoRA on int4.* takes .* of 512 tokens"):
        choose(SMALL, 1e8, 512, 6, list_methods())
    with pytest.raises(SettingsError, match="no method"):
        choose(SMALL, 1e8, 512, 6, [])


def run(*arguments: str) -> tuple[int, str]:
    found = CliRunner().invoke(command, ["tune", *arguments])
    return found.exit_code, found.output


def test_the_command_writes_the_method(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    code, said = run(str(tmp_path), "--memory", "1.2GB", "--length", "512", "-o", str(tmp_path / "out"))
    assert code == 0 and "chosen: LoRA on " in said and "logits" in said and "activations" in said
    method = read_method(tmp_path / "out" / "method.yaml")
    assert method.frozen in ("int8", "int4") and method.lora is not None
    assert run(str(tmp_path / "config.json"), "--memory", "400GB", "--length", "64")[0] == 0
    assert read_method(tmp_path / "method.yaml") == Method(lora=None)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--memory", "3GB"], "needs --length"),
        (["--memory", "3GB", "--length", "64", "--minutes", "3"], "leave out --minutes"),
        (["--memory", "3GB", "--length", "64", "--allow-import"], "leave out --allow-import"),
        (["--memory", "10MB", "--length", "64"], "nothing fits"),
        (["--memory", "much", "--length", "64"], "no size"),
    ],
)
def test_the_command_refuses(tmp_path: Path, arguments: list[str], said: str) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    code, output = run(str(tmp_path), *arguments)
    assert code == 2 and said in output and "Traceback" not in output
    assert not (tmp_path / "method.yaml").exists()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """It was said that --minutes was missing, which detectors need."""
    code, output = run(str(tmp_path / "none"), "--memory", "3GB", "--length", "64")
    assert code == 2 and "none is missing: name the settings of a detector, or a language model's folder" in output
    code, output = run(str(tmp_path), "--memory", "3GB", "--length", "64")
    assert code == 1 and "config.json cannot be read (No such file or directory): name the config.json" in output


def test_detectors_need_minutes(tmp_path: Path) -> None:
    code, output = run(str(tmp_path / "settings.yaml"), "--memory", "3GB")
    assert code == 2 and "needs --minutes" in output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "holds no fields"),
        ("frozen: int3", "frozen"),
        ("frozen: int4\nlora: null", "nothing would be trained"),
        ("group_size: 96", "group_size is 96"),
        ("a: [", "method.yaml"),
    ],
)
def test_a_broken_method_is_refused(tmp_path: Path, text: str, said: str) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "method.yaml").write_text(text)
    with pytest.raises(SettingsError, match=said):
        read_method(tmp_path / "method.yaml")


def test_a_method_that_is_missing_is_refused(tmp_path: Path) -> None:
    for path, cause in ((tmp_path, "Is a directory"), (tmp_path / "none.yaml", "No such file")):
        with pytest.raises(SettingsError, match=f"{path}: {cause}.*: name the file that `tablerec tune` writes"):
            read_method(path)
