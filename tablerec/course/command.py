"""``tablerec lab``."""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tablerec.errors import InputError, MissingDependencyError, SettingsError

_ARGUMENTS = (
    "--ServerApp.ip=127.0.0.1",
    "--allow-root",  # usual in containers; the page is for this machine, with a token
    # JupyterLab asks the network for these.
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
)

_NEWS = "@jupyterlab/apputils-extension:announcements"


@click.command("lab")
@click.argument("folder", type=click.Path(file_okay=False, writable=True, path_type=Path), default=Path("tablerec-lab"))
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port of the web page.  [default: 8888, or the next free one]"
)
@click.option(
    "--language",
    type=click.Choice(["en", "zh"]),
    default="en",
    show_default=True,
    help="Of the first notebook: English or Chinese; both are in the folder.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option("--run", is_flag=True, help="Open nothing: execute all notebooks into FOLDER/executed (half an hour).")
def command(folder: Path, port: int | None, language: str, no_browser: bool, run: bool) -> None:
    """Open the course in JupyterLab: a copy of the notebooks and samples in FOLDER (tablerec-lab).

    Start it again to continue: what was changed in FOLDER stays as it is, and newer versions of
    changed notebooks are written beside them.
    """
    from tablerec.course import copy_course
    from tablerec.inputs.images import display_name

    if importlib.util.find_spec("jupyterlab") is None:
        raise MissingDependencyError('tablerec lab needs JupyterLab: run pip install "tablerec[lab]"')
    if port is not None:
        _check_port(port)
    copied = copy_course(folder)
    click.echo(
        f"the course is in {display_name(str(folder))}: {len(copied.new)} new files, {len(copied.renewed)} renewed"
    )
    for path in copied.beside:
        click.echo(f"Note: you changed an older version, so the newer one is in {path}", err=True)
    if run:
        _run(folder)
        return
    first = "notebooks/zh/00_tour.ipynb" if language == "zh" else "notebooks/00_tour.ipynb"
    options = [f"--ServerApp.root_dir={folder.resolve()}", f"--LabApp.default_url=/lab/tree/{first}"]
    options += [f"--port={port}"] if port else []
    options += ["--no-browser"] if no_browser else []
    _serve([*_ARGUMENTS, *options])


def _run(folder: Path) -> None:
    """Execute all notebooks; one line tells what became of each."""
    from tablerec.course.run import run_notebooks

    n_failed = 0
    for run in run_notebooks(folder / "notebooks", folder / "executed", _show_cell):
        _clear_line()
        n_failed += bool(run.error)
        outcome = f"skipped: {run.skipped}" if run.skipped else f"{run.seconds:.0f} s"
        click.echo(f"{run.name}: {run.error or outcome}", err=bool(run.error))
    if n_failed:
        raise InputError(f"{folder / 'executed'}: notebooks that failed: {n_failed}; open them there to see where")


def _show_cell(name: str, number: int, count: int) -> None:
    if sys.stderr.isatty():
        _clear_line()
        click.echo(f"{name}: cell {number} of {count}", err=True, nl=False)


def _clear_line() -> None:
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)


def _serve(arguments: Sequence[str]) -> None:
    from jupyterlab.labapp import LabApp

    from tablerec.course.run import QUIET

    os.environ.update({**QUIET, **os.environ})  # kernels inherit it
    server = LabApp.initialize_server(list(arguments))
    server.web_app.settings["page_config_hook"] = _without_news
    server.start()


def _without_news(handler: object, page: dict[str, Any]) -> dict[str, Any]:
    """Leave out the question whether news may be fetched, which JupyterLab asks even where it can fetch none."""
    return {**page, "disabledExtensions": [*page.get("disabledExtensions", ()), _NEWS]}


def _check_port(port: int) -> None:
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
    except OSError as error:
        raise SettingsError(
            f"--port {port}: cannot be used ({error.strerror}); choose another, or leave it out"
        ) from error
