"""What a table costs besides the networks: ``python -m tests.benchmarks.throughput.host FOLDER [--count N]``.

A developer script, not a test. One process with one thread reads pictures as a worker beside a card does, and writes
HTML and Excel; the networks are the card's, run on the CPU, and their time is taken out. Prints seconds of the CPU for
a table by stage. With ``--old CHECKOUT`` another checkout reads each picture too, in turns; then the ratio of both is
printed, and the names of pictures whose HTML, JSON or workbook differs.

``--answers DIR`` keeps what the networks answer, so that the next run over the same pictures does without them.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import pickle
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

ROOT = Path(__file__).resolve().parents[3]
FORMATS = ("html", "xlsx", "json")
SUFFIXES = (".png", ".jpg", ".jpeg")


class Answer(TypedDict):
    """What a checkout makes of a picture: its tables, CPU seconds by stage, and what was written as digests."""

    n_tables: int
    seconds: dict[str, float]
    written: dict[str, str]


class Clock:
    """CPU seconds of this process without those spent in its networks."""

    def __init__(self) -> None:
        self.taken_out = 0.0

    def __call__(self) -> float:
        """Seconds until now."""
        return time.process_time() - self.taken_out

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Take out what the block costs."""
        started = time.process_time()
        try:
            yield
        finally:
            self.taken_out += time.process_time() - started


def open_beside(clock: Clock, answers: Path | None) -> Any:
    """Return what opens a network as a worker beside a card sees it; it runs here, and its time is taken out."""
    from tablerec.models.opening.card import NETWORKS, open_batched

    def open_here(file: Any) -> Any:
        how = replace(NETWORKS[file.name], fills_from=None, sizes=(1,))
        opened: list[Any] = []

        def run(images: Any) -> Any:
            with clock.stopped():
                key = hashlib.sha1(f"{file.name} {images.shape} {images.dtype}".encode())
                key.update(images.data if images.flags.c_contiguous else images.tobytes())
                path = answers and answers / f"{key.hexdigest()}.pickle"
                if path and path.is_file():
                    return pickle.loads(path.read_bytes())
                if not opened:
                    opened.append(open_batched(file, how, {}, "CPUExecutionProvider"))
                found = [each.copy() for each in opened[0](images)]
                if path:
                    path.write_bytes(pickle.dumps(found, pickle.HIGHEST_PROTOCOL))
                return found

        return run

    return open_here


def serve(options: argparse.Namespace) -> None:
    """Answer a line of JSON for each path on standard input."""
    import cProfile

    import cv2

    clock = Clock()
    cv2.setNumThreads(1)
    given, time.perf_counter = sys.stdin, clock  # the stages are timed by it
    told, sys.stdout = sys.stdout, sys.stderr
    from tablerec import Recognizer, Settings
    from tablerec.models.opening import open_with
    from tablerec.outputs.files import render_files, result_to_dict

    open_with(open_beside(clock, options.answers))
    recognizer = Recognizer(Settings(layout=options.layout, device="gpu:0"))
    profile = cProfile.Profile(clock) if options.profile else contextlib.nullcontext()
    is_warm = False
    for line in given:
        picture = line.rstrip("\n")
        while True:
            seconds: dict[str, float] = {}
            started = clock()
            with profile if is_warm else contextlib.nullcontext():
                result = recognizer.recognize(picture)
                recognized = clock()
                files = {}
                for format in FORMATS[:2]:
                    before = clock()
                    files[format] = render_files(result, format)
                    seconds[f"write {format}"] = clock() - before
            if is_warm:
                break
            is_warm = True
        for page in result.pages:
            seconds.update(page.seconds)
        seconds["rest"] = (
            recognized - started - sum(page.total() for page in map(Counter, (p.seconds for p in result.pages)))
        )
        written = {format: digest(contents) for format, contents in files.items()}
        plain = result_to_dict(result)
        for each in plain["pages"]:
            del each["seconds"]
        written["json"] = digest([json.dumps(plain, default=float).encode()])
        json.dump(Answer(n_tables=len(result.tables), seconds=seconds, written=written), told)
        told.write("\n")
        told.flush()
    if options.profile:
        profile.dump_stats(options.profile)


def digest(contents: list[bytes]) -> str:
    """What tells files apart; of a workbook all but when it was made."""
    found = hashlib.sha1()
    for content in contents:
        if not content.startswith(b"PK"):
            found.update(content)
            continue
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            for name in file.namelist():
                if name != "docProps/core.xml":
                    found.update(name.encode() + file.read(name))
    return found.hexdigest()


def pictures(folder: Path, count: int | None) -> list[Path]:
    """So many pictures of a folder, spread over it."""
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    return found[:: max(1, len(found) // count)][:count] if count else found


def report(seconds: list[Counter[str]], n_tables: int) -> None:
    """Print the stages, the dearest first."""
    for name, _ in seconds[-1].most_common():
        values = [1000 * each[name] / n_tables for each in seconds]
        print(f"{name:<14}" + "".join(f"{value:10.1f}" for value in values))
    totals = [1000 * each.total() / n_tables for each in seconds]
    ratio = f"   ratio {totals[-1] / totals[0]:.3f}" if len(totals) > 1 else ""
    print(f"{'all':<14}" + "".join(f"{total:10.1f}" for total in totals) + f" ms of the CPU a table{ratio}")


def main() -> None:
    """Measure."""
    description, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--count", type=int, help="of pictures  [all]")
    parser.add_argument("--layout", choices=["table", "page"], default="table")
    parser.add_argument("--old", type=Path, help="a checkout to compare with")
    parser.add_argument("--answers", type=Path, help="folder for what the networks answer")
    parser.add_argument("--profile", type=Path, help="file for a profile of this checkout, see pstats")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options)
        return
    if options.folder is None:
        parser.error("name a folder with pictures")
    if options.answers:
        options.answers.mkdir(parents=True, exist_ok=True)
    # Not above: the other checkout, which runs this file too, may lack it.
    from tests.helpers.checkouts import Checkout

    arguments = ["--serve", "--layout", options.layout]
    arguments += ["--answers", str(options.answers.resolve())] if options.answers else []
    arguments += ["--profile", str(options.profile.resolve())] if options.profile else []
    environment = {"PYTHONHASHSEED": "0"} | {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    folders = [each.resolve() for each in (options.old, ROOT) if each]
    workers = [Checkout(folder, __file__, *arguments, **environment) for folder in folders]
    seconds = [Counter[str]() for _ in workers]
    n_tables = n_different = 0
    paths = pictures(options.folder.resolve(), options.count)
    for path in paths:
        answers: list[Answer] = [worker.ask(str(path)) for worker in workers]
        n_tables += answers[-1]["n_tables"]
        for total, answer in zip(seconds, answers, strict=True):
            total.update(answer["seconds"])
        differs = [form for form in FORMATS if answers[0]["written"][form] != answers[-1]["written"][form]]
        if differs:
            n_different += 1
            print(f"differs: {path.parent.name}/{path.name} ({', '.join(differs)})", flush=True)
    for worker in workers:
        worker.close()
    print(f"{len(paths)} pictures, {n_tables} tables" + (f", {n_different} written otherwise" if options.old else ""))
    if n_tables:
        report(seconds, n_tables)


if __name__ == "__main__":
    main()
