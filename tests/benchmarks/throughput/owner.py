"""What the process with the card passes through: ``python -m tests.benchmarks.throughput.owner FOLDER [--count N]``.

A developer script, not a test. Networks that compute nothing stand in for the card's: what is left is taking pictures
from the workers, making batches, and giving outputs back. They take as long as on a card: the time of a batch, and what
a thread pays that runs a session for the first time, see ``TIMES`` and ``STREAM``. Workers ask for what the pictures of
a folder made a recognizer ask for, in an order of their own, as fast as they can or as ``--thinking`` says. Prints for
each number of workers the tables a second, their batches and calls, and the milliseconds of the CPU that a table costs
in the process that holds the card and in the worker. ``--old CHECKOUT`` measures another checkout in turns.

It is no promise: batches of 8 ms, whatever went through them, made 75 tables/s where a card then made 30 to 34.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
MILLISECONDS = "TABLEREC_BENCH_MILLISECONDS"
TIMES = {"CellNet": (3.7, 2.6), "LineNet": (1.35, 3.2), "PP-OCR rec": (3.0, 16.0), "PP-OCR det": (1.6, 10.0)}
"""Milliseconds that a batch takes on an H200, and more for each million pixels of its input."""
ALONE = 0.5
"""Share of that in which nothing else goes on: four threads at once get twice as much done as one."""
STREAM = 10.0
"""Milliseconds in which a session makes the stream and handles of a thread that runs it for the first time, and nothing
else goes on. Not measured, but chosen so that the code which paid them makes about what it made on an H200."""
_nothing_else = threading.Lock()
Call = tuple[str, tuple[int, ...], str]
"""Network, shape and type of a batch."""


def main() -> None:
    """Measure."""
    description, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=12, help="of pictures")
    parser.add_argument("--answers", type=Path, help="as of tests.benchmarks.throughput.host")
    parser.add_argument("--workers", type=int, action="append", help="several times  [1, 2 and 4]")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--milliseconds", type=float, help="that a batch takes in a network  [as on an H200]")
    parser.add_argument("--thinking", type=float, default=0.0, help="ms that a worker sleeps for a table")
    parser.add_argument("--warm-up", type=float, default=5.0, help="seconds before it counts")
    parser.add_argument("--lasting", type=float, default=10.0, help="seconds in which it counts")
    parser.add_argument("--old", type=Path, help="a checkout to compare with")
    options = parser.parse_args()
    given = pickle.dumps(record_calls(options.folder, options.count, options.answers))
    print(f"{'checkout':<10}{'workers':>8}{'tables/s':>10}{'ms a table: owner':>20}{'worker':>8}")
    for n_workers in options.workers or (1, 2, 4):
        for _ in range(options.rounds):
            for name, checkout in (("old", options.old), ("new", ROOT)):
                if checkout is None:
                    continue
                measured = subprocess.run(
                    [sys.executable, __file__, "--measure", str(n_workers)],
                    cwd=checkout,
                    env={
                        **os.environ,
                        "PYTHONPATH": os.pathsep.join([str(checkout), str(ROOT)]),
                        "OMP_NUM_THREADS": "1",
                        MILLISECONDS: "" if options.milliseconds is None else str(options.milliseconds),
                    },
                    input=given + pickle.dumps((options.thinking / 1000, options.warm_up, options.lasting)),
                    stdout=subprocess.PIPE,
                    check=True,
                ).stdout
                rate, owner, worker = json.loads(measured)
                print(f"{name:<10}{n_workers:8}{rate:10.1f}{owner:20.2f}{worker:8.2f}", flush=True)


def record_calls(folder: Path, count: int, answers: Path | None) -> list[list[Call]]:
    """What a recognizer asks of its networks, picture by picture."""
    from tablerec import Recognizer, Settings
    from tablerec.models.opening import open_with
    from tests.benchmarks.throughput.host import Clock, open_beside, pictures

    calls: list[list[Call]] = []
    open_here = open_beside(Clock(), answers)

    def open_and_note(file: Any) -> Any:
        network = open_here(file)

        def run(images: Any) -> Any:
            calls[-1].append((file.name, images.shape, images.dtype.str))
            return network(images)

        return run

    open_with(open_and_note)
    recognizer = Recognizer(Settings(layout="table", device="gpu:0"))
    for path in pictures(folder, count):
        calls.append([])
        recognizer.recognize(path)
    return calls


def open_free(file: Any) -> Any:
    """Open a network that computes nothing, with the batches of the card's."""
    from tablerec.models.folder import LINENET, NAME
    from tablerec.models.opening.batched import BatchedNetwork
    from tablerec.models.opening.card import NETWORKS, PP_OCR_FINDER

    how = NETWORKS[file.name]
    maps = np.random.default_rng(0).random(2**26, np.float32)
    kept: dict[tuple[int, ...], list[np.ndarray]] = {}

    def part(*shape: int) -> np.ndarray:
        return maps[: int(np.prod(shape))].reshape(shape)

    def make(shape: tuple[int, ...]) -> list[np.ndarray]:
        n_images, _, height, width = shape
        if file.name == NAME:
            cells = part(n_images * 50, 4, 2), part(n_images * 50), np.repeat(np.arange(n_images), 50)
            return [*cells, part(n_images, height // 4, width // 4), part(n_images, 8, height // 4, width // 4)]
        if file.name == PP_OCR_FINDER:
            return [part(n_images, 1, height, width)]
        steps = width // (4 if file.name == LINENET else 8)
        return [np.zeros((n_images, steps), np.int64), part(n_images, steps)]

    known = set[tuple[int, tuple[int, ...]]]()

    def run(images: np.ndarray) -> list[np.ndarray]:
        if images.shape not in kept:
            kept[images.shape] = make(images.shape)
        seconds, alone = seconds_of(file.name, images.shape), 0.0
        if (threading.get_ident(), images.shape) not in known and not os.environ[MILLISECONDS]:
            known.add((threading.get_ident(), images.shape))
            alone = STREAM / 1000
        with _nothing_else:
            time.sleep(alone + ALONE * seconds)
        time.sleep((1 - ALONE) * seconds)
        return kept[images.shape]

    dtype = np.uint8 if how.takes_bytes else np.float32
    # A checkout to compare with may run one batch at a time, and whoever calls runs a session.
    more = {"at_once": how.at_once} if hasattr(how, "at_once") else {}
    try:
        from tablerec.models.opening.sessions import Sessions
    except ImportError:
        network: Any = run
    else:
        network = Sessions(lambda: SimpleNamespace(run=run, outputs=()))
    return BatchedNetwork(network, (), how.form, how.pixels, how.sizes, dtype, **more)


def seconds_of(name: str, shape: tuple[int, ...]) -> float:
    """For how long a batch runs."""
    if os.environ[MILLISECONDS]:
        return float(os.environ[MILLISECONDS]) / 1000
    least, more = TIMES[name]
    return (least + more * shape[0] * shape[2] * shape[3] / 1e6) / 1000


def own() -> None:
    """Hold no card, and serve as the process that holds one."""
    from tablerec.engine import networks

    opened: dict[str, Any] = {}
    lock = threading.Lock()

    def open_once(file: Any) -> Any:
        with lock:
            if file.name not in opened:
                opened[file.name] = open_free(file)
        return opened[file.name]

    networks.serve = partial(networks.serve, open_file=open_once)
    networks.main()


def measure(n_workers: int) -> None:
    """Start the process that holds the card and its workers, and print what they cost as JSON."""
    from tablerec.engine import networks

    start = networks.start_process
    networks.start_process = lambda _, *args, **more: start("tests.benchmarks.throughput.owner:own", *args, **more)
    owner = networks.NetworkProcess()
    calls, pace = pickle.load(sys.stdin.buffer), pickle.load(sys.stdin.buffer)
    address = owner.address()
    workers = [
        subprocess.Popen(
            [sys.executable, __file__, "--work"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ
        )
        for _ in range(n_workers)
    ]
    for worker in workers:
        pickle.dump((address, calls, pace), worker.stdin)
        worker.stdin.flush()
    for worker in workers:
        worker.stdout.readline()
    for worker in workers:
        worker.stdin.close()
    time.sleep(pace[1])
    before = cpu_seconds(owner._process.pid)
    time.sleep(pace[2])
    used = cpu_seconds(owner._process.pid) - before
    n_tables, spent = np.sum([json.loads(worker.stdout.readline()) for worker in workers], axis=0).tolist()
    owner.close()
    print(json.dumps([n_tables / pace[2], 1000 * used / n_tables, 1000 * spent / n_tables]))


def work() -> None:
    """Ask for the tables when told, again and again, and print how many there were and what they cost as JSON."""
    from tablerec.engine.networks import RemoteNetwork
    from tablerec.models.opening import NetworkFile

    address, calls, (thinking, warm_up, lasting) = pickle.load(sys.stdin.buffer)
    names = {name for each in calls for name, *_ in each}
    networks = {name: RemoteNetwork(address, NetworkFile(Path(name), "gpu:0", name)) for name in names}
    images = {shape: np.full(shape, 7, dtype) for each in calls for _, shape, dtype in each}
    random, n_tables, before = Random(os.getpid()), 0.0, 0.0
    print("ready", flush=True)
    sys.stdin.buffer.read()
    begins = time.perf_counter() + warm_up
    while time.perf_counter() < begins + lasting:
        table = random.choice(calls)
        for name, shape, _ in table:
            time.sleep(thinking / len(table))
            networks[name](images[shape])
            if begins <= time.perf_counter() < begins + lasting:
                before = before or time.process_time()
                n_tables += 1 / len(table)
    print(json.dumps([n_tables, time.process_time() - before]), flush=True)


def cpu_seconds(process: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(int(sys.argv[2]))
    elif sys.argv[1:2] == ["--work"]:
        work()
    else:
        main()
