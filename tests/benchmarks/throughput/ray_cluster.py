"""``tablerec batch --engine ray`` on nodes that die: ``python -m tests.benchmarks.throughput.ray_cluster WHAT``.

A developer script, not a test; needs the extra ``ray``. The nodes are on this machine (``ray.cluster_utils.Cluster``),
with a CPU each; the pictures are drawn, small ruled tables whose shape tells their number. Without ``--read``, pages
are found by their rulings and not read, so that a thousand take minutes on two cores.

    node     a node is killed when a third is done: every output there once, whole and right
    kill     kill -9 of the command at --moments random moments, each time started again: the same
    actors   pages a second with 1, 2 and 4 actors, on 4 nodes
    million  what a million pages would take: the samples of the repository are read with one thread, then a batch is
             done whose actors answer at once, with the same answers; what it costs the command, multiplied

The first three end with exit code 1 where an output is missing, there twice, cut or wrong.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tablerec import Settings, __version__
from tablerec.bulk.open import open_batch
from tablerec.bulk.ray.cluster import RayCluster
from tablerec.bulk.ray.executor import PoolExecutor
from tablerec.bulk.ray.pool import Pool
from tablerec.bulk.ray.reader import Answer, Begun, Order, Reader
from tablerec.bulk.results import FileResults, Origin, file_name
from tablerec.bulk.sources import find_sources
from tablerec.bulk.state import State
from tablerec.bulk.store import FolderStore
from tablerec.engine import Limits
from tests.helpers.bulk.ray_nodes import draw_numbered, ray_nodes, shape_of

FAST = ("--detector", "rulings", "--ocr", "none")
SAMPLES = Path(__file__).resolve().parents[3] / "data" / "samples"


def draw_inputs(folder: Path, n_pages: int) -> Path:
    """Draw so many pictures."""
    folder.mkdir()
    for number in range(n_pages):
        (folder / f"page{number:06}.png").write_bytes(draw_numbered(number))
    return folder


def start(inputs: Path, store: Path, address: str, *options: str) -> subprocess.Popen[str]:
    """Start the command in a process of its own."""
    command = [sys.executable, "-m", "tablerec", "batch", str(inputs), "-o", str(store), "--engine", "ray"]
    return subprocess.Popen(
        [*command, "--address", address, *options], stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def n_done(store: Path) -> int:
    """Pages that the journal says are done."""
    try:
        text = (store / "journal.jsonl").read_text(encoding="utf-8")
    except FileNotFoundError:
        return 0
    lines = text[: text.rfind("\n") + 1].splitlines()
    return sum(len(record["group"]["pages"]) for record in map(json.loads, lines) if "group" in record)


def check(store: Path, n_pages: int) -> list[str]:
    """Say what is wrong with the outputs of a store; nothing is best."""
    wrong = []
    seen: Counter[int] = Counter()
    for path in (store / "tables").rglob("*.json"):
        number = int(path.name[len("page") : len("page") + 6])
        seen[number] += 1
        data = json.loads(path.read_text(encoding="utf-8"))
        [table] = data["pages"][0]["tables"]
        found = table["n_rows"], table["n_cols"]
        if found != shape_of(number):
            wrong.append(f"{path.name}: {found} in place of {shape_of(number)}")
        if not path.with_suffix(".html").read_text(encoding="utf-8").rstrip().endswith("</html>"):
            wrong.append(f"{path.with_suffix('.html').name}: cut")
    missing = [number for number in range(n_pages) if seen[number] != 1]
    wrong += [f"page {number} is there {seen[number]} times" for number in missing]
    n_files = sum(path.is_file() for path in (store / "tables").rglob("*"))
    if n_files != 2 * n_pages:
        wrong.append(f"{n_files} files in place of {2 * n_pages}")
    if n_done(store) != n_pages:
        wrong.append(f"the journal has {n_done(store)} pages")
    return wrong


def report(wrong: list[str], said: str = "") -> int:
    """Print what is wrong; return the exit code."""
    print(said, end="")
    print("every output is there once, whole and right" if not wrong else "\n".join(wrong[:20]))
    return bool(wrong)


def kill_node(folder: Path, n_pages: int, options: tuple[str, ...]) -> int:
    """Kill one of three nodes when a third is done."""
    inputs, store = draw_inputs(folder / "in", n_pages), folder / "store"
    with ray_nodes(3) as (cluster, nodes):
        began = time.perf_counter()
        command = start(inputs, store, cluster.address, *options)
        while n_done(store) < n_pages / 3 and command.poll() is None:
            time.sleep(0.2)
        cluster.remove_node(nodes[1], allow_graceful=False)
        at = n_done(store)
        print(f"a node was killed after {time.perf_counter() - began:.0f} s, with {at} pages done", flush=True)
        _, said = command.communicate()
        print(f"{n_pages} pages in {time.perf_counter() - began:.0f} s, exit code {command.returncode}")
    return report(check(store, n_pages), said)


def kill_driver(folder: Path, n_pages: int, moments: int, options: tuple[str, ...]) -> int:
    """Kill the command at random moments, and start it again each time."""
    inputs, store = draw_inputs(folder / "in", n_pages), folder / "store"
    chance = random.Random(7)
    with ray_nodes(2) as (cluster, _):
        for number in range(moments):
            before = n_done(store)
            command = start(inputs, store, cluster.address, *options)
            target = before + chance.randrange(max(1, (n_pages - before) // (moments - number + 1)))
            while n_done(store) < target and command.poll() is None:
                time.sleep(0.05)
            time.sleep(chance.uniform(0, 2))  # also before it is connected, and in the midst of a group
            os.killpg(command.pid, signal.SIGKILL)
            command.communicate()
            print(f"kill {number + 1}: {before} -> {n_done(store)} pages done", flush=True)
        command = start(inputs, store, cluster.address, *options)
        _, said = command.communicate()
    return report(check(store, n_pages), said)


def measure_actors(folder: Path, n_pages: int, options: tuple[str, ...]) -> int:
    """Pages a second with 1, 2 and 4 actors."""
    inputs, code = draw_inputs(folder / "in", n_pages), 0
    with ray_nodes(4) as (cluster, _):
        print(f"{os.cpu_count()} cores; time from the first page done to the last one")
        for jobs in (1, 2, 4):
            store = folder / f"store{jobs}"
            command = start(inputs, store, cluster.address, "--jobs", str(jobs), *options)
            began, first = time.perf_counter(), 0
            while not first and command.poll() is None:
                time.sleep(0.05)
                first = n_done(store)
            first_at = time.perf_counter()
            command.communicate()
            rate = (n_pages - first) / (time.perf_counter() - first_at)
            print(f"{jobs} actors: {rate:.1f} pages/s; the first pages after {first_at - began:.0f} s", flush=True)
            code |= report(check(store, n_pages))
    return code


def measure_million(folder: Path, n_pages: int) -> int:
    """Measure the parts, and multiply."""
    seconds, contents, answers = read_samples()
    inputs = folder / "in"
    inputs.mkdir()
    for number in range(n_pages):
        # Equal inputs would be done once.
        (inputs / f"{number:06}.png").write_bytes(contents[number % len(contents)] + number.to_bytes(8, "big"))
    with ray_nodes(2) as (cluster, _):
        part = echo(folder / "store", inputs, cluster.address, answers)
    part |= {
        "page": seconds,
        "content": sum(map(len, contents)) / len(contents),
        "answer": sum(len(pickle.dumps(answer)) for answer in answers) / len(answers),
    }
    print_million(part)
    return 0


def read_samples() -> tuple[float, list[bytes], list[Answer]]:
    """Read the samples of the repository with one thread, by the default settings; seconds are the mean."""
    reader = Reader(Settings(), encode=FileResults().encode)
    contents = [path.read_bytes() for path in sorted(SAMPLES.glob("*.png"))]
    origin = Origin("sample.png", "0" * 64, True)
    answers, began = [], 0.0
    for number, content in enumerate([contents[0], *contents]):
        if number == 1:  # networks are loaded, as an actor does once
            began = time.perf_counter()
        answers.append(reader.read(Order("sample.png", str(number), 1, origin), lambda content=content: content))  # type: ignore[misc]
    seconds = (time.perf_counter() - began) / len(contents)
    reader.close()
    return seconds, contents, answers[1:]


class EchoActor:
    """Takes contents as an actor does, and answers at once: what is left is what the command needs."""

    def __init__(self, answers: list[Answer]) -> None:
        self._answers = answers

    def begin(self) -> Begun:
        return Begun(__version__, None)

    def read_here(self, order: Order, content: list[Any]) -> Answer:
        import ray

        known = content[0] if isinstance(content[0], bytes) else ray.get(content[0])
        answer = self._answers[len(known) % len(self._answers)]
        name = file_name(order.origin, order.number)
        assert answer.encoded is not None
        files = [(f"{name}.{each.rpartition('.')[2]}", content) for each, content in answer.encoded]
        return replace(answer, encoded=files)


class EchoCluster(RayCluster):
    """A cluster with such actors."""

    def __init__(self, answers: list[Answer]) -> None:
        import ray

        super().__init__(Settings(), Limits())
        self._actors = ray.remote(EchoActor).options(num_cpus=1)
        self._arguments = (answers,)  # type: ignore[assignment]


class Silent:
    """A reporter."""

    def __init__(self) -> None:
        self.memory: dict[int, int] = {}

    def note(self, message: str) -> None:
        pass

    error = doubt = note

    def beat(self, state: State, n_inputs: int) -> None:
        """Remember how much memory there was after so many pages."""
        self.memory[state.sums.pages] = own_memory()


def echo(store: Path, inputs: Path, address: str, answers: list[Answer]) -> dict[str, float]:
    """Do a batch with actors that answer at once; return what a page costs the command."""
    import ray

    ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
    pool, silent = Pool(EchoCluster(answers), None, __version__), Silent()
    n_pages = sum(1 for _ in inputs.iterdir())
    with open_batch(FolderStore(store), Settings(), FileResults()) as batch:
        before, began = time.process_time(), time.perf_counter()
        batch.run(PoolExecutor(Settings(), pool), silent, partial(find_sources, [str(inputs)]))
        used, lasted = time.process_time() - before, time.perf_counter() - began
    pool.close()
    ray.shutdown()
    assert batch.state.sums.pages == n_pages
    # The first half is warm-up: code is loaded, buffers grow.
    points = np.array([(pages, memory) for pages, memory in silent.memory.items() if pages > n_pages / 2], float)
    return {
        "driver": used / n_pages,
        "wall": lasted / n_pages,
        "memory": float(np.polyfit(points[:, 0], points[:, 1], 1)[0]),
        "journal": (store / "journal.jsonl").stat().st_size / n_pages,
        "output": sum(path.stat().st_size for path in (store / "tables").rglob("*") if path.is_file()) / n_pages,
    }


def own_memory() -> int:
    """Bytes that this process has in memory."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def print_million(part: dict[str, float], n_pages: int = 1_000_000) -> None:
    """What so many pages take by the measured parts, and what breaks first."""
    gigabytes = n_pages / 1e9
    print(
        f"of a page:    {part['page']:.2f} s of an actor, {1000 * part['driver']:.1f} ms CPU of the command "
        f"({1000 * part['wall']:.1f} ms in all, beside actors on {os.cpu_count()} cores)\n"
        f"              {part['content'] / 1e3:.0f} kB content, {part['answer'] / 1e3:.0f} kB answer, "
        f"{part['journal']:.0f} bytes journal, {part['output'] / 1e3:.0f} kB outputs, "
        f"{part['memory']:.0f} bytes more memory of the command\n"
        f"{n_pages:,} pages: {n_pages * part['page'] / 86400:,.1f} days of a core, "
        f"{n_pages * part['driver'] / 3600:.1f} hours of the command\n"
        f"              {part['content'] * gigabytes:.0f} GB to the nodes, {part['answer'] * gigabytes:.0f} GB back, "
        f"{part['journal'] * gigabytes:.2f} GB journal, {part['output'] * gigabytes:.0f} GB outputs in "
        f"{2 * n_pages:,} files, {part['memory'] * n_pages / 1e6:.0f} MB more memory of the command"
    )
    limits = {
        "the command's core": 1 / part["driver"],
        "10 Gbit/s of its network": 1.25e9 / (part["content"] + part["answer"]),
        "10 Gbit/s to a store on the network": 1.25e9 / (part["content"] + part["output"]),
    }
    for name, rate in sorted(limits.items(), key=lambda item: item[1]):
        print(
            f"{name}: {rate:,.0f} pages/s at most, what {rate * part['page']:,.0f} cores read; "
            f"then {n_pages / rate / 3600:.1f} hours"
        )
    print(
        f"the object store holds {2 * part['content'] / 1e6:.2f} MB for each core: what is read, and what comes next\n"
        f"what breaks first: {min(limits, key=lambda name: limits[name])}; beyond that number of cores, split the "
        "inputs among several commands, each with a store of its own"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("node", "kill", "actors", "million"))
    parser.add_argument("--pages", type=int, help="1000, and for million 5000, so that memory is told from noise")
    parser.add_argument("--moments", type=int, default=8, help="how often the command is killed")
    parser.add_argument("--read", action="store_true", help="by the default settings: the text is read")
    arguments = parser.parse_args()
    options = () if arguments.read else FAST
    n_pages = arguments.pages or (5000 if arguments.what == "million" else 1000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.what == "node":
            code = kill_node(folder, n_pages, options)
        elif arguments.what == "kill":
            code = kill_driver(folder, n_pages, arguments.moments, options)
        elif arguments.what == "actors":
            code = measure_actors(folder, n_pages, options)
        else:
            code = measure_million(folder, n_pages)
    sys.exit(code)


if __name__ == "__main__":
    main()
