"""``tablerec batch --engine ray`` on nodes that die: ``python -m tests.benchmarks.throughput.ray_cluster WHAT``.

A developer script, not a test; needs the extra ``ray``. The nodes are on this machine (``ray.cluster_utils.Cluster``),
with a CPU each; the pictures are drawn, small ruled tables whose shape tells their number. Without ``--read``, pages
are found by their rulings and not read, so that a thousand take minutes on two cores.

    node     a node is killed when a third is done: every output there once, whole and right
    kill     kill -9 of the command at --moments random moments, each time started again: the same
    actors   pages a second with 1, 2 and 4 actors, on 4 nodes
    million  the parts of a page, measured one by one, and what a million pages would take

Every command ends with exit code 1 where an output is missing, there twice, cut or wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.helpers.bulk.ray_nodes import draw_numbered, ray_nodes, shape_of

FAST = ("--detector", "rulings", "--ocr", "none")


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
            # From before it is connected until well within the pages.
            time.sleep(chance.uniform(2, 15))
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


def measure_million(folder: Path, n_pages: int, options: tuple[str, ...], page_seconds: float | None) -> int:
    """Measure the parts, and multiply."""
    inputs = draw_inputs(folder / "in", n_pages)
    with ray_nodes(2) as (cluster, _):
        seconds, memory = [], []
        for n_inputs in (n_pages // 4, n_pages):
            store, names = folder / f"store{n_inputs}", folder / f"list{n_inputs}"
            names.write_text("".join(f"{path}\n" for path in sorted(inputs.iterdir())[:n_inputs]))
            used, most = _run_driver(store, names, cluster.address, options)
            seconds.append(used)
            memory.append(most)
        content = sum(path.stat().st_size for path in inputs.iterdir()) / n_pages
        answer, trip = _measure_trips(cluster.address, inputs)
    more = n_pages - n_pages // 4
    _print_million(
        {
            "content": content,
            "answer": answer,
            "trip": trip,
            "driver": (seconds[1] - seconds[0]) / more,
            "memory": max(0.0, memory[1] - memory[0]) / more,
            "journal": (store / "journal.jsonl").stat().st_size / n_pages,
            "output": sum(path.stat().st_size for path in (store / "tables").rglob("*") if path.is_file()) / n_pages,
            "page": page_seconds or json.loads((store / "summary.json").read_text())["seconds"] * 2 / n_pages,
        }
    )
    return report(check(store, n_pages))


def _run_driver(store: Path, names: Path, address: str, options: tuple[str, ...]) -> tuple[float, float]:
    """CPU seconds and peak memory of the command alone; actors are processes of the cluster."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "tablerec", "batch", "--list", str(names), "-o", str(store), "--engine", "ray"]
    watched = subprocess.Popen([*command, "--address", address, "--quiet", *options])
    most = 0
    while watched.poll() is None:
        time.sleep(0.1)
        try:
            status = Path(f"/proc/{watched.pid}/status").read_text()
            most = max(most, int(status.partition("VmRSS:")[2].split()[0]) * 1024)
        except (OSError, IndexError):
            pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, most


def _measure_trips(address: str, inputs: Path) -> tuple[float, float]:
    """Bytes of an answer, and bytes a second that the object store takes from here and gives to an actor."""
    import ray

    from tablerec import Settings
    from tablerec.bulk.ray.reader import Order, Reader

    content = next(inputs.iterdir()).read_bytes()
    reader = Reader(Settings(detector="rulings", ocr="none"))
    answer = len(pickle.dumps(reader.read(Order("a.png", "0", 1), lambda: content)))
    reader.close()
    ray.init(address=address, log_to_driver=False, logging_level=50)
    try:
        sink: Any = ray.remote(_Sink).remote()
        ray.get(sink.take.remote([ray.put(b"")]))
        began, n_bytes = time.perf_counter(), 0
        while time.perf_counter() - began < 3:
            n_bytes += ray.get(sink.take.remote([ray.put(os.urandom(8 << 20))]))
        return answer, n_bytes / (time.perf_counter() - began)
    finally:
        ray.shutdown()


class _Sink:
    """An actor that takes contents."""

    def take(self, content: list[Any]) -> int:
        import ray

        return len(ray.get(content[0]))


def _print_million(part: dict[str, float], n_pages: int = 1_000_000) -> None:
    """What so many pages take by the measured parts, and what breaks first."""
    gigabytes = n_pages / 1e9
    print(
        f"of a page:   {part['page']:.2f} s on a core, {1000 * part['driver']:.1f} ms CPU in the command\n"
        f"             {part['content'] / 1e3:.1f} kB content, {part['answer'] / 1e3:.1f} kB answer, "
        f"{part['journal']:.0f} bytes journal, {part['output'] / 1e3:.1f} kB outputs, "
        f"{part['memory']:.0f} bytes more memory\n"
        f"object store: {part['trip'] / 1e6:.0f} MB/s from the command to an actor on this machine\n"
        f"{n_pages:,} pages: {n_pages * part['page'] / 3600:,.0f} hours of a core, "
        f"{n_pages * part['driver'] / 3600:.1f} hours of the command's core\n"
        f"             {part['content'] * gigabytes:.1f} GB to the nodes, {part['answer'] * gigabytes:.1f} GB back, "
        f"{part['journal'] * gigabytes:.2f} GB journal, {part['output'] * gigabytes:.1f} GB outputs in "
        f"{2 * n_pages:,} files, {part['memory'] * n_pages / 1e6:.0f} MB more memory"
    )
    network = 1.25e9 / (part["content"] + part["answer"])
    limits = {
        "the command's core": 1 / part["driver"],
        "10 Gbit/s of its network": network,
        "the object store": part["trip"] / part["content"],
    }
    for name, rate in sorted(limits.items(), key=lambda item: item[1]):
        print(f"{name}: at most {rate:,.0f} pages/s, which {rate * part['page']:,.0f} cores read")
    first = min(limits, key=lambda name: limits[name])
    print(f"what breaks first: {first}; with more nodes than that, split the inputs among several commands and stores")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("node", "kill", "actors", "million"))
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--moments", type=int, default=8, help="how often the command is killed")
    parser.add_argument("--read", action="store_true", help="by the default settings: the text is read")
    parser.add_argument("--page-seconds", type=float, help="of a core for a page, for the arithmetic; else as measured")
    arguments = parser.parse_args()
    options = () if arguments.read else FAST
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.what == "node":
            code = kill_node(folder, arguments.pages, options)
        elif arguments.what == "kill":
            code = kill_driver(folder, arguments.pages, arguments.moments, options)
        elif arguments.what == "actors":
            code = measure_actors(folder, arguments.pages, options)
        else:
            code = measure_million(folder, arguments.pages, options, arguments.page_seconds)
    sys.exit(code)


if __name__ == "__main__":
    main()
