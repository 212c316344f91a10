"""How a command ends, for scripts: the same codes for every verb."""

from __future__ import annotations

FAILED, WRONG_USAGE, DOUBTFUL, INTERRUPTED = 1, 2, 3, 130

EXIT_CODES = {
    0: "Done. Every input was read, with or without tables in it; or help was asked for.",
    FAILED: "Something failed and is named: an input, a label, a page of a batch, a file of a model, the check of a "
    "device. What could be done was done, and written.",
    WRONG_USAGE: "The command is wrong: an unknown verb or option, or a value outside its range. Nothing was read or "
    "written.",
    DOUBTFUL: "Everything was read and written, and --strict found tables with a low score (tablerec, tablerec batch).",
    INTERRUPTED: "Ctrl-C. Files that were written are complete; batch, review, train and tune continue if run again.",
}
"""Code -> what it says."""


def describe_exit_codes() -> str:
    """Return all codes as a text for the terminal.

    >>> describe_exit_codes().splitlines()[1].startswith("    0  Done.")
    True
    """
    import textwrap

    lines = ["Exit codes, of every verb:"]
    for code, says in EXIT_CODES.items():
        lines += textwrap.wrap(says, 92, initial_indent=f"{code:5}  ", subsequent_indent=" " * 7)
    return "\n".join(lines)
