"""Options of the command line that say how documents are read, the same for every verb that reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from tablerec.inputs.passwords import VARIABLE, ask_for_password

_Command = TypeVar("_Command", bound=Callable[..., Any])

_STDIN = "-"


_OPTIONS = [
    click.option(
        "--text-layer",
        type=click.Choice(["auto", "use", "ignore"]),
        help="Text that a PDF holds. auto: believed where the page shows it, the rest is read; use: all of it, hidden "
        "text too; ignore: the picture is read.  [default: auto]",
    ),
    click.option(
        "--pages", metavar="NUMBERS", help="Pages of documents, counted from 1, such as 1-3,7 or 5-.  [default: all]"
    ),
    click.option(
        "--password",
        metavar="TEXT",
        envvar=VARIABLE,
        help=f"Of PDFs that ask for one; - asks you. The variable {VARIABLE} is safer: others on the machine can see "
        "the options of a command.",
    ),
]


def document_options(command: _Command) -> _Command:
    """Add ``--text-layer``, ``--pages`` and ``--password``, which are fields of ``Settings``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_password(given: str | None, inputs: Sequence[str] = ()) -> str | None:
    """Return the password that ``--password`` means: where it is -, it is asked for, or read from standard input.

    Args:
        given: What the option says.
        inputs: What else may want standard input.

    Raises:
        click.UsageError: Standard input is wanted twice.

    >>> read_password("open sesame")
    'open sesame'
    """
    if given != _STDIN:
        return given
    if _STDIN in inputs:
        raise click.UsageError(f"standard input holds the picture: give the password in {VARIABLE}")
    return ask_for_password("Password")
