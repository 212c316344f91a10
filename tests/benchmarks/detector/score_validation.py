"""F1 by recipe on the drawn validation set:
``python -m tests.benchmarks.detector.score_validation FOLDER [MODEL_DIR]``.

A developer script, not a test. FOLDER is what ``make_validation`` wrote, MODEL_DIR an exported CellNet (by default the
package's). The drawn words are known to the detector, as words are in recognition; ``--no-words`` keeps them from it.
Counts are pooled over the cells of a recipe; the last lines are all recipes, and all but ``dense``, the largest.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

from postprocess.geometry.boxes import quads_to_boxes
from postprocess.word import Word
from tablerec.detect.cellnet import CellNetDetector
from tablerec.detect.factory import WEIGHTS
from tablerec.evaluate.scoring.cells import detection_f1
from tablerec.synth.labels import read_sample


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("model_dir", type=Path, nargs="?", default=WEIGHTS)
    parser.add_argument("--no-words", action="store_true")
    args = parser.parse_args()
    detector = CellNetDetector(args.model_dir)
    sums: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(5))
    for path in sorted(args.folder.glob("*/*.json")):
        sample = read_sample(path)
        words = [] if args.no_words else [*map(Word, sample.words.texts, np.asarray(sample.words.quads, float))]
        found = detector.detect(np.ascontiguousarray(sample.image[:, :, ::-1]), words)
        quads = np.concatenate([each.quads for each in found]) if found else np.zeros((0, 4, 2))
        boxes = quads_to_boxes(quads), quads_to_boxes(np.asarray(sample.cells.quads, float))
        n_both = len(boxes[0]) + len(boxes[1])
        at_60, at_80 = (detection_f1(*boxes, least_iou) for least_iou in (0.6, 0.8))
        sums[path.parent.name] += [at_60 * n_both, at_80 * n_both, n_both, at_60 == 1, 1]
    rows = sorted(sums.items(), key=lambda item: item[1][0] / item[1][2])
    rows.append(("all", sum(sums.values(), np.zeros(5))))
    rows.append(("not dense", rows[-1][1] - sums.get("dense", np.zeros(5))))
    for name, (at_60, at_80, n_both, n_exact, n) in rows:
        if n:
            print(f"{name:12} F1 {at_60 / n_both:.3f} {at_80 / n_both:.3f}  all found {n_exact / n:.2f}  of {n:.0f}")


if __name__ == "__main__":
    main()
