"""Networks on a card: how fast, and whether the tables are the CPU's:
``python -m tests.benchmarks.throughput.card [--device gpu:0] [--part NAME ...] [--folder DIR] [--count N]``.

A developer script, not a test. Each line is printed as soon as it is known, and a part that fails is told and left.

- ``networks``: CellNet, LineNet and the networks of RapidOCR alone, by size of batch and by precision; seconds of the
  first run of a shape, and CellNet without what makes filled-up pictures exact (``models.opening.parts``).
- ``options``: settings of ONNX Runtime's provider for cards, for CellNet.
- ``bound``: inputs and outputs that stay in the card's memory, and captured graphs, for the readers.
- ``threads``: single calls of many threads, which become batches.
- ``same``: tables of pictures in a folder on the CPU and on the card, by precision; those that differ are listed.
- ``whole``: pictures of the folder to HTML and workbooks as by ``tablerec batch``, again and again: tables a second
  after the warm-up, in which each shape is planned; the share of each stage, and readings whose HTML is the CPU's;
  by network calls, batches and their time, padding, shapes and sessions. With ``--captured`` the networks run as
  captured graphs, with ``--owners`` several processes share the card, with ``--at-once`` other numbers of batches of
  a network run at the same time.
- ``captured``: networks as captured graphs against the same as they are, whether their outputs are equal, and the
  memory that each takes.
- ``pinned``: memory of the card and time of calls where many threads take turns at some sessions, each run by a thread
  of its own, as they are, and by whoever calls, as they were.

``--device cpu`` rehearses: the CPU takes the card's place. The figures to compare with are in
``../shared/design/throughput.md``: on an H200, CellNet 244 pictures/s alone and 488/s by 32 at 800 px; PP-OCR's
recogniser 6,047 crops/s (64 of 160 px) and 3,150/s (64 of 320 px), its finder 303/s (8 of 960 px).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from postprocess.export.html import table_to_html
from tablerec import Recognizer, Settings
from tablerec.devices import parse_device
from tablerec.devices.cuda import PROVIDER
from tablerec.models.folder import LINENET, LINENET_OUTPUTS, LINENET_WEIGHTS, LINES, NAME, ONNX, OUTPUTS, WEIGHTS
from tablerec.models.opening import NetworkFile, open_network, open_with
from tablerec.models.opening.batched import BatchedNetwork, Cells, Rows
from tablerec.models.opening.card import (
    NETWORKS,
    OPTIONS,
    PP_OCR_FINDER,
    PP_OCR_READER,
    OnCard,
    make_graph,
    open_batched,
    open_session,
)
from tablerec.processes import usable_cpus
from tests.benchmarks.throughput.counting import COUNTS, Counting, describe, read_counts
from tests.benchmarks.throughput.owner import cpu_seconds

EVERY = 5.0
"""Seconds from one line of ``whole`` to the next."""
SAMPLES = Path(__file__).resolve().parents[3] / "data/samples"
PARTS = ("networks", "options", "bound", "captured", "pinned", "threads", "same", "whole")
CHANGES, ON_CARD, OWNERS = (f"TABLEREC_BENCH_{name}" for name in ("CHANGES", "ON_CARD", "OWNERS"))
PRECISIONS: dict[str, tuple[bool, dict[str, str]]] = {
    "float32": (False, {"use_tf32": "0"}),
    "tf32": (False, {"use_tf32": "1"}),
    "half": (True, {"use_tf32": "1"}),
}
"""Whether the graph is halved, and options of the provider."""
TRIED: dict[str, dict[str, str]] = {
    "heuristic search": {},
    "exhaustive search": {"cudnn_conv_algo_search": "EXHAUSTIVE"},
    "no search": {"cudnn_conv_algo_search": "DEFAULT"},
    "no max workspace": {"cudnn_conv_use_max_workspace": "0"},
    "NHWC": {"prefer_nhwc": "1"},
    "bias fused": {"fuse_conv_bias": "1"},
    "arena as asked": {"arena_extend_strategy": "kSameAsRequested"},
}


class Bench:
    """What is measured with.

    Args:
        device: ``gpu:0``, or ``cpu`` for a rehearsal.
        seconds: Time for each figure.
        precisions: Of ``PRECISIONS``, those to compare; the CPU has no TF32.
        jobs: Processes that read pictures, for ``whole``.
        warm_up: How often ``whole`` reads each picture before it measures.
        lasting: Seconds for which it measures.
        changes: To how its networks run, for ``whole``: fields of ``OnCard``.
        owners: Processes that share the card.
    """

    def __init__(
        self,
        device: str,
        seconds: float,
        precisions: Sequence[str] = (),
        jobs: Sequence[int] = (),
        warm_up: int = 3,
        lasting: float = 30.0,
        changes: dict[str, Any] | None = None,
        owners: int = 1,
    ) -> None:
        from tablerec.ocr.rapidocr import model_paths

        parsed = parse_device(device)
        self.is_card = parsed.kind == "gpu"
        self.device = device
        self.number = str((parsed.ids or (0,))[0])
        self.seconds = seconds
        self.precisions = tuple(precisions or (PRECISIONS if self.is_card else ("float32", "half")))
        self.jobs = tuple(jobs)
        self.warm_up, self.lasting = warm_up, lasting
        self.changes, self.owners = changes or {}, owners
        paths = model_paths()
        self.files = {
            NAME: NetworkFile(WEIGHTS / ONNX, "gpu:0", NAME, (*OUTPUTS, LINES)),
            LINENET: NetworkFile(LINENET_WEIGHTS / ONNX, "gpu:0", LINENET, LINENET_OUTPUTS),
            PP_OCR_READER: NetworkFile(paths["Rec"], "gpu:0", PP_OCR_READER),
            PP_OCR_FINDER: NetworkFile(paths["Det"], "gpu:0", PP_OCR_FINDER),
        }

    def open(self, file: NetworkFile, how: OnCard, precision: str = "float32", **options: str) -> BatchedNetwork:
        """Open a network for batches."""
        half, of_precision = PRECISIONS[precision]
        how = replace(how, half=half)
        if not self.is_card:
            return open_batched(file, how, {}, "CPUExecutionProvider")
        return open_batched(file, how, {**OPTIONS, **of_precision, "device_id": self.number, **options}, PROVIDER)

    def time(self, network: Callable[[np.ndarray], Any], images: np.ndarray) -> tuple[float, float]:
        """Seconds of the first call, and the median of those after it."""
        started = time.perf_counter()
        network(images)
        first = time.perf_counter() - started
        network(images)
        seconds: list[float] = []
        while sum(seconds) < self.seconds or len(seconds) < 3:
            started = time.perf_counter()
            network(images)
            seconds.append(time.perf_counter() - started)
        return first, statistics.median(seconds)


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def noise(*shape: int) -> np.ndarray:
    """Grey pictures with dark bars: never zeros, which are faster."""
    random = np.random.default_rng(0)
    images = random.integers(200, 256, shape, np.uint8)
    images[..., 8:20, :: max(8, shape[-1] // 40)] = 30
    return images


def measure_networks(bench: Bench, folder: Path | None, count: int) -> None:
    """Each network alone."""
    say(f"{'network':<12}{'precision':>10}{'batch':>16}{'first s':>9}{'ms':>9}{'a second':>10}")
    cells = NETWORKS[NAME]
    square = replace(cells, form=Cells((800,)), pixels=2**25)
    plain = replace(cells, form=Rows(), pixels=2**25)
    counts = (1, 4, 16) if bench.is_card else (1, 4)
    runs: list[tuple[str, str, OnCard, list[tuple[int, ...]]]] = [
        (NAME, "", square, [(n, 3, 800, 800) for n in counts]),
        (NAME, " as is", plain, [(counts[-1], 3, 800, 800)]),
        (LINENET, "", NETWORKS[LINENET], [(n, 3, 32, width) for width in (64, 128, 384) for n in (8, 64)]),
        (LINENET, "", NETWORKS[LINENET], [(16 * counts[-1], 3, 32, 128)]),
        (
            PP_OCR_READER,
            "",
            NETWORKS[PP_OCR_READER],
            [(n, 3, 48, width) for n in (8, 4 * counts[-1]) for width in (160, 320)],
        ),
        (PP_OCR_FINDER, "", replace(NETWORKS[PP_OCR_FINDER], pixels=2**24), [(counts[1], 3, 960, 960)]),
    ]
    for name, note, how, shapes in runs:
        for precision in bench.precisions:
            network = bench.open(bench.files[name], how, precision)
            for shape in shapes:
                images = noise(*shape)
                if not how.takes_bytes:
                    images = (images / 127.5 - 1).astype(np.float32)
                first, median = bench.time(network, images)
                batch, rate = "x".join(map(str, (shape[0], *shape[2:]))), shape[0] / median
                say(f"{name + note:<12}{precision:>10}{batch:>16}{first:9.2f}{1e3 * median:9.2f}{rate:10.0f}")


def measure_options(bench: Bench, folder: Path | None, count: int) -> None:
    """Settings of the provider: what a new shape costs, and what the shape then costs."""
    if not bench.is_card:
        say("the CPU has none")
        return
    say(f"{'CellNet':<20}{'precision':>10}{'first s':>9}{'ms of 4':>9}{'new shape s':>13}")
    for label, options in TRIED.items():
        for precision in ("float32", "half"):
            try:
                network = bench.open(bench.files[NAME], replace(NETWORKS[NAME], pixels=2**25), precision, **options)
                first, median = bench.time(network, noise(4, 3, 640, 960))
                started = time.perf_counter()
                for width in (640, 512, 384, 256):
                    network(noise(4, 3, 640, width))
                new = (time.perf_counter() - started) / 4
                say(f"{label:<20}{precision:>10}{first:9.2f}{1e3 * median:9.2f}{new:13.3f}")
            except Exception as error:  # a provider may lack an option
                say(f"{label:<20}{precision:>10} fails: {str(error).splitlines()[0]}")


def measure_bound(bench: Bench, folder: Path | None, count: int) -> None:
    """Memory of the card that is used again, and the network as one captured graph, against copies at each call."""
    if not bench.is_card:
        say("the CPU has none")
        return
    import onnxruntime

    for name, images in (
        (PP_OCR_READER, (noise(64, 3, 48, 160) / 127.5 - 1).astype(np.float32)),
        (LINENET, noise(64, 3, 32, 128)),
    ):
        graph = make_graph(bench.files[name], NETWORKS[name])
        for label, captured in (("kept on the card", "0"), ("captured as a graph", "1")):
            options = {**OPTIONS, "device_id": bench.number, "enable_cuda_graph": captured}
            try:
                session = open_session(bench.files[name], graph, {**options, "enable_cuda_graph": "0"})
                given = session.get_inputs()[0].name
                outputs = session.run(None, {given: images})
                if captured == "1":
                    session = open_session(bench.files[name], graph, options)
                device = "cuda", int(bench.number)
                kept = onnxruntime.OrtValue.ortvalue_from_numpy(images, *device)
                made = [
                    onnxruntime.OrtValue.ortvalue_from_shape_and_type(o.shape, o.dtype.type, *device) for o in outputs
                ]
                binding = session.io_binding()
                binding.bind_ortvalue_input(given, kept)
                for output, value in zip(session.get_outputs(), made, strict=True):
                    binding.bind_ortvalue_output(output.name, value)

                def run(images: np.ndarray, session: Any = session, kept: Any = kept, made: Any = made) -> list[Any]:
                    kept.update_inplace(images)
                    session.run_with_iobinding(binding)  # noqa: B023 - called in this turn
                    return [value.numpy() for value in made]

                _, median = bench.time(run, images)
                same = all((one == other).all() for one, other in zip(run(images), outputs, strict=True))
                say(f"{name:<12}{label:<22}{1e3 * median:9.2f} ms of {len(images)}, {'' if same else 'not '}the same")
            except Exception as error:  # not every graph can be captured
                say(f"{name:<12}{label:<22} fails: {str(error).splitlines()[0]}")
        _, median = bench.time(bench.open(bench.files[name], NETWORKS[name]), images)
        say(f"{name:<12}{'as it is':<22}{1e3 * median:9.2f} ms of {len(images)}")


def measure_captured(bench: Bench, folder: Path | None, count: int) -> None:
    """Networks as captured graphs, at some of their usual shapes."""
    shapes = {
        NAME: ((1, 3, 256, 640), (4, 3, 256, 640), (1, 3, 640, 960), (4, 3, 640, 960)),
        LINENET: ((8, 3, 32, 64), (64, 3, 32, 64), (64, 3, 32, 256)),
        PP_OCR_READER: ((8, 3, 48, 160), (8, 3, 48, 320), (8, 3, 48, 960)),
    }
    say(f"{'network':<12}{'':<10}{'batch':>16}{'first s':>9}{'ms':>9}{'ms of CPU':>11}{'MiB':>7}")
    for name, each in shapes.items():
        for shape in each:
            images = noise(*shape)
            if not NETWORKS[name].takes_bytes:
                images = (images / 127.5 - 1).astype(np.float32)
            expected: Any = None
            for label in ("as it is", "captured"):
                try:
                    network = bench.open(bench.files[name], replace(NETWORKS[name], captured=label == "captured"))
                    before = used_memory()
                    first, median = bench.time(network, images)
                    taken, used = used_memory() - before, time.process_time()
                    outputs = [network(images) for _ in range(5)][-1]
                    used = (time.process_time() - used) / 5
                except Exception as error:  # not every graph can be captured
                    say(f"{name:<12}{label:<10} fails: {str(error).splitlines()[0]}")
                    continue
                batch = "x".join(map(str, (shape[0], *shape[2:])))
                figures = f"{first:9.2f}{1e3 * median:9.2f}{1e3 * used:11.2f}{taken >> 20:7}"
                say(
                    f"{name:<12}{label:<10}{batch:>16}{figures}"
                    + (f"  {compare(outputs, expected)}" if expected else "")
                )
                expected = expected or outputs


def compare(outputs: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> str:
    """Say whether two runs found the same.

    >>> compare([np.zeros(2)], [np.zeros(2)]), compare([np.ones(2)], [np.zeros(2)]), compare([np.ones(2)], [np.ones(3)])
    ('equal', 'differs by 1 at most', 'other shapes')
    """
    if [each.shape for each in outputs] != [each.shape for each in expected]:
        return "other shapes"
    pairs = zip(outputs, expected, strict=True)
    most = max(np.abs(np.subtract(one, other, dtype=float)).max(initial=0) for one, other in pairs)
    return f"differs by {most:.3g} at most" if most else "equal"


def measure_pinned(bench: Bench, folder: Path | None, count: int) -> None:
    """Many threads that take turns at three sessions."""
    from tablerec.models.opening import sessions

    class Unpinned(sessions._Pinned):
        """A session that whoever calls runs."""

        def run(self, images: np.ndarray) -> Any:
            return self._runner.run(images)

    pinned = sessions._Pinned
    shapes = [noise(8, 3, 32, width) for width in (64, 128, 192)]
    for label, kind in (("a thread of its own", pinned), ("whoever calls", Unpinned)):
        sessions._Pinned = kind
        try:
            network = bench.open(bench.files[LINENET], NETWORKS[LINENET])
            for images in shapes:
                network(images)
            before, seconds = used_memory(), []

            def call(network: Any = network, seconds: list[float] = seconds) -> None:
                for images in shapes:
                    started = time.perf_counter()
                    network(images)
                    seconds.append(time.perf_counter() - started)

            for _ in range(32):
                thread = threading.Thread(target=call)
                thread.start()
                thread.join()
            grown = used_memory() - before >> 20
            milliseconds = 1e3 * statistics.fmean(seconds)
            say(f"sessions run by {label}: 32 threads, {milliseconds:.2f} ms a call, {grown} MiB more")
        finally:
            sessions._Pinned = pinned


def used_memory() -> int:
    """Bytes of the first card that are in use, by all; 0 without nvidia-smi."""
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", "0"]
    try:
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) << 20
    except (OSError, ValueError, subprocess.CalledProcessError):
        return 0


def measure_threads(bench: Bench, folder: Path | None, count: int) -> None:
    """Single calls of many threads."""
    file = bench.files[NAME]
    images = [noise(1, 3, height, width) for height, width in ((608, 960), (640, 896), (576, 928), (640, 960))]
    for precision in bench.precisions:
        network = bench.open(file, NETWORKS[NAME], precision)
        for size in NETWORKS[NAME].sizes:
            network(noise(size, 3, 640, 960))
        for n_threads in (1, 4, 16):
            done = Counter[int]()
            ends = time.perf_counter() + 2 * bench.seconds

            def call(number: int, network: Any = network, done: Counter[int] = done, ends: float = ends) -> None:
                while time.perf_counter() < ends:
                    network(images[number % len(images)])
                    done[number] += 1

            started = time.perf_counter()
            threads = [threading.Thread(target=call, args=[number]) for number in range(n_threads)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            rate = done.total() / (time.perf_counter() - started)
            say(f"CellNet {precision:>8}, {n_threads:2} threads of single pictures of about 640 x 960: {rate:6.0f}/s")


def compare_tables(bench: Bench, folder: Path | None, count: int) -> None:
    """Tables on the CPU and on the card."""
    paths = pictures(folder, count)
    say(f"{len(paths)} pictures")
    started = time.perf_counter()
    expected = dict(zip(paths, read_on_cpu(paths), strict=True))
    say(f"the CPU: {time.perf_counter() - started:.0f} s")
    for precision in bench.precisions:
        opened: dict[str, BatchedNetwork] = {}
        lock = threading.Lock()

        def open_here(file: NetworkFile, precision: str = precision, opened: Any = opened, lock: Any = lock) -> Any:
            if file.card is None:
                return open_network(file)
            with lock:
                if file.name not in opened:
                    opened[file.name] = bench.open(file, NETWORKS[file.name], precision)
            return opened[file.name]

        open_with(open_here)
        started = time.perf_counter()
        found = dict(zip(paths, read_here(paths, "gpu:0"), strict=True))
        open_with(None)
        seconds = time.perf_counter() - started
        same = [path for path in paths if found[path] == expected[path]]
        alike = [path for path in paths if structure(found[path]) == structure(expected[path])]
        others = [path.stem for path in paths if path not in alike]
        texts = [path.stem for path in alike if path not in same]
        say(
            f"{precision}: {seconds:.0f} s; the same tables {len(same) / len(paths):.1%}, the same structure "
            f"{len(alike) / len(paths):.1%}"
        )
        say(f"  other structure: {', '.join(others) or 'none'}; other texts: {', '.join(texts) or 'none'}")


def measure_whole(bench: Bench, folder: Path | None, count: int) -> None:
    """Pictures to HTML and workbooks as ``tablerec batch`` makes them, again and again."""
    from tablerec.bulk.executor import LocalExecutor
    from tablerec.bulk.results import FileResults
    from tablerec.engine import Engine
    from tablerec.engine.engine import to_jobs

    paths = pictures(folder, count)
    started = time.perf_counter()
    with Engine(Settings(layout="table"), jobs=usable_cpus(), threads=1) as engine:
        executor = LocalExecutor(engine, FileResults(("html",)).encode)
        expected = {each.task.path: html_of(each) for each in executor.run(each_once(paths)) if each is not None}
    say(f"the CPU, {len(paths)} pictures: {time.perf_counter() - started:.0f} s with its start")
    settings = Settings(layout="table", device=bench.device if bench.is_card else "gpu:0")
    count_networks(bench)
    for jobs in bench.jobs or (to_jobs("auto", settings),):
        with TemporaryDirectory() as out:
            os.environ[COUNTS] = out
            with Engine(settings, jobs=jobs, threads=1) as engine:
                read_again(bench, engine, paths, expected, Path(out))


def read_again(bench: Bench, engine: Any, paths: Sequence[Path], expected: dict[Path, bytes], out: Path) -> None:
    """Read pictures ``bench.warm_up`` times, then for ``bench.lasting`` seconds, and print what that makes."""
    from tablerec.bulk.executor import LocalExecutor
    from tablerec.bulk.results import FileResults

    started = told = time.perf_counter()
    results, readings, jobs = FileResults(("html", "xlsx")), Readings(expected, told), len(engine)
    is_warm, n_told, used, counts = False, 0, cpu_seconds_of(engine), read_counts(out)
    for outcome in LocalExecutor(engine, results.encode).run(each_once(itertools.cycle(paths))):
        now = time.perf_counter()
        if outcome is not None:
            readings.add(outcome)
            results.add(outcome.encoded or ())
            for name, content in results.finish():
                Path(out, Path(name).name).write_bytes(content)
        if now - told >= EVERY:
            rate = (readings.n_tables - n_told) / (now - told)
            say(f"  {now - started:4.0f} s: {rate:5.1f} tables/s{'' if is_warm else ', warm-up'}")
            told, n_told = now, readings.n_tables
        if not is_warm and readings.n_pictures >= bench.warm_up * len(paths):
            n_pictures = readings.n_pictures
            say(f"{jobs:2} jobs: started, and {n_pictures} pictures read in {now - started:.1f} s")
            readings, is_warm, told, n_told = Readings(expected, now), True, now, 0
            used, counts = cpu_seconds_of(engine), read_counts(out)
        elif is_warm and now - readings.since >= bench.lasting:
            break
    spent = [after - before for after, before in zip(cpu_seconds_of(engine), used, strict=True)]
    readings.report(jobs, time.perf_counter() - readings.since, spent)
    for line in describe(counts, read_counts(out), readings.n_tables):
        say(f"  {line}")
    if bench.is_card:
        say(f"  memory of the card: {used_memory() >> 20} MiB")


class Owners:
    """Processes that share a card, and workers that ask one of them each.

    Args:
        count: Of the processes.
    """

    def __init__(self, count: int) -> None:
        from tablerec.engine.networks import NetworkProcess

        self.each = [NetworkProcess() for _ in range(count)]
        self._turns = itertools.cycle(self.each)

    def address(self) -> Any:
        """Where the next worker asks."""
        return next(self._turns).address()

    def close(self) -> None:
        """End them."""
        for each in self.each:
            each.close()


def count_networks(bench: Bench) -> None:
    """Have the processes with the card that this one starts count what goes through their networks; see ``own``."""
    from tablerec.engine import engine, networks

    os.environ |= {CHANGES: json.dumps(bench.changes), ON_CARD: "1" if bench.is_card else "", OWNERS: f"{bench.owners}"}
    engine.NetworkProcess = lambda: Owners(bench.owners)
    sys.path.append(str(SAMPLES.parents[1]))
    start = networks.start_process
    networks.start_process = lambda _, *args, **rest: start("tests.benchmarks.throughput.card:own", *args, **rest)


def own() -> None:
    """Be the process with the card, or without one, and count."""
    from tablerec.engine import networks
    from tablerec.models.opening import card

    counting, opened, lock = Counting(Path(os.environ[COUNTS])), dict[str, Any](), threading.Lock()
    card.SHARE /= int(os.environ[OWNERS])
    changes = json.loads(os.environ[CHANGES])
    card.NETWORKS = {name: replace(how, **changes) for name, how in NETWORKS.items()}

    def open_counted(file: NetworkFile) -> Any:
        if os.environ[ON_CARD]:
            return counting.count(file.name, open_network(file))
        with lock:
            if file.name not in opened:
                opened[file.name] = open_batched(file, card.NETWORKS[file.name], {}, "CPUExecutionProvider")
        return counting.count(file.name, opened[file.name])

    networks.serve = partial(networks.serve, open_file=open_counted)
    networks.main()


@dataclass
class Readings:
    """What was read.

    Args:
        expected: The HTML of each picture on the CPU.
        since: When it began.
    """

    expected: dict[Path, bytes]
    since: float
    n_tables: int = 0
    stages: Counter[str] = field(default_factory=Counter)
    counts: Counter[Path] = field(default_factory=Counter)
    others: Counter[Path] = field(default_factory=Counter)
    """Those with other HTML."""
    alike: Counter[Path] = field(default_factory=Counter)
    """Of those, the ones with the same structure."""

    @property
    def n_pictures(self) -> int:
        """How many there are."""
        return self.counts.total()

    def add(self, outcome: Any) -> None:
        """Take in what became of a page."""
        path, html = outcome.task.path, html_of(outcome)
        self.counts[path] += 1
        self.n_tables += len(outcome.page.tables)
        self.stages.update(outcome.page.seconds)
        if html != self.expected[path]:
            self.others[path] += 1
            found, expected = (structure([each.decode()]) for each in (html, self.expected[path]))
            self.alike[path] += found == expected

    def report(self, jobs: int, seconds: float, used: Sequence[float]) -> None:
        """Print rates, shares, and what differs; ``used`` is as of ``cpu_seconds_of``."""
        n_read, n_other = self.n_pictures, self.others.total()
        say(
            f"{jobs:2} jobs, {seconds:.0f} s: {self.n_tables / seconds:.1f} tables/s, {n_read / seconds:.1f} pictures/s"
        )
        shares = [f"{name} {part / self.stages.total():.1%}" for name, part in self.stages.most_common()]
        say("  share of each stage: " + ", ".join(shares))
        costs = [1000 * each / max(1, self.n_tables) for each in used]
        say("  ms of the CPU a table: main {:.1f}, worker {:.1f}, card {:.1f}".format(*costs))
        say(f"  busy CPUs: {sum(used) / seconds:.1f} of {usable_cpus()}")
        always = f"{len(self.counts) - len(self.others)} of {len(self.counts)} pictures always"
        same, as_built = 1 - n_other / n_read, 1 - (n_other - self.alike.total()) / n_read
        say(f"  HTML as the CPU's: {always}, {same:.2%} of {n_read} readings; the same structure {as_built:.2%}")
        for path, count in sorted(self.others.items()):
            say(f"  differs: {path.name}, {count} of {self.counts[path]} readings, {self.alike[path]} in texts alone")


def cpu_seconds_of(engine: Any) -> list[float]:
    """What this process, the workers, and the process that holds the card have used so far."""
    workers = [each._process.pid for each in engine._workers._processes.values()]
    cards = [each._process.pid for owners in engine._cards.values() for each in owners.each if each._process]
    return [sum(map(cpu_seconds, group)) for group in ([os.getpid()], workers, cards)]


def each_once(paths: Iterable[Path]) -> Iterator[Any]:
    """A task for each path, with a content of its own."""
    from tablerec.bulk.executor import Task
    from tablerec.bulk.results import Origin

    for number, path in enumerate(paths):
        yield Task(str(path), path, "", 1, Origin(path.name, f"{number:064x}"[::-1], True))


def html_of(outcome: Any) -> bytes:
    """The tables of a page as it was written."""
    if isinstance(outcome.page, Exception):
        raise outcome.page
    return b"".join(content for name, content in outcome.encoded or () if name.endswith(".html"))


def pictures(folder: Path | None, count: int) -> list[Path]:
    """So many pictures of a folder, spread over it; the samples without one."""
    found = sorted(path for path in (folder or SAMPLES).rglob("*") if path.suffix.lower() in (".png", ".jpg", ".jpeg"))
    step = max(1, len(found) // count)
    return found[::step][:count]


def read_here(paths: Sequence[Path], device: str, n_threads: int = 8) -> list[list[str]]:
    """The tables of pictures as HTML, with networks that this process opens; one recognizer a thread."""
    local = threading.local()

    def read_one(path: Path) -> list[str]:
        if not hasattr(local, "recognizer"):
            local.recognizer = Recognizer(Settings(layout="table", device=device))
        return [table_to_html(table) for table in local.recognizer.recognize(path).tables]

    with ThreadPoolExecutor(n_threads) as threads:
        return list(threads.map(read_one, paths))


def read_on_cpu(paths: Sequence[Path]) -> list[list[str]]:
    """The tables of pictures as HTML, by as many processes as there are CPUs."""
    from tablerec.engine import Engine

    with Engine(Settings(layout="table"), jobs="auto") as engine:
        return [[table_to_html(table) for table in result.tables] for result in engine.stream(paths)]


def structure(tables: Sequence[str]) -> list[str]:
    """HTML without texts and attributes other than spans."""
    return [
        re.sub(r"<(\w+)([^>]*)>[^<]*", lambda tag: tag[1] + "".join(re.findall(r"\w+span=.\d+", tag[2])), html)
        for html in tables
    ]


MEASURES: dict[str, Callable[[Bench, Path | None, int], None]] = {
    "networks": measure_networks,
    "options": measure_options,
    "bound": measure_bound,
    "captured": measure_captured,
    "pinned": measure_pinned,
    "threads": measure_threads,
    "same": compare_tables,
    "whole": measure_whole,
}


def main() -> None:
    """Run the parts."""
    description, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="gpu:0")
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--folder", type=Path, help="with pictures of tables  [default: the samples]")
    parser.add_argument("--count", type=int, default=60, help="of pictures")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each figure")
    parser.add_argument("--precision", action="append", choices=PRECISIONS, help="several times  [all]")
    parser.add_argument("--jobs", type=int, action="append", help="of whole, several times  [auto]")
    parser.add_argument("--warm-up", type=int, default=3, help="so often whole reads each picture before it measures")
    parser.add_argument("--lasting", type=float, default=30.0, help="seconds for which whole measures")
    parser.add_argument("--captured", action="store_true", help="whole runs the networks as captured graphs")
    parser.add_argument("--at-once", type=int, help="batches of a network that run at the same time in whole")
    parser.add_argument("--owners", type=int, default=1, help="processes that share the card, for whole")
    args = parser.parse_args()
    bench = Bench(
        *(args.device, args.seconds, args.precision or (), args.jobs or (), args.warm_up, args.lasting),
        *({"captured": args.captured} | ({"at_once": args.at_once} if args.at_once else {}), args.owners),
    )
    started = time.perf_counter()
    for part in args.part or PARTS:
        say(f"== {part} ({time.perf_counter() - started:.0f} s)")
        try:
            MEASURES[part](bench, args.folder, args.count)
        except Exception as error:  # the other parts are measured all the same
            say(f"{part} failed: {type(error).__name__}: {error}")
    say(f"== done ({time.perf_counter() - started:.0f} s)")


if __name__ == "__main__":
    sys.exit(main())
