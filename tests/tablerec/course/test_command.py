from __future__ import annotations

import http.client
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tablerec.cli import command as tablerec
from tablerec.course import command as lab


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


@pytest.mark.parametrize(("arguments", "first"), [([], "00_tour.ipynb"), (["--language", "zh"], "zh/00_tour.ipynb")])
def test_the_first_notebook_is_in_the_language_asked_for(
    tmp_path: Path, served: list[str], arguments: list[str], first: str
) -> None:
    done = CliRunner().invoke(tablerec, ["lab", str(tmp_path), *arguments])
    assert done.exit_code == 0 and f"--LabApp.default_url=/lab/tree/notebooks/{first}" in served
    assert (tmp_path / "notebooks" / first).is_file()


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


def test_a_folder_whose_name_is_no_text_is_named(tmp_path: Path, served: list[str]) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("names are texts on this file system")
    done = CliRunner().invoke(tablerec, ["lab", str(folder)])
    assert (done.exit_code, done.exception) == (0, None) and "udcff" in done.stdout


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


@pytest.fixture
def jupyterlab(tmp_path: Path) -> Iterator[tuple[int, str]]:
    """Start the real server, and return its port and token."""
    pytest.importorskip("jupyterlab", reason="needs the lab extra")
    # Settings of the person at this machine are none of the test.
    places = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    environment = {**os.environ, **places, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    arguments = [sys.executable, "-m", "tablerec", "lab", str(tmp_path / "mine"), "--no-browser"]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment) as server:
        assert server.stderr is not None
        watch = threading.Timer(120, server.kill)
        watch.start()
        log = b""
        try:
            for line in server.stderr:
                log += line
                if address := re.search(rb"http://127\.0\.0\.1:(\d+)/\S*token=(\w+)", line):
                    port = int(address[1])
                    while server.poll() is None and not answers(port):  # the address is printed just before
                        pass
                    yield port, address[2].decode()
                    break
            else:
                pytest.fail(log.decode())
        finally:
            watch.cancel()
            server.kill()


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def ask(port: int, path: str) -> tuple[int, bytes]:
    """Return status and content of the answer; no name is looked up."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.sock = socket.socket()
    connection.sock.settimeout(60)
    connection.sock.connect(("127.0.0.1", port))
    connection.request("GET", path)
    with connection.getresponse() as response:
        content = response.read()
    connection.close()
    return response.status, content


def test_jupyterlab_shows_the_course_to_who_has_the_token(jupyterlab: tuple[int, str]) -> None:
    port, token = jupyterlab
    tour = "/api/contents/notebooks/00_tour.ipynb?content=0"
    assert ask(port, f"{tour}&token={token}")[0] == 200
    assert ask(port, tour)[0] == 403
    status, page = ask(port, f"/lab/tree/notebooks/00_tour.ipynb?token={token}")
    assert status == 200
    # Nothing asks the network, or the person for leave to do so.
    config = json.loads(re.findall(rb'(?s)id="jupyter-config-data"[^>]*>(.*?)</script>', page)[0])
    assert "@jupyterlab/apputils-extension:announcements" in config["disabledExtensions"]
    assert config["extensionManager"]["name"] == "read-only" and config["news"] == {"disabled": True}
