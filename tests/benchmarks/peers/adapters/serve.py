"""The other end of ``tests.benchmarks.peers.process``: pictures and words in, HTML and seconds out, one JSON line each.

Imports the standard library alone, since each adapter runs in the environment of its peer.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

Job = dict[str, Any]
"""``image`` (path), ``words`` (each with ``text``, ``quad`` and ``score``), ``boxes`` and ``box_scores``."""
Answer = dict[str, Any]
"""``html``, which may be empty where no table was found, and whatever else the adapter tells."""


def serve(load: Callable[[], Callable[[Job], Answer]], packages: Sequence[str]) -> None:
    """Answer jobs from standard input until it ends; what a package prints goes to standard error.

    Args:
        load: Imports the package, loads its models, and returns what answers a job.
        packages: Distributions whose versions the first line tells.
    """
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def write(answer: Answer) -> None:
        out.write(json.dumps(answer) + "\n")
        out.flush()

    try:
        recognize = load()
        write({"versions": {package: metadata.version(package) for package in packages}})
    except ImportError as error:  # PackageNotFoundError is one, too
        write({"missing": str(error)})
        return
    for line in sys.stdin:
        job = json.loads(line)
        started = time.perf_counter()
        try:
            answer = recognize(job)
        except Exception as error:  # the peer's failure, of any kind, is its answer
            answer = {"error": f"{type(error).__name__}: {error}"}
        write({**answer, "seconds": time.perf_counter() - started})


class LastWarning(logging.Handler):
    """Keeps the last line of the last warning: some packages log their crash and return nothing."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.line = ""
        logging.getLogger().addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep its last line."""
        self.line = (record.getMessage().strip().splitlines() or [""])[-1]


def words_to_ocr(words: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """The form in which RapidAI's packages take words: four corners, text, score.

    >>> words_to_ocr([{"text": "a", "quad": [[0, 0], [9, 0], [9, 5], [0, 5]], "score": 1.0}])
    [[[[0, 0], [9, 0], [9, 5], [0, 5]], 'a', 1.0]]
    """
    return [[word["quad"], word["text"], word["score"]] for word in words]


def quad_to_box(quad: Sequence[Sequence[float]]) -> list[float]:
    """The upright box around four corners.

    >>> quad_to_box([[0, 1], [9, 0], [9, 5], [0, 5]])
    [0, 0, 9, 5]
    """
    xs, ys = [x for x, _ in quad], [y for _, y in quad]
    return [min(xs), min(ys), max(xs), max(ys)]
