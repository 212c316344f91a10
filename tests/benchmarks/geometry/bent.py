"""Tables on bent pages, by how much they sag: ``python -m tests.benchmarks.geometry.bent [-n 6] [--off] [--known]``.

A developer script, not a test. The same drawn tables lie flat, then on a page of an open book, on a sheet that is an
arc, and on one that is a wave, each seen from straight ahead or, on a desk, at an angle. The sag, as a share of the
width, is how far the highest point of a line lies above its lowest. Prints for each sag the mean GriTS-Top of the
largest table, the share that is exact, the share of the cells with text that have just this at their place, and the
seconds a picture.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from pathlib import Path

import cv2
import numpy as np

from postprocess.arrays import Floats
from postprocess.geometry.boxes import array_to_quad
from postprocess.table import Table
from postprocess.word import Word
from tablerec.config import Settings
from tablerec.evaluate.runner import largest_table
from tablerec.evaluate.scoring.cells import same_cells
from tablerec.evaluate.scoring.grits import grits_top
from tablerec.outputs.overlay import draw_overlay
from tablerec.pipeline import Recognizer
from tablerec.synth import draw, load_recipe
from tablerec.synth.camera.warp import matrix_map
from tablerec.synth.sample import Sample

RECIPES = ("ruled", "horizontal", "lineless", "form", "partial", "financial")
BENDS = ("book", "arc", "wave")
SAGS = (0.0, 0.015, 0.03, 0.06, 0.09, 0.12)
SEED = 8_100_000_011
"""Training uses small ones."""
MARGIN = 0.06
"""Paper around the crop, as a share of its width."""


def bend(sample: Sample, kind: str, sag: float, keystone: float = 0.3, desk: int | None = None) -> Sample:
    """Bend a page about an upright axis.

    Args:
        sample: Flat.
        kind: One of ``BENDS``.
        sag: Of the line in the middle of the height, as a share of the width.
        keystone: By what share of it lines at the top sag less, and those at the bottom more.
        desk: Grey of what is seen beyond the page; None for more paper.
    """
    height, width = sample.image.shape[:2]
    share = np.linspace(0, 1, 1001)
    curve = {"book": np.exp(-5 * share), "arc": 4 * share * (1 - share), "wave": np.sin(2 * np.pi * share)}[kind]
    curve = curve * sag / np.ptp(curve) * width
    # Paper that slopes away from the eye looks narrower.
    steps = np.sqrt(np.maximum(1 - (np.gradient(curve, width / 1000) * 0.7) ** 2, 0.2))
    across = np.append(0, np.cumsum((steps[1:] + steps[:-1]) / 2)) * width / 1000

    def down(y: Floats, at: Floats) -> Floats:
        return np.asarray(np.interp(at, share, curve) * (1 + keystone * (2 * y / height - 1)) + y)

    edge = MARGIN * width
    top = np.floor(min(0.0, down(np.zeros(1001), share).min())) - edge
    bottom = np.ceil(down(np.full(1001, height), share).max()) + edge
    x, y = np.meshgrid(np.arange(int(across[-1] + 2 * edge)) + 0.5 - edge, np.arange(int(bottom - top)) + 0.5 + top)
    # Beyond its sides the page does not go on: these points lie far outside.
    at = np.interp(x, across, share, left=-1, right=2)
    shift = np.interp(at, share, curve)
    flat_y = (y - shift * (1 - keystone)) / (1 + 2 * keystone * shift / height)
    maps = (at * width - 0.5).astype(np.float32), (flat_y - 0.5).astype(np.float32)
    ground = paper_color(sample) if desk is None else [desk] * 3
    image = cv2.remap(sample.image, *maps, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=ground)

    def move(points: Floats) -> Floats:
        at = points[:, 0] / width
        moved = np.stack([np.interp(at, share, across) + edge, down(points[:, 1], at) - top], axis=1)
        return moved.astype(np.float32)

    return sample.mapped(np.asarray(image, np.uint8), move)


def seen_askew(sample: Sample, rng: np.random.Generator, desk: int) -> Sample:
    """Look at it at an angle, from a desk of this grey."""
    height, width = sample.image.shape[:2]
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    moved = corners + rng.uniform(0, 0.05, (4, 2)).astype(np.float32) * (1 - 2 * corners / [width, height]) * width
    matrix = cv2.getPerspectiveTransform(corners, moved.astype(np.float32))
    image = cv2.warpPerspective(sample.image, matrix, (width, height), borderValue=[desk] * 3)
    return sample.mapped(np.asarray(image, np.uint8), matrix_map(matrix))


def paper_color(sample: Sample) -> list[int]:
    """The median colour along the edge."""
    image = sample.image
    edge = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
    return [int(value) for value in np.median(edge, axis=0)]


def framed(sample: Sample) -> Sample:
    """The sample with paper around it."""
    edge = round(MARGIN * sample.image.shape[1])
    image = cv2.copyMakeBorder(sample.image, *[edge] * 4, cv2.BORDER_CONSTANT, value=paper_color(sample))
    return sample.mapped(np.asarray(image, np.uint8), lambda points: points + np.float32(edge))


def photographed(flat: Sample, kind: str, sag: float, number: int) -> Sample:
    """Every other page lies on a desk and is seen at an angle."""
    rng = np.random.default_rng(number)
    desk = int(rng.integers(40, 140))
    return seen_askew(bend(flat, kind, sag, desk=desk), rng, desk) if number % 2 else bend(flat, kind, sag)


def texts_in_place(found: Table, true: Table) -> float:
    """Share of the true cells with text whose row and column hold the same text, white space aside."""
    texts = {(cell.row, cell.col): "".join(cell.text.split()) for cell in found.cells}
    wanted = [((cell.row, cell.col), "".join(cell.text.split())) for cell in true.cells if cell.text.strip()]
    return float(np.mean([texts.get(place) == text for place, text in wanted])) if wanted else 1.0


def main() -> None:
    """Print a line for each sag, and for each kind of bend at the two largest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--count", type=int, default=6, help="tables for each kind of bend")
    parser.add_argument("--off", action="store_true", help="without flattening")
    parser.add_argument("--known", action="store_true", help="with true words in place of what is read")
    parser.add_argument("--ocr", default="tablerec")
    parser.add_argument("--sags", type=float, nargs="*", default=SAGS)
    parser.add_argument("--draw", type=Path, help="folder for pictures of what was found")
    args = parser.parse_args()
    unwarp = "off" if args.off else "auto"
    # A page on a desk is not what a user has cropped.
    recognizers = [Recognizer(Settings(layout=layout, ocr=args.ocr, unwarp=unwarp)) for layout in ("table", "page")]
    scores: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for index in range(args.count * len(BENDS)):
        recipe, kind = RECIPES[index // len(BENDS) % len(RECIPES)], BENDS[index % len(BENDS)]
        flat = framed(draw(load_recipe(recipe), SEED, index // len(BENDS), "fast"))
        if len(flat.tables) != 1:
            continue
        for sag in args.sags:
            sample = photographed(flat, kind, sag, index // len(BENDS))
            quads = [array_to_quad(quad) for quad in sample.words.quads]
            words = [Word(text, quad) for text, quad in zip(sample.words.texts, quads, strict=True)]
            image = np.ascontiguousarray(sample.image[..., ::-1])
            started = time.perf_counter()
            (page,) = recognizers[index // len(BENDS) % 2].recognize(image, words if args.known else None).pages
            seconds = time.perf_counter() - started
            table, (true,) = largest_table(page.tables), sample.to_tables()
            grits = 0.0 if table is None else grits_top(table, true) or 0.0
            read = 0.0 if table is None else texts_in_place(table, true)
            row = grits, float(table is not None and same_cells(table, true)), read, seconds
            scores[f"sag {sag:.3f}"].append(row)
            scores[f"sag {sag:.3f} {kind}"].append(row)
            if args.draw:
                args.draw.mkdir(parents=True, exist_ok=True)
                name = f"{index:03d}_{recipe}_{kind}_{round(1000 * sag):03d}_{grits:.3f}.png"
                cv2.imwrite(str(args.draw / name), draw_overlay(page))
    print(f"{'':20}{'tables':>8}{'GriTS':>8}{'exact':>8}{'text':>8}{'s':>8}")
    for name, rows in sorted(scores.items()):
        print(f"{name:20}{len(rows):8}" + "".join(f"{value:8.3f}" for value in np.mean(rows, axis=0)))


if __name__ == "__main__":
    main()
