"""Ray itself: nodes on this machine, one of which is killed, and Ray as the command starts it."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tablerec import Settings
from tablerec.bulk.executor import Task
from tablerec.bulk.ray.executor import ray_executor
from tablerec.bulk.results import Origin
from tablerec.engine import Limits
from tablerec.errors import MissingDependencyError
from tablerec.result import Page
from tests.helpers.bulk.ray_nodes import draw_numbered, ray_nodes, shape_of

SETTINGS = Settings(detector="rulings", ocr="none")


def draw_tasks(folder: Path, n_pages: int) -> list[Task]:
    tasks = []
    for number in range(n_pages):
        path = folder / f"{number}.png"
        path.write_bytes(draw_numbered(number))
        origin = Origin(path.name, f"{number:064x}", True)
        tasks.append(Task(path.name, path, origin.content, 1, origin))
    return tasks


look_up = socket.getaddrinfo

# Not imported for that: Ray reads the environment when it is.
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra ray")


@pytest.fixture(scope="module")
def nodes() -> Iterator[tuple[Any, list[Any]]]:
    with ray_nodes(2) as started:
        yield started


@needs_ray
@pytest.mark.filterwarnings("ignore")  # of Ray
def test_every_page_is_read_though_a_node_is_killed(
    nodes: tuple[Any, list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", look_up)  # of 127.0.0.1
    cluster, (first, _) = nodes
    shapes, lost = {}, []
    with ray_executor(SETTINGS, limits=Limits(60), address=cluster.address) as executor:
        assert executor.numbers(draw_tasks(tmp_path, 1)[0].path, "0.png") == [1]
        for outcome in executor.run(iter(draw_tasks(tmp_path, 40))):
            if outcome is None:
                continue
            if isinstance(outcome.page, Page):
                [table] = outcome.page.tables
                shapes[outcome.task.source] = table.n_rows, table.n_cols
            else:
                lost.append(outcome.page)
            if len(shapes) == 12 and first is not None:
                cluster.remove_node(first, allow_graceful=False)
                first = None
    assert lost == []
    assert shapes == {f"{number}.png": shape_of(number) for number in range(40)}


@needs_ray
def test_ray_is_started_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    draw_tasks(tmp_path / "in", 3)
    done = run_batch(tmp_path, "--engine", "ray", "--jobs", "1", "--detector", "rulings", "--ocr", "none")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "" and "3 inputs, 3 pages, 3 tables" in done.stderr
    assert [line for line in done.stderr.splitlines() if "aylet" in line or "ray::" in line] == []
    assert list(tmp_path.glob("tablerec-ray-*")) == []
    assert len(list((tmp_path / "store" / "tables").rglob("*.html"))) == 3


def run_batch(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tablerec", "batch", str(folder / "in"), "-o", str(folder / "store"), *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_without_ray_a_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    before = dict(os.environ)
    with pytest.raises(MissingDependencyError, match=r'pip install "tablerec\[ray\]"'), ray_executor(SETTINGS):
        pass
    assert dict(os.environ) == before


def test_the_batch_itself_does_without_ray() -> None:
    code = "import sys, tablerec.bulk.command, tablerec.bulk.ray.executor; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
