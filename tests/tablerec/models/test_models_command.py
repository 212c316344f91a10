"""``tablerec models``: what is there, what is missing, and nothing from the network unasked."""

from __future__ import annotations

import hashlib
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tablerec import paddlex_support
from tablerec.cli import command
from tablerec.detect.factory import WEIGHTS
from tablerec.models import catalogue
from tablerec.models.catalogue import CATALOGUE
from tablerec.ocr.linenet import has_linenet


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the empty cache of PaddleX; the network is off."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("no network in tests")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("PADDLE_PDX_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "official_models"


def run(*args: str) -> Result:
    return CliRunner().invoke(command, ["models", *args])


def put(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "inference.yml").write_text(f"Global: {{model_name: {name}}}", encoding="utf-8")
    (folder / "inference.pdiparams").touch()
    return folder


def test_list_shows_every_model_with_its_place(cache: Path, tmp_path: Path) -> None:
    cached = put(cache / "UVDoc", "UVDoc")
    own = put(tmp_path / "own" / "x", "PP-DocLayout-S")
    result = run("list", "--models-dir", str(tmp_path / "own"))
    lines = {line.split()[0]: line for line in result.output.splitlines()}
    assert result.exit_code == 0 and set(lines) == {model.name for model in CATALOGUE}
    assert lines["CellNet"].endswith(str(WEIGHTS)) and "3.4 MB  Apache-2.0" in lines["CellNet"]
    assert lines["UVDoc"].endswith(str(cached)) and lines["PP-DocLayout-S"].endswith(str(own))
    assert "missing:" in lines["PP-DocLayout-L"]
    assert "PP-OCRv6_rec_small.onnx" in lines["PP-OCRv6_rec_small"]


def test_names_are_unique() -> None:
    assert len({model.name for model in CATALOGUE}) == len(CATALOGUE)


def test_fetch_says_what_it_does_before_it_does(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        "tablerec.models.command.fetch_model", lambda *args: asked.append(args) or put(cache / args[0], args[0])
    )
    result = run("fetch", "UVDoc", "PP-OCRv4_mobile_det", "--engine", "paddle_static")
    assert result.exit_code == 0 and asked == [("UVDoc", "paddle_static"), ("PP-OCRv4_mobile_det", "paddle_static")]
    said = [line for line in result.output.splitlines() if line.startswith("UVDoc")]
    assert "about 30.3 MB" in said[0] and str(cache) in said[0] and said[1] == f"UVDoc is there: {cache / 'UVDoc'}"
    # The second time there is nothing to do.
    again = run("fetch", "UVDoc")
    assert again.output == f"UVDoc is there: {cache / 'UVDoc'}\n" and len(asked) == 2


@pytest.mark.parametrize("name", ["CellNet", "PP-OCRv6_det_small"])
def test_what_a_package_brings_is_not_fetched(name: str) -> None:
    result = run("fetch", name)
    assert result.exit_code == 2 and "nothing to download" in result.output


@pytest.mark.skipif(not has_linenet(), reason="the package holds no weights of LineNet")
def test_verify_checks_what_is_there() -> None:
    result = run("verify")
    assert result.exit_code == 0
    assert [line.split(":")[0] for line in result.output.splitlines()] == [
        "CellNet",
        "LineNet",
        "PP-OCRv6_det_small",
        "PP-OCRv6_rec_small",
    ]
    assert "SHA-256" in result.output


def test_verify_finds_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(WEIGHTS, tmp_path / "weights")
    monkeypatch.setattr(catalogue, "WEIGHTS", tmp_path / "weights")
    content = (tmp_path / "weights" / "inference.onnx").read_bytes()
    (tmp_path / "weights" / "inference.onnx").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    result = run("verify", "CellNet")
    assert result.exit_code == 1 and "inference.onnx is damaged" in result.output


def test_verify_says_where_a_missing_model_was_looked_for(cache: Path) -> None:
    result = run("verify", "UVDoc", "CellNet")
    assert result.exit_code == 1
    assert (
        f"Error: UVDoc: the model UVDoc is not on this machine: it was looked for in {cache / 'UVDoc'}" in result.output
    )
    assert "CellNet: the SHA-256" in result.output


def test_verify_runs_models_of_paddlex(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(cache / "UVDoc", "UVDoc")

    class Model:
        works = True

        def predict(self, image: Any) -> Any:
            yield 1 / self.works

    model = Model()
    monkeypatch.setattr(paddlex_support, "create_model", lambda *_: model)
    assert "UVDoc: PaddleX gives no sums to compare, and it runs" in run("verify").output
    description = cache / "UVDoc" / "inference.yml"
    text = f"Global: {{model_name: UVDoc}}\nsha256: {{inference.pdiparams: {hashlib.sha256(b'').hexdigest()}}}"
    description.write_text(text, encoding="utf-8")
    assert "UVDoc: the SHA-256 of each file is right, and it runs" in run("verify").output
    model.works = False
    result = run("verify")
    assert result.exit_code == 1 and "loads but does not run" in result.output
    (cache / "UVDoc" / "inference.pdiparams").write_bytes(b"damaged")
    assert "inference.pdiparams is damaged" in run("verify").output
