"""How long the reader takes for a table, by batch: ``python -m tests.benchmarks.reader.speed WEIGHTS``.

WEIGHTS is a folder that ``tablerec.language.reader.train`` wrote. Pictures are drawn, of each level; a batch is read to
its longest table, so its time counts for all of them. Prints seconds of the patches and of a token, tokens a second and
seconds a table, and with a plugin how many kernels were launched for a token.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from tablerec.language.reader.data import Drawing, levels_named
from tablerec.language.reader.patches import count_patches

SEED = 2_000_003


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--levels", default="tables", help="of the training  [default: tables]")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--tokens", type=int, default=1200, help="of a table at most")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--plugin", type=Path)
    parser.add_argument("--seconds", type=float, default=300.0, help="no batch is begun after so many")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    plugin = None
    if options.plugin:
        from tablerec.devices.plugin import load_plugin

        plugin = load_plugin(options.plugin)
    import paddle

    from tablerec.language.reader.generate import read_grey
    from tablerec.language.reader.network import load_reader

    paddle.set_device(options.device)
    net = load_reader(options.weights)
    if options.precision != "float32":
        net.to(dtype=options.precision)
    levels = levels_named(options.levels)
    print(
        "| level | batch | patches of a picture | tokens of a table | ms to the first token | ms a token | tokens/s | ",
        end="",
    )
    print("s a table | kernels a token |\n" + "| --- " * 9 + "|", flush=True)
    for number in range(len(levels)):
        load = Drawing(levels, SEED, fixed=number).load("")
        pictures = [load(index).grey for index in range(max(options.batches))]
        read_grey(net, pictures[:1], 8)
        for batch in options.batches:
            if time.monotonic() > end:
                print("the time is over", flush=True)
                return
            some = pictures[:batch]
            first = read_grey(net, some, 2)[0].seconds
            before = plugin.counters()["kernels"] if plugin else 0
            readings = read_grey(net, some, options.tokens)
            kernels = plugin.counters()["kernels"] - before if plugin else 0
            steps = max(len(reading.tokens) for reading in readings)
            total = sum(len(reading.tokens) for reading in readings)
            seconds = readings[0].seconds
            patches = sum(count_patches(*grey.shape) for grey in some) / batch
            print(
                f"| {number} | {batch} | {patches:.0f} | {total / batch:.0f} | {1000 * first:.1f} | "
                f"{1000 * (seconds - first) / max(1, steps - 1):.2f} | {total / seconds:.0f} | {seconds / batch:.3f} | "
                f"{kernels / steps:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
