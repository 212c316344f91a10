"""Hostile inputs of every kind that users hand in: ``python -m tests.benchmarks.hostile.fuzz [--count N] [--seed S]``.

A developer script; ``test_fuzz.py`` runs a small part of it. Pictures, PDFs, arrays, words, tables, labels, settings
and weights are broken byte by byte or made of wild values (see ``inputs``), and handed in by Python and by the command
line, in worker processes with limits of time and memory. What must hold: no crash, no hang, no memory beyond bounds,
no error but the project's own, every word in a cell, a caption or among the unplaced, tables that are grids, and all
formats written and read back (see ``trial``).

Answers are kept in ``OUTPUT/answers.jsonl``: the same command goes on where it was stopped. Inputs that found something
are written to ``OUTPUT/findings``. ``--only KIND:NUMBER`` tries one input in this process, to see the traceback.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from tests.benchmarks.hostile.inputs import KINDS, Given, make

SHARES = {
    "picture": 20, "pdf": 12, "crafted_pdf": 12, "words": 18, "array": 10, "tables": 8, "labels": 8, "settings": 5,
    "weights": 5, "read": 2,
}  # fmt: skip
"""Of 100 inputs."""
FINDINGS = ("finding", "traceback", "memory", "hang", "crash", "fat", "slow")
RECYCLED = 250
"""Inputs after which a worker is replaced by a fresh one."""
ROOT = Path(__file__).resolve().parents[3]


def plan(total: int, kinds: Sequence[str] = tuple(SHARES)) -> Iterator[tuple[str, int]]:
    """Kinds and numbers of so many inputs, each stretch of 100 with its share of every kind."""
    turn = [kind for kind, share in SHARES.items() if kind in kinds for _ in range(share)]
    mixed = [turn[k] for k in np.random.default_rng(0).permutation(len(turn)).tolist()]
    numbers: dict[str, Iterator[int]] = defaultdict(count)
    return ((kind, next(numbers[kind])) for kind in islice((kind for _ in count() for kind in mixed), total))


class Worker:
    """A process that tries inputs, replaced when it dies, hangs or has tried many."""

    def __init__(self, seed: int, memory: float) -> None:
        self._command = [sys.executable, "-m", "tests.benchmarks.hostile.trial", str(seed), str(memory)]
        self.process: subprocess.Popen[bytes] | None = None
        self._tried = 0

    def ask(self, kind: str, number: int, seconds: float) -> dict[str, Any]:
        """Try one input."""
        process = self._running()
        assert process.stdin and process.stdout
        with suppress(BrokenPipeError):  # it died before: it is asked for its exit code below
            process.stdin.write(f"{kind} {number}\n".encode())
            process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        if not ready:
            self._end()
            return {"outcome": "hang", "seconds": seconds, "mib": 0, "message": f"more than {seconds:g} s"}
        line = process.stdout.readline()
        if line:
            self._tried += 1
            return dict(json.loads(line))
        code = process.wait()
        self._end()
        return {"outcome": "crash", "seconds": 0, "mib": 0, "message": f"the process ended with {code}"}

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is not None and self._tried >= RECYCLED:
            self._end()
        if self.process is None:
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
            self.process = subprocess.Popen(
                self._command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
            self._tried = 0
        return self.process

    def _end(self) -> None:
        if self.process is not None:
            self.process.kill()
            with suppress(BrokenPipeError):
                self.process.communicate()
            self.process = None

    def close(self) -> None:
        """End the process."""
        self._end()


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Try all inputs that have no answer yet."""
    options.output.mkdir(parents=True, exist_ok=True)
    kept = options.output / "answers.jsonl"
    answers = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    answers = [answer for answer in answers if answer["seed"] == options.seed]
    known = {(answer["kind"], answer["number"]) for answer in answers}
    waiting: SimpleQueue[tuple[str, int]] = SimpleQueue()
    wanted = list(plan(options.count, options.kinds))
    for item in wanted:
        if item not in known:
            waiting.put(item)
    answers = [answer for answer in answers if (answer["kind"], answer["number"]) in set(wanted)]
    lock, started = threading.Lock(), time.perf_counter()
    with kept.open("a") as file:

        def work() -> None:
            worker = Worker(options.seed, options.memory)
            while True:
                try:
                    kind, number = waiting.get_nowait()
                except Empty:
                    return worker.close()
                answer = worker.ask(kind, number, options.seconds_each)
                if answer["outcome"] not in FINDINGS and answer["mib"] > 1024 * options.most_memory:
                    answer["outcome"], answer["message"] = "fat", f"{answer['mib']} MiB"
                answer = {"kind": kind, "seed": options.seed, "number": number, **answer}
                with lock:
                    answers.append(answer)
                    print(json.dumps(answer), file=file, flush=True)
                    _say(answer, len(answers), options, started)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(options.workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return answers


def _say(answer: dict[str, Any], done: int, options: argparse.Namespace, started: float) -> None:
    if answer["outcome"] in FINDINGS:
        print(f"{answer['outcome']}: {answer['kind']}:{answer['number']} {answer['message']}", flush=True)
        _write(make(answer["kind"], options.seed, answer["number"]), answer, options.output / "findings")
    if done % 200 == 0 or done == options.count:
        print(f"{done} of {options.count}, {time.perf_counter() - started:.0f} s", flush=True)


def _write(given: Given, answer: dict[str, Any], folder: Path) -> None:
    """Keep an input that found something, with what it found."""
    place = folder / f"{answer['outcome']}_{answer['kind']}_{answer['seed']}_{answer['number']}"
    place.mkdir(parents=True, exist_ok=True)
    for name, data in {given.name or "none": given.data, **given.more}.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    if given.image is not None and given.image.dtype != object:
        np.save(place / "image.npy", given.image, allow_pickle=False)
    words = "\n".join(map(repr, given.words or ()))
    again = (
        f"python -m tests.benchmarks.hostile.fuzz --seed {answer['seed']} --only {answer['kind']}:{answer['number']}"
    )
    said = f"{answer}\n{again}\n{words}\n"
    (place / "answer.txt").write_text(said, "utf-8", errors="backslashreplace")


def summary(answers: Sequence[dict[str, Any]]) -> str:
    """A line for each kind: how many of its inputs ended how, the slowest, and the most memory."""
    lines = [f"{'kind':12} {'inputs':>6} {'slowest':>8} {'MiB':>6}  outcomes"]
    for kind in KINDS:
        own = [answer for answer in answers if answer["kind"] == kind]
        if own:
            outcomes = ", ".join(f"{name} {n}" for name, n in sorted(Counter(a["outcome"] for a in own).items()))
            slowest, most = max(a["seconds"] for a in own), max(a["mib"] for a in own)
            lines.append(f"{kind:12} {len(own):6} {slowest:7.1f}s {most:6}  {outcomes}")
    found = sum(answer["outcome"] in FINDINGS for answer in answers)
    places = Counter(a["message"].partition(": ")[0] + " " + a["outcome"] for a in answers if a["outcome"] in FINDINGS)
    lines += [f"{n:6} x {place}" for place, n in places.most_common(40)]
    return "\n".join([*lines, f"{len(answers)} inputs, {found} findings"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="inputs in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--seconds-each", type=float, default=30.0, help="limit for an input; longer is a hang")
    parser.add_argument("--memory", type=float, default=6.0, help="address space of a worker, GiB; more is a finding")
    parser.add_argument("--most-memory", type=float, default=2.0, help="memory in use, GiB; more is a finding")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, default=Path("fuzz"), help="folder for answers and findings")
    parser.add_argument("--only", metavar="KIND:NUMBER", help="one input, in this process")
    options = parser.parse_args()
    if options.only:
        from tests.benchmarks.hostile.trial import attempt

        kind, number = options.only.split(":")
        print(attempt(make(kind, options.seed, int(number)), int(number)))
        return
    answers = run(options)
    print(summary(answers))
    sys.exit(1 if any(answer["outcome"] in FINDINGS for answer in answers) else 0)


if __name__ == "__main__":
    main()
