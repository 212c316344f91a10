"""tablerec and its peers side by side: ``python -m tests.benchmarks.peers.peers DIR``; README.md beside this says more.

A developer script, not a test. DIR holds tables as ``tablerec eval`` takes them. Each peer runs in an environment of
its own, all get the same pictures and the same words, and all HTML is scored alike. Writes ``peers.md`` and
``peers.json``, and keeps each result, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from postprocess.cell import Cell
from postprocess.export.html import MAX_COLSPAN
from tablerec.config import Settings
from tablerec.evaluate.command import select, spread
from tablerec.evaluate.files import read_words, write_json, write_text
from tablerec.evaluate.reporting.report import versions as own_versions
from tablerec.evaluate.runner import predict
from tablerec.evaluate.scores import score
from tablerec.evaluate.truth import Grid, Truth, find_truths, place_as_browser
from tests.benchmarks.peers.process import Adapter, NotInstalledError
from tests.benchmarks.peers.summary import METRICS, OURS, Row, summarize, to_markdown

ROOT = Path(__file__).resolve().parents[3]
ADAPTERS = Path(__file__).resolve().parent / "adapters"


@dataclass(frozen=True, slots=True)
class Peer:
    """Another way from a picture and words to a table.

    Args:
        name: Also the name of its environment and, with ``_adapter.py``, of its script.
        packages: What to install there.
        takes_boxes: Whether it is fed with tablerec's boxes.
    """

    name: str
    packages: str = ""
    takes_boxes: bool = False


PEERS = (
    Peer(OURS),
    Peer("rapid_table", "rapid_table==0.3.0 onnxruntime"),
    Peer("wired_lineless", "wired_table_rec==1.1.10 lineless_table_rec==0.0.9 table_cls==1.1.3"),
    Peer("img2table", "img2table==2.0.0"),
    Peer("camelot", "camelot-py==2.0.0 fpdf2==2.8.9"),
    Peer("paddlex", 'paddlepaddle==3.3.1 "paddlex[ocr]==3.7.2"', takes_boxes=True),
)


class Store:
    """Results by peer and table, one file each.

    Args:
        folder: Where they lie.
        again: Peers whose results of earlier runs do not count.
        rescore: Whether only the scores of earlier runs do not count.
    """

    def __init__(self, folder: Path, again: Iterable[str] = (), *, rescore: bool = False) -> None:
        self.folder, self.again, self.rescore = folder, set(again), rescore

    def read(self, peer: str, name: str) -> dict[str, Any]:
        """Return a result; empty where there is none."""
        path = self._path(peer, name)
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def reuse(self, peer: str, name: str, made_from: str) -> dict[str, Any] | None:
        """Return a result of an earlier run, if it counts and was made from the same input."""
        result = {} if peer in self.again else self.read(peer, name)
        if result.get("made_from") != made_from:
            return None
        return {"answer": result["answer"]} if self.rescore else result

    def write(self, peer: str, name: str, result: Mapping[str, Any]) -> None:
        """Keep a result."""
        write_json(self._path(peer, name), result)

    def _path(self, peer: str, name: str) -> Path:
        return self.folder / peer / f"{name}.json"


def main() -> None:
    """Run the peers, score them, write the table."""
    args = _arguments().parse_args()
    truths = spread(select(find_truths(args.dir), args.source), args.sample)
    adapters, left_out = _make_adapters(args)
    versions, started = _start(adapters, args.environments)
    left_out |= started
    store = Store(args.output / "results", args.again, rescore=args.rescore)
    words = Words(args.words or args.output / "words")
    try:
        rows = list(run(truths, adapters, versions, store, words, args.limit))
        times = measure(spread(truths, args.time), adapters, store, words, args.limit, args.repeats)
    finally:
        for adapter in adapters.values():
            adapter.close()
    rows += [row for folder, name in args.add for row in score_folder(truths, Path(folder), name)]
    rows = add_times(rows, _keep_times(args.output / "times.json", times))
    write_text(args.output / "peers.md", text := to_markdown(rows, left_out, versions))
    write_json(args.output / "peers.json", {
        "versions": {OURS: own_versions()} | versions, "summary": summarize(rows), "left_out": left_out,
        "tables": [asdict(row) for row in rows],
    })  # fmt: skip
    print(text)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=Path, help="folder with tables as JSON, their pictures beside them")
    parser.add_argument("--output", type=Path, default=Path("out/peers"), help="default: out/peers")
    parser.add_argument("--environments", type=Path, default=Path("out/environments"),
                        help="folder with an environment a peer; default: out/environments")  # fmt: skip
    parser.add_argument("--words", type=Path, help="folder of the OCR engine's words, as of `tablerec eval --words`")
    parser.add_argument("--peer", action="append", choices=[peer.name for peer in PEERS], help="only these, and ours")
    parser.add_argument("--source", action="append", default=[], help="only this source; may be repeated")
    parser.add_argument("--sample", type=int, metavar="N", help="only N tables, evenly spread")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a peer has for a picture; default: 60")
    parser.add_argument("--again", action="append", default=[], metavar="PEER", help="forget this peer's results")
    parser.add_argument("--rescore", action="store_true", help="score what is kept anew, after the scores changed")
    parser.add_argument("--add", nargs=2, action="append", default=[], metavar=("FOLDER", "NAME"),
                        help="score the HTML in FOLDER, one file a table, as another peer")  # fmt: skip
    parser.add_argument("--time", type=int, default=0, metavar="N", help="then measure times on N of the tables")
    parser.add_argument("--repeats", type=int, default=3, help="measurements of each picture; default: 3")
    return parser


def _make_adapters(args: argparse.Namespace) -> tuple[dict[str, Adapter], dict[str, str]]:
    """The adapters whose environment is there, and why others are left out."""
    adapters, left_out = {}, {}
    for peer in PEERS:
        python = Path(sys.executable) if peer.name == OURS else args.environments / peer.name / "bin" / "python"
        if args.peer and peer.name not in (OURS, *args.peer):
            continue
        if not python.exists():
            left_out[peer.name] = f"no environment; {how_to_install(peer, args.environments)}"
            continue
        env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
        env |= {"PYTHONPATH": str(ROOT)} if peer.name == OURS else {}
        log = args.output / "logs" / f"{peer.name}.txt"
        adapters[peer.name] = Adapter([str(python), str(ADAPTERS / f"{peer.name}_adapter.py")], env, log)
    return adapters, left_out


def _start(adapters: dict[str, Adapter], environments: Path) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Start the adapters and drop those that lack a package; their versions, and why some are dropped."""
    versions, left_out = {}, {}
    for peer in PEERS:
        if peer.name in adapters:
            try:
                versions[peer.name] = adapters[peer.name].start()
            except NotInstalledError as error:
                del adapters[peer.name]
                left_out[peer.name] = f"{error}; {how_to_install(peer, environments)}"
    return versions, left_out


