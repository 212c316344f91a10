from __future__ import annotations

import importlib.util
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from tablerec.cli import command as tablerec
from tablerec.lab import command as lab


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the arguments that JupyterLab would get, and start none."""
    arguments: list[str] = []
    monkeypatch.setattr(lab, "_serve", arguments.extend)
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if name == "jupyterlab" else find(name))
    return arguments


def test_the_course_is_copied_and_served(tmp_path: Path, served: list[str]) -> None:
    done = CliRunner().invoke(tablerec, ["lab", str(tmp_path / "mine"), "--no-browser"])
    assert done.exit_code == 0, done.output
    assert re.search(r"\d\d new files, 0 renewed", done.stdout)
    assert f"--ServerApp.root_dir={tmp_path / 'mine'}" in served and "--no-browser" in served
    assert "--ServerApp.ip=127.0.0.1" in served and not [each for each in served if "port" in each]
    assert (tmp_path / "mine" / "notebooks" / "00_tour.ipynb").is_file()


def test_newer_notebooks_beside_changed_ones_are_named(tmp_path: Path, served: list[str]) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "00_tour.ipynb").write_text("mine")
    done = CliRunner().invoke(tablerec, ["lab", str(tmp_path)])
    assert done.exit_code == 0 and f"{Path('notebooks/00_tour-2.ipynb')}" in done.stderr


def test_without_jupyterlab_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    done = CliRunner().invoke(tablerec, ["lab", str(tmp_path / "mine")])
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1) and 'pip install "tablerec[lab]"' in done.stderr
    assert not (tmp_path / "mine").exists()


def test_a_port_in_use_is_refused(tmp_path: Path, served: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = CliRunner().invoke(tablerec, ["lab", str(tmp_path / "mine"), "--port", port])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1) and f"--port {port}" in done.stderr
    assert not served and not (tmp_path / "mine").exists()


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path, served: list[str]) -> None:
    (tmp_path / "mine").touch()
    done = CliRunner().invoke(tablerec, ["lab", str(tmp_path / "mine")])
    assert done.exit_code == 2 and not served


def test_jupyterlab_answers(tmp_path: Path) -> None:
    """The real server: it shows the notebook to who has the token, and to nobody else, and ends."""
    pytest.importorskip("jupyterlab", reason="needs the lab extra")
    # Settings of the person at this machine are none of the test.
    places = {name: str(tmp_path / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    environment = {**os.environ, **places, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NO_PROXY": "*"}
    arguments = [sys.executable, "-m", "tablerec", "lab", str(tmp_path / "mine"), "--no-browser"]
    # A program that is asked by address never needs the name of this machine: no_network holds in this test too.
    server = subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment)
    try:
        port, token = _address(server)
        page = f"http://127.0.0.1:{port}/api/contents/notebooks/00_tour.ipynb?content=0"
        assert _ask(port, f"/api/contents/notebooks/00_tour.ipynb?content=0&token={token}") == 200, page
        assert _ask(port, f"/lab/tree/notebooks/00_tour.ipynb?token={token}") == 200
        assert _ask(port, "/api/contents/notebooks/00_tour.ipynb?content=0") == 403
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)
