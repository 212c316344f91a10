"""The container file copies what the wheel is built from, and runs as nobody in particular."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs tomllib")
def test_the_wheel_can_be_built_from_what_is_copied() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {"pyproject.toml", project["project"]["readme"], *project["project"]["license-files"]}
    needed |= {*wheel["packages"], *wheel["force-include"]}
    lines = (ROOT / "Containerfile").read_text(encoding="utf-8").splitlines()
    copied = {name for line in lines if re.match(r"COPY (?!--from)", line) for name in line.split()[1:-1]}
    assert copied == needed
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"}
    assert {name.partition("/")[0] for name in needed} == kept


def test_it_is_not_root_and_has_no_token_in_it() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    assert re.search(r"^USER 10001$", text, re.MULTILINE) and "HEALTHCHECK" in text
    assert not re.search(r"^ENV.*TOKEN", text, re.MULTILINE)
