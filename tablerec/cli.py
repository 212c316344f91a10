"""The command line: ``tablerec IMAGE...`` and the verbs.

Nothing heavy is imported here before it is needed: ``tablerec --help`` answers at once.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click
from click.exceptions import Abort, Exit

from tablerec.inputs.options import document_options, read_password, reading_options, strict_option
from tablerec.inputs.passwords import AskOnce, has_terminal
from tablerec.outputs.streams import guard_streams
from tablerec.usage.exit_codes import DOUBTFUL, FAILED, INTERRUPTED, WRONG_USAGE, describe_exit_codes
from tablerec.usage.verbs import VERBS, ask_about, close_to

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from tablerec.batch import Ahead, Target
    from tablerec.config import Settings

FORMATS = ("html", "xlsx", "csv", "md", "json", "tex")

_WIDTH = 100
_HELP = ("-h", "--help")
_OF_CLICK = (Abort, Exit, click.ClickException, BrokenPipeError)
"""What click ends the program with by itself."""

_EPILOG = """
\b
Examples:
  tablerec scan.png                      writes scan.html and scan.xlsx beside it
  tablerec scan.pdf -o tables.xlsx       all pages, a sheet for each table
  tablerec report.pdf --pages 2-4,9      some of them
  tablerec scans/ -o out/ --format csv   a whole folder
  cat scan.png | tablerec - --json       data on standard output

\b
Verbs:
  tablerec demo          see it work: a sample, its cells over the picture, and the workbook, in the browser
  tablerec batch SOURCES very many inputs: continues after any interruption; also s3:// and Parquet
  tablerec device list   devices: list, build, doctor, trace, coverage, parity, bench
  tablerec eval GT_DIR   score recognition against labelled tables
  tablerec labels check  check, convert and propose labels of cells
  tablerec review FOLDER correct tables in the browser: workbooks, and labels to train on
  tablerec serve         a web server of your own: a page for people, an HTTP interface for programs
  tablerec lab           the course: notebooks and samples, opened in JupyterLab
  tablerec synth RECIPE  draw tables with exact truth, for training and tests
  tablerec train CONFIG  train a cell detector or the line reader; continues an interrupted training
  tablerec tune CONFIG   find settings for train within a limit of memory and time
  tablerec export FILE   make a trained network ready for recognition
  tablerec weights       inspect and convert files of weights, also PyTorch's: inspect, convert
  tablerec models list   models for recognition: list, fetch (the one verb that downloads), verify

\b
More:
  tablerec help VERB        what a verb does, and its options; also help labels check
  tablerec help exit-codes  0 done, 1 something failed, 2 wrong usage, 3 doubtful with --strict, 130 Ctrl-C
  tablerec completion bash  completion with the Tab key for bash, zsh or fish
"""


_EXIT_CODES = "exit-codes"

_GROUPS = {
    "How pictures are read": "detector ocr layout turn seals text_layer pages password join_pages cell_pictures "
    "recursive",
    "What is written": "output formats as_json overlay trace_dir strict min_confidence mark_doubtful quiet timing",
    "Models": "models_dir detector_dir ocr_dir layout_model unwarp device engine jobs",
}
"""Options by heading of ``--help``; others come last."""


class _Main(click.Command):
    """The default command, which hands over to a verb where the first argument is one."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records = {
            param.name: param.get_help_record(ctx) for param in self.get_params(ctx) if isinstance(param, click.Option)
        }
        groups = {heading: [records.pop(name) for name in names.split()] for heading, names in _GROUPS.items()}
        for heading, group in [*groups.items(), ("Others", list(records.values()))]:
            with formatter.section(heading):
                formatter.write_dl([record for record in group if record])

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _told():
            if args and args[0] in VERBS:
                verb, *rest = args
                extra = {"help_option_names": _HELP, "max_content_width": _WIDTH, **extra}
                return _load(VERBS[verb]).make_context(f"{info_name} {verb}", rest, parent, **extra)
            if args and not extra.get("resilient_parsing"):
                _refuse_no_verb(args[0])
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _told():
            return super().invoke(ctx) if ctx.command is self else ctx.command.invoke(ctx)


