"""Many inputs, one after another: names of the outputs, messages, and errors that stop nothing else."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, Protocol

import click

from postprocess.word import UNREAD
from tablerec.errors import (
    MissingDependencyError,
    ModelNotFoundError,
    OutputError,
    PasswordError,
    SettingsError,
    TablerecError,
)
from tablerec.inputs.images import OVERLAY_SUFFIX, display_name, source_name
from tablerec.outputs.files import (
    SUFFIX_TO_FORMAT,
    atomic_file,
    check_folder,
    output_paths,
    path_to_format,
    result_to_json,
    save,
)
from tablerec.outputs.streams import StandardOutputError
from tablerec.result import Page, Result, without_pixels

DEFAULT_FORMATS = ("html", "xlsx")
ALIKE = (BrokenPipeError, MissingDependencyError, ModelNotFoundError, SettingsError, StandardOutputError)
"""Errors that every other input would meet as well, so that they end the batch."""

_MOST_SEALS = 5
"""Named in a line."""

Input = str | BinaryIO


GetPages = Callable[[], Iterator[Page]]
Ahead = Callable[[Iterable[Input]], Iterator[tuple[Input, GetPages]]]


class Recognizes(Protocol):
    """What a batch needs: the interface of ``tablerec.pipeline.Recognizer``."""

    def pages(self, source: Input, /) -> Iterator[Page]:
        """Yield the pages of one input with their tables."""


@dataclass(frozen=True)
class Target:
    """Where results go: into ``file``, or under names made from the inputs, in ``folder`` or beside the inputs."""

    formats: tuple[str, ...] = DEFAULT_FORMATS
    file: Path | None = None
    folder: Path | None = None
    overlay: bool = False
    mark_below: float | None = None
    """Cells less sure than this are marked in HTML and workbooks; None marks none."""
    traces: Path | None = None
    """Folder for a picture of every stage of each page."""

    @property
    def has_overlay(self) -> bool:
        """Whether the pictures are needed to the end."""
        return self.overlay or (self.file is not None and path_to_format(self.file) == "overlay")

    @property
    def all_formats(self) -> tuple[str, ...]:
        """What is written of each input.

        >>> Target(("md",), overlay=True).all_formats, Target((), file=Path("a.htm")).all_formats
        (('md', 'overlay'), ('html',))
        """
        return tuple(format for _, format in self.names(""))

    def names(self, source: Input, extra: str = "") -> list[tuple[Path, str]]:
        """Return path and format of everything to write for one input; ``extra`` goes behind the stem.

        >>> [(path.name, format) for path, format in Target(overlay=True).names("a/b.png")]
        [('b.html', 'html'), ('b.xlsx', 'xlsx'), ('b.overlay.png', 'overlay')]
        """
        path = self.file or (Path(source) if isinstance(source, str) else Path("stdin"))
        folder = self.folder if self.folder is not None else path.parent
        base = path.stem + extra
        names = [(folder / f"{base}.{format}", format) for format in self.formats]
        if self.file is not None:
            names.append((folder / (base + self.file.suffix), path_to_format(self.file)))
        if self.overlay:
            names.append((folder / (base + OVERLAY_SUFFIX), "overlay"))
        return names


def to_target(output: str | None, formats: Sequence[str], overlay: bool, as_json: bool, n_inputs: int) -> Target:
    """Read ``-o`` and ``--format``.

    Raises:
        click.UsageError: They contradict each other, or one file is named for several inputs.
    """
    chosen = tuple(dict.fromkeys(formats))
    if output is None:
        return Target(chosen or (() if as_json else DEFAULT_FORMATS), overlay=overlay)
    if output == "-":
        raise click.UsageError("standard output takes JSON only: use --json in place of -o -")
    path = Path(output)
    if output.endswith(("/", os.sep)) or os.path.isdir(path) or not path.suffix:
        return Target(chosen or DEFAULT_FORMATS, folder=path, overlay=overlay)
    name = display_name(output)
    if path.suffix.lower() not in SUFFIX_TO_FORMAT:
        known = " ".join(SUFFIX_TO_FORMAT)
        raise click.UsageError(
            f"-o {name}: no format has the suffix {path.suffix}; use {known}, or {name}/ for a folder"
        )
    if chosen:
        raise click.UsageError(f"-o {name}: the suffix is the format; leave out --format, or give a folder: -o DIR/")
    if n_inputs > 1:
        raise click.UsageError(f"-o {name}: {n_inputs} inputs do not fit into one file; give a folder: -o DIR/")
    return Target((), file=path, overlay=overlay)


@dataclass
class Console:
    """What the user sees: files written on standard output, unless data goes there; all else on standard error."""

    quiet: bool = False
    as_json: bool = False
    has_bar: bool = False
    n_errors: int = 0
    n_doubtful: int = 0

    def info(self, message: str) -> None:
        """Say what was written."""
        if not self.quiet:
            self._echo(message, err=self.as_json)

    def note(self, message: str) -> None:
        """Say what deserves a look."""
        if not self.quiet:
            self._echo(message, err=True)

    def error(self, message: str) -> None:
        """Say what failed; the exit code remembers it."""
        self.n_errors += 1
        self._echo(f"Error: {message}", err=True)

    def doubt(self, message: str) -> None:
        """Say which table is doubtful; the exit code remembers it."""
        self.n_doubtful += 1
        self._echo(f"Doubtful: {message}", err=True)

    def data(self, content: bytes) -> None:
        """Write to standard output as it is."""
        self._echo(content.removesuffix(b"\n"), err=False)

    def clear_bar(self) -> None:
        """Make the line free for something else."""
        if self.has_bar:
            click.echo("\r\033[K", nl=False, err=True)

    def _echo(self, message: str | bytes, err: bool) -> None:
        self.clear_bar()
        click.echo(message, err=err)


@dataclass
class Totals:
    """Sums over all inputs."""

    started: float = field(default_factory=time.perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)
    n_pages: int = 0
    n_tables: int = 0

    def add(self, result: Result) -> None:
        """Count a result."""
        self.n_pages += len(result.pages)
        self.n_tables += len(result.tables)
        for page in result.pages:
            for stage, seconds in page.seconds.items():
                self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    def timing(self) -> str:
        """Return the seconds by stage, a line each; what no stage claims is start-up and writing."""
        total = time.perf_counter() - self.started
        stages = {**self.seconds, "everything else": max(0.0, total - sum(self.seconds.values()))}
        width = max(map(len, stages))
        rows = [f"{stage:<{width}} {seconds:9.3f} s {seconds / total:5.0%}" for stage, seconds in stages.items()]
        return "\n".join([*rows, f"{'total':<{width}} {total:9.3f} s for {count(self.n_pages, 'page')}"])


@dataclass
class Batch:
    """Recognizes inputs one after another, keeping none of the results.

    Args:
        recognizer: Finds the tables.
        target: Where they go.
        console: Where messages go.
        min_confidence: Tables less sure than this are doubtful; None asks for no such word.
        join_pages: Whether tables that go on over several pages are joined in the files.
        ahead: Yields inputs in their order with what gives their pages, while those behind are recognized, as
            ``Engine.ahead`` does; None recognizes one after another.
        ask_password: Called with the name of a document that wants a password, before it is tried once more; it has
            the recognizer use another one. None leaves it an error.
    """

    recognizer: Recognizes
    target: Target
    console: Console
    totals: Totals = field(default_factory=Totals)
    join_pages: bool = False
    taken: set[str] = field(default_factory=set)
    """Files that must not be overwritten: the inputs and what was written before."""
    min_confidence: float | None = None
    ahead: Ahead | None = None
    ask_password: Callable[[str], object] | None = None
    _stems: Counter[str] = field(default_factory=Counter)

    def run(self, sources: Sequence[Input]) -> None:
        """Read all inputs; the errors of one are reported and the next goes on.

        Raises:
            TablerecError: Only what all inputs would meet alike: a missing model, package or device.
        """
        self.taken.update(_key(Path(source)) for source in sources if isinstance(source, str))
        self._stems = Counter(_stem(source).casefold() for source in sources)
        self.console.has_bar = len(sources) > 1 and not self.console.quiet and sys.stderr.isatty()
        bar = click.progressbar(sources, label="Reading", file=sys.stderr) if self.console.has_bar else None
        with bar or nullcontext(sources) as items:
            for source, pages in self._each(items):
                self._guarded(source, pages)
        self.console.has_bar = False

    def _each(self, sources: Iterable[Input]) -> Iterator[tuple[Input, GetPages]]:
        """Yield the inputs in order with what gives their pages."""
        if self.ahead is not None:
            return self.ahead(sources)
        return ((source, partial(self._pages, source)) for source in sources)

    def _guarded(self, source: Input, pages: GetPages) -> None:
        name = display_name(source_name(source))
        try:
            self._read_or_ask(source, pages, name)
        except ALIKE:
            raise
        except TablerecError as error:
            message = display_name(str(error))
            self.console.error(message if name in message else f"{name}: {message}")
        except Exception as error:
            if os.environ.get("TABLEREC_DEBUG"):
                raise
            self.console.error(f"{name}: {describe_fault(error)}")

    def _read_or_ask(self, source: Input, pages: GetPages, name: str) -> None:
        try:
            self.read(source, pages)
        except PasswordError:
            if self.ask_password is None:
                raise
            self.console.clear_bar()
            self.ask_password(name)
            self.read(source)

    def read(self, source: Input, pages: GetPages | None = None) -> None:
        """Recognize one input, write its files and say so.

        Args:
            source: The input.
            pages: Gives its pages, where they are recognized by others.

        Raises:
            TablerecError: It cannot be read or written.
        """
        self._check_names(self.target.names(source))
        result = self._to_result(source, (pages or partial(self._pages, source))())
        self.totals.add(result)
        if self.console.as_json:
            self.console.data(result_to_json(result))
        name = display_name(source_name(source))
        n_written = self._write(source, result)
        if not result.tables:
            nothing = "" if n_written or self.console.as_json else ", nothing written"
            self.console.info(f"{name}: no table found{nothing}")
        self._note_turns(name, result)
        self._note_seals(name, result)
        self._note_leftovers(name, result)
        self._doubt(name, result)

    def _pages(self, source: Input) -> Iterator[Page]:
        pages = self.recognizer.pages(source)
        return pages if self.target.has_overlay else map(without_pixels, pages)

    def _to_result(self, source: Input, pages: Iterable[Page]) -> Result:
        if self.target.traces is not None:
            pages = (self._save_trace(page, self.target.traces) for page in pages)
        return Result(source_name(source), tuple(pages), self.join_pages)

    def _check_names(self, names: Sequence[tuple[Path, str]]) -> None:
        """Refuse what cannot be written before the work is done, not after."""
        if self.target.traces is not None:
            check_folder(self.target.traces)
        for path, _ in names:
            check_folder(path.parent)
            if self.target.file is not None and _key(path) in self.taken:
                raise OutputError(f"{display_name(str(path))}: is the input itself; give another name with -o")

    def _write(self, source: Input, result: Result) -> int:
        written = 0
        for path, format in self._free_names(source, result):
            for saved in save(result, path, format, mark_below=self.target.mark_below):
                self.taken.add(_key(saved))
                self._say_written(saved, result.source, _shapes(result))
                written += 1
        return written

    def _say_written(self, path: Path, source: str, shapes: str = "") -> None:
        """Say what was written and, where inputs share their stem, of which of them it is."""
        of = f" from {display_name(source)}" if self._stems[Path(source).stem.casefold()] > 1 else ""
        self.console.info(f"wrote {display_name(str(path))}{of}{f' ({shapes})' if shapes else ''}")

    def _save_trace(self, page: Page, folder: Path) -> Page:
        """Write the picture of every stage of a page and let go of it: it holds the page's pixels."""
        if page.trace is not None:
            stem = Path(page.picture.source).stem
            path = next(
                path
                for number in itertools.count(1)
                for path in [folder / f"{stem}{f'_{number}' * (number > 1)}_p{page.picture.number}.trace.png"]
                if _key(path) not in self.taken
            )
            with atomic_file(path) as file:
                file.write(page.trace.sheet()._repr_png_())
            self.taken.add(_key(path))
            self._say_written(path, page.picture.source)
        return replace(page, trace=None)

    def _doubt(self, name: str, result: Result) -> None:
        """Say which tables are less sure than asked for, each with what it is least sure of."""
        tables = [(page, number, table) for page in result.pages for number, table in enumerate(page.tables, 1)]
        for page, number, table in tables:
            sure = table.confidence
            if self.min_confidence is not None and sure is not None and sure.table < self.min_confidence:
                where = f"page {page.picture.number} " if result.has_page_numbers else ""
                self.console.doubt(
                    f"{name}: {where}table {number} has a score of {sure.table:.2f}, "
                    f"below {self.min_confidence:g}: {sure.weakest}"
                )

    def _free_names(self, source: Input, result: Result) -> list[tuple[Path, str]]:
        """Number the names until no input and no other result has them."""
        number = 1
        while True:
            names = self.target.names(source, f"_{number}" if number > 1 else "")
            paths = [path for name, format in names for path in output_paths(result, name, format)]
            if self.taken.isdisjoint(map(_key, paths)):
                return names
            number += 1

    def _note_turns(self, name: str, result: Result) -> None:
        for page in result.pages:
            if page.turn:
                where = f"page {page.picture.number} " if result.has_page_numbers else ""
                self.console.note(
                    f"{name}: {where}turned by {page.turn} degrees clockwise to be read; --turn 0 leaves it as it lies"
                )

    def _note_seals(self, name: str, result: Result) -> None:
        seals = [seal for page in result.pages for seal in page.seals]
        if seals:
            texts = ", ".join(display_name(seal.text) or "not readable" for seal in seals[:_MOST_SEALS])
            more = ", ..." if len(seals) > _MOST_SEALS else ""
            self.console.note(f"{name}: {count(len(seals), 'seal')}, read apart from the print: {texts}{more}")

    def _note_leftovers(self, name: str, result: Result) -> None:
        hint = "" if self.console.as_json else "; --overlay shows them, --json lists them"
        words = [item.reason for page in result.pages for item in page.unplaced]
        if words:
            n_words = max(len(words), sum(len(page.words) for page in result.pages))
            self.console.note(f"{name}: {len(words)} of {count(n_words, 'word')} in no cell ({_most(words)}){hint}")
        self._note_unread(name, result)
        cells = [item.reason for page in result.pages for item in page.dropped]
        if cells:
            self.console.note(f"{name}: {count(len(cells), 'detected cell')} in no table ({_most(cells)}){hint}")

    def _note_unread(self, name: str, result: Result) -> None:
        texts = [word.text for page in result.pages for word in page.words]
        n_unread = sum(UNREAD in text for text in texts)
        if n_unread:
            n_words = count(len(texts), "word")
            self.console.note(f"{name}: {n_unread} of {n_words} found and not read; their cells are marked")


