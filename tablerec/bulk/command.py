"""``tablerec batch``."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tablerec.bulk.journal import open_journal
from tablerec.bulk.open import open_batch
from tablerec.bulk.progress import Progress, describe
from tablerec.bulk.results import DEFAULT_FORMATS, Encode, FileResults, ParquetResults, Results
from tablerec.bulk.run import Rules
from tablerec.bulk.sources import find_sources
from tablerec.bulk.state import State
from tablerec.bulk.store import open_store
from tablerec.bulk.summary import summarize, to_lines, write_summary
from tablerec.config import Settings
from tablerec.engine import Limits
from tablerec.errors import InputError, OutputError
from tablerec.inputs.options import document_options, read_password, reading_options, strict_option
from tablerec.outputs.files import FORMATS
from tablerec.usage.exit_codes import DOUBTFUL, FAILED

if TYPE_CHECKING:
    from tablerec.bulk.executor import Executor

_EPILOG = """
\b
Examples:
  tablerec batch scans/ -o store/                  each page as HTML and JSON, below store/tables/
  tablerec batch --list pages.txt -o store/ --as parquet
  tablerec batch s3://bucket/scans/ -o s3://bucket/tables/
  tablerec batch s3://bucket/scans/ -o s3://bucket/tables/ --engine ray --address 10.0.0.7:6379
  tablerec batch --status store/                   its progress, also while it runs

