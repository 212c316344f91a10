"""Review, correct, train, read again: ``python -m tests.benchmarks.training.correction_loop FOLDER -o OUT``.

A developer script, not a test. FOLDER holds pictures, each of one table with its truth beside it, whose ``meta`` names
the split: from ``train``, in an order by chance, come the ten that are read wrong, and from ``test`` the others that
only judge. ``--where plain`` takes only labels whose ``meta`` says so.

The ten are corrected by a person who knows the truth: over HTTP, as the page does, step by step
(``tests.helpers.find_corrections``), from what was read to the truth, and saved. The recipe trains on the folder of
corrections, and everything is read again with the new weights. What is done is kept in OUT, and skipped when the script
is started again; ``--name`` is for another training on the same corrections, and what follows it:

    python -m tests.benchmarks.training.correction_loop out/kernel_docs --where plain -o out/loop
    python -m tests.benchmarks.training.correction_loop out/kernel_docs --where plain -o out/loop --name alone \\
        --recipe data/training/finetune_small.yaml --set schedule.steps=290 \\
        --set "data.source=crops:out/loop/scans/corrections#train"
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np

from postprocess.arrays import Image
from postprocess.cell import Cell
from postprocess.editing.placing import complete, tidy
from postprocess.geometry.boxes import array_to_quad, quads_to_boxes
from postprocess.table import Table
from tablerec.config import Settings
from tablerec.corrections.editor import CorrectionFolder
from tablerec.corrections.review.desk import Desk
from tablerec.corrections.review.server import ReviewServer
from tablerec.detect.cellnet import CellNetDetector
from tablerec.detect.factory import WEIGHTS
from tablerec.evaluate.runner import Storage, evaluate
from tablerec.evaluate.scores import mean_of
from tablerec.evaluate.scoring.cells import detection_f1, same_cells
from tablerec.evaluate.truth import Truth, find_truths, read_truth
from tablerec.inputs.images import load_pages
from tablerec.pipeline import Recognizer
from tests.helpers.find_corrections import find_corrections

ROOT = Path(__file__).resolve().parents[3]
COLUMNS = ("pictures", "", "F1@0.8, all cells", "by picture", "exact", "tables: GriTS", "TEDS-S", "TEDS", "exact")


def choose(args: argparse.Namespace) -> None:
    """Copy ten pictures that are read wrong, others to judge by, and the truth of both."""
    if (args.output / "chosen.json").is_file():
        return
    labels = {path: json.loads(path.read_text(encoding="utf-8")) for path in sorted(args.folder.glob("*.json"))}
    fitting = [path for path, label in labels.items() if not args.where or label["meta"].get(args.where)]
    random.Random(0).shuffle(fitting)
    splits = {name: [path for path in fitting if labels[path]["meta"]["split"] == name] for name in ("train", "test")}
    for path in splits["test"][: args.others]:
        copy(path, args.output / "others")
    wrong: list[str] = []
    n_read = 0
    for case in evaluate(map(read_truth, splits["train"]), Recognizer(Settings(layout="table")), storage(args), jobs=1):
        n_read += 1
        print(f"{case.truth.id}: {'right' if case.scores.exact else 'wrong'}", flush=True)
        if not case.scores.exact:
            wrong.append(case.truth.id)
            copy(args.folder / f"{case.truth.id}.json", args.output / "wrong")
            (args.output / "scans").mkdir(exist_ok=True)
            shutil.copy(case.truth.image, args.output / "scans")
        if len(wrong) == args.wrong:
            break
    write_json(args.output / "chosen.json", {"n_read": n_read, "wrong": wrong})


def copy(label: Path, folder: Path) -> None:
    """Copy a label with its picture."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(label, folder)
    shutil.copy(read_truth(label).image, folder)


def storage(args: argparse.Namespace) -> Storage:
    """Where the words of each picture are kept: they are read once."""
    return Storage(words=args.output / "words")


def review(args: argparse.Namespace) -> None:
    """Correct all tables and save them, as the page of ``tablerec review`` does."""
    if (args.output / "corrected.json").is_file():
        return
    scans = args.output / "scans"
    pictures = sorted(path for path in scans.iterdir() if path.is_file())
    corrections = CorrectionFolder(scans / "corrections")
    desk = Desk(pictures, scans, corrections, Recognizer(Settings(layout="table")).pages)
    desk.read_all()
    with ReviewServer(desk) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            page = Page(server)
            listing = page.ask("GET", "/tables")
            assert not listing["problems"], listing["problems"]
            steps = {each["name"]: correct(page, each, args.output / "wrong") for each in listing["tables"]}
        finally:
            server.shutdown()
            thread.join()
    for name, kinds in steps.items():
        print(f"{name}: {sum(kinds.values())} steps {kinds}")
    write_json(args.output / "corrected.json", steps)