def describe_fault(error: Exception) -> str:
    """Say in a line what went wrong without an error of ours: the system refused something, or it is our fault.

    >>> describe_fault(OSError(28, "No space left on device", "a.log")), describe_fault(MemoryError())
    ('a.log: No space left on device; mend that and try again', 'not enough memory; give it less at once')
    """
    if isinstance(error, OSError) and error.strerror:
        if isinstance(error, FileNotFoundError) and error.filename is None and not _has_working_folder():
            return "the working folder is not there any more; go to another one"
        name = f"{display_name(str(error.filename))}: " if error.filename is not None else ""
        return f"{name}{error.strerror}; mend that and try again"
    if isinstance(error, MemoryError):
        return "not enough memory; give it less at once"
    cause = display_name(f"{type(error).__name__}: {error}")
    return f"a fault of tablerec ({cause}); report it, TABLEREC_DEBUG=1 shows the place"


def _has_working_folder() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def count(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count(1, "table"), count(2, "table")
    ('1 table', '2 tables')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _stem(source: Input) -> str:
    return Path(source_name(source)).stem


def _most(reasons: Sequence[str]) -> str:
    """Return the most frequent reason, and whether there are others."""
    (reason, _), *others = Counter(reasons).most_common()
    return f"{reason}, ..." if others else reason


def _shapes(result: Result) -> str:
    shapes = [f"{table.n_rows} x {table.n_cols}" for table in result.tables]
    if not shapes:
        return "no table"
    return f"{count(len(shapes), 'table')}: {', '.join(shapes[:4])}{', ...' if len(shapes) > 4 else ''}"


def _key(path: Path) -> str:
    # Some file systems take a.html and A.html for the same file.
    return os.path.realpath(path).casefold()
