"""Long documents: a client hands them in, looks how far they are, and fetches the result later.

A job is known by an id that nobody can guess; with tokens, only the client that handed it in sees it. Results lie in a
private folder, for a time and up to a size, and go when the server ends.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import shutil
import time
from collections.abc import Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tablerec.serve.formats import MEDIA_TYPES, write
from tablerec.serve.intake import Body
from tablerec.serve.limits import ServerLimits
from tablerec.serve.problems import Problem, RefusedError, to_problem
from tablerec.serve.work import Plan, Reader

AT_ONCE = 4
"""Jobs that are read at the same time; the others wait."""
_FINISHED = ("done", "failed")
_FORMATS = tuple(MEDIA_TYPES)

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Job:
    """One job.

    Args:
        id: By which it is known.
        owner: Number of the client's token; None where there are no tokens.
        plan: What is read.
        options: How results are written, see ``formats.write``.
        folder: Where they lie.
        state: ``queued``, ``running``, ``done``, or ``failed``.
    """

    id: str
    owner: int | None
    plan: Plan
    options: Mapping[str, Any]
    folder: Path
    state: str = "queued"
    problem: Problem | None = None
    n_done: int = 0
    submitted: float = field(default_factory=time.time)
    finished: float | None = None
    size: int = 0
    task: asyncio.Task[None] | None = None

    def to_dict(self, minutes: float) -> dict[str, Any]:
        """Return how far it is, as JSON has it."""
        data: dict[str, Any] = {
            "id": self.id,
            "state": self.state,
            "submitted": _to_text(self.submitted),
            "expires": None if self.finished is None else _to_text(self.finished + 60 * minutes),
            "pages": {"total": sum(each.n_pages for each in self.plan.files), "done": self.n_done},
            "files": [
                {
                    "name": each.name,
                    "pages": {"total": each.n_pages, "done": each.n_read + len(each.failures)},
                    "tables": each.n_tables,
                    "failed": each.failed(),
                }
                for each in self.plan.files
            ],
        }
        return data if self.problem is None else data | {"problem": self.problem.to_dict()}


def _to_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")


class Jobs:
    """All jobs of a server.

    Args:
        reader: What reads pages.
        folder: Where results are kept; it is there, and ours alone.
        limits: How many, how long, how large.
    """

    def __init__(self, reader: Reader, folder: Path, limits: ServerLimits) -> None:
        self.reader = reader
        self.folder = folder
        self.limits = limits
        self._jobs: dict[str, Job] = {}
        self._places = asyncio.Semaphore(AT_ONCE)

    def count(self, state: str) -> int:
        """Return how many jobs are in a state."""
        return sum(job.state == state for job in self._jobs.values())

    def check_room(self) -> None:
        """Refuse a job where there are too many; finished ones make room, the oldest first.

        Raises:
            RefusedError: With 429, and when to come again.
        """
        self.remove_old()
        finished = sorted((job for job in self._jobs.values() if job.finished), key=lambda job: job.finished or 0)
        for job in finished[: max(0, len(self._jobs) + 1 - self.limits.kept_jobs)]:
            self._remove(job)
        if len(self._jobs) >= self.limits.kept_jobs:
            raise RefusedError(429, "busy", f"{len(self._jobs)} jobs wait: try again in 60 s", {"Retry-After": "60"})

    def submit(self, body: Body, plan: Plan, owner: int | None, options: Mapping[str, Any]) -> Job:
        """Take a job; its body belongs to it from now on.

        Raises:
            RefusedError: There are too many.
        """
        self.check_room()
        name = secrets.token_urlsafe(24)
        job = Job(name, owner, plan, options, self.folder / secrets.token_hex(16))
        self._jobs[name] = job
        job.task = asyncio.create_task(self._run(job, body))
        return job

    def get(self, name: str, owner: int | None) -> Job:
        """Return a job to whom it belongs.

        Raises:
            RefusedError: There is none of this id, or it belongs to another client.
        """
        self.remove_old()
        job = self._jobs.get(name)
        if job is None or job.owner != owner:
            raise RefusedError(404, "unknown", "there is no such job: it is over, was deleted, or never was")
        return job

    def result(self, job: Job, format: str) -> Path:
        """Return the file with the result.

        Raises:
            RefusedError: The job is not done, or failed.
        """
        if job.problem is not None:
            raise RefusedError(job.problem.status, job.problem.code, job.problem.detail, more=job.problem.more)
        if job.state != "done":
            detail = f"the job is {job.state}, {job.n_done} of {job.plan.n_pages} pages are read: ask again later"
            raise RefusedError(409, "not-done", detail, {"Retry-After": "2"})
        return job.folder / format

    async def delete(self, job: Job) -> None:
        """Stop a job, and remove all of it."""
        await self._stop(job)
        self._remove(job)

    async def close(self) -> None:
        """Stop and remove all."""
        for job in list(self._jobs.values()):
            await self.delete(job)

    def remove_old(self) -> None:
        """Remove finished jobs whose time is over."""
        oldest = time.time() - 60 * self.limits.job_minutes
        for job in list(self._jobs.values()):
            if job.finished is not None and job.finished < oldest:
                self._remove(job)

    def _remove(self, job: Job) -> None:
        self._jobs.pop(job.id, None)
        shutil.rmtree(job.folder, ignore_errors=True)

    @staticmethod
    async def _stop(job: Job) -> None:
        if job.task is not None and not job.task.done():
            job.task.cancel()
            with suppress(asyncio.CancelledError):
                await job.task

    async def _run(self, job: Job, body: Body) -> None:
        with body:
            try:
                await asyncio.wait_for(self._read(job), self.limits.job_seconds)
                job.state = "done"
            except asyncio.CancelledError:
                raise
            except asyncio.TimeoutError:
                job.state = "failed"
                detail = f"not read within {self.limits.job_seconds:g} s: send fewer pages"
                job.problem = Problem(504, "timeout", detail)
            except Exception as error:
                _logger.error("a job failed", exc_info=error)
                job.state, job.problem = "failed", to_problem(error)
            finally:
                job.finished = time.time()
                for each in job.plan.files:
                    each.pages = []  # they are on the disk now

    async def _read(self, job: Job) -> None:
        async with self._places:
            job.state = "running"
            pages = self.reader.read(job.plan, _nothing, self.limits.job_seconds)
            async with aclosing(pages):
                async for outcome in pages:
                    job.plan.add(outcome)
                    job.n_done += 1
        await asyncio.to_thread(self._write, job)
        self._make_room(job)

    def _write(self, job: Job) -> None:
        job.folder.mkdir(mode=0o700)
        for format in _FORMATS:
            content = write(job.plan.files, format, **job.options)
            (job.folder / format).write_bytes(content)
            job.size += len(content)

    def _make_room(self, job: Job) -> None:
        """Remove the oldest results while all together are too large, but not this one."""
        finished = sorted((each for each in self._jobs.values() if each.finished), key=lambda each: each.finished or 0)
        total = job.size + sum(each.size for each in finished)
        for each in finished:
            if total <= 1e9 * self.limits.job_gigabytes:
                return
            total -= each.size
            self._remove(each)


def _nothing() -> None:
    """Pages of jobs do not count as waiting: a few of each are in the works."""
