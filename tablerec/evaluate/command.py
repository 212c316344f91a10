"""``tablerec eval``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tablerec.config import Settings
from tablerec.errors import InputError, SettingsError, TablerecError

if TYPE_CHECKING:
    from tablerec.evaluate.reporting.report import Entry
    from tablerec.evaluate.runner import Case, RecognizesTables, Storage
    from tablerec.evaluate.truth import Truth

_DEFAULTS = Settings()
_FOLDER = click.Path(file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("eval")
@click.argument("gt_dir", type=_FOLDER)
@click.option("--detector", default=_DEFAULTS.detector, show_default=True, help="Cell detector.")
@click.option("--detector-dir", type=_FOLDER, help="Folder with other weights for CellNet or a PaddleX model.")
@click.option("--ocr", default=_DEFAULTS.ocr, show_default=True, help="What reads the text; none skips it.")
@click.option("--device", default=_DEFAULTS.device, show_default=True, help="Device that runs the models.")
@click.option(
    "--layout",
    type=click.Choice(["table", "page"]),
    default="table",
    show_default=True,
    help="table: each picture is one table. page: detect tables, take the largest.",
)
@click.option("--source", "sources", multiple=True, metavar="NAME", help="Only this source; may be repeated.")
@click.option("--ids", "ids_file", type=_FILE, help="Only the tables named in this file.")
@click.option("--limit", type=click.IntRange(1), help="Only this many tables, evenly spread over the folder.")
@click.option("--all-tables", is_flag=True, help="Also tables whose truth is known to be flawed.")
@click.option(
    "-o",
    "--output",
    type=_FOLDER,
    default=Path("tablerec-eval"),
    show_default=True,
    help="Folder for results.json, worst.html and predictions/.",
)
@click.option(
    "--words",
    "words_dir",
    type=_FOLDER,
    help="Keep the OCR engine's words in this folder, and read them from there instead of the picture.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Reuse predictions in the output folder that the same settings made; changed code is not noticed.",
)
@click.option("--worst", type=click.IntRange(0), default=20, show_default=True, help="Cases on the page.")
@click.option("--against", type=_FILE, help="results.json of an earlier run to compare with.")
@click.option(
    "--errors", is_flag=True, help="Also list the errors of the cells: kinds, what each costs, places, and a picture."
)
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes that compute scores.")
def command(
    gt_dir: Path,
    detector: str,
    detector_dir: Path | None,
    ocr: str,
    device: str,
    layout: Any,
    sources: tuple[str, ...],
    ids_file: Path | None,
    limit: int | None,
    all_tables: bool,
    output: Path,
    words_dir: Path | None,
    resume: bool,
    worst: int,
    against: Path | None,
    errors: bool,
    jobs: int,
) -> None:
    """Score the recognition of the tables in GT_DIR, which holds JSON files with their pictures beside them.

    Prints the means by source: tables, missing ones, grid size right, adjacency F1, GriTS-Top,
    TEDS-Struct, TEDS, all cells exact, detection F1 at an IoU of 0.6 and 0.8 (only where the
    boxes of the truth outline cells, not texts), COCO's AP, AP50 and AP75 of the detected cells (there too), share
    of the characters read that are kept, seconds a picture. A missing table, or a picture that fails, scores 0.
    With --errors also the errors of the cells, at an IoU of 0.8: they are in results.json too, and errors.png shows
    the worst tables. The line SOUND leaves out tables whose truth says that another structure would be as fair
    (meta.audit is convention); tables whose truth was found wrong are left out with the other flawed ones.

    AP is by pycocotools, over all cells that the detector hands to the grid, up to 10,000 a picture (COCO counts 100).
    Cells below the detector's threshold are not among them.
    """
    from tablerec.evaluate.runner import Storage

    try:
        settings = Settings(
            detector=detector, detector_dir=detector_dir, ocr=ocr, device=device, layout=layout, trace=True
        )
        _refuse_inside(gt_dir, output, words_dir)
        old = _read_old(against)
        truths = _select(gt_dir, sources, ids_file, limit, all_tables)
        made_with = {name: value if value is None else str(value) for name, value in asdict(settings).items()}
        storage = Storage(output / "predictions", resume, made_with, words_dir / ocr if words_dir else None)
        cases, interrupted = _run(truths, _make_recognizer(settings), storage, jobs)
        _report(cases, made_with, output, worst, old, interrupted, errors)
    except TablerecError as error:
        raise click.ClickException(str(error)) from error
    if interrupted:
        sys.exit(130)
    if any(case.prediction.error for case in cases):
        sys.exit(1)


def select(
    truths: Sequence[Truth], sources: Sequence[str] = (), ids: Sequence[str] = (), *, flawed: bool = False
) -> list[Truth]:
    """Return the tables of these sources and ids (all where empty); the flawed ones only when asked.

    Raises:
        SettingsError: A source or an id that no table has.
    """
    _check_known("source", sources, {truth.source for truth in truths})
    _check_known("id", ids, {truth.id for truth in truths})
    return [
        truth
        for truth in truths
        if (not sources or truth.source in sources) and (not ids or truth.id in ids) and (flawed or not truth.flawed)
    ]


def spread(truths: Sequence[Truth], limit: int | None) -> list[Truth]:
    """Return at most ``limit`` tables, evenly spread over the list.

    >>> spread(range(10), 3)
    [0, 3, 6]
    """
    count = len(truths) if limit is None else min(limit, len(truths))
    return [truths[index * len(truths) // count] for index in range(count)]


def _check_known(name: str, asked: Sequence[str], known: set[str]) -> None:
    unknown = [value for value in asked if value not in known]
    if unknown:
        near = get_close_matches(unknown[0], known, 3, 0.3)
        hint = f"; close are {', '.join(near)}" if near else ""
        raise SettingsError(f"{name} {unknown[0]!r} is in no truth ({len(unknown)} of {len(asked)} unknown){hint}")


def _refuse_inside(gt_dir: Path, *folders: Path | None) -> None:
    for folder in folders:
        # Unlike ``resolve``, ``realpath`` bears a link to itself.
        if folder and Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(gt_dir)):
            raise SettingsError(
                f"{folder} lies in {gt_dir}, where its JSON would count as truth; choose another folder"
            )


def _select(
    gt_dir: Path, sources: Sequence[str], ids_file: Path | None, limit: int | None, all_tables: bool
) -> list[Truth]:
    from tablerec.evaluate.truth import find_truths

    found = find_truths(gt_dir)
    asked = select(found, sources, _read_ids(ids_file) if ids_file else (), flawed=True)
    kept = select(asked, flawed=all_tables)
    if len(kept) < len(asked):
        click.echo(f"left out for flawed truth: {len(asked) - len(kept)} (--all-tables keeps them)", err=True)
    if not kept:
        raise InputError(f"{gt_dir}: no table left to score")
    return spread(kept, limit)


def _read_ids(path: Path) -> tuple[str, ...]:
    try:
        ids = tuple(path.read_text(encoding="utf-8").split())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text in UTF-8 ({error})") from error
    if not ids:
        raise InputError(f"{path}: holds no ids; write one a line")
    return ids


def _make_recognizer(settings: Settings) -> RecognizesTables:
    from tablerec.pipeline import Recognizer

    return Recognizer(settings)


def _run(truths: Sequence[Truth], recognizer: RecognizesTables, storage: Storage, jobs: int) -> tuple[list[Case], bool]:
    from tablerec.evaluate.runner import evaluate

    cases: list[Case] = []
    try:
        with click.progressbar(length=len(truths), label="Tables", file=sys.stderr) as bar:
            for case in evaluate(truths, recognizer, storage, jobs=jobs):
                cases.append(case)
                bar.update(1)
    except KeyboardInterrupt:
        click.echo(f"Stopped: {len(cases)} of {len(truths)} tables are scored; --resume goes on from here", err=True)
        return cases, True
    return cases, False


def _report(
    cases: Sequence[Case],
    made_with: dict[str, Any],
    output: Path,
    worst: int,
    old: list[Entry],
    interrupted: bool,
    errors: bool,
) -> None:
    from tablerec.evaluate.files import write_json, write_text
    from tablerec.evaluate.reporting.compare import compare, format_comparison
    from tablerec.evaluate.reporting.page import worst_page
    from tablerec.evaluate.reporting.report import format_summary, to_report
    from tablerec.inputs.images import display_name

    report = to_report(cases, made_with, interrupted=interrupted)
    click.echo(format_summary(report["sources"]))
    if old:
        click.echo("\nchange over the tables in both runs:\n" + format_comparison(compare(old, report["tables"])))
    if errors:
        report["errors"] = _report_errors(cases, output / "errors.png", worst)
    write_json(output / "results.json", report)
    write_text(output / "worst.html", worst_page(cases, worst, report["sources"]))
    click.echo(f"wrote {output / 'results.json'} and {output / 'worst.html'}", err=True)
    failed = [case.prediction for case in cases if case.prediction.error]
    if failed:
        first = display_name(f"{failed[0].id}: {failed[0].error}")
        click.echo(f"failed: {len(failed)}, the first: {first}", err=True)


def _report_errors(cases: Sequence[Case], picture: Path, worst: int) -> dict[str, Any]:
    import cv2

    from tablerec.evaluate.reporting.error_report import case_errors, error_sheet, format_errors, summarize_errors
    from tablerec.outputs.files import atomic_file

    known = [found for case in cases if (found := case_errors(case))]
    if len(known) < len(cases):
        click.echo(f"errors: {len(cases) - len(known)} tables left out, whose boxes do not outline cells", err=True)
    summary = summarize_errors(known)
    click.echo("\n" + format_errors(summary))
    if (sheet := error_sheet(cases, worst)) is not None:
        with atomic_file(picture) as file:
            file.write(cv2.imencode(".png", sheet)[1].tobytes())
        click.echo(f"wrote {picture}", err=True)
    return summary


def _read_old(path: Path | None) -> list[Entry]:
    from tablerec.evaluate.reporting.report import read_report

    return read_report(path) if path else []