The same command continues where it was stopped, by Ctrl-C or kill -9. Inputs are identified by their content: equal
files are read once, changed ones again. Exit code: 0 if all pages are read; 1 if some failed; 2 for wrong usage;
3 if --strict found doubtful tables; 130 after Ctrl-C.
"""


@click.command("batch", epilog=_EPILOG, no_args_is_help=True)
@click.argument("sources", nargs=-1, metavar="SOURCE...")
@click.option("-o", "--output", metavar="STORE", help="Folder or URL for tables, journal and summary.")
@click.option(
    "--list",
    "lists",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with the path or URL of an input on each line; best for very many. May be repeated.",
)
@click.option("--recursive", is_flag=True, help="Also read the folders inside a folder.")
@click.option(
    "--as",
    "kind",
    type=click.Choice(["files", "parquet"]),
    help="files: files for each page; parquet: one dataset with a row for each table.  [default: files]",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(FORMATS[:-1]),
    help="Of files; may be repeated.  [default: html, json]",
)
@click.option("--jobs", default="auto", show_default=True, metavar="N|auto", help="Pages read at the same time.")
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="ray: on the nodes of a Ray cluster; needs the extra ray.",
)
@click.option(
    "--address",
    metavar="HOST:PORT",
    help="Of the cluster; auto for one that runs on this machine.  [default: $RAY_ADDRESS, else Ray is started here]",
)
@click.option(
    "--tries",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="How often a page is tried if it exceeds a limit or its process dies.",
)
@click.option(
    "--page-seconds",
    type=click.FloatRange(0, min_open=True),
    default=300.0,
    show_default=True,
    help="Time for a page.",
)
@click.option(
    "--page-memory", type=click.FloatRange(0, min_open=True), metavar="GIB", help="Memory for a page, in GiB."
)
@click.option("--retry-failed", is_flag=True, help="Try once more what failed before.")
@click.option(
    "--max-megabytes",
    type=click.FloatRange(0, min_open=True),
    default=1024.0,
    show_default=True,
    help="Larger inputs on the network are refused.",
)
@click.option("--status", metavar="STORE", help="Print the progress of a batch, and read nothing.")
@strict_option
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.9,
    show_default=True,
    help="Score below which a table is doubtful.",
)
@click.option("--quiet", is_flag=True, help="Print failures only.")
@reading_options
@document_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    sources: tuple[str, ...],
    output: str | None,
    lists: tuple[Path, ...],
    recursive: bool,
    kind: str | None,
    formats: tuple[str, ...],
    jobs: str,
    engine: str,
    address: str | None,
    tries: int,
    page_seconds: float,
    page_memory: float | None,
    retry_failed: bool,
    max_megabytes: float,
    status: str | None,
    strict: bool,
    min_confidence: float,
    quiet: bool,
    **options: Any,
) -> None:
    """Read the tables in very many pictures and PDFs; continue after any interruption.

    SOURCE is a file, a folder, a glob, or a URL of fsspec (s3://, gs://, hdfs://; needs the extra batch). STORE keeps
    the tables, a journal of what is done, and summary.html.
    """
    if status is not None:
        if sources or lists or output:
            raise click.UsageError("--status STORE stands alone: it reads nothing")
        show_status(status, min_confidence)
        return
    if output is None:
        raise click.UsageError("give the store: -o FOLDER or -o URL")
    if not (sources or lists):
        raise click.UsageError("give what is to be read: files, folders, globs, URLs, or --list FILE")
    if address and engine != "ray":
        raise click.UsageError("--address is for --engine ray")
    if kind == "parquet" and formats:
        raise click.UsageError("--format is for files: leave it out with --as parquet")
    settings = _to_settings(options, sources)
    results: Results = ParquetResults() if kind == "parquet" else FileResults(formats or DEFAULT_FORMATS)
    rules = Rules(tries, int(max_megabytes * 1e6), min_confidence if strict else None)
    find = partial(find_sources, sources, lists, recursive)
    store = open_store(output)
    with _as_ctrl_c(signal.SIGTERM), open_batch(store, settings, results, min_confidence) as batch:
        state = batch.state
        if retry_failed:
            state.retry_failed()
        failed_before = bool(state.failed) and not retry_failed
        progress = Progress(quiet, partial(find, on_error=lambda name, error: None), batch.write_summary)
        try:
            limits = Limits(page_seconds, page_memory)
            with make_executor(settings, jobs, limits, engine, address, results.encode) as executor:
                batch.run(executor, progress, find, rules)
        except KeyboardInterrupt:
            progress.end()
            click.echo("\nwhat was read is kept: the same command goes on", err=True)
            raise
        finally:
            progress.end()
    if not quiet:
        click.echo(f"{store.name}: {describe(state)}", err=True)
        if failed_before and state.failed:
            click.echo("--retry-failed tries once more what failed before", err=True)
    if state.n_failures or progress.n_errors:
        ctx.exit(FAILED)
    if strict and state.sums.doubtful:
        ctx.exit(DOUBTFUL)


def show_status(place: str, min_confidence: float) -> None:
    """Say how far a batch is, by its journal, and write its summary anew.

    Raises:
        InputError: There is no store at this place.
    """
    store = open_store(place)
    journal = open_journal(store)
    state = State(min_confidence).load(journal.records())
    if state.header is None:
        raise InputError(f"{store.name}: no store of tablerec batch; check the name")
    summary = summarize(state)
    click.echo(to_lines(state, summary))
    with suppress(OutputError):
        write_summary(store, summary)


def _to_settings(options: dict[str, Any], sources: Sequence[str]) -> Settings:
    options["password"] = read_password(options["password"], sources)
    return Settings(**{name: value for name, value in options.items() if value is not None})


@contextmanager
def make_executor(
    settings: Settings,
    jobs: str,
    limits: Limits,
    engine: str = "local",
    address: str | None = None,
    encode: Encode | None = None,
) -> Iterator[Executor]:
    """Start what reads the pages and makes of them what ``encode`` says, and end it; ``address`` is for a cluster."""
    if engine == "ray":
        from tablerec.bulk.ray.executor import ray_executor

        # Ray tells of its own on standard output, dozens of lines for a node that is lost.
        with (
            open(os.devnull, "w") as nowhere,
            redirect_stdout(nowhere),
            ray_executor(settings, jobs, limits, address, encode) as there,
        ):
            yield there
        return
    from tablerec.bulk.executor import LocalExecutor
    from tablerec.engine import Engine

    with Engine(settings, jobs, limits) as workers:
        yield LocalExecutor(workers, encode)


@contextmanager
def _as_ctrl_c(number: signal.Signals) -> Iterator[None]:
    """Stop at another signal as at Ctrl-C: what stops jobs of a cluster sends it before it kills."""
    try:
        before = signal.signal(number, signal.default_int_handler)
    except ValueError:  # not in the main thread, as in tests
        yield
        return
    try:
        yield
    finally:
        signal.signal(number, before)
