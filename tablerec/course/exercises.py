"""What the labs share: the files they read, and checks that say whether an exercise is solved."""

from __future__ import annotations

import dis
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import click

from tablerec.course.course import course_root

outcomes: dict[str, str] = {}
"""Of each exercise that was checked in this process: "to do", "right" or "not yet"."""

_SPOKEN = {"to do": "to do · 待做", "right": "right · 正确", "not yet": "not yet · 还不对"}


def course_data(part: str) -> Path:
    """Return a folder of the course's data, relative to the working directory.

    Args:
        part: Such as "samples", "training" or "migration".

    Returns:
        In the course or checkout in which the notebook lies; where it lies elsewhere, in the installed package.

    >>> (course_data("samples") / "photo.jpg").is_file()
    True
    """
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / "notebooks").is_dir() and (folder / "data" / part).is_dir():
            return Path(os.path.relpath(folder / "data" / part))
    return course_root() / "data" / part


def check(exercise: str) -> Callable[[Callable[[], object]], None]:
    """Say whether an exercise is solved, and never fail, so that a notebook runs to its end.

    An exercise is to do while an answer that its check reads is ``...`` or ``None``, or a function with such a body.

    Args:
        exercise: Its name, such as "Exercise 1".

    Returns:
        A decorator that runs the check, a function without arguments: it asserts what holds for a right answer.

    >>> def double(number): ...
    >>> @check("Exercise 1")
    ... def _():
    ...     assert double(2) == 4, "twice 2 is 4"
    Exercise 1: to do · 待做
    >>> double = lambda number: number + 1
    >>> @check("Exercise 1")
    ... def _():
    ...     assert double(2) == 4, "twice 2 is 4"
    Exercise 1: not yet · 还不对: twice 2 is 4
    """

    def run(body: Callable[[], object]) -> None:
        outcomes[exercise], reason = _judge(body)
        click.echo(f"{exercise}: {_SPOKEN[outcomes[exercise]]}" + (f": {reason}" if reason else ""))

    return run


def _judge(body: Callable[[], object]) -> tuple[str, str]:
    """Return the outcome of a check, and why the answer is wrong."""
    if any(_is_empty(answer) for answer in _read_by(body)):
        return "to do", ""
    try:
        body()
    except NotImplementedError:
        return "to do", ""
    except AssertionError as error:
        return "not yet", str(error).partition("\n")[0] or "a condition of the check does not hold"
    except Exception as error:  # whatever a learner's code raises
        return "not yet", f"{type(error).__name__}: {error}"
    return "right", ""


def _read_by(body: Callable[[], object]) -> Iterator[Any]:
    """Yield the values of the global names that a check reads."""
    if isinstance(body, FunctionType):
        pending = [body.__code__]
        while pending:
            code = pending.pop()
            yield from (body.__globals__[name] for name in code.co_names if name in body.__globals__)
            pending += [each for each in code.co_consts if isinstance(each, CodeType)]


def _is_empty(answer: Any) -> bool:
    """Whether an answer is still the stub: ``...``, ``None``, or a list or a function that has such a place."""
    if isinstance(answer, (list, tuple)):
        return any(each is ... for each in answer)
    if not isinstance(answer, FunctionType):
        return answer is None or answer is ...
    steps = [step for step in dis.get_instructions(answer) if step.opname not in ("RESUME", "NOP")]
    if len(steps) <= 2 and steps[0].argval in (None, ...):  # all that it does is to return that
        return True
    return any(
        step.argval is ... and after.opname.startswith(("STORE", "RETURN")) for step, after in itertools.pairwise(steps)
    )
