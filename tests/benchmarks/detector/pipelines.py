"""Our pipeline beside the networks that PaddleX's runs:
``python -m tests.benchmarks.detector.pipelines [--device NAME] [--library FILE]``.

A developer script, not a test; it needs Paddle and PaddleX. One drawn page of 800 x 800 px with a table of 100 cells
without rulings, where our network looks twice (wholly drawn tables do without it):

    ours      ``Recognizer`` from the picture and its words to finished tables: CellNet twice, rulings, words, grid,
              words to cells, confidence
    plugin    the same page by ``paddlex.create_pipeline("table_recognition_cells")``, without words
    theirs    each network of PaddleX's ``table_recognition_v2`` between picture and HTML, once for the page or the
              table, in PaddleX's own classes (its engine ``paddle_dynamic``) with random weights, at its own input
              size. Its work before and after the networks is not counted. SLANeXt stops after the tokens that this
              table has.
    both      the networks of the OCR engine, which both need: PP-OCRv5_server, detection once, 100 words recognized

A round runs each in turn, so that a busy machine slows all of them alike. ``--device`` is a name in PaddleX's syntax;
``--library`` is a plugin that ``tablerec device build`` made, to be loaded under that name, of which PaddleX accepts
few: ``iluvatar_gpu:0`` is one. Prints medians and quartiles in milliseconds, and our share of their time.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from tablerec import Recognizer, Settings
from tablerec.devices import parse_device
from tests.benchmarks.detector.scores import Run, line, make_picture, timed, version

N_ROWS, N_COLS = 20, 5
N_TOKENS = N_ROWS * (N_COLS + 2) + 4
"""Of SLANeXt for the table: rows, their cells, head and body."""
N_WORDS = 100
WORDS_AT_ONCE = 8
"""What the OCR engine recognizes in one batch, lines of 48 x 320 px."""


def their_networks() -> dict[str, Run]:
    """The networks between picture and HTML, in the order in which the pipeline runs them."""
    import paddle
    from paddlex.inference.models.image_classification.modeling import PPLCNet
    from paddlex.inference.models.image_classification.modeling._config import PPLCNetConfig
    from paddlex.inference.models.table_structure_recognition.modeling import SLANeXt
    from paddlex.inference.models.table_structure_recognition.modeling._config_slanext import SLANeXtConfig

    from tablerec.devices.bench.networks import rtdetr_l

    paddle.seed(0)
    return {
        "PP-DocLayout-L (an RT-DETR-L)": forward(rtdetr_l(last_alone=True), (1, 3, 640, 640)),
        "PP-LCNet_x1_0_doc_ori": in_list(PPLCNet(PPLCNetConfig(num_labels=4)), (1, 3, 224, 224)),
        "PP-LCNet_x1_0_table_cls": in_list(PPLCNet(PPLCNetConfig(num_labels=2)), (1, 3, 224, 224)),
        "RT-DETR-L_wired_table_cell_det": forward(rtdetr_l(last_alone=True), (1, 3, 640, 640)),
        "SLANeXt_wired": in_list(SLANeXt(SLANeXtConfig(max_text_length=N_TOKENS - 1)), (1, 3, 512, 512)),
    }


def products(equation: str, queries: Any, places: Any) -> Any:
    """The two sums of SLANeXt's attention as batched products: devices without an ``einsum`` have these."""
    swap = {"bhwc,hkc->bhwk": False, "bhwc,wkc->bhwk": True}[equation]
    rows = queries.transpose([0, 2, 1, 3]) if swap else queries
    sums = rows @ places.transpose([0, 2, 1])
    return sums.transpose([0, 2, 1, 3]) if swap else sums


