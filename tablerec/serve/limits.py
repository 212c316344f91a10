"""How much a server takes: sizes, counts and times, each with a bound."""

from __future__ import annotations

from dataclasses import dataclass, fields

from tablerec.errors import SettingsError


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Bounds of a server.

    Args:
        body_megabytes: Size of a request's body, in units of 1,000,000 bytes.
        files: In one request.
        pages: In one request, all its files together; longer ones are jobs.
        job_pages: In one job.
        waiting_pages: Of all requests together that are not read yet; more are refused with 429.
        megapixels: Of one picture, in million pixels.
        draw_seconds: For drawing a page of a PDF.
        draw_gibibytes: Memory for drawing it, in GiB.
        page_seconds: For reading a page, after which its worker is replaced.
        page_gibibytes: Memory of the worker that reads a page, in GiB; None sets none.
        document_seconds: For answering a request, its waiting included; then 504.
        job_seconds: For a job, its waiting included.
        connections: At the same time; more are refused with 503.
        header_seconds: For sending the head of a request, or the next one over an open connection.
        body_seconds: For sending a body.
        body_rate: Least bytes per second of a body, after ten seconds.
        write_seconds: In which a client takes some of an answer that waits for it.
        spool_gigabytes: Of all bodies on the disk together.
        kept_jobs: At the same time, finished ones included.
        job_minutes: For which a finished job is kept.
        job_gigabytes: Of all results on the disk together.
        grace_seconds: For which requests at hand may go on after SIGTERM.

    Raises:
        SettingsError: One of them is not above 0.

    >>> ServerLimits().pages
    100
    >>> ServerLimits(files=0)
    Traceback (most recent call last):
    postprocess.errors.SettingsError: files is 0: give a number above 0
    """

    body_megabytes: float = 128
    files: int = 100
    pages: int = 100
    job_pages: int = 2000
    waiting_pages: int = 300
    megapixels: float = 50
    draw_seconds: float = 20
    draw_gibibytes: float = 1
    page_seconds: float = 60
    page_gibibytes: float | None = None
    document_seconds: float = 300
    job_seconds: float = 7200
    connections: int = 512
    header_seconds: float = 15
    body_seconds: float = 300
    body_rate: float = 16_384
    write_seconds: float = 30
    spool_gigabytes: float = 4
    kept_jobs: int = 200
    job_minutes: float = 60
    job_gigabytes: float = 2
    grace_seconds: float = 30

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and not 0 < value < float("inf"):
                raise SettingsError(f"{each.name} is {value}: give a number above 0")
