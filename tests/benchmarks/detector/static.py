"""Dynamic, static and ONNX: speed, difference, breaks. ``python -m tests.benchmarks.detector.static [--full]``.

A developer script, not a test; needs the extra paddle. CellNet with the shipped weights in each of its forms, and
RT-DETR-L with random weights as a dynamic network, as Paddle's static model, and through SOT; with one thread and with
two, each in a process of its own. RT-DETR is the reduced one of the device bench at 64 px unless ``--full``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock


def measure_cellnet(side: int, threads: int) -> str:
    """Return the forms of CellNet as a table."""
    from tablerec.detect.factory import WEIGHTS
    from tablerec.models.export import export_cellnet, load_cellnet
    from tablerec.models.static import draw_picture, format_forms, measure_forms, open_forms

    net = load_cellnet(WEIGHTS)
    with tempfile.TemporaryDirectory() as folder:
        export_cellnet(net, Path(folder))
        return format_forms(measure_forms(open_forms(net, Path(folder), threads), draw_picture(side), rounds=10))


def measure_rtdetr(full: bool) -> str:
    """Return RT-DETR, dynamic and static, as a table; and what the ONNX export says to it."""
    import paddle

    from tablerec.devices.bench.networks import inference_network
    from tablerec.errors import TablerecError
    from tablerec.models.cellnet import Double
    from tablerec.models.formats.onnx_graph import layer_to_onnx
    from tablerec.models.static import draw_picture, format_forms, measure_forms

    name, side = ("rtdetr_l", 640) if full else ("rtdetr_reduced", 64)
    double = Double()
    double.by_copies = True
    dynamic = inference_network(name, side)
    static = inference_network(name, side)
    static.set_state_dict(dynamic.state_dict())
    spec = [paddle.static.InputSpec([1, 3, side, side], "float32", "image")]

    def form(run):
        def call(picture):
            with paddle.no_grad():
                logits, boxes = run(paddle.to_tensor(picture / 255))
                return [boxes.numpy(), logits.numpy()]

        return call

    with mock.patch("paddle.nn.functional.interpolate", lambda x, **_: double(x)):
        compiled = paddle.jit.to_static(static, input_spec=spec, full_graph=True)
        compiled.forward.concrete_program  # noqa: B018, compiles
        try:
            layer_to_onnx(inference_network(name, side), {"image": (1, 3, side, side)}, ("logits", "boxes"))
            onnx = "exported"
        except TablerecError as error:
            onnx = f"not exported: {error}"
    table = format_forms(measure_forms({"dynamic": form(dynamic), "static, AST": form(compiled)}, draw_picture(side)))
    return f"{table}\nONNX: {onnx}"


def find_breaks(full: bool) -> str:
    """Return what SOT makes of the networks as PaddleX and we write them."""
    import paddle

    from tablerec.devices.bench.networks import rtdetr_l
    from tablerec.models.cellnet import CellNet
    from tablerec.models.static import find_graphs, format_graphs

    lines = []
    for name, net in (("CellNet", CellNet()), ("RT-DETR", rtdetr_l(reduced=not full))):
        net.eval()
        lines.append(f"{name}, {format_graphs(find_graphs(net, paddle.rand([1, 3, 64, 64])))}")
    return "\n".join(lines)


def main() -> None:
    """Measure in other processes, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=640, help="of CellNet's picture")
    parser.add_argument("--full", action="store_true", help="the whole RT-DETR-L at 640 px")
    parser.add_argument("--only", choices=["cellnet", "rtdetr", "breaks"], help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        jobs = {
            "cellnet": lambda: measure_cellnet(options.side, options.threads),
            "rtdetr": lambda: measure_rtdetr(options.full),
            "breaks": lambda: find_breaks(options.full),
        }
        print(jobs[options.only]())
        return
    for job, threads in (("cellnet", 1), ("cellnet", 2), ("rtdetr", 1), ("rtdetr", 2), ("breaks", 1)):
        print(f"\n{job}, {threads} thread{'s' * (threads > 1)}", flush=True)
        command = [sys.executable, "-m", "tests.benchmarks.detector.static", "--only", job, "--threads", str(threads)]
        command += ["--side", str(options.side)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "FLAGS_paddle_num_threads": str(threads)}
        done = subprocess.run(
            command + ["--full"] * options.full, env=environment, stderr=subprocess.DEVNULL, check=False
        )
        if done.returncode:
            print(f"failed with {done.returncode}: run it with --only {job}")


if __name__ == "__main__":
    main()