def reader_networks() -> dict[str, Run]:
    """Text detection on the page, and recognition of its words."""
    from paddlex.inference.models.text_detection.modeling._config_pp_ocrv5_server import PPOCRV5ServerDetConfig
    from paddlex.inference.models.text_detection.modeling.pp_ocrv5_server_det import PPOCRV5ServerDet
    from paddlex.inference.models.text_recognition.modeling._config_pp_ocrv5_server_rec import PPOCRV5ServerRecConfig
    from paddlex.inference.models.text_recognition.modeling.pp_ocrv5_server_rec import PPOCRV5ServerRec

    detection = in_list(PPOCRV5ServerDet(PPOCRV5ServerDetConfig()), (1, 3, 800, 800))
    recognition = in_list(PPOCRV5ServerRec(PPOCRV5ServerRecConfig()), (WORDS_AT_ONCE, 3, 48, 320))

    def recognize() -> None:
        for _ in range(0, N_WORDS, WORDS_AT_ONCE):
            recognition()

    return {"PP-OCRv5_server_det": detection, "PP-OCRv5_server_rec": recognize}


def forward(network: Any, shape: tuple[int, ...]) -> Run:
    """Call a network that takes a tensor, up to its outputs in the host's memory."""
    import paddle

    network.eval()
    images = np.random.default_rng(0).random(shape, np.float32)

    def run() -> list[Any]:
        with paddle.no_grad():
            return [output.numpy() for output in network(paddle.to_tensor(images))]

    return run


def in_list(network: Any, shape: tuple[int, ...]) -> Run:
    """The same for a network that takes its input in a list, as PaddleX's predictors give it."""
    import paddle

    network.eval()
    images = np.random.default_rng(0).random(shape, np.float32)

    def run() -> list[Any]:
        with paddle.no_grad(), patch.object(paddle, "einsum", products):
            return [np.asarray(output) for output in network([images])]

    return run


def ours(device: str) -> tuple[Run, Callable[[], Any]]:
    """From picture and words to tables; and the last page, with the seconds of its stages."""
    image, words = make_picture(is_ruled=False)
    recognizer = Recognizer(Settings(device=device, ocr="none"))
    pages: list[Any] = []

    def run() -> None:
        pages[:] = recognizer.recognize(image, words).pages

    return run, lambda: pages[0]


def in_paddlex(device: str) -> Run:
    """The same page through PaddleX's ``create_pipeline``, its words not given and not read."""
    from tablerec.plugins.paddlex import create_pipeline

    image, _ = make_picture(is_ruled=False)
    pipeline = create_pipeline("table_recognition_cells", device=device)
    return lambda: list(pipeline.predict(image, use_ocr_model=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--library", type=Path, help="of a device plugin, to be loaded under the name of the device")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    if args.device == "cpu" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    if args.library:
        from tablerec.devices.plugin import load_plugin

        print(load_plugin(args.library, device_name=parse_device(args.device).kind).describe(0))
    from tablerec.paddlex_support import import_paddlex

    import_paddlex()
    import paddle

    paddle.set_device(args.device)
    run, last_page = ours(args.device)
    groups = {
        "ours": {"picture and words to tables": run},
        "plugin": {"table_recognition_cells, without words": in_paddlex(args.device)},
        "theirs": their_networks(),
        "both": reader_networks(),
    }
    runs = {(group, name): each for group, named in groups.items() for name, each in named.items()}
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    stages: dict[str, list[float]] = defaultdict(list)
    for each in runs.values():
        each()
    for _ in range(args.rounds):
        for key, each in runs.items():
            seconds[key].append(timed(each))
        for stage, spent in last_page().seconds.items():
            stages[stage].append(spent)
    packages = ", ".join(map(version, ("onnxruntime", "paddlepaddle", "paddlex", "numpy")))
    print(f"{platform.machine()}, device {args.device}, Python {platform.python_version()}, {packages}")
    [table] = last_page().tables
    print(f"{args.rounds} rounds; found by us: {table}, by {last_page().detector}\n")
    for (group, name), spent in seconds.items():
        line(f"{group:<7} {name}", spent)
        if group == "ours":
            for stage, parts in stages.items():
                line(f"            {stage}", parts)
    sums = {group: sum(statistics.median(seconds[group, name]) for name in named) for group, named in groups.items()}
    print(f"\nsum of medians: {', '.join(f'{group} {1000 * total:.0f} ms' for group, total in sums.items())}")
    print(f"ours take {sums['ours'] / sums['theirs']:.3f} of the time of their networks", end="")
    print(f", {(sums['ours'] + sums['both']) / (sums['theirs'] + sums['both']):.3f} with the OCR engine's")


if __name__ == "__main__":
    main()
