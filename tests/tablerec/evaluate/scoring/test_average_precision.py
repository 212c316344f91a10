from __future__ import annotations

import io
import sys
from contextlib import redirect_stdout

import numpy as np
import pytest

from postprocess.arrays import Floats
from tablerec.errors import MissingDependencyError
from tablerec.evaluate.scoring.average_precision import MAX_DETECTIONS, PictureBoxes, average_precision

NO_BOXES, NO_SCORES = np.zeros((0, 4)), np.zeros(0)


def boxes_of(*corners: float) -> Floats:
    """Squares of 10 x 10 px with these left sides."""
    return np.array([[x, 0.0, x + 10, 10.0] for x in corners]).reshape(-1, 4)


def test_without_cells_there_is_no_precision() -> None:
    nothing = {"ap": None, "ap_50": None, "ap_75": None}
    assert average_precision([]) == nothing
    assert average_precision([PictureBoxes(NO_BOXES, boxes_of(0), np.ones(1))]) == nothing


def test_without_detections_it_is_0() -> None:
    assert average_precision([PictureBoxes(boxes_of(0), NO_BOXES, NO_SCORES)]) == {"ap": 0, "ap_50": 0, "ap_75": 0}


def test_two_cells_found_around_a_false_one_by_hand() -> None:
    # By score: right, wrong, right. Recall 0.5 at precision 1, recall 1 at precision 2 / 3, the best to its right.
    # COCO reads the curve at 101 recalls: 51 up to 0.5, and 50 beyond.
    picture = PictureBoxes(boxes_of(0, 20), boxes_of(0, 100, 20), np.array([0.9, 0.8, 0.7]))
    expected = pytest.approx((51 * 1 + 50 * 2 / 3) / 101, abs=1e-6)
    assert list(average_precision([picture]).values()) == [expected] * 3


def test_the_curve_runs_over_all_pictures() -> None:
    # The false detection of the second picture is the surest of all: it spoils the first picture's precision too.
    right = PictureBoxes(boxes_of(0), boxes_of(0), np.array([0.5]))
    wrong = PictureBoxes(NO_BOXES, boxes_of(0), np.array([0.9]))
    assert average_precision([right, wrong])["ap"] == 0.5
    assert average_precision([right])["ap"] == 1


def test_each_cell_of_a_large_table_counts() -> None:
    sides = np.arange(1500) * 12.0
    picture = PictureBoxes(boxes_of(*sides), boxes_of(*sides), np.linspace(1, 0.1, 1500))
    assert len(sides) <= MAX_DETECTIONS
    assert average_precision([picture])["ap"] == 1


@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_pycocotools_prints(seed: int) -> None:
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    rng = np.random.default_rng(seed)
    pictures = []
    for _ in range(4):
        corners = rng.uniform(0, 500, (20, 2))
        true = np.hstack([corners, corners + rng.uniform(20, 60, (20, 2))])
        detected = np.vstack([true[:15] + rng.normal(0, 3, (15, 4)), rng.uniform(0, 200, (5, 4)).cumsum(axis=1)])
        pictures.append(PictureBoxes(true, detected, rng.uniform(0.1, 1, 20)))
    truth = COCO()
    truth.dataset = {"info": {}, "images": [{"id": k} for k in range(4)], "categories": [{"id": 1}], "annotations": [
        {"id": 20 * k + n + 1, "image_id": k, "category_id": 1, "iscrowd": 0, "area": (x1 - x0) * (y1 - y0),
         "bbox": [x0, y0, x1 - x0, y1 - y0]}
        for k, picture in enumerate(pictures) for n, (x0, y0, x1, y1) in enumerate(picture.true.tolist())
    ]}  # fmt: skip
    rows = [
        [k, x0, y0, x1 - x0, y1 - y0, score, 1]
        for k, picture in enumerate(pictures)
        for (x0, y0, x1, y1), score in zip(picture.detected.tolist(), picture.scores.tolist(), strict=True)
    ]
    with redirect_stdout(io.StringIO()):
        truth.createIndex()
        evaluation = COCOeval(truth, truth.loadRes(np.array(rows)), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    found = average_precision(pictures)
    assert [found["ap"], found["ap_50"], found["ap_75"]] == pytest.approx(evaluation.stats[:3].tolist(), abs=1e-6)
    assert 0 < found["ap"] < found["ap_50"] < 1  # type: ignore[operator]


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycocotools", None)
    with pytest.raises(MissingDependencyError, match=r'pycocotools: pip install "tablerec\[eval\]"'):
        average_precision([PictureBoxes(boxes_of(0), NO_BOXES, NO_SCORES)])
