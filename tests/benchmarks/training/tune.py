"""Memory and time of training steps as ``tablerec tune`` predicts them, against what was measured afterwards.

Run as ``python -m tests.benchmarks.training.tune --device cpu --side 640``. What is
predicted are batches and sides that the model was not fitted to.
"""

from __future__ import annotations

import argparse

from tablerec.settings_fields import change
from tablerec.training.settings import TrainSettings
from tablerec.training.tuning.costs import Point, fit_costs
from tablerec.training.tuning.measure import measure_apart
from tablerec.training.tuning.search import Option, Way, plan_sizes
from tests.helpers.training import make_settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="cellnet")
    parser.add_argument("--initial", default="cellnet")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--plugin")
    parser.add_argument("--side", type=int, default=640)
    parser.add_argument("--batches", type=lambda text: [int(each) for each in text.split(",")], default=[4, 8])
    parser.add_argument("--ways", default="all none,all all,lora none,lora all,head none")
    parser.add_argument("--cells", choices=["50", "200", "1500", "mixed"], default="200")
    chosen = parser.parse_args()
    settings = make_settings(
        source=f"tests.benchmarks.training.pictures:draw_{chosen.cells}", model=chosen.model, initial=chosen.initial,
        device=chosen.device, image_size=chosen.side, max_cells=1600, max_images_per_canvas=1, buffer_size=64,
        min_buffer=2,
    )  # fmt: skip
    smaller = chosen.side * 3 // 4 // 32 * 32
    print(
        f"{'way':<22} {'batch':>5} {'side':>5} {'predicted MB':>13} {'measured':>9} {'off':>6} {'s':>6} {'measured':>9}"
    )
    for words in chosen.ways.split(","):
        way = Way(*words.split(), "float32")
        known = []
        for batch, side in plan_sizes(settings)[0]:
            found = measure(settings, way, batch, side, chosen.plugin)
            known.append(Point(batch, side, found.n_cells, found.peak_bytes, found.seconds))
        model = fit_costs(known)
        for batch, side in [(2 * chosen.batches[0], smaller), *((batch, chosen.side) for batch in chosen.batches)]:
            found = measure(settings, way, batch, side, chosen.plugin)
            told = model.peak_bytes(batch, side, found.n_cells)
            print(
                f"{words:<22} {batch:>5} {side:>5} {told / 1e6:>13.0f} {found.peak_bytes / 1e6:>9.0f} "
                f"{told / found.peak_bytes - 1:>+6.1%} {model.seconds(batch, side, found.n_cells):>6.2f} "
                f"{found.seconds:>9.2f}",
                flush=True,
            )


def measure(settings: TrainSettings, way: Way, batch: int, side: int, plugin: str | None):
    changed = change(settings, {**Option(way, side, batch, 1, 0, 0).changes, "data.min_buffer": batch})
    found = measure_apart(changed, steps=2, plugin=plugin)
    assert not found.problem, found.problem
    return found


if __name__ == "__main__":
    main()
