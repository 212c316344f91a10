"""What learning while one corrects saves: ``python -m tests.benchmarks.editor.learning FOLDER -o OUT``.

FOLDER holds pictures, each of one table, with labels that know the place of each cell in the grid, its ``region`` or a
``bbox`` of kind ``cell``. In an order by chance, the first 30 whose structure is read wrong are corrected and saved,
and the review learns from them, as it does by itself; 30 others are never corrected. Printed are the steps on the grid
that a person needs from each table as it is read to the table as it is, before and after learning: of those learned
from, of those held out, and of the others, which say what was forgotten. Texts are not counted.

Steps that do more than move a line are counted apart, as "structure": a line counts as moved from a tenth of the
smallest row or column on, which seldom matters to a person. Take tables of which the package's weights have seen none,
such as ``data/datasets/kernel_docs``: of those of ``data/datasets/ctdar19`` there is little left to learn.

What is done is kept in OUT and not done again. ``--pause 180`` stops a training after so many seconds, in which case
the same command goes on with it.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from postprocess.cell import Cell
from postprocess.editing.living import deal
from postprocess.editing.placing import complete, tidy
from postprocess.export.json import table_from_dict, table_to_dict
from postprocess.geometry.boxes import array_to_quad, boxes_to_quads
from postprocess.table import Table
from tablerec.config import Settings
from tablerec.corrections.editor import CorrectionFolder
from tablerec.corrections.editor.answers import png_to_image
from tablerec.corrections.learning.learner import FOLDER, Learner
from tablerec.corrections.learning.recipe import STEPS
from tablerec.corrections.review.desk import Desk
from tablerec.pipeline import Recognizer
from tablerec.result import PageImage
from tests.helpers.find_corrections import find_corrections


def label_to_table(path: Path) -> Table | None:
    """The true table, without texts; None where the place of a cell is not known."""
    label = json.loads(path.read_text("utf-8"))
    place = "bbox" if label["meta"].get("bbox_kind") == "cell" else "region"
    regions = [cell[place] for cell in label["cells"]]
    if None in regions:
        return None
    cells = [
        Cell(cell["row"], cell["col"], cell["rowspan"], cell["colspan"], quad=array_to_quad(quad))
        for cell, quad in zip(label["cells"], boxes_to_quads(np.array(regions)), strict=True)
    ]
    size = label["meta"]["width"], label["meta"]["height"]
    return complete(tidy(Table(cells)), size)


def count_steps(found: Table | None, true: Table, size_wh: tuple[int, int]) -> tuple[int, int]:
    """Steps from a table as it is read to the table as it is, and how many of them do more than move a line.

    A table that was not found is one cell.
    """
    whole = complete(Table([Cell(0, 0)]), size_wh)
    read = whole if found is None or not len(found) else complete(tidy(found), size_wh)
    names = [step["do"] for step in find_corrections(read, true, texts=False, headers=False)]
    return len(names), sum(name != "move_line" for name in names)


class Review:
    """The review of the chosen pictures.

    Args:
        folder: Of pictures and labels.
        output: Where everything is kept.
    """

    def __init__(self, folder: Path, output: Path) -> None:
        self.folder, self.output = folder, output
        self.scans = output / "scans"
        self.scans.mkdir(parents=True, exist_ok=True)
        recognizer = Recognizer(Settings(layout="table", turn=0))
        self.desk = Desk([], self.scans, CorrectionFolder(self.scans / "corrections"), recognizer.pages)
        self.true: dict[str, Table] = {}

    def add(self, label: Path) -> str | None:
        """Read a picture; returns the name of its table, None where its truth is of no use."""
        true = label_to_table(label)
        image = json.loads(label.read_text("utf-8"))["image"]
        if true is None:
            return None
        shutil.copy(self.folder / image, self.scans / image)
        self.desk.inputs.append(self.scans / image)
        self.desk.read_all()
        [name] = [name for name in self.desk.names() if self.desk.correction(name).head.source == image]
        head = self.desk.correction(name).head
        assert head.window is not None
        self.true[name] = complete(true.moved(lambda points: points - np.array(head.window[:2])), head.size_wh)
        return name

    def steps(self, name: str, table: Table | None) -> tuple[int, int]:
        """Steps that a table needs, and how many of them do more than move a line."""
        return count_steps(table, self.true[name], self.desk.correction(name).head.size_wh)

    def correct(self, name: str) -> None:
        """Correct a table and save it."""
        correction = self.desk.correction(name)
        if correction.verdict == "open":
            # With the texts that words give them, as they come along where a person moves lines.
            table = deal(correction.history.states[0], self.true[name]).table
            step = {"do": "set_table", "table": table_to_dict(table)}
            self.desk.corrections.do(correction, step)
            self.desk.corrections.do(correction, {"do": "save"})

    def read(self, names: Sequence[str], detector: str, weights: Path | None, kept: Path) -> dict[str, Table | None]:
        """Find the tables in their pictures, by the words that were read at first; they are kept in a file."""
        if not kept.is_file():
            given = {} if weights is None else {"detector_dir": self.desk.corrections.folder / weights}
            recognizer = Recognizer(Settings(layout="table", turn=0, detector=detector, **given))
            found = {name: self._find(name, recognizer) for name in names}
            kept.write_text(
                json.dumps({name: table and table_to_dict(table) for name, table in found.items()}), "utf-8"
            )
        tables = json.loads(kept.read_text("utf-8"))
        return {name: data and table_from_dict(data, name=name) for name, data in tables.items()}

    def _find(self, name: str, recognizer: Recognizer) -> Table | None:
        correction = self.desk.correction(name)
        image = png_to_image(self.desk.corrections.read_picture(correction))
        picture = PageImage(name, 1, image, words=correction.history.states[0].words)
        return max((table for page in recognizer.pages(picture) for table in page.tables), key=len, default=None)


def choose(review: Review, n_wrong: int, n_others: int) -> tuple[list[str], list[str]]:
    """Names of tables that are read wrong, and of others."""
    kept = review.output / "chosen.json"
    labels = sorted(review.folder.glob("*.json"))
    random.Random(0).shuffle(labels)
    if kept.is_file():
        chosen = json.loads(kept.read_text("utf-8"))
        for label in chosen["labels"]:
            review.add(review.folder / label)
        return chosen["wrong"], chosen["others"]
    wrong, others, used = [], [], []
    for label in labels:
        if len(wrong) == n_wrong and len(others) == n_others:
            break
        name = review.add(label)
        if name is None:
            continue
        n_steps, n_structure = review.steps(name, review.desk.correction(name).table)
        print(f"{name}: {n_steps} steps, {n_structure} of structure", flush=True)
        # The others are as they come: every second table, until there are enough.
        if len(others) < n_others and (len(used) % 2 or len(wrong) == n_wrong):
            others.append(name)
        elif n_structure and len(wrong) < n_wrong:
            wrong.append(name)
        used.append(label.name)
    kept.write_text(json.dumps({"labels": used, "wrong": wrong, "others": others}), encoding="utf-8")
    return wrong, others


def learn(review: Review, steps: int, pause: float) -> Path | None:
    """Learn from what is saved; returns the folder of the weights, None where it was paused."""
    learner = Learner(review.desk, after=0, steps=steps)
    if not learner.view()["gain"]:
        begun = time.monotonic()
        learner.start()
        while (view := learner.view())["doing"]:
            if time.monotonic() - begun > pause and view["doing"] == "training":
                learner.stop()
            time.sleep(1)
        view = learner.view()
        print(f"{view['n_saved']} saved, {view['problem'] or ('paused' if view['is_paused'] else 'learned')}")
        if not view["gain"]:
            return None
    view = learner.view()
    print(json.dumps(view["gain"]), "withheld" if view["is_withheld"] else "offered")
    kept = json.loads((review.desk.corrections.folder / FOLDER / "state.json").read_text("utf-8"))
    print("reads", "alone, as cellnet below" if view["run"] in kept["alone"] else "among its rivals, as auto below")
    return Path(FOLDER) / str(view["run"]) / "weights"


def summary(review: Review, names: Sequence[str], before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """A row of the table that is printed."""
    old = np.array([review.steps(name, before.get(name)) for name in names])
    new = np.array([review.steps(name, after.get(name)) for name in names])
    counts = np.stack([old.sum(0), new.sum(0), (old == 0).sum(0), (new == 0).sum(0), (new > old).sum(0)], axis=1)
    return [str(len(names)), *map(str, counts.flatten().tolist())]


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--wrong", type=int, default=30, help="tables to correct")
    parser.add_argument("--others", type=int, default=30, help="tables that are never corrected")
    parser.add_argument("--steps", type=int, default=STEPS, help="of training")
    parser.add_argument("--detectors", default="auto,cellnet", help="that read before and after")
    parser.add_argument("--pause", type=float, default=float("inf"), help="stop a training after so many seconds")
    args = parser.parse_args()
    review = Review(args.folder, args.output)
    wrong, others = choose(review, args.wrong, args.others)
    for name in wrong:
        review.correct(name)
    weights = learn(review, args.steps, args.pause)
    if weights is None:
        print("paused: the same command goes on")
        return
    names = [*wrong, *others]
    splits = review.desk.corrections.splits()
    sets = {
        "learned from": [name for name in wrong if splits.get(name) == "train"],
        "held out": [name for name in wrong if splits.get(name) == "val"],
        "others": others,
    }
    columns = " | ".join(
        f"{kind} before | after | tables without before | after | worse" for kind in ("steps", "structure")
    )
    print(f"| detector | | tables | {columns} |\n|---|---|" + "---:|" * 11)
    for detector in args.detectors.split(","):
        before, after = (
            review.read(names, detector, each, args.output / f"{when}-{detector}.json")
            for when, each in (("before", None), ("after", weights))
        )
        for kind, chosen in sets.items():
            print(f"| {detector} | {kind} | {' | '.join(summary(review, chosen, before, after))} |")


if __name__ == "__main__":
    main()
