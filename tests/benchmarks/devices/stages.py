"""The stages of ``card.py``: each takes a report, a plugin, the name of a part, and whether shapes shall be small."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from tablerec.devices.plugin import Plugin

RESULTS = "results.jsonl"


class Report:
    """Prints each result at once and appends it to the file."""

    def __init__(self, folder: Path, stage: str, part: str) -> None:
        self.path, self.key = folder / RESULTS, {"of": f"{stage}:{part}"}

    def add(self, text: str, **record: Any) -> None:
        if text:
            print(text, flush=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**self.key, "text": text, **record}) + "\n")

    def attempt(self, what: str, call: Callable[[], Any]) -> Any:
        """Call; a failure is a result too."""
        start = time.perf_counter()
        try:
            return call()
        except Exception as failure:
            self.add(f"FAILED {what}: {last_line(failure)}", failed=what, trace=traceback.format_exc())
        finally:
            print(f"  [{what}: {time.perf_counter() - start:.1f} s]", flush=True)
        return None


def last_line(failure: Exception) -> str:
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    return f"{type(failure).__name__}: {next((line for line in lines[::-1] if 'Error' in line), lines[-1:])}"


def sizes(tiny: bool) -> dict[str, tuple[str, int, int]]:
    """Name of the network, batch and side."""
    if tiny:
        return {"cellnet": ("cellnet_reduced", 2, 64), "rtdetr": ("rtdetr_reduced", 2, 64)}
    return {"cellnet": ("cellnet", 32, 960), "rtdetr": ("rtdetr_l", 16, 640)}


def model(report: Report, plugin: Plugin, name: str, steps: int = 20, flat: int = 0, **options: Any) -> None:
    from tablerec.devices.bench.runs import ModelRun, measure_model

    def measure() -> None:
        speed = measure_model(plugin.device, ModelRun(name, **options), plugin, steps, flat)
        report.add("\n".join(speed.lines()), **asdict(speed))

    report.attempt(f"{name} {' '.join(map(str, options.values()))}", measure)


def parity(report: Report, plugin: Plugin, part: str, tiny: bool) -> None:
    from tablerec.devices.cases import all_cases
    from tablerec.devices.parity import OPTIMIZERS, compare_operators, compare_training

    if part == "networks":
        runs = [("cellnet_reduced", optimizer, "float32") for optimizer in OPTIMIZERS]
        runs += [("cellnet_reduced", "AdamW", "float64")]
        runs += [("rtdetr_reduced", "AdamW", dtype) for dtype in ("float32", "float64")]
        for name, optimizer, dtype in runs:
            found = report.attempt(
                f"{name} {optimizer} {dtype}",
                partial(compare_training, plugin.device, optimizer, name, 2 if tiny else 10, dtype),
            )
            if found:
                report.add(
                    f"{len(found.losses)} steps of {name}, {optimizer}, {dtype}: loss {found.losses[0]:.5f} to "
                    f"{found.losses[-1]:.5f}, differs by {found.loss_error:.1e} (relative); parameters by "
                    f"{found.parameter_error:.1e}",
                    network=name, dtype=dtype, loss_error=found.loss_error, **asdict(found),
                )  # fmt: skip
        return
    cases = all_cases()[:20] if tiny else all_cases()
    outcomes = list(compare_operators(plugin.device, cases, plugin.kernels))
    for outcome in outcomes:
        if not outcome.passed:
            why = outcome.problem or f"{outcome.error:.2g} > {outcome.tolerance:.2g}"
            report.add(f"FAILED {outcome.case} {outcome.dtype}: {why}", failed=outcome.case)
    n_failed = sum(not outcome.passed for outcome in outcomes)
    report.add(f"{len(outcomes)} operator cases, {n_failed} failed", cases=len(outcomes), failures=n_failed)


def training(report: Report, plugin: Plugin, part: str, tiny: bool) -> None:
    import paddle

    from tablerec.devices.bench.operators import seconds_per_call

    paddle.set_device(plugin.device)
    cast = partial(paddle.amp.auto_cast, enable=part != "tf32", dtype="bfloat16", level="O1")

    def measure(kind: str) -> None:
        name, batch, side = sizes(tiny)[kind]
        net, compute = (cellnet_step if kind == "cellnet" else rtdetr_step)(batch, side, cast, tiny)
        net.train()
        clip = paddle.nn.ClipGradByGlobalNorm(1.0)
        update = paddle.optimizer.AdamW(1e-4, parameters=net.parameters(), weight_decay=0.02, grad_clip=clip)
        losses = []

        def step() -> None:
            loss = compute()
            loss.backward()
            update.step()
            update.clear_grad()
            losses.append(loss.detach())

        spent = seconds_per_call(step, plugin.device, 0.01 if tiny else 4.0)
        peak = plugin.counters()["peak_bytes_in_use"]
        report.add(
            f"{name} {batch}x{side} {part}, the product's loss, AdamW: {batch / spent:.1f} images/s, "
            f"{1000 * spent:.1f} ms a step, at most {peak / 2**20:.0f} MiB; loss {float(losses[0]):.4f} to "
            f"{float(losses[-1]):.4f} in {len(losses)} steps",
            network=name, batch=batch, size=side, dtype=part, seconds=spent, peak_bytes=peak,
        )  # fmt: skip

    for kind in ("cellnet", "rtdetr"):
        report.attempt(f"training {kind} {part}", partial(measure, kind))


def cellnet_step(batch: int, side: int, cast: Any, tiny: bool) -> tuple[Any, Callable[[], Any]]:
    """CellNet and its loss on pages that are one table of cells of 96 x 32 px."""
    import numpy as np
    import paddle

    from tablerec.devices.bench.networks import cellnet
    from tablerec.models.cellnet import STRIDE
    from tablerec.training.detectors.cellnet_loss import cellnet_loss, make_targets

    net = cellnet(reduced=tiny)
    width, height = min(96, side), 32
    left, top = (each.ravel() for each in np.meshgrid(np.arange(0, side, width), np.arange(0, side, height)))
    quads = np.stack([left, top, left + width, top, left + width, top + height, left, top + height], 1)
    x, y = np.meshgrid(np.arange(0, side, STRIDE), np.arange(0, side, STRIDE))
    owners = 1 + y // height * len(range(0, side, width)) + x // width
    images = paddle.uniform([batch, 3, side, side], "float32", 0, 255)
    owners = paddle.to_tensor(np.repeat(owners[None], batch, 0).astype("int32"))
    quads = paddle.to_tensor(np.repeat(quads.reshape(1, -1, 4, 2), batch, 0).astype("float32"))

    def compute() -> Any:
        with cast():
            features = net.features(images)
        return cellnet_loss(net.maps(features.astype("float32")), make_targets(owners, quads))["total"]

    return net, compute


def rtdetr_step(batch: int, side: int, cast: Any, tiny: bool) -> tuple[Any, Callable[[], Any]]:
    """RT-DETR as it is trained, with 100 cells a picture (4 when tiny), matched on the host."""
    import numpy as np
    import paddle

    from tablerec.devices.bench.networks import RTDETR_REDUCED
    from tablerec.training.detectors.denoising import noise_cells
    from tablerec.training.detectors.matcher import Truth
    from tablerec.training.detectors.rtdetr_loss import rtdetr_loss
    from tablerec.training.detectors.rtdetr_network import RTDETRInTraining

    net = RTDETRInTraining({**(RTDETR_REDUCED if tiny else {}), "num_labels": 1})
    rng = np.random.default_rng(0)
    n = 4 if tiny else 100
    boxes = [np.hstack([rng.uniform(0.1, 0.9, (n, 2)), rng.uniform(0.02, 0.1, (n, 2))]) for _ in range(batch)]
    truths = [Truth(each.astype(np.float32), np.zeros(n, np.int64)) for each in boxes]
    images = paddle.uniform([batch, 3, side, side], "float32", 0, 255)

    def compute() -> Any:
        noised = noise_cells(truths, 1, rng)
        with cast():
            answers = net(images, noised)
        return rtdetr_loss(answers, truths, noised)["total"]

    return net, compute


def linenet(report: Report, plugin: Plugin, part: str, tiny: bool) -> None:
    """LineNet with the loss that it is trained with, on random lines of 16 characters, and its recognition."""
    import numpy as np
    import paddle
    from paddle.nn.functional import ctc_loss

    from tablerec.devices.bench.operators import seconds_per_call
    from tablerec.models.linenet import HEIGHT, STRIDE, LineNet, LineNetWithDecoder

    paddle.set_device(plugin.device)
    cast = partial(paddle.amp.auto_cast, enable=part != "tf32", dtype="bfloat16", level="O1")
    letters, han, length = (20, 30, 3) if tiny else (1200, 6763, 16)
    rng = np.random.default_rng(0)

    def measure(batch: int, width: int) -> None:
        net = LineNet(letters, han)
        clip = paddle.nn.ClipGradByGlobalNorm(1.0)
        update = paddle.optimizer.AdamW(1e-4, parameters=net.parameters(), weight_decay=0.02, grad_clip=clip)
        images = paddle.uniform([batch, 3, HEIGHT, width], "float32", 0, 255)
        labels = paddle.to_tensor(rng.integers(1, letters + han, (batch, length)).astype("int32"))
        lengths = paddle.full([batch], width // STRIDE, "int64"), paddle.full([batch], length, "int64")
        losses = []

        def step() -> None:
            with cast():
                features = net.features(images)
            log_probs = net.log_probs(features.transpose([1, 0, 2]))
            loss = ctc_loss(log_probs, labels, *lengths, 0, "none").mean()
            loss.backward()
            update.step()
            update.clear_grad()
            losses.append(loss.detach())

        decoder = LineNetWithDecoder(net)

        @paddle.no_grad()
        def recognize() -> None:
            with cast():
                decoder(images)

        runs: dict[str, Callable[[], None]] = {"training": step, "recognition": recognize}
        for name, run in runs.items():
            net.train() if name == "training" else net.eval()
            run()
            before = plugin.counters()
            run()
            launches = plugin.counters()["kernels"] - before["kernels"]
            spent = seconds_per_call(run, plugin.device, 0.001 if tiny else 2.0)
            peak = plugin.counters()["peak_bytes_in_use"]
            report.add(
                f"linenet {batch}x{width} {part}, {name}: {batch / spent:.0f} lines/s, {1000 * spent:.2f} ms a step, "
                f"{launches} launches, at most {peak / 2**20:.0f} MiB",
                batch=batch, size=width, dtype=part, mode=name, seconds=spent, launches=launches, peak_bytes=peak,
            )  # fmt: skip
        report.add(f"  loss {float(losses[0]):.4f} to {float(losses[-1]):.4f} in {len(losses)} steps")

    for batch, width in ((2, 32),) if tiny else ((512, 128), (256, 256), (128, 512)):
        report.attempt(f"linenet {batch}x{width} {part}", partial(measure, batch, width))


def speed(report: Report, plugin: Plugin, part: str, tiny: bool) -> None:
    for kind, steps in (("cellnet", 20), ("rtdetr", 5)):
        name, batch, size = sizes(tiny)[kind]
        for amp in ("",) if part == "tf32" else ("O1", "O2")[: 1 + (kind == "cellnet")]:
            model(report, plugin, name, steps, batch=batch, size=size, dtype=part, amp=amp)


def cellnet(report: Report, plugin: Plugin, part: str, tiny: bool) -> None:
    import numpy as np
    import paddle

    from tablerec.detect.factory import WEIGHTS
    from tablerec.devices.bench.operators import seconds_per_call
    from tablerec.devices.graph import CapturedNetwork
    from tablerec.models.cellnet import decode
    from tablerec.models.export import load_cellnet
    from tablerec.models.inference import fold_norms

    paddle.set_device("cpu")  # weights are read and norms folded in float32
    net = load_cellnet(WEIGHTS)
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
    if half:  # all but the last layer, as in training
        net.to(dtype=part)
        net.maps.to(dtype="float32")

    @paddle.no_grad()
    def maps(images: Any) -> Any:
        return net.maps(net.features(images).astype("float32"))

    cells = paddle.no_grad()(partial(decode, threshold=0.4))

    def measure(batch: int) -> None:
        images = paddle.to_tensor(np.repeat(picture, batch, axis=0)).astype(part if half else "float32")
        apart = float(np.abs(maps(images).numpy()[:1] - expected).max())
        captured = CapturedNetwork(plugin, maps, [images])
        same, count = bool((captured(images) == maps(images)).all()), len(cells(maps(images))[1])
        runs = {
            "eager": lambda: maps(images),
            "graph": lambda: captured(images),
            "eager and cells": lambda: cells(maps(images)),
            "graph and cells": lambda: cells(captured(images)),
        }
        for name, run in runs.items():
            spent = seconds_per_call(run, plugin.device, 0.001 if tiny else 1.0)
            report.add(
                f"cellnet {batch}x{size} {part}, {name}: {batch / spent:.1f} images/s, {1000 * spent:.2f} ms a step",
                batch=batch, size=size, dtype=part, mode=name, seconds=spent,
            )  # fmt: skip
        report.add(
            f"  {captured.nodes} nodes; graph equal to eager: {same}; maps within {apart:.2g} of the CPU's; "
            f"{count} cells in {batch} pictures",
            batch=batch, nodes=captured.nodes, same=same, difference=apart, cells=count,
        )  # fmt: skip
        captured.close()

    for batch in batches:
        report.attempt(f"cellnet {batch} {part}", partial(measure, batch))


def rtdetr(report: Report, plugin: Plugin, part: str, tiny: bool) -> None:
    name, many, size = sizes(tiny)["rtdetr"]
    if part == "agreement":
        report.attempt(part, partial(agreement, report, plugin, name, size))
        return
    for batch in (1, many):
        modes = ["graph", "dygraph"]
        if batch == 1 and part != "bfloat16":
            modes += ["static", "predictor"]
        for mode in modes:
            options = {"batch": batch, "size": size, "dtype": part, "train": False, "mode": mode}
            model(report, plugin, name, 50 if batch == 1 else 20, **options)


def agreement(report: Report, plugin: Plugin, name: str, size: int) -> None:
    """RT-DETR's boxes against the nearest of the CPU's, and a captured graph against the same network called."""
    import numpy as np
    import paddle

    from tablerec.devices.bench.networks import inference_network
    from tablerec.devices.graph import CapturedNetwork

    picture = np.random.default_rng(0).random((1, 3, size, size), "float32")
    paddle.set_device("cpu")
    paddle.seed(5)
    net = inference_network(name, size)
    with paddle.no_grad():
        expected = net(paddle.to_tensor(picture))[1].numpy()[0]
        paddle.set_device(plugin.device)
        net.to(plugin.device)
        images = paddle.to_tensor(picture)
        called = net(images)
        captured = CapturedNetwork(plugin, net, [paddle.zeros_like(images)])
        same = all(bool((a == b).all()) for a, b in zip(captured(images), called, strict=True))
    # Where two queries are alike, rounding decides which comes first: so not query by query.
    apart = np.abs(called[1].numpy()[0][:, None] - expected).max(-1).min(1) * size
    report.add(
        f"{name} boxes of {len(apart)} queries within {apart.max():.5f} px of the CPU's "
        f"(median {np.median(apart):.5f}); graph of {captured.nodes} nodes equal to eager: {same}",
        pixels=float(apart.max()), median=float(np.median(apart)), nodes=captured.nodes, same=same,
    )  # fmt: skip


def operators(report: Report, plugin: Plugin, part: str, tiny: bool) -> None:
    from tablerec.devices.bench.operators import measure_ceilings, measure_operators, measure_optimizers
    from tablerec.devices.bench.workloads import FULL, TINY

    ceilings = measure_ceilings(plugin.device, (part,), 128 if tiny else 8192)
    rates = {dtype: f"{rate / 1e12:.4g} TFLOP/s" for dtype, rate in ceilings.operations_per_second.items()}
    report.add(f"copy {ceilings.bytes_per_second / 1e9:.4g} GB/s, products {rates}", **asdict(ceilings))
    found = []
    # TF32 changes products and convolutions alone.
    for match in ("conv", "matmul") if part == "tf32" else ("softmax",) if tiny else ("",):
        scale, seconds = (TINY, 0.001) if tiny else (FULL, 0.01)
        for spent in measure_operators(plugin.device, ceilings, scale, match, plugin, seconds):
            found.append(spent)
            report.add("", **asdict(spent), ratio=spent.ratio)
    if part == "float32":
        for spent in measure_optimizers(plugin.device, ceilings, "cellnet_reduced" if tiny else "cellnet", plugin):
            found.append(spent)
            report.add("", **asdict(spent), ratio=spent.ratio)
    for spent in sorted(found, key=lambda spent: -spent.ratio)[:5]:
        print(f"{spent.ratio:7.2f} times the floor: {spent.name} {spent.dtype} {spent.part}", flush=True)
    for spent in found:
        if spent.problem:
            print(f"not measured: {spent.name} {spent.dtype} {spent.part}: {spent.problem}", flush=True)


def flat(report: Report, plugin: Plugin, part: str, tiny: bool) -> None:
    steps = 20 if tiny else 1000
    model(report, plugin, sizes(tiny)["cellnet"][0], 10, steps, batch=2, size=64 if tiny else 256, dtype=part)
    model(report, plugin, "rtdetr_reduced", 10, steps // 4, batch=2, size=64, dtype=part)


def failures(report: Report, plugin: Plugin, part: str, tiny: bool) -> None:
    import numpy as np
    import paddle
    from paddle.nn import functional

    def message(call: Callable[[], Any]) -> str:
        try:
            call()
        except Exception as failure:
            return " ".join(str(failure).split())[-400:]
        return "nothing was raised"

    paddle.set_device(plugin.device)
    if part == "memory":
        text = message(lambda: [paddle.ones([1 << 30]) for _ in range(64)])
        report.add(f"out of memory: {text}; afterwards 1 + 1 is {(paddle.ones([3]) + 1).tolist()[0]}", message=text)
    elif part == "libraries":
        ones = paddle.ones([1, 3, 8, 8])
        report.add(f"convolution without cuDNN: {message(lambda: functional.conv2d(ones, ones).numpy())}")
        report.add(f"product without cuBLAS: {message(lambda: paddle.matmul(ones, ones).numpy())}")
        report.add(f"afterwards 1 + 1 is {(paddle.ones([1]) + 1).item()}")
    elif part == "two":
        two_processes(report, plugin)
    elif part == "devices":
        names = [n for n in paddle.device.get_available_custom_device() if n.split(":")[0] == plugin.device]
        for number, name in enumerate(names):
            paddle.set_device(name)
            x = paddle.to_tensor(np.arange(6, dtype="float32"))
            moved = x.to(names[(number + 1) % len(names)])
            told = f"sum {float((x * 2).sum())}, moved to {moved.place}: {moved.numpy()[-1]}"
            report.add(f"{name} of {len(names)}: {plugin.describe(number)}; {told}")
    else:
        x, w = paddle.ones([1, 5, 5, 2]), paddle.ones([3, 2, 3, 3])
        report.add(f"layout: {message(lambda: functional.conv2d(x, w, data_format='NHWC'))}")
        report.add(f"type: {message(lambda: functional.softmax(paddle.ones([3]).astype('complex64')))}")
        report.add(f"operator: {message(lambda: paddle.erfinv(paddle.ones([3])))}")


def two_processes(report: Report, plugin: Plugin) -> None:
    """Two trainings at once; algorithms are not measured, as the choice may differ between the two."""
    code = (
        "import sys, json; from tablerec.devices.plugin import load_plugin; plugin = load_plugin(sys.argv[1])\n"
        "from tablerec.devices.parity import compare_training\n"
        "print('LOSSES', json.dumps(compare_training(plugin.device, 'Adam').losses))\n"
    )
    environment = {**os.environ, "TABLEREC_AUTOTUNE": "0"}
    command = [sys.executable, "-W", "ignore", "-c", code, str(plugin.path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    lines = [line for process in running for line in process.communicate()[0].splitlines()]
    losses = [json.loads(line.removeprefix("LOSSES ")) for line in lines if line.startswith("LOSSES ")]
    if len(losses) != 2:
        report.add(f"FAILED two processes at once: {len(losses)} of them ended well", failed="two")
        return
    apart = max(abs(a - b) / abs(b) for a, b in zip(*losses, strict=True))
    report.add(f"two processes at once: losses equal {losses[0] == losses[1]}, differ by {apart:.1e}", difference=apart)