@contextmanager
def _told() -> Iterator[None]:
    """End with a line and an exit code where the block is interrupted or raises an error of ours."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("\nstopped", err=True)
        raise Exit(INTERRUPTED) from None
    except Exception as error:
        from tablerec.errors import SettingsError, TablerecError

        ours = isinstance(error, TablerecError)
        if isinstance(error, _OF_CLICK) or (not ours and os.environ.get("TABLEREC_DEBUG")):
            raise
        from tablerec.batch import describe_fault

        click.echo(f"Error: {error if ours else describe_fault(error)}", err=True)
        raise Exit(WRONG_USAGE if isinstance(error, SettingsError) else FAILED) from None


def _refuse_no_verb(word: str) -> None:
    if said := ask_about(word):
        from tablerec.inputs.images import display_name

        raise click.UsageError(display_name(said))


def _load(target: str) -> click.Command:
    module, name = target.split(":")
    loaded: click.Command = getattr(import_module(module), name)
    return loaded


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    verbs = [] if ctx.params.get(param.name or "") else [verb for verb in VERBS if verb.startswith(incomplete)]
    # Files first: in bash they take the place of all that comes before them.
    return [CompletionItem(incomplete, type="file"), *map(CompletionItem, verbs)]


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from tablerec import __version__

        click.echo(f"tablerec {__version__}")
        ctx.exit()


@click.command(
    "tablerec",
    cls=_Main,
    epilog=_EPILOG,
    no_args_is_help=True,
    context_settings={"help_option_names": _HELP, "max_content_width": _WIDTH},
)
@click.argument("inputs", nargs=-1, required=True, metavar="IMAGE...", shell_complete=_complete)
@click.option("-o", "--output", metavar="FILE|DIR/", help="File (its suffix is the format) or folder to write to.")
@click.option(
    "--format", "formats", multiple=True, type=click.Choice(FORMATS), help="May be repeated.  [default: html, xlsx]"
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print a line of JSON for each input; files only with -o, --format."
)
@click.option("--overlay", is_flag=True, help="Also write IMAGE.overlay.png: the cells drawn over the picture.")
@click.option(
    "--trace",
    "trace_dir",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Also write DIR/IMAGE_pPAGE.trace.png: every stage, to see where a table went wrong.",
)
@strict_option
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.9,
    show_default=True,
    help="Score below which --strict lists a table and --mark-doubtful marks a cell.",
)
@click.option("--mark-doubtful", is_flag=True, help="Mark the cells with a low score in HTML and XLSX.")
@reading_options
@click.option(
    "--jobs",
    default="1",
    metavar="N|auto",
    show_default=True,
    help="Pages that are read at the same time, each in its own process; auto: as CPUs and memory allow.",
)
@click.option(
    "--engine",
    metavar="NAME",
    help="What runs PaddleX models: paddle_static, paddle_dynamic, transformers, onnxruntime or hpi.",
)
@document_options
@click.option("--join-pages", is_flag=True, help="Join tables that continue over several pages of a document.")
@click.option("--recursive", is_flag=True, help="Also read the folders inside a folder.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
@click.option("--timing", is_flag=True, help="Print the seconds by stage.")
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Print the version."
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    inputs: tuple[str, ...],
    output: str | None,
    formats: tuple[str, ...],
    as_json: bool,
    overlay: bool,
    recursive: bool,
    quiet: bool,
    timing: bool,
    jobs: str,
    trace_dir: Path | None,
    strict: bool,
    min_confidence: float,
    mark_doubtful: bool,
    **options: Any,
) -> None:
    """Read the tables in pictures and PDFs, and write them as HTML and Excel.

    IMAGE is a PNG, JPEG, TIFF, WebP, BMP, GIF, AVIF, HEIC or PDF file, a folder, a glob, or - for
    standard input. Files are written beside the input unless -o says otherwise.
    """
    import logging

    from tablerec.batch import Batch, Console, Totals, count, to_target
    from tablerec.config import Settings
    from tablerec.inputs.images import expand_inputs

    _refuse_no_verb(inputs[0])
    totals, console = Totals(), Console(quiet, as_json)
    options["password"] = read_password(options["password"], inputs)
    given = {name: value for name, value in options.items() if value is not None}
    settings = Settings(**given, trace=trace_dir is not None)
    if quiet:
        logger = logging.getLogger("tablerec")
        ctx.call_on_close(partial(logger.setLevel, logger.level))
        logger.setLevel(logging.ERROR)
    sources = expand_inputs(inputs, recursive, on_error=lambda error: console.error(str(error)))
    target = replace(
        to_target(output, formats, overlay, as_json, len(sources)),
        mark_below=min_confidence if mark_doubtful else None,
        traces=trace_dir,
    )
    if sources:
        least = min_confidence if strict else None
        with ExitStack() as stack:
            reader, ahead = _make_reader(settings, jobs, target, stack)
            batch = Batch(reader, target, console, totals, settings.join_pages, min_confidence=least, ahead=ahead)
            if settings.password is None and not quiet and has_terminal():
                batch.ask_password = AskOnce(reader.use_password)
            batch.run(sources)
    if len(sources) > 1 or console.n_errors > 1:
        failed = f", {count(console.n_errors, 'error')}" if console.n_errors else ""
        doubtful = f", {console.n_doubtful} doubtful" if console.n_doubtful else ""
        console.note(f"{count(len(sources), 'input')}, {count(totals.n_tables, 'table')}{doubtful}{failed}")
    if timing:
        click.echo(totals.timing(), err=True)
    if console.n_errors or console.n_doubtful:
        ctx.exit(FAILED if console.n_errors else DOUBTFUL)


def _complete_verbs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    asked = ctx.params.get("words") or ()
    known = _names_in(asked) if asked else [*VERBS, _EXIT_CODES]
    return [CompletionItem(name) for name in known if name.startswith(incomplete)]


def _names_in(verbs: Sequence[str]) -> list[str]:
    """Return the verbs of a verb."""
    group = _load(VERBS[verbs[0]]) if len(verbs) == 1 and verbs[0] in VERBS else None
    return list(group.commands) if isinstance(group, click.Group) else []


@click.command("help")
@click.argument("words", nargs=-1, metavar="[VERB]...", shell_complete=_complete_verbs)
def help_command(words: tuple[str, ...]) -> None:
    """Say what tablerec or one of its verbs does; exit-codes lists how commands end."""
    if words == (_EXIT_CODES,):
        click.echo(describe_exit_codes())
        return
    if words and words[0] not in VERBS:
        meant = close_to(words[0], [*VERBS, _EXIT_CODES])
        asked = f"did you mean {meant}?" if meant else f"there are {', '.join(VERBS)} and {_EXIT_CODES}"
        raise click.UsageError(f"no verb `{words[0]}`; {asked}")
    command.main([*words, "--help"], "tablerec", standalone_mode=False)


def _make_reader(settings: Settings, jobs: str, target: Target, stack: ExitStack) -> tuple[Any, Ahead | None]:
    """What reads pages, and what does so for several inputs side by side."""
    from tablerec.engine.engine import Engine, each_device, to_jobs
    from tablerec.outputs.files import render_page

    n_jobs = max(to_jobs(jobs, settings), len(each_device(settings.device)))
    if n_jobs > 1:
        finish = None if settings.join_pages else partial(render_page, target.all_formats, target.mark_below)
        engine = stack.enter_context(Engine(settings, n_jobs, keep_pixels=target.has_overlay, finish=finish))
        return engine, engine.ahead
    from tablerec.pipeline import Recognizer

    return Recognizer(settings), None


def main() -> None:
    """Run the command line; file names and texts that a terminal cannot show, or would obey, are escaped."""
    guard_streams()
    warnings.showwarning = _show_warning
    command(prog_name="tablerec")


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print our own notes as a line; those of other packages are not for users."""
    if category is UserWarning and "tablerec" in Path(filename).parts:
        click.echo(f"Note: {message}", err=True)
