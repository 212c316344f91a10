"""``tablerec review``."""

from __future__ import annotations

import os
import webbrowser
from dataclasses import replace
from pathlib import Path

import click

from tablerec.config import Settings
from tablerec.corrections.learning import AFTER
from tablerec.errors import SettingsError
from tablerec.inputs.options import document_options, read_password, turn_option

_DEFAULTS = Settings()
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("review")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("-o", "--output", type=_FOLDER, help="Where corrections are kept.  [default: FOLDER/corrections]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port of the web page.  [default: the former one, or a free one]",
)
@click.option(
    "--learn-after",
    type=click.IntRange(0),
    default=AFTER,
    show_default=True,
    help="Saved tables after which the detector learns from them, in the background; 0: only when asked to.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option("--recursive", is_flag=True, help="Also read the folders inside.")
@click.option("--detector", default=_DEFAULTS.detector, show_default=True, help="Cell detector.")
@click.option("--detector-dir", type=_FOLDER, help="Folder with other weights for CellNet or a PaddleX model.")
@click.option("--ocr", "ocr", default=_DEFAULTS.ocr, show_default=True, help="What reads the text.")
@click.option("--device", default=_DEFAULTS.device, show_default=True, help="Device that runs the models.")
@click.option(
    "--layout",
    type=click.Choice(["page", "table"]),
    default=_DEFAULTS.layout,
    show_default=True,
    help="page: detect tables; table: each picture is one table.",
)
@turn_option
@document_options
def command(
    folder: Path, output: Path | None, port: int, learn_after: int, no_browser: bool, recursive: bool,
    password: str | None,
    **options: str | Path | int | None,
) -> None:  # fmt: skip
    """Correct the tables in the pictures and PDFs of FOLDER in the browser, the most doubtful first.

    Every step is kept at once; start it again to continue. A table that is saved becomes a
    workbook, a web page, and a label: `source: crops:FOLDER/corrections#train` trains on them,
    `validation.source: folder:FOLDER/corrections#val` validates on every fifth. The page
    can also train the detector itself; the weights are in FOLDER/corrections/learnt, and are
    used here unless --detector-dir names others.
    """
    from tablerec.corrections.editor import CorrectionFolder
    from tablerec.corrections.learning.learner import Learner
    from tablerec.corrections.review.desk import Desk, FindTables, Read, ReadFrame
    from tablerec.corrections.review.server import ReviewServer
    from tablerec.inputs.images import display_name
    from tablerec.pipeline import Recognizer

    given = {name: value for name, value in options.items() if value is not None}
    settings = Settings(**given, password=read_password(password))  # type: ignore[arg-type]
    output = output or folder / "corrections"
    inputs = find_inputs(folder, output, recursive)
    corrections = CorrectionFolder(output)
    recognizer = Recognizer(settings)

    # What it learns is a CellNet: other detectors have no part in it.
    detector = settings.detector if settings.detector in ("auto", "cellnet") else "auto"

    def readers(weights: Path | None, is_alone: bool = False) -> tuple[Read, ReadFrame, FindTables]:
        learned = "cellnet" if is_alone else detector
        chosen = settings if weights is None else replace(settings, detector=learned, detector_dir=weights)
        in_frame = Recognizer(replace(chosen, layout="table"), ocr=recognizer.ocr)
        as_it_lies = replace(in_frame.settings, turn=0, unwarp="off", seals="keep", pages=None, trace=True)
        again = Recognizer(as_it_lies, detector=in_frame.detector, ocr=recognizer.ocr)
        return Recognizer(chosen, ocr=recognizer.ocr).pages, in_frame.pages, again.pages

    read, read_frame, find = readers(None)
    desk = Desk(inputs, folder, corrections, read, read_frame, settings, recognizer.ocr, find)
    reading = ["--detector", detector, "--ocr", settings.ocr, "--device", settings.device]

    def use(weights: Path | None, is_alone: bool) -> None:
        desk.use(*readers(weights, is_alone))

    learner = Learner(desk, after=learn_after, use=use, reading=reading)
    if settings.detector_dir is None and settings.detector == detector and learner.weights is not None:
        use(learner.weights, learner.is_alone)
    try:
        server = ReviewServer(desk, port, learner)
    except OSError as error:
        raise SettingsError(
            f"--port {port}: cannot be used ({error.strerror}); choose another, or leave it out"
        ) from error
    desk.start()
    click.echo(f"{len(inputs)} files, corrections in {display_name(str(output))}\n{server.address}\nCtrl-C ends it.")
    if not no_browser:
        webbrowser.open(server.address)
    try:
        server.serve_forever()
    finally:
        server.server_close()
        learner.stop()
        desk.stop()


def find_inputs(folder: Path, output: Path, recursive: bool) -> list[Path]:
    """Return the pictures and PDFs of a folder, in natural order.

    Those in a corrections folder, of this review or one inside, are ours. A link that leads out of the folder is
    named and left out.

    Raises:
        InputError: There are none.
    """
    from tablerec.errors import InputError
    from tablerec.inputs.images import display_name, expand_inputs

    top, ours = (Path(os.path.realpath(each)) for each in (folder, output))
    kept = []
    for path in (Path(str(each)) for each in expand_inputs([str(folder)], recursive)):
        resolved = Path(os.path.realpath(path))  # unlike ``resolve``, it bears a link to itself
        if not resolved.is_relative_to(top):
            click.echo(f"Note: {display_name(str(path))} is a link that leads out of the folder: left out", err=True)
        elif not resolved.is_relative_to(ours) and not _is_ours(path):
            kept.append(path)
    if not kept:
        raise InputError(
            f"{display_name(str(folder))}: no pictures or PDFs of its own in this folder; name another one"
        )
    return kept


def _is_ours(path: Path) -> bool:
    """Whether a picture was written by an earlier review of a folder inside: of a table, a cell, or a training."""
    if path.parent.name == "images" and (path.parents[1] / "journal" / f"{path.stem}.jsonl").is_file():
        return True
    reviews = (parent for parent in path.parents if (parent / "journal").is_dir() and (parent / "images").is_dir())
    return any(path.relative_to(parent).parts[0] in ("outputs", "learnt") for parent in reviews)
