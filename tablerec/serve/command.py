"""``tablerec serve``."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

import click

from tablerec.config import Settings
from tablerec.errors import MissingDependencyError, SettingsError
from tablerec.serve.limits import ServerLimits

VARIABLE = "TABLEREC_TOKEN"
"""Holds tokens, with blanks between them."""

_LIMITS = ServerLimits()
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


def _limit(option: str, help: str, name: str | None = None) -> Any:
    name = name or option.removeprefix("--").replace("-", "_")
    default = getattr(_LIMITS, name)
    is_whole = ServerLimits.__dataclass_fields__[name].type == "int"
    kind = click.IntRange(min=1) if is_whole else click.FloatRange(0, min_open=True)
    return click.option(option, name, type=kind, default=default, show_default=default is not None, help=help)


@click.command("serve", context_settings={"max_content_width": 100})
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to bind to; others need a token.")
@click.option("--port", type=click.IntRange(0, 65535), default=8600, show_default=True, help="0 takes a free one.")
@click.option("--jobs", default="auto", show_default=True, metavar="N|auto", help="Pages read at the same time.")
@click.option(
    "--token",
    "tokens",
    multiple=True,
    metavar="TEXT",
    help=f"One that clients must send; may be repeated. The variable {VARIABLE} is safer: others on the machine can "
    "see the options of a command.",
)
@click.option(
    "--token-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="File with one on each line."
)
@click.option("--open", "is_open", is_flag=True, help="Bind to any address without a token.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="Name by which clients know it; * is any.")
@click.option("--cors", "origins", multiple=True, metavar="ORIGIN", help="Site whose pages may ask, or *.")
@click.option("--detector", default=None, metavar="NAME", help="As for tablerec; requests may choose others.")
@click.option("--detector-dir", type=_FOLDER, help="Folder with other weights for CellNet.")
@click.option("--ocr", "ocr", default=None, metavar="NAME", help="As for tablerec; requests may choose others.")
@click.option("--ocr-dir", type=_FOLDER, help="Folder with other weights for LineNet, which reads lines of text.")
@click.option("--device", default=None, metavar="NAME", help="As for tablerec.")
@click.option("--jobs-dir", type=_FOLDER, help="Where bodies and results are kept.  [default: the system's]")
@_limit("--body-megabytes", "Size of a request.")
@_limit("--files", "In a request.")
@_limit("--pages", "In a request; longer ones are jobs.")
@_limit("--job-pages", "In a job.")
@_limit("--waiting-pages", "Of all requests together; more are answered with 429.")
@_limit("--megapixels", "Of a picture.")
@_limit("--draw-seconds", "For drawing a page of a PDF.")
@_limit("--draw-gibibytes", "Memory for drawing it.")
@_limit("--page-seconds", "For a page.")
@_limit("--page-gibibytes", "Memory of what reads a page.  [default: any]")
@_limit("--document-seconds", "For a request.")
@_limit("--job-seconds", "For a job.")
@_limit("--connections", "At the same time.")
@_limit("--kept-jobs", "Jobs at the same time, finished ones included.")
@_limit("--job-minutes", "For which a finished job is kept.")
@_limit("--grace", "Seconds to finish running requests after SIGTERM.", "grace_seconds")
@click.option("--quiet", is_flag=True, help="No line for each request.")
def command(
    host: str,
    port: int,
    jobs: str,
    tokens: tuple[str, ...],
    token_file: Path | None,
    is_open: bool,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    detector: str | None,
    detector_dir: Path | None,
    ocr: str | None,
    ocr_dir: Path | None,
    device: str | None,
    jobs_dir: Path | None,
    quiet: bool,
    **limits: Any,
) -> None:
    """Serve: pictures and documents are sent in over HTTP, tables come back.

    A page for people is at /, the addresses for programs are described at /docs.
    """
    try:
        from tablerec.serve.app import TableServer
        from tablerec.serve.server import Server, bind
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "tablerec":
            raise
        raise MissingDependencyError(f'serve needs {error.name}; run: pip install "tablerec[serve]"') from error
    from tablerec.engine import Engine, Limits
    from tablerec.serve.guards import Access, Tokens, is_loopback

    secrets = Tokens(read_tokens(tokens, token_file))
    if not (secrets or is_open or is_loopback(host)):
        raise SettingsError(
            f"--host {host}: others could use this server: give it a token by {VARIABLE}, --token-file or --token, or "
            "say --open"
        )
    bounds = ServerLimits(**limits)
    chosen = {"detector": detector, "detector_dir": detector_dir, "ocr": ocr, "ocr_dir": ocr_dir, "device": device}
    settings = Settings(**{name: value for name, value in chosen.items() if value is not None})  # type: ignore[arg-type]
    logging.basicConfig(format="%(asctime)s %(message)s", stream=sys.stderr)
    logging.getLogger("tablerec").setLevel(logging.WARNING if quiet else logging.INFO)
    listening = bind(host, port)
    names = {name.lower() for name in hosts} | ({host.lower()} if host else set())
    with Engine(settings, jobs, Limits(bounds.page_seconds, bounds.page_gibibytes)) as engine:
        parts = TableServer(engine, settings, Access(secrets, sorted(names), origins), bounds, jobs_dir)
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"http://{shown}:{listening.getsockname()[1]}/\nCtrl-C ends it.", err=True)
        Server(parts.app, parts.guard, bounds).run(sockets=[listening])


def read_tokens(given: tuple[str, ...], file: Path | None) -> list[str]:
    """Return the tokens of the command line, the file and the environment.

    Raises:
        SettingsError: The file cannot be read, or holds none.
    """
    found = [*given, *os.environ.get(VARIABLE, "").split()]
    if file is not None:
        try:
            lines = file.read_text(encoding="utf-8").split()
        except (OSError, ValueError) as error:
            raise SettingsError(f"--token-file {file}: cannot be read ({error}); give a text file") from error
        if not lines:
            raise SettingsError(f"--token-file {file}: holds no token: write one on a line")
        found += lines
    return found
