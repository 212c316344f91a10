"""The verbs of the command line, and which one a mistyped word means."""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches

VERBS = {
    "batch": "tablerec.bulk.command:command",
    "completion": "tablerec.usage.command:command",
    "demo": "tablerec.demo.command:command",
    "device": "tablerec.devices.command:command",
    "eval": "tablerec.evaluate.command:command",
    "export": "tablerec.models.command:command",
    "help": "tablerec.cli:help_command",
    "lab": "tablerec.course.command:command",
    "labels": "tablerec.labels.command:command",
    "models": "tablerec.models.command:models",
    "review": "tablerec.corrections.review.command:command",
    "serve": "tablerec.serve.command:command",
    "synth": "tablerec.synth.command:command",
    "train": "tablerec.training.command:command",
    "tune": "tablerec.training.command:tune_command",
    "weights": "tablerec.models.command:weights",
}
"""Verb -> "module:command", imported when the verb is used. A file of that name is given as ``./eval``."""

_OF_PATHS = "./\\*?[:~"
"""A word with one of these is a path, a pattern or an address."""


def ask_about(word: str) -> str:
    """Say what is wrong with a first word that is neither a verb nor a file; empty where it may be an input.

    >>> ask_about("reveiw")
    'no verb `reveiw`; did you mean review? There is no file or folder of that name either'
    >>> ask_about("invoices")
    'no verb, file or folder is called `invoices`; `tablerec help` lists the verbs'
    >>> ask_about("scan.png"), ask_about("-")
    ('', '')
    """
    if word.startswith("-") or any(sign in word for sign in _OF_PATHS) or os.path.lexists(word):
        return ""
    if word in VERBS:
        return f"{word} is a verb, which comes first: `tablerec {word} ...`"
    meant = close_to(word, VERBS)
    if meant:
        return f"no verb `{word}`; did you mean {meant}? There is no file or folder of that name either"
    return f"no verb, file or folder is called `{word}`; `tablerec help` lists the verbs"


def close_to(word: str, names: Iterable[str]) -> str:
    """Return the name that a word may be meant for, or an empty text.

    >>> close_to("evaluate", VERBS), close_to("trian", VERBS), close_to("tables", VERBS)
    ('eval', 'train', '')
    """
    known = list(names)
    begins = [name for name in known if len(name) > 2 and word.startswith(name)]
    return next(iter(get_close_matches(word, known, n=1, cutoff=0.7)), max(begins, key=len, default=""))
