"""PaConvert's marks, names that Paddle lacks, and mendings; PaConvert itself where it is installed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tablerec.errors import InputError, MissingDependencyError
from tablerec.models.migration.conversion import (
    Edit,
    apply_edits,
    convert,
    find_marked,
    find_unknown,
    read_edits,
)

BY_HAND = Path(__file__).resolve().parents[4] / "data/migration/dfine/by_hand.yaml"
CONVERTED = "import paddle\n\n\ndef f(x):\n>>>>>>    return torch.odd(x)\n"
LOG = "There are 7 Pytorch APIs in this Project:\n 5  Pytorch APIs have been converted to Paddle successfully!\n"


def edit(**changes: str) -> Edit:
    fields = {"file": "a.py", "old": "x", "new": "y", "shown_by": "mark", "why": "so"}
    return Edit(**{**fields, **changes})


def test_an_empty_folder_has_nothing_to_mend(tmp_path: Path) -> None:
    pytest.importorskip("paddle")
    assert find_marked(tmp_path) == find_unknown(tmp_path) == []
    assert apply_edits(tmp_path, []) == 0


def test_marked_lines_are_found_and_mended(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CONVERTED)
    [place] = find_marked(tmp_path)
    assert (place.file, place.line, place.code) == ("a.py", 5, "return torch.odd(x)")
    assert apply_edits(tmp_path, [edit(old=">>>>>>    return torch.odd(x)", new="    return paddle.abs(x)")]) == 1
    assert find_marked(tmp_path) == []
    assert (tmp_path / "a.py").read_text().endswith("    return paddle.abs(x)\n")


def test_names_that_paddle_lacks_are_found(tmp_path: Path) -> None:
    pytest.importorskip("paddle")
    (tmp_path / "a.py").write_text("import paddle\nx = paddle.abs(1)\ny = paddle.nn.NoSuchLayer(paddle.no.such)\n")
    assert [(place.line, place.code) for place in find_unknown(tmp_path)] == [
        (3, "paddle.nn.NoSuchLayer"),
        (3, "paddle.no"),
        (3, "paddle.no.such"),
    ]
    (tmp_path / "a.py").write_text(CONVERTED)
    with pytest.raises(InputError, match="mend the marked lines first"):
        find_unknown(tmp_path)


@pytest.mark.parametrize(("file", "old"), [("a.py", "gone"), ("b.py", "x"), ("../a.py", "x")])
def test_mendings_that_do_not_fit_are_refused(tmp_path: Path, file: str, old: str) -> None:
    folder = tmp_path / "converted"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    (tmp_path / "a.py").write_text("x = 1\n")
    with pytest.raises(InputError, match=r"mendings are for other versions|lies outside"):
        apply_edits(folder, [edit(file=file, old=old)])
    assert (tmp_path / "a.py").read_text() == (folder / "a.py").read_text() == "x = 1\n"


def test_mendings_are_read_from_yaml(tmp_path: Path) -> None:
    edits = read_edits(BY_HAND)
    assert {each.shown_by for each in edits} == {"mark", "name", "error"}
    assert all(each.why for each in edits)
    (tmp_path / "bad.yaml").write_text("- {file: a.py, old: 3}")
    with pytest.raises(InputError, match=r"edits\[0\].old"):
        read_edits(tmp_path / "bad.yaml")
    (tmp_path / "bad.yaml").write_text("[}")
    with pytest.raises(InputError, match="cannot be read as YAML"):
        read_edits(tmp_path / "bad.yaml")


def test_counts_come_from_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    asked = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        (tmp_path / "out").mkdir(exist_ok=True)
        (tmp_path / "out/a.py").write_text(CONVERTED)
        return subprocess.CompletedProcess(command, 0, stdout="", stderr=LOG)

    monkeypatch.setattr(subprocess, "run", run)
    conversion = convert(tmp_path, tmp_path / "out")
    assert asked[0][:3] == [sys.executable, "-m", "paconvert.main"]
    assert (conversion.n_calls, conversion.n_converted, len(conversion.marked)) == (7, 5, 1)
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1, "", "Oh no"))
    with pytest.raises(InputError, match="PaConvert fails \\(Oh no\\)"):
        convert(tmp_path, tmp_path / "out")


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as without:
        without.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(MissingDependencyError, match=r"pip install .tablerec\[migrate\]"):
            convert(tmp_path, tmp_path / "out")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    with pytest.raises(InputError, match="not a folder"):
        convert(tmp_path / "none", tmp_path / "out")


def test_paconvert_converts(tmp_path: Path) -> None:
    pytest.importorskip("paconvert")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.py").write_text(
        "import torch\n\n\ndef f(x):\n    return torch.nn.functional.relu(torch.abs(x))\n"
    )
    conversion = convert(tmp_path / "in", tmp_path / "out")
    assert conversion.n_calls == conversion.n_converted > 0 and conversion.marked == ()
    assert "paddle" in (tmp_path / "out/a.py").read_text()
