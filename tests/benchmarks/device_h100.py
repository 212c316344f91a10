"""The CUDA plugin on a card, stage by stage: python device_h100.py LIBRARY --out FOLDER [--stage NAME ...]
[--weights FILE].

Each stage is a process of its own, so that one that fails, or kills its process, leaves the others.
Prints the card, the date and each result at once; JSON of everything is written under FOLDER.
LIBRARY is what `tablerec device build cuda` printed; Paddle's CPU wheel (and for RT-DETR PaddleX)
must be importable, NVIDIA's libraries come from their wheels. With the simulated library and --tiny
the script itself can be tried.

    models      throughput of the networks, the targets first (about 2 minutes)
    parity      every operator against the CPU, training in short
    rtdetr      latency of RT-DETR by mode, boxes against the CPU's
    graph       RT-DETR and the cell detector as captured graphs, compared with their dygraph outputs
    cellnet     images/s of CellNet at batch 1 and 32, with random weights or those of FILE (safetensors): the network
                called and as a captured graph, to its maps and with the cells taken from them
    operators   the table of operators, float32 and halves, then TF32
    failures    out of memory, no library, two processes, several devices
    flat        memory over 1,000 steps

tablerec/devices/MEASURED.md holds what this printed on one NVIDIA H100 80GB HBM3, 2026-11-28; device_table.py makes
its table of operators. In short (images/s at 32 x 960 px, forward, backward and AdamW; milliseconds for one picture
of 640 px):

    cell_detector, training     TF32 359     bfloat16 441 (O1), 469 (O2)     float16 429 (O1)
    rtdetr_l, captured graph    float32 8.6 ms     TF32 5.4 ms     bfloat16 3.8 ms     float16 4.2 ms
    4,076 operator cases, 0 failed; losses of ten steps differ by at most 1.7e-7 (relative), RT-DETR's by 1.8e-6
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tablerec.devices.plugin import Plugin, load_plugin

ROOT = Path(__file__).resolve().parents[2]

SECONDS = {
    "models": 170,
    "parity": 150,
    "rtdetr": 150,
    "graph": 150,
    "cellnet": 120,
    "operators": 150,
    "failures": 120,
    "flat": 90,
}
"""The most that a part of a stage may take."""

PARTS = {
    "models": ("tf32", "half"),
    "parity": ("float32",),
    "rtdetr": ("float32", "tf32", "boxes"),
    "graph": ("float32", "tf32", "bfloat16", "float16"),
    "cellnet": ("float32", "tf32", "bfloat16"),
    "operators": ("float32", "tf32"),
    "failures": ("memory", "libraries", "two", "devices", "refused"),
    "flat": ("tf32",),
}
"""What of a stage needs a process of its own: TF32 is chosen when the plugin is loaded."""


class Report:
    """Prints each result at once and keeps it as JSON."""

    def __init__(self, path: Path) -> None:
        self.path, self.records = path, []

    def add(self, text: str, **record: Any) -> None:
        print(text, flush=True)
        self.records.append({"text": text, **record})
        self.path.write_text(json.dumps(self.records, indent=1), encoding="utf-8")

    def attempt(self, what: str, call: Callable[[], Any]) -> Any:
        """Call; a failure is a result too."""
        start = time.perf_counter()
        try:
            return call()
        except Exception as failure:
            last = [line.strip() for line in str(failure).splitlines() if line.strip()]
            told = next((line for line in reversed(last) if "Error" in line or "not registered" in line), last[-1:])
            self.add(f"FAILED {what}: {type(failure).__name__}: {told}", failed=what, trace=traceback.format_exc())
        finally:
            print(f"  [{what}: {time.perf_counter() - start:.1f} s]", flush=True)
        return None


def card() -> str:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return "no nvidia-smi"


def model(report: Report, plugin: Plugin, steps: int = 20, flat: int = 0, **options: Any) -> None:
    from tablerec.devices.bench import ModelRun, measure_model

    def measure() -> None:
        speed = measure_model(plugin.device, ModelRun(**options), plugin, steps, flat)
        report.add("\n".join(speed.lines()), **asdict(speed))

    report.attempt(" ".join(map(str, options.values())), measure)


def models(report: Report, plugin: Plugin, part: str, tiny: bool) -> None:
    cell: dict[str, Any] = {"network": "cell_detector", "batch": 1 if tiny else 32, "size": 64 if tiny else 960}
    small = {**cell, "network": "small_detector"}
    detr: dict[str, Any] = {"network": "rtdetr_reduced" if tiny else "rtdetr_l", "batch": 1 if tiny else 16}
    if part == "tf32":
        model(report, plugin, dtype="tf32", **cell)
        model(report, plugin, dtype="tf32", train=False, **cell)
        model(report, plugin, dtype="tf32", **small)
        model(report, plugin, dtype="tf32", steps=5, **detr)
        return
    for amp in ("O1", "O2"):
        model(report, plugin, dtype="bfloat16", amp=amp, **cell)
    model(report, plugin, dtype="bfloat16", train=False, **cell)
    model(report, plugin, dtype="float16", amp="O1", **cell)
    model(report, plugin, dtype="bfloat16", train=False, **detr)
    model(report, plugin, dtype="bfloat16", amp="O1", steps=5, **detr)


def parity(report: Report, plugin: Plugin, _part: str, tiny: bool) -> None:
    from tablerec.devices.cases import all_cases
    from tablerec.devices.parity import OPTIMIZERS, compare_network, compare_operators, compare_training

    cases = all_cases()[:20] if tiny else all_cases()
    outcomes = list(compare_operators(plugin.device, cases, plugin.kernels))
    for outcome in outcomes:
        if not outcome.passed:
            why = outcome.problem or f"{outcome.error:.2g} > {outcome.tolerance:.2g}"
            report.add(f"FAILED {outcome.case} {outcome.dtype}: {why}", failed=outcome.case)
    n_failed = sum(not outcome.passed for outcome in outcomes)
    report.add(f"{len(outcomes)} operator cases, {n_failed} failed", cases=len(outcomes), failures=n_failed)

    def train(name: str, compare: Callable[[], Any]) -> None:
        training = report.attempt(name, compare)
        if training:
            report.add(
                f"10 steps of {name}: loss {training.losses[0]:.5f} to {training.losses[-1]:.5f}, differs by "
                f"{training.loss_error:.1e} (relative); parameters by {training.parameter_error:.1e}",
                **asdict(training),
            )

    for optimizer in OPTIMIZERS:
        train(optimizer, lambda optimizer=optimizer: compare_training(plugin.device, optimizer))
    # The cell detector's steps make too much of rounding for float32: its deepest batch norms see few values.
    for name, dtype in (("rtdetr_reduced", "float32"), ("cell_detector", "float64")):
        train(f"{name} {dtype}", lambda name=name, dtype=dtype: compare_network(plugin.device, name, dtype=dtype))


def rtdetr(report: Report, plugin: Plugin, part: str, tiny: bool) -> None:
    name = "rtdetr_reduced" if tiny else "rtdetr_l"
    if part == "boxes":
        from tablerec.devices.bench import compare_boxes

        for prepared in (False, True):
            check = report.attempt(
                f"boxes{' prepared' * prepared}",
                lambda prepared=prepared: compare_boxes(plugin.device, tiny, 64 if tiny else 640, prepared),
            )
            if check:
                report.add(
                    f"RT-DETR boxes{', prepared for inference' * prepared}: {check.pixels:.5f} px from the CPU's, "
                    f"logits {check.logits:.2g}; {check.same_queries} of {check.queries} queries start alike",
                    **asdict(check),
                )
        return
    dtypes = ("tf32",) if part == "tf32" else ("float32", "bfloat16", "float16")
    for dtype in dtypes:
        for batch in (1, 16):
            for mode in ("dygraph", "static", "predictor"):
                if mode == "dygraph" or (batch == 1 and dtype in ("float32", "tf32")):
                    options = {"network": name, "batch": batch, "dtype": dtype, "train": False, "mode": mode}
                    model(report, plugin, 50 if batch == 1 else 20, **options)


def graph(report: Report, plugin: Plugin, part: str, tiny: bool) -> None:
    from tablerec.devices.bench import ModelRun, check_graph

    runs = [("rtdetr_reduced" if tiny else "rtdetr_l", batch, 64 if tiny else 640) for batch in (1, 16)]
    runs += [("cell_detector", batch, 64 if tiny else 960) for batch in ((1, 2) if tiny else (1, 32))]
    for network, batch, size in runs:
        options: dict[str, Any] = {"network": network, "batch": batch, "size": size, "dtype": part, "train": False}
        for mode in ("graph", "dygraph"):
            model(report, plugin, 50 if batch == 1 else 20, mode=mode, **options)
        check = report.attempt(
            f"graph of {network} {batch} {part}",
            lambda options=options: check_graph(plugin.device, ModelRun(**options), plugin),
        )
        if check:
            report.add(
                f"graph of {network} {batch}x{size} {part}: {check.nodes} nodes; outputs equal dygraph's in "
                f"{check.exact} of {check.rounds} rounds, differ by at most {check.difference:.1e}",
                **asdict(check),
            )


def cellnet(report: Report, plugin: Plugin, part: str, tiny: bool, weights: Path | None) -> None:
    import numpy as np
    import paddle

    from tablerec.devices.bench import seconds_per_call
    from tablerec.devices.graph import CapturedNetwork
    from tablerec.devices.networks import fold_norms
    from tablerec.models.cellnet import CellNet, decode
    from tablerec.models.export import load_cellnet

    paddle.set_device("cpu")  # weights are read and norms folded in float32
    paddle.seed(0)
    net = load_cellnet(weights) if weights else CellNet()
    net.eval()
    fold_norms(net)
    size, batches = (64, (1, 2)) if tiny else (960, (1, 32))
    picture = np.full((1, 3, size, size), 235, np.float32)
    picture[:, :, ::32] = picture[:, :, :, ::120] = 0
    with paddle.no_grad():
        expected = net(paddle.to_tensor(picture)).numpy()
    paddle.set_device(plugin.device)
    net.to(plugin.device)
    half = part == "bfloat16"
    if half:
        net.to(dtype=part)
        net.maps.to(dtype="float32")

    def call(images: Any) -> Any:
        with paddle.no_grad():
            return net.maps(net.features(images).astype("float32"))

    def cells(maps: Any) -> Any:
        with paddle.no_grad():
            return decode(maps, 0.4)

    def measure(batch: int) -> None:
        images = paddle.to_tensor(np.repeat(picture, batch, axis=0)).astype(part if half else "float32")
        apart = np.abs(call(images).numpy()[:1] - expected).max()
        captured = CapturedNetwork(plugin, call, [images])
        same = bool((captured(images) == call(images)).all())
        runs = {
            "dygraph": lambda: call(images),
            "graph": lambda: captured(images),
            "dygraph and cells": lambda: cells(call(images)),
            "graph and cells": lambda: cells(captured(images)),
        }
        for name, run in runs.items():
            spent = seconds_per_call(run, plugin.device, 0.001 if tiny else 1.0)
            report.add(
                f"cellnet {batch}x{size} {part}, {name}: {batch / spent:.1f} images/s, {1000 * spent:.2f} ms a step",
                batch=batch, size=size, dtype=part, mode=name, seconds=spent,
            )  # fmt: skip
        report.add(
            f"  {captured.nodes} nodes; graph equal to dygraph {same}; maps apart from the CPU's by {apart:.2g}; "
            f"{len(cells(call(images))[1])} cells; {'weights ' + weights.name if weights else 'random weights'}",
            nodes=captured.nodes, same=same, difference=float(apart),
        )  # fmt: skip
        captured.close()

    for batch in batches:
        report.attempt(f"cellnet {batch} {part}", lambda batch=batch: measure(batch))


def operators(report: Report, plugin: Plugin, part: str, tiny: bool) -> None:
    from tablerec.devices.bench import measure_ceilings, measure_operators, measure_optimizers
    from tablerec.devices.workloads import FULL, TINY

    dtypes = ("tf32",) if part == "tf32" else ("float32", "bfloat16", "float16")
    ceilings = measure_ceilings(plugin.device, dtypes, 128 if tiny else 8192)
    rates = {dtype: f"{rate / 1e12:.4g} TFLOP/s" for dtype, rate in ceilings.operations_per_second.items()}
    report.add(f"copy {ceilings.bytes_per_second / 1e9:.4g} GB/s, products {rates}", **asdict(ceilings))
    found = []
    # TF32 changes products and convolutions alone.
    for match in ("conv", "matmul") if part == "tf32" else ("softmax",) if tiny else ("",):
        for spent in measure_operators(
            plugin.device, ceilings, TINY if tiny else FULL, match, plugin, 0.001 if tiny else 0.01
        ):
            found.append(spent)
            report.records.append({**asdict(spent), "ratio": spent.ratio})
    if part != "tf32":
        found += measure_optimizers(plugin.device, ceilings, "small_detector" if tiny else "cell_detector", plugin)
    found.sort(key=lambda spent: -spent.ratio)
    for rank, spent in enumerate(found):
        measured = [1e6 * (seconds or 0) for seconds in (spent.seconds, spent.kernel_seconds, spent.floor)]
        times = spent.problem or f"{spent.ratio:7.2f} " + " ".join(f"{micro:9.1f}" for micro in measured)
        report.add(f"{'*' if rank < 5 else ' '} {times} {spent.name} {spent.dtype} {spent.part}")


def failures(report: Report, plugin: Plugin, part: str, tiny: bool) -> None:
    import numpy as np
    import paddle

    paddle.set_device(plugin.device)

    def message(call: Callable[[], Any]) -> str:
        try:
            call()
        except Exception as failure:
            return " ".join(str(failure).split())[-400:]
        return "nothing was raised"

    if part == "memory":
        text = message(lambda: [paddle.ones([1 << 30]) for _ in range(64)])
        after = (paddle.ones([3]) + 1).numpy().tolist()
        report.add(f"out of memory: {text}; afterwards 1 + 1 is {after[0]}", message=text, alive=after == [2.0] * 3)
    elif part == "libraries":
        convolve = lambda: paddle.nn.functional.conv2d(paddle.ones([1, 3, 8, 8]), paddle.ones([4, 3, 3, 3])).numpy()  # noqa: E731
        multiply = lambda: paddle.matmul(paddle.ones([64, 64]), paddle.ones([64, 64])).numpy()  # noqa: E731
        report.add(f"convolution without cuDNN: {message(convolve)}")
        report.add(f"product without cuBLAS: {message(multiply)}")
        report.add(f"afterwards 1 + 1 is {(paddle.ones([1]) + 1).item()}")
    elif part == "two":
        code = (
            "import sys, json; sys.path.insert(0, sys.argv[2])\n"
            "from tablerec.devices.plugin import load_plugin\n"
            "plugin = load_plugin(sys.argv[1])\n"
            "from tablerec.devices.parity import compare_training\n"
            "print('LOSSES', json.dumps(compare_training(plugin.device, 'Adam', width=1).losses))\n"
        )
        command = [sys.executable, "-c", code, str(plugin.path), str(ROOT)]
        # Measured algorithms may differ between the two.
        environment = {**os.environ, "TABLEREC_AUTOTUNE": "0"}
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
        losses = [
            json.loads(line.removeprefix("LOSSES "))
            for process in running
            for line in process.communicate()[0].splitlines()
            if line.startswith("LOSSES ")
        ]
        if len(losses) != 2:
            report.add(f"FAILED two processes at once: {len(losses)} of them ended well", failed="two")
            return
        apart = max(abs(a - b) / abs(b) for a, b in zip(*losses, strict=True))
        failed = {"failed": "two"} if apart > 1e-5 else {}
        report.add(
            f"{'FAILED ' * bool(failed)}two processes at once: losses equal {losses[0] == losses[1]}, differ by "
            f"{apart:.1e} (relative, of 1e-5), {losses[0]}",
            **failed,
        )
    elif part == "devices":
        names = [n for n in paddle.device.get_available_custom_device() if n.split(":")[0] == plugin.device]
        report.add(f"devices: {names}")
        for number, name in enumerate(names):
            paddle.set_device(name)
            x = paddle.to_tensor(np.arange(6, dtype="float32"))
            moved = x.to(names[(number + 1) % len(names)])
            told = f"sum {float((x * 2).sum())}, moved to {moved.place}: {moved.numpy()[-1]}"
            report.add(f"{name}: {plugin.describe(number)}; {told}")
    else:
        layout = message(
            lambda: paddle.nn.functional.conv2d(
                paddle.ones([1, 5, 5, 2]), paddle.ones([3, 2, 3, 3]), data_format="NHWC"
            )
        )
        report.add(f"layout: {layout}")
        report.add(f"type: {message(lambda: paddle.nn.functional.softmax(paddle.ones([3]).astype('complex64')))}")
        report.add(f"operator: {message(lambda: paddle.erfinv(paddle.ones([3])))}")


def flat(report: Report, plugin: Plugin, part: str, tiny: bool) -> None:
    steps = 20 if tiny else 1000
    model(report, plugin, 10, steps, network="cell_detector", batch=2, size=64 if tiny else 256, dtype=part)
    model(report, plugin, 10, steps, network="small_detector", batch=2, size=64, dtype=part)


STAGES = {
    "models": models,
    "parity": parity,
    "rtdetr": rtdetr,
    "graph": graph,
    "cellnet": cellnet,
    "operators": operators,
    "failures": failures,
    "flat": flat,
}


def run_part(options: argparse.Namespace) -> None:
    stage, part = options.part.split(":")
    plugin = load_plugin(options.library, tf32=part == "tf32")
    report = Report(options.out / f"{stage}-{part}.json")
    if plugin.device not in {name.split(":")[0] for name in sys.modules["paddle"].device.get_available_custom_device()}:
        report.add(
            f"{plugin.device}: no device; Paddle goes on with {sys.modules['paddle'].get_device()}", failed="no device"
        )
        return
    more = {"weights": options.weights} if stage == "cellnet" else {}
    STAGES[stage](report, plugin, part, options.tiny, **more)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("--stage", action="append", choices=list(STAGES))
    parser.add_argument("--out", type=Path, default=Path("device_h100"))
    parser.add_argument("--tiny", action="store_true", help="small shapes, to try the script on the simulated device")
    parser.add_argument("--weights", type=Path, help="of CellNet, as training writes them")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.part:
        run_part(options)
        return
    print(f"{card()}; {datetime.date.today()}; {' '.join(sys.argv)}", flush=True)
    for stage in options.stage or STAGES:
        for part in PARTS[stage]:
            print(f"== {stage} {part}", flush=True)
            command = [sys.executable, "-u", "-W", "ignore", __file__, str(options.library), "--out", str(options.out)]
            command += ["--part", f"{stage}:{part}", *(["--tiny"] * options.tiny)]
            command += ["--weights", str(options.weights)] if options.weights else []
            environment = {**os.environ, "GLOG_minloglevel": "2"}
            if part == "libraries":
                environment |= {"TABLEREC_CUDNN": "libcudnn-none.so.9", "TABLEREC_CUBLAS": "libcublas-none.so.13"}
            start = time.perf_counter()
            try:
                code: Any = subprocess.run(command, env=environment, check=False, timeout=SECONDS[stage]).returncode
            except subprocess.TimeoutExpired:
                code = f"none after {SECONDS[stage]} s"
            print(f"== {stage} {part}: code {code}, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
