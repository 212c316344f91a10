"""``tablerec demo``."""

from __future__ import annotations

import os
import sys
import webbrowser
from itertools import islice
from pathlib import Path
from typing import Any

import click

from tablerec.config import Settings
from tablerec.demo.texts import TEXTS, Language, guess_language
from tablerec.inputs.options import document_options, read_password

_MOST_PAGES = 5
"""Of a document, which the page shows."""
_SAMPLES: dict[Language, str] = {"en": "spans", "zh": "chinese"}


@click.command("demo")
@click.argument("picture", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("tablerec-demo"),
    show_default=True,
    help="Folder for the page and the workbook.",
)
@click.option(
    "--language", type=click.Choice(list(TEXTS)), help="Of the page.  [default: that of your environment, or en]"
)
@click.option("--no-browser", is_flag=True, help="Only write the page, and print where it is.")
@document_options
def command(
    picture: str | None,
    output: Path,
    language: Language | None,
    no_browser: bool,
    password: str | None,
    **options: Any,
) -> None:
    """Show in the browser what tablerec does: a picture with its cells, and the workbook beside it.

    PICTURE is a file of your own, or one of the samples: chinese, dark, empty_cells, lineless, multiline, no_table,
    one_cell, photo, rotated, ruled, spans, two_tables. Of a document the first five pages are shown.
    """
    from tablerec.demo.page import result_to_page
    from tablerec.inputs.images import display_name
    from tablerec.outputs.files import atomic_file, check_folder, save
    from tablerec.pipeline import Recognizer
    from tablerec.result import Result

    language = language or guess_language()
    source = find_picture(picture or _SAMPLES[language])
    check_folder(output)
    click.echo(f"reading {display_name(str(source))}")
    # One page more tells whether there are more.
    given = {name: value for name, value in options.items() if value is not None}
    recognizer = Recognizer(Settings(**given, password=read_password(password)))
    pages = list(islice(recognizer.pages(str(source)), _MOST_PAGES + 1))
    result = Result(str(source), tuple(pages[:_MOST_PAGES]))
    written = save(result, output / f"{source.stem}.xlsx")
    page = output / f"{source.stem}.html"
    html = result_to_page(result, next(iter(written), None), language, is_cut=len(pages) > _MOST_PAGES)
    with atomic_file(page) as file:
        file.write(html.encode())
    for table in result.tables:
        sure = "" if table.confidence is None else f", {table.confidence.table:.0%} sure; {table.confidence.weakest}"
        click.echo(f"a table of {table.n_rows} x {table.n_cols}{sure}")
    if not result.tables:
        click.echo("no table found")
    click.echo(f"wrote {' and '.join(display_name(str(path)) for path in (page, *written))}")
    if not no_browser:
        _open(page)


def find_picture(name: str) -> Path:
    """Return the picture that a name means: a file, or else a sample of the package.

    Raises:
        InputError: It is neither.

    >>> find_picture("ruled").name
    'ruled.png'
    """
    from tablerec.course.course import course_root
    from tablerec.errors import InputError
    from tablerec.inputs.images import display_name

    if os.path.exists(name) or Path(name).name != name:
        return Path(name)
    samples = course_root() / "data" / "samples"
    known = {path.stem: path for path in sorted(samples.iterdir()) if path.suffix in (".png", ".jpg")}
    if name not in known:
        raise InputError(f"{display_name(name)}: no such file, nor a sample; the samples are {', '.join(known)}")
    return known[name]


def _open(page: Path) -> None:
    """Show the page where there is a screen; a browser in the terminal would take the terminal."""
    has_screen = not sys.platform.startswith("linux") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    if not (has_screen and webbrowser.open(page.resolve().as_uri())):
        click.echo(f"open the page in a browser: {page.resolve().as_uri()}")
