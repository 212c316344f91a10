"""What the process with the card passes through: ``python -m tests.benchmarks.throughput.owner FOLDER [--count N]``.

A developer script, not a test. Networks that compute nothing stand in for the card's: what is left is taking pictures
from the workers, making batches, and giving outputs back. Workers ask for what the pictures of a folder made a
recognizer ask for, as fast as they can. Prints for each number of workers the tables a second, and the milliseconds of
the CPU that a table costs in the process that holds the card and in the worker. ``--old CHECKOUT`` measures another
checkout in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
MILLISECONDS = "TABLEREC_BENCH_MILLISECONDS"
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
    parser.add_argument("--milliseconds", type=float, default=0.0, help="that a batch takes in a network")
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
                        "PYTHONPATH": str(checkout),
                        "OMP_NUM_THREADS": "1",
                        MILLISECONDS: str(options.milliseconds),
                    },
                    input=given,
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

    seconds = float(os.environ[MILLISECONDS]) / 1000

    def run(images: np.ndarray) -> list[np.ndarray]:
        if images.shape not in kept:
            kept[images.shape] = make(images.shape)
        time.sleep(seconds)
        return kept[images.shape]

    dtype = np.uint8 if how.takes_bytes else np.float32
    # A checkout to compare with may run one batch at a time.
    more = {"at_once": how.at_once} if hasattr(how, "at_once") else {}
    return BatchedNetwork(run, (), how.form, how.pixels, how.sizes, dtype, **more)


def own() -> None:
    """Hold no card, and serve as the process that holds one."""
    import threading

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
    sys.path.append(str(ROOT))
    owner = networks.NetworkProcess()
    content = sys.stdin.buffer.read()
    calls = pickle.loads(content)
    address = owner.address()
    workers = [
        subprocess.Popen(
            [sys.executable, __file__, "--work"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ
        )
        for _ in range(n_workers)
    ]
    for worker in workers:
        pickle.dump((address, calls), worker.stdin)
        worker.stdin.flush()
    for worker in workers:
        worker.stdout.readline()
    started, before = time.perf_counter(), cpu_seconds(owner._process.pid)
    for worker in workers:
        worker.stdin.close()
    spent = [float(worker.stdout.readline()) for worker in workers]
    wall, used = time.perf_counter() - started, cpu_seconds(owner._process.pid) - before
    n_tables = REPEAT * len(calls) * n_workers
    owner.close()
    print(json.dumps([n_tables / wall, 1000 * used / n_tables, 1000 * sum(spent) / n_tables]))


REPEAT = 5


def work() -> None:
    """Ask for everything once, and then again when told."""
    from tablerec.engine.networks import RemoteNetwork
    from tablerec.models.opening import NetworkFile

    address, calls = pickle.load(sys.stdin.buffer)
    names = {name for each in calls for name, *_ in each}
    networks = {name: RemoteNetwork(address, NetworkFile(Path(name), "gpu:0", name)) for name in names}
    images = {shape: np.full(shape, 7, dtype) for each in calls for _, shape, dtype in each}

    def ask_all() -> None:
        for each in calls:
            for name, shape, _ in each:
                networks[name](images[shape])

    ask_all()
    print("ready", flush=True)
    sys.stdin.buffer.read()
    started = time.process_time()
    for _ in range(REPEAT):
        ask_all()
    print(time.process_time() - started, flush=True)


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
