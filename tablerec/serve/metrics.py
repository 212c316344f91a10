"""Counts and times for Prometheus, and how much memory the server and its workers hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class Metrics:
    """What one server counts; a registry of its own, so that several can live in one process.

    >>> metrics = Metrics()
    >>> metrics.rejections.labels("busy").inc()
    >>> b'tablerec_rejections_total{reason="busy"} 1.0' in metrics.render()
    True
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "tablerec_requests", "Requests answered", ("method", "path", "status"), registry=self.registry
        )
        self.request_seconds = Histogram(
            "tablerec_request_seconds", "Time of requests, bodies included", ("path",), registry=self.registry,
            buckets=_SECONDS,
        )  # fmt: skip
        self.rejections = Counter("tablerec_rejections", "Requests refused", ("reason",), registry=self.registry)
        self.pages = Counter("tablerec_pages", "Pages read or failed", ("outcome",), registry=self.registry)
        self.tables = Counter("tablerec_tables", "Tables found", registry=self.registry)
        self.stage_seconds = Counter(
            "tablerec_stage_seconds", "Time of pages by stage, in workers", ("stage",), registry=self.registry
        )
        self.body_bytes = Counter("tablerec_body_bytes", "Bytes of bodies received", registry=self.registry)

    def watch(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Add a gauge that is read when somebody looks."""
        Gauge(name, text, registry=self.registry).set_function(value)

    def count_page(self, outcome: str, n_tables: int = 0, seconds: Mapping[str, float] | None = None) -> None:
        """Count a page: ``read``, or why it was not."""
        self.pages.labels(outcome).inc()
        self.tables.inc(n_tables)
        for stage, each in (seconds or {}).items():
            self.stage_seconds.labels(stage).inc(each)

    def render(self) -> bytes:
        """Return the text that Prometheus reads."""
        return bytes(generate_latest(self.registry))


def tree_memory() -> float:
    """Return the resident bytes of this process and of all below it; 0 where the system does not say.

    >>> tree_memory() >= 0
    True
    """
    pending, seen, total = [os.getpid()], set(), 0
    page = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
    while pending:
        process = pending.pop()
        if process in seen:
            continue
        seen.add(process)
        try:
            folder = Path("/proc") / str(process)
            total += int((folder / "statm").read_text().split()[1]) * page
            for children in (folder / "task").glob("*/children"):
                pending += map(int, children.read_text().split())
        except (OSError, ValueError, IndexError):
            continue
    return float(total)