def how_to_install(peer: Peer, environments: Path) -> str:
    """The commands that make a peer's environment."""
    folder = environments / peer.name
    return f"python3.11 -m venv {folder} && {folder}/bin/pip install {peer.packages}"


class Words:
    """The OCR engine's words: of an earlier run of `tablerec eval --words`, or read now and kept in the same form.

    Args:
        folder: Where they lie.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.recognizer = folder, None

    def of(self, truth: Truth) -> list[dict[str, Any]]:
        """The words of one picture as JSON values."""
        path = self.folder / Settings().ocr / f"{truth.id}.json"
        words = read_words(path)
        if words is None:
            from tablerec.pipeline import Recognizer

            self.recognizer = self.recognizer or Recognizer(Settings(layout="table"))
            failed = predict(truth, self.recognizer, path).error
            words = read_words(path)
            if words is None:
                sys.exit(f"{truth.image}: its words cannot be read ({failed}); no peer could do without")
        return [asdict(word) for word in words]


def run(
    truths: Sequence[Truth],
    adapters: Mapping[str, Adapter],
    versions: Mapping[str, Mapping[str, str]],
    store: Store,
    words: Words,
    limit: float,
) -> Iterable[Row]:
    """Yield a scored row for each table and peer, reusing what is kept."""
    for number, truth in enumerate(truths, 1):
        job = {"image": str(truth.image.resolve()), "words": words.of(truth), "boxes": [], "box_scores": []}
        print(f"\r{number} of {len(truths)}", end="\n" if number == len(truths) else "", file=sys.stderr, flush=True)
        for name, adapter in adapters.items():
            given = for_peer(job, name)
            made_from = _digest({**given, "versions": versions[name]})
            result = store.reuse(name, truth.id, made_from)
            if result is None or "scores" not in result:
                answer = result["answer"] if result else adapter.ask(given, limit)
                result = {"made_from": made_from, "answer": answer, **score_html(truth, answer)}
                store.write(name, truth.id, result)
            if name == OURS:
                job |= _boxes(result)
            yield to_row(name, truth, result)


def _boxes(result: Mapping[str, Any]) -> dict[str, Any]:
    """The boxes in a result of tablerec; none where it failed."""
    return {key: result.get("answer", {}).get(key, []) for key in ("boxes", "box_scores")}


def to_row(peer: str, truth: Truth, result: Mapping[str, Any]) -> Row:
    """A result of ``score_html`` as a row of the table."""
    return Row(peer, truth.source, truth.id, result["scores"], result["missing"], result["error"])


def for_peer(job: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The part of a job that a peer gets: boxes only where it is meant to."""
    takes_boxes = next(peer.takes_boxes for peer in PEERS if peer.name == name)
    return {**job, "boxes": [], "box_scores": []} if not takes_boxes else dict(job)