class Page:
    """The page in the browser, as the server sees it.

    Args:
        server: Of the review.
    """

    def __init__(self, server: ReviewServer) -> None:
        self.connection = HTTPConnection("127.0.0.1", server.server_port, timeout=60)
        origin = f"http://127.0.0.1:{server.server_port}"
        self.connection.request("GET", f"/?token={server.token}", headers={"Host": origin[7:]})
        answer = self.connection.getresponse()
        answer.read()
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
        self.headers = {"Origin": origin, "Cookie": cookie, "Content-Type": "application/json"}

    def ask(self, method: str, path: str, step: Mapping[str, Any] | None = None) -> Any:
        """Get something, or send a step; returns the answer."""
        body = None if step is None else json.dumps(step)
        self.connection.request(method, path, body, self.headers)
        answer = self.connection.getresponse()
        content = answer.read()
        assert answer.status == 200, content
        return json.loads(content) if answer.headers.get_content_type() == "application/json" else content


def correct(page: Page, entry: Mapping[str, Any], truths: Path) -> dict[str, int]:
    """Correct a table and save it; returns the number of steps of each kind."""
    path = f"/tables/{entry['name']}"
    view = page.ask("GET", path)
    truth = read_truth(truths / f"{Path(entry['source']).stem}.json")
    true = moved_truth(truth, decode(page.ask("GET", f"{path}/picture")))
    kinds: dict[str, int] = {}
    for step in find_corrections(view_to_table(view), true, headers=False):
        view = page.ask("POST", f"{path}/do", {**step, "version": view["version"]})
        kinds[step["do"]] = kinds.get(step["do"], 0) + 1
    view = page.ask("POST", f"{path}/do", {"do": "save", "version": view["version"]})
    assert view["verdict"] == "saved"
    return kinds


def view_to_table(view: Mapping[str, Any]) -> Table:
    """Return the table that the page shows."""
    keys = ("row", "col", "rowspan", "colspan", "text", "header")
    cells = [
        Cell(**{key: cell[key] for key in keys}, quad=array_to_quad(np.reshape(cell["quad"], (4, 2))))
        for cell in view["cells"]
    ]
    return complete(Table(cells), (view["size"][0], view["size"][1]))


def moved_truth(truth: Truth, shown: Image) -> Table:
    """Return the true table in pixels of the part of its picture that is shown."""
    import cv2

    whole = picture(truth)
    difference = cv2.matchTemplate(whole, shown, cv2.TM_SQDIFF)
    _, _, (x, y), _ = cv2.minMaxLoc(difference)
    height, width = shown.shape[:2]
    assert np.array_equal(whole[y : y + height, x : x + width], shown), f"{truth.id}: shows another picture"
    assert isinstance(truth.table, Table)
    cells = [replace(cell, quad=array_to_quad(np.array(cell.quad) - (x, y))) for cell in truth.table.cells if cell.quad]
    return complete(tidy(Table(cells)), (width, height))


def decode(content: bytes) -> Image:
    """Return the ``(H, W, 3)`` uint8 BGR picture in a PNG file."""
    import cv2

    return np.asarray(cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR), np.uint8)


def picture(truth: Truth) -> Image:
    """Return ``(H, W, 3)`` uint8 BGR."""
    return next(iter(load_pages(truth.image))).image


def check_labels(args: argparse.Namespace) -> None:
    """Compare the labels that were saved with the truth: grid, spans, texts, and the boxes at an IoU of 0.8."""
    folder = args.output / "scans" / "corrections" / "images"
    truths = {path.stem: path for path in (args.output / "wrong").glob("*.json")}
    saved = sorted(folder.glob("*.json"))
    assert len(saved) == len(truths), f"{len(saved)} labels of {len(truths)} pictures"
    for path in saved:
        name = Path(json.loads(path.read_text(encoding="utf-8"))["original"]).stem
        label, truth = read_truth(path), read_truth(truths[name])
        true = moved_truth(truth, picture(label))
        assert same_cells(label.table, true), f"{name}: another grid"
        texts = [[" ".join(cell.text.split()) for cell in each.cells] for each in (label.table, true)]
        assert texts[0] == texts[1], f"{name}: other texts"
        boxes = [quads_to_boxes([cell.quad for cell in each.cells if cell.quad]) for each in (label.table, true)]
        f1 = detection_f1(*boxes, 0.8)
        assert f1 == 1, f"{name}: boxes with an F1 of {f1:.3f} at 0.8"


