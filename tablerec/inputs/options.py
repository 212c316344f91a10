"""Options of the command line that say how documents are read, the same for every verb that reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from tablerec.inputs.passwords import VARIABLE, ask_for_password

_Command = TypeVar("_Command", bound=Callable[..., Any])

STDIN = "-"
"""In place of a password: it is asked for, or read from standard input."""


def _to_password(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value != STDIN or ctx.resilient_parsing:
        return value
    if STDIN in (ctx.params.get("inputs") or ()):
        raise click.UsageError("standard input holds the picture: give the password in " + VARIABLE)
    return ask_for_password("Password")


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
        callback=_to_password,
        help=f"Of PDFs that ask for one; - asks you. The variable {VARIABLE} is safer: others on the machine can see "
        "the options of a command.",
    ),
]


def document_options(command: _Command) -> _Command:
    """Add ``--text-layer``, ``--pages`` and ``--password``, which are fields of ``Settings``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
