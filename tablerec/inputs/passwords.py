"""Passwords of PDFs: where they come from, and what is said where one is missing or wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tablerec.errors import PasswordError

VARIABLE = "TABLEREC_PASSWORD"
"""Variable of the environment that the command line takes it from."""


def password_error(name: str, password: str | None) -> PasswordError:
    """Return what to raise where a document does not open.

    Args:
        name: Its name as messages show it.
        password: What was tried; it only counts whether there was one.

    >>> print(password_error("a.pdf", None))
    a.pdf: the PDF needs a password; give it as --password or in TABLEREC_PASSWORD, or password=... in Python
    >>> print(password_error("a.pdf", "wrong"))
    a.pdf: the password does not open this PDF; correct it, mind capitals
    """
    if not password:
        step = f"give it as --password or in {VARIABLE}, or password=... in Python"
        return PasswordError(f"{name}: the PDF needs a password; {step}")
    return PasswordError(f"{name}: the password does not open this PDF; correct it, mind capitals")


def ask_for_password(question: str) -> str:
    """Ask on the terminal without showing the answer; where standard input is none, its first line is the answer.

    Raises:
        KeyboardInterrupt: The person would rather stop.
    """
    import click

    if not has_terminal():
        return sys.stdin.readline().rstrip("\r\n")
    try:
        answer: str = click.prompt(question, hide_input=True, err=True, default="", show_default=False)
    except click.Abort as error:
        raise KeyboardInterrupt from error
    return answer


def has_terminal() -> bool:
    """Whether somebody is there who can be asked."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


class AskOnce:
    """Asks for the password of a document when the first one wants it; later ones are tried with the same answer.

    Args:
        use: Called with the answer.
    """

    def __init__(self, use: Callable[[str], object]) -> None:
        self._use = use
        self._has_asked = False

    def __call__(self, name: str) -> None:
        """Ask, unless that was done.

        Args:
            name: The document, as messages show it.
        """
        if not self._has_asked:
            self._has_asked = True
            self._use(ask_for_password(f"Password of {name}"))