def score_html(truth: Truth, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``scores``, ``missing`` and ``error`` of an answer; whatever failed scores zero."""
    error, grid = answer.get("error", ""), None
    if not error:
        try:
            grid = html_to_grid(answer["html"])
        except Exception as broken:  # markup of others may be anything
            error = f"its HTML cannot be read: {type(broken).__name__}: {broken}"
    scores = score(truth, grid)
    kept = {metric: getattr(scores, metric) for metric in METRICS}
    return {"scores": kept, "missing": bool(scores.missing), "error": error}


def html_to_grid(html: str) -> Grid | None:
    """The largest table of a document, its cells where a browser puts them; what the markup lacks is not made up.

    >>> html_to_grid("no table") is None
    True
    >>> html_to_grid("<table><tr><td>a<td>b<tr><td>c</table>").owner.tolist()
    [[0, 1], [2, -1]]
    >>> html_to_grid("<table><tr><td>a<td rowspan=2>b<tr><td colspan=2>c</table>").owner.tolist()
    [[0, 1], [2, 1]]
    """
    from lxml.html import document_fromstring

    tables = document_fromstring(html).iter("table") if html.strip() else ()
    grids = [place_as_browser(list(_cells(table))) for table in tables]
    return max(grids, key=lambda grid: len(grid.cells), default=None)


def _cells(table: Any) -> Iterator[Cell]:
    """The cells by row, in the order of the markup; spans end with the table."""
    rows = table.xpath("tr | thead/tr | tbody/tr | tfoot/tr")
    for row, markup in enumerate(rows):
        for col, cell in enumerate(markup.iterchildren("td", "th")):
            rowspan, colspan = (int(cell.get(key, 1)) for key in ("rowspan", "colspan"))
            rowspan = max(1, min(rowspan, len(rows) - row))
            yield Cell(row, col, rowspan, max(1, min(colspan, MAX_COLSPAN)), text=cell.text_content())


def score_folder(truths: Iterable[Truth], folder: Path, name: str) -> Iterable[Row]:
    """Yield a row for each table from HTML made elsewhere; a file that is missing counts as no table."""
    for truth in truths:
        path = folder / f"{truth.id}.html"
        html = path.read_text(encoding="utf-8") if path.exists() else ""
        yield to_row(name, truth, score_html(truth, {"html": html}))


def measure(
    truths: Sequence[Truth], adapters: Mapping[str, Adapter], store: Store, words: Words, limit: float, repeats: int
) -> dict[str, dict[str, list[float]]]:
    """Seconds by peer and table, measured picture by picture in turn, so that all feel the same load.

    The first pictures, before the clock counts, warm each peer up. One peer works at a time, the others wait.
    """
    times: dict[str, dict[str, list[float]]] = {name: {} for name in adapters}
    for number, truth in enumerate([*truths[:1], *truths]):
        job = {"image": str(truth.image.resolve()), "words": words.of(truth), **_boxes(store.read(OURS, truth.id))}
        for turn in range(repeats):
            names = list(adapters)
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                answer = adapters[name].ask(for_peer(job, name), limit)
                if number and "error" not in answer:
                    times[name].setdefault(truth.id, []).append(answer["seconds"])
    return times


def _keep_times(path: Path, times: dict[str, dict[str, list[float]]]) -> dict[str, dict[str, list[float]]]:
    """Write new times; without any, those of an earlier run."""
    if any(times.values()):
        write_json(path, times)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def add_times(rows: Iterable[Row], times: Mapping[str, Mapping[str, Sequence[float]]]) -> list[Row]:
    """The rows with their measured seconds."""
    return [replace(row, seconds=times.get(row.peer, {}).get(row.id, ())) for row in rows]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


if __name__ == "__main__":
    main()
