"""The command line: what it refuses before anything is bound."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tablerec.cli import command

pytestmark = pytest.mark.usefixtures("localhost")


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where an engine is started."""
    import tablerec.engine

    monkeypatch.setattr(tablerec.engine, "Engine", None)
    monkeypatch.delenv("TABLEREC_TOKEN", raising=False)


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(command, ["serve", *arguments])
    assert "Traceback" not in done.output
    return done.exit_code, done.output


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "scanner"])
def test_others_are_let_in_with_a_token_only(host: str) -> None:
    code, said = run("--host", host)
    assert code == 2 and "give it a token" in said


def test_tokens_that_are_none(tmp_path: Path) -> None:
    assert run("--token", "short")[0] == 2
    (tmp_path / "empty").write_text("\n")
    code, said = run("--token-file", str(tmp_path / "empty"))
    assert code == 2 and "holds no token" in said


def test_tokens_come_from_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tablerec.serve.command import read_tokens

    (tmp_path / "tokens").write_text("c\nd\n")
    monkeypatch.setenv("TABLEREC_TOKEN", "b")
    assert read_tokens(("a",), tmp_path / "tokens") == ["a", "b", "c", "d"]
    assert read_tokens((), None) == ["b"]


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, said = run("--port", str(taken.getsockname()[1]))
        assert code == 2 and "cannot be used" in said


def test_limits_that_are_none() -> None:
    assert run("--pages", "0")[0] == 2
    assert run("--megapixels", "0")[0] == 2


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tablerec.serve.app", raising=False)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    code, said = run()
    assert code == 1 and 'pip install "tablerec[serve]"' in said