def train(args: argparse.Namespace) -> Path:
    """Train on the corrections; returns the folder of the exported detector."""
    output = args.output / args.name
    if not (output / "detector" / "inference.onnx").is_file():
        labels = args.output / "scans" / "corrections"
        n_val = len(json.loads((labels / "annotations" / "instance_val.json").read_text(encoding="utf-8"))["images"])
        fields = {
            "data.source": f"crops:{labels}#train*1, synth:mixed*1",
            "validation.source": f"folder:{labels}#val",
            "validation.samples": n_val,
        }
        given = [f"--set={name}={value}" for name, value in fields.items()] + [f"--set={each}" for each in args.set]
        call("train", args.recipe, "--output", output, *given)
        call("export", output / "cellnet.safetensors", "-o", output / "detector")
    return output / "detector"


def call(*words: object) -> None:
    """Run a verb of tablerec."""
    subprocess.run([sys.executable, "-m", "tablerec", *map(str, words)], check=True)


def judge(args: argparse.Namespace, name: str, detector_dir: Path | None) -> dict[str, list[float | None]]:
    """Score the detector alone and whole recognitions, on each set of pictures; kept in OUT/scores."""
    scores: dict[str, list[float | None]] = {}
    for folder in [args.output / "wrong", args.output / "others", *args.also]:
        path = args.output / "scores" / args.detector / f"{name}_{folder.name}.json"
        if not path.is_file():
            truths = [truth for truth in find_truths(folder) if isinstance(truth.table, Table) and not truth.flawed]
            found = detector_scores(truths, detector_dir) + table_scores(
                truths, args.detector, detector_dir, storage(args)
            )
            write_json(path, found)
        scores[folder.name] = json.loads(path.read_text(encoding="utf-8"))
    return scores


def detector_scores(truths: Sequence[Truth], detector_dir: Path | None) -> list[float | None]:
    """What the network alone finds: F1 at 0.8 over all cells, its mean over pictures, and the share without a fault."""
    detector = CellNetDetector(detector_dir or WEIGHTS, layout="table")
    scored = [truth for truth in truths if truth.boxes_are_cells]
    if not scored:
        return [None, None, None]
    values, weights = [], []
    for truth in scored:
        found = detector.detect(picture(truth), [])
        quads = max((each.quads for each in found), key=len, default=np.zeros((0, 4, 2)))
        true = quads_to_boxes([cell.quad for cell in truth.table.cells if cell.quad])
        values.append([detection_f1(quads_to_boxes(quads), true, iou) for iou in (0.8, 0.6)])
        weights.append(len(quads) + len(true))
    f1 = np.array(values)
    return [float(np.average(f1[:, 0], weights=weights)), float(f1[:, 0].mean()), float((f1[:, 1] == 1).mean())]


def table_scores(
    truths: Sequence[Truth], detector: str, detector_dir: Path | None, kept: Storage
) -> list[float | None]:
    """Means over whole recognitions: GriTS-Top, TEDS-Struct, TEDS, exact."""
    recognizer = Recognizer(Settings(layout="table", detector=detector, detector_dir=detector_dir))
    cases = [case.scores for case in evaluate(truths, recognizer, kept, jobs=1)]
    return [mean_of([getattr(each, name) for each in cases]) for name in ("grits_top", "teds_struct", "teds", "exact")]


def rows_of(before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]]) -> Iterator[list[str]]:
    """Yield the rows of the table that is printed."""
    for name in before:
        for when, scores in (("before", before), ("after", after)):
            yield [name, when, *("" if value is None else f"{100 * value:.1f}" for value in scores[name])]


def write_json(path: Path, data: Any) -> None:
    """Write a file, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1), encoding="utf-8")


def main() -> None:
    """Go through the loop, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--where", help="only labels whose meta has this, and true")
    parser.add_argument("--wrong", type=int, default=10, help="pictures to correct")
    parser.add_argument("--others", type=int, default=32, help="pictures to judge by")
    parser.add_argument("--also", type=Path, nargs="*", default=[], help="folders with truth: is anything forgotten?")
    parser.add_argument("--detector", default="cellnet", help="with which whole tables are read, before and after")
    parser.add_argument("--recipe", type=Path, default=ROOT / "data" / "training" / "corrections.yaml")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="of the recipe")
    parser.add_argument("--name", default="trained", help="of the training")
    parser.add_argument("-o", "--output", type=Path, required=True)
    args = parser.parse_args()
    choose(args)
    review(args)
    check_labels(args)
    detector = train(args)
    before, after = judge(args, "before", None), judge(args, args.name, detector)
    lines = [list(COLUMNS), ["---"] * 2 + ["---:"] * (len(COLUMNS) - 2), *rows_of(before, after)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    (args.output / args.name / "table.md").write_text(table + "\n", encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
