"""Errors as RFC 9457 has them: ``application/problem+json``, with our one-line messages as details."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from tablerec.errors import (
    InputError,
    MissingDependencyError,
    ModelNotFoundError,
    PageMemoryError,
    PageTimeoutError,
    PasswordError,
    SettingsError,
    TablerecError,
    WorkerLostError,
)
from tablerec.inputs.images import display_name

MEDIA_TYPE = "application/problem+json"
CLIENT_GONE = 499
"""Of requests whose client has hung up: for logs and metrics, nobody gets it."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, as it is sent.

    Args:
        status: Of HTTP.
        code: A word for programs: ``input``, ``page-timeout``, ``busy`` and others.
        detail: A line for people: the cause and the next step.
        more: Further members, such as ``errors``.
    """

    status: int
    code: str
    detail: str
    more: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it.

        >>> Problem(404, "unknown", "there is nothing at this address").to_dict()["title"]
        'Not Found'
        """
        title = HTTPStatus(self.status).phrase
        known = {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail}
        return known | {"code": self.code} | dict(self.more)

    def to_json(self) -> bytes:
        """Return it as UTF-8 JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False).encode("utf-8", "backslashreplace")


class RefusedError(TablerecError):
    """A request that is not done, and how that is answered.

    Args:
        status: Of HTTP.
        code: A word for programs.
        detail: A line for people.
        headers: Of the answer.
        more: Further members of the problem.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.problem = Problem(status, code, detail, more or {})
        self.headers = dict(headers or {})


class ClientGoneError(Exception):
    """Who asked has hung up: nothing is answered."""


_BY_KIND = (
    (PasswordError, 422, "password"),
    (InputError, 422, "input"),
    (PageTimeoutError, 504, "page-timeout"),
    (PageMemoryError, 422, "page-memory"),
    (WorkerLostError, 500, "worker-lost"),
    (SettingsError, 422, "option"),
    (MissingDependencyError, 501, "not-installed"),
    (ModelNotFoundError, 501, "not-installed"),
)


def to_problem(error: BaseException) -> Problem:
    """Say of an error whose fault it is; of one that is not ours no more than that.

    >>> to_problem(InputError("a.png: the file is empty; save or download it again")).status
    422
    >>> to_problem(ZeroDivisionError("secret")).detail
    'a fault of the server (ZeroDivisionError): its log says more; report it'
    """
    if isinstance(error, RefusedError):
        return error.problem
    for kind, status, code in _BY_KIND:
        if isinstance(error, kind):
            return Problem(status, code, str(error))
    if isinstance(error, TablerecError):
        return Problem(500, "failed", str(error))
    return Problem(500, "fault", f"a fault of the server ({type(error).__name__}): its log says more; report it")


def rename(problem: Problem, before: str, name: str) -> Problem:
    """Say the client's name for a file in place of ours.

    Args:
        problem: What is wrong with the file.
        before: Its name here, with which messages begin.
        name: Its name there.

    >>> rename(Problem(422, "input", "bytes: the file is empty"), "bytes", "a.png").detail
    'a.png: the file is empty'
    """
    detail = problem.detail
    if "/" in before or "\\" in before:
        detail = detail.replace(display_name(before), display_name(name))
    elif detail.startswith(f"{before}:"):
        detail = display_name(name) + detail.removeprefix(before)
    return Problem(problem.status, problem.code, detail, problem.more)
