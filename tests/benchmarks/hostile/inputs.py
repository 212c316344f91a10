"""Hostile inputs, made anew from three values: kind, seed and number say all about one."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postprocess.cell import Caption, Cell
from postprocess.export import table_to_html, tables_to_json
from postprocess.table import Table
from postprocess.word import Word
from tests.benchmarks.hostile.pdfs import craft_pdf, seed_pdfs

Rng = np.random.Generator
SAMPLES = Path(__file__).resolve().parents[3] / "data" / "samples"

EXTREMES: tuple[Any, ...] = (
    0, -1, 1, 0.5, -0.0, 1e-300, 5e-324, 1e5, -1e5, 1e7, 1e9, 2.0**31, -(2.0**31), 2.0**53, 1e30, 1e155, 1e308, -1e308,
    float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
"""Numbers that break a calculation."""
TEXTS = (
    "", " ", "\0", "\n", "\ud800", "\ufffd", "\u202e", "\ufeff", "é", "e\u0301", "表", "مرحبا", "x" * 5000, "1 234,56",
    "=1+1", "<b>", "&amp;", "\\", "|", '"', "—", "1" * 400, "-", "−", "²", "\x1b[31m", "a\tb",
    "💥", "１２",
)  # fmt: skip
TOKENS: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 10**400, 1.5, float("nan"), float("inf"), "", "x", "\ud800", [], {},
    [[]], [1, 2], {"a": 1}, "1", "\0", "../../etc/passwd", "9" * 5000, [None], -0.0, 1e308,
)  # fmt: skip
"""Values to put in the place of any other in JSON and YAML."""


@dataclass(frozen=True)
class Given:
    """What a user hands in.

    Args:
        kind: One of ``KINDS``.
        name: Of the file, where it is one; how it is read depends on its suffix.
        data: Its bytes.
        image: An array in place of a file.
        words: Given with it.
        more: Further files beside it.
    """

    kind: str
    name: str = ""
    data: bytes = b""
    image: NDArray[Any] | None = None
    words: Sequence[Word] | None = None
    more: dict[str, bytes] = field(default_factory=dict)


def make(kind: str, seed: int, number: int) -> Given:
    """The input of a kind with a number; always the same."""
    index = list(KINDS).index(kind)
    return KINDS[kind](np.random.default_rng([seed, index, number]))


# Pictures


@cache
def drawn() -> NDArray[np.uint8]:
    """A small table with rulings and strokes for words."""
    image = np.full((90, 130, 3), 255, np.uint8)
    image[5:86:20], image[5:86, 5:126:30] = (40, 20, 60), 0
    image[:5], image[86:] = 255, 255
    for y in range(5, 80, 20):
        for x in range(5, 120, 30):
            image[y + 7 : y + 14, x + 8 : x + 22 : 3] = 0
    return image


@cache
def seed_pictures() -> tuple[tuple[str, bytes], ...]:
    """A small table in each format, in usual and unusual modes."""
    from PIL import Image

    upright = Image.fromarray(drawn()[..., ::-1].copy())
    made = []
    for suffix, mode, options in (
        ("png", "RGB", {}), ("png", "RGBA", {}), ("png", "P", {}), ("png", "1", {}), ("png", "I;16", {}),
        ("jpg", "RGB", {"quality": 60}), ("jpg", "L", {"progressive": True}), ("jpg", "CMYK", {}),
        ("tif", "RGB", {}), ("tif", "1", {"compression": "group4"}),
        ("tif", "L", {"compression": "tiff_lzw"}),
        ("tif", "RGB", {"compression": "jpeg"}), ("tif", "F", {}), ("tif", "L", {"compression": "tiff_adobe_deflate"}),
        ("webp", "RGB", {}), ("webp", "RGBA", {"lossless": True}), ("bmp", "RGB", {}), ("bmp", "P", {}),
        ("bmp", "1", {}),
        ("gif", "P", {}), ("gif", "L", {"interlace": 1}),
    ):  # fmt: skip
        file = io.BytesIO()
        grey = upright.convert("L")
        picture = Image.fromarray(np.asarray(grey).astype(np.uint16) * 257) if mode == "I;16" else upright.convert(mode)
        picture.save(file, {"jpg": "JPEG", "tif": "TIFF"}.get(suffix, suffix.upper()), **options)
        made.append((suffix, file.getvalue()))
    file = io.BytesIO()
    upright.save(file, "TIFF", save_all=True, append_images=[upright.convert("1"), upright.rotate(90, expand=True)])
    return (*made, ("tif", file.getvalue()))


def mutate(data: bytes, rng: Rng, head: int = 64) -> bytes:
    """Change a few bytes, of the head in half of the cases; cut, repeat, fill or join parts."""
    out, in_head = bytearray(data), rng.random() < 0.5
    for _ in range(int(rng.integers(1, 6))):
        if not out:
            break
        at = int(rng.integers(min(head, len(out)) if in_head else len(out)))
        match int(rng.integers(9)):
            case 0 | 1:
                out[at] = int(rng.integers(256))
            case 2:
                out[at] ^= 1 << int(rng.integers(8))
            case 3:
                number = int(rng.choice([0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF]))
                out[at : at + 4] = struct.pack(str(rng.choice(["<I", ">I"])), number)
            case 4:
                del out[at:]
            case 5:
                del out[at : at + int(rng.integers(1, 40))]
            case 6:
                out[at:at] = out[at : at + int(rng.integers(1, 200))]
            case 7:
                size = int(rng.integers(1, 60))
                out[at : at + size] = rng.bytes(size)
            case _:
                size = int(rng.integers(1, 60))
                out[at : at + size] = bytes([int(rng.choice([0, 255]))]) * size
    return bytes(out)


def _picture(rng: Rng) -> Given:
    suffix, data = seed_pictures()[int(rng.integers(len(seed_pictures())))]
    return Given("picture", f"picture.{suffix}", data if rng.random() < 0.03 else mutate(data, rng))


def _read(rng: Rng) -> Given:
    """A picture that is read by the real OCR engine: a part of a sample, squeezed, noisy, broken or turned."""
    import cv2
    from PIL import Image

    files = sorted([*SAMPLES.glob("*.png"), *SAMPLES.glob("*.jpg")])
    with Image.open(files[int(rng.integers(len(files)))]) as opened:
        image = np.asarray(opened.convert("RGB"))[..., ::-1]
    height, width = image.shape[:2]
    x, y = int(rng.integers(width // 2)), int(rng.integers(height // 2))
    part = image[y : y + int(rng.integers(1, 200)), x : x + int(rng.integers(1, 260))]
    size = (int(rng.integers(1, 300)), int(rng.integers(1, 300)))
    match int(rng.integers(6)):
        case 0:
            part = cv2.resize(part, size)
        case 1:
            noise = rng.integers(0, int(rng.integers(2, 256)), part.shape)
            part = np.clip(part.astype(int) + noise, 0, 255).astype(np.uint8)
        case 2:
            part = np.rot90(part, int(rng.integers(4)))
        case 3:
            part = 255 - part
        case 4:
            part = np.repeat(part[:1], int(rng.integers(1, 2000)), axis=0)
    return Given("read", image=np.ascontiguousarray(part))


# Arrays and words


def _array(rng: Rng) -> Given:
    usual = rng.random() < 0.75
    odd = ["f2", "i1", "i4", "i8", "u8", "c8", "O", "S4", "M8[s]", "U2", "u1", "f4"]
    dtype = str(rng.choice(["u1", "u1", "u2", "f4", "f8", "?"] if usual else odd))
    sizes = [0, 1, 2, 3, 4, 7, 8, 15, 31, 64, 100, 300, 1201, 10000, 60000]
    ndim = int(rng.choice([2, 3, 3]) if usual else rng.choice([0, 1, 4, 3]))
    sizes = sizes[1:] if usual else sizes
    channels = int(rng.choice([1, 3, 4] if usual else [2, 0, 3]))
    shape = [int(rng.choice(sizes)) for _ in range(min(ndim, 2))] + [channels] * (ndim > 2)
    shape += [2] * (ndim > 3)
    while int(np.prod(shape)) > 3_000_000:
        shape[int(np.argmax(shape))] //= 10
    if dtype in ("O", "S4", "M8[s]", "U2"):
        return Given("array", image=np.zeros(shape, dtype))
    values = rng.integers(0, 2 if dtype in ("f4", "f8", "f2", "?") else 100, shape)
    image = values.astype(dtype) if usual or not values.size else _extreme_array(values, dtype, rng)
    words = _words_in(rng, (*image.shape, 1, 1)[:2]) if rng.random() < 0.5 else None
    match int(rng.integers(5)):
        case 0:
            image = np.asfortranarray(image)
        case 1 if image.ndim > 1:
            image = image[::-1, ::2]
        case 2 if dtype in ("u2", "f4", "f8"):
            image = image.astype(image.dtype.newbyteorder())
    return Given("array", image=image, words=words)


def _extreme_array(values: NDArray[np.int64], dtype: str, rng: Rng) -> NDArray[Any]:
    with np.errstate(all="ignore"):
        wild = np.asarray(EXTREMES, np.float64)[rng.integers(0, len(EXTREMES), values.shape)]
        return np.nan_to_num(wild, nan=0, posinf=0, neginf=0).astype(dtype) if dtype[0] in "iu" else wild.astype(dtype)


def _words(rng: Rng) -> Given:
    sizes = [1, 2, 3, 4, 5, 9, 60, 90, 130, 400]
    height, width = (int(rng.choice(sizes)) for _ in range(2))
    if rng.random() < 0.5:
        image = drawn()
    elif rng.random() < 0.1:
        height, width = [(1201, 1), (1, 100_000), (10_000, 4), (3, 5000), (5000, 2), (1, 1)][int(rng.integers(6))]
        image = np.full((height, width, 3), int(rng.choice([0, 255])), np.uint8)
    else:
        image = rng.integers(0, int(rng.choice([1, 256])), (height, width, 3)).astype(np.uint8)
    return Given("words", image=image, words=_words_in(rng, image.shape[:2]))


def _words_in(rng: Rng, size_hw: tuple[int, ...]) -> list[Word]:
    """Words in a grid, some of them with extreme corners, scores, spans and texts; or all of one kind."""
    height, width = size_hw
    n = int(rng.choice([0, 1, 2, 3, 12, 40, 200]))
    wild = float(rng.choice([0.0, 0.1, 0.5, 1.0]))
    columns = max(int(n**0.5), 1)
    words = []
    for k in range(n):
        step_x, step_y = width / columns, height / (n // columns + 1)
        x, y = (k % columns) * step_x, (k // columns) * step_y
        corners = [[x, y], [x + 0.8 * step_x, y], [x + 0.8 * step_x, y + 0.6 * step_y], [x, y + 0.6 * step_y]]
        text, score, spans = f"w{k}", 0.9, None
        if rng.random() < wild:
            corners = _wild_quad(corners, rng)
        if rng.random() < wild / 2:
            text = str(TEXTS[int(rng.integers(len(TEXTS)))])
        if rng.random() < wild / 2:
            score = float(EXTREMES[int(rng.integers(len(EXTREMES)))])
        if rng.random() < wild / 2:
            spans = tuple(_wild_span(rng) for _ in range(len(text) + int(rng.choice([0, 0, 0, 1, -1]))))
        words.append(Word(text, tuple(map(tuple, corners)), score, spans))  # type: ignore[arg-type]
    return words


def _wild_span(rng: Rng) -> tuple[float, float]:
    one, other = (float(EXTREMES[int(rng.integers(len(EXTREMES)))]) for _ in range(2))
    return (one, other) if rng.random() < 0.3 else (float(rng.random()), float(rng.random()))


def _wild_quad(corners: list[list[float]], rng: Rng) -> list[list[float]]:
    array = np.array(corners, np.float64)
    with np.errstate(all="ignore"):
        match int(rng.integers(8)):
            case 0:
                array[rng.integers(4), rng.integers(2)] = EXTREMES[int(rng.integers(len(EXTREMES)))]
            case 1:
                array[:] = EXTREMES[int(rng.integers(len(EXTREMES)))]
            case 2:
                array = array[0] + (array - array[0]) * float(10.0 ** rng.integers(-12, 12))
            case 3:
                array = array + float(rng.choice([-1, 1])) * 10.0 ** rng.integers(0, 12)
            case 4:
                array[:, 1] = array[0, 1]
            case 5:
                array[:, 0] = array[0, 0]
            case 6:
                array = array[rng.permutation(4)]
            case _:
                array = array + rng.normal(0, 10.0 ** rng.integers(0, 6), (4, 2))
    return [[float(x), float(y)] for x, y in array]


# Files of JSON, YAML and labels


def _replace_any(value: Any, rng: Rng, share: float) -> Any:
    """The same with some of its parts, at any depth, replaced, taken away or doubled."""
    if rng.random() < share:
        return TOKENS[int(rng.integers(len(TOKENS)))]
    if isinstance(value, dict):
        items = [(k, _replace_any(v, rng, share)) for k, v in value.items() if rng.random() > share / 2]
        return dict(items) | ({"surprise": 1} if rng.random() < share else {})
    if isinstance(value, list):
        changed = [_replace_any(each, rng, share) for each in value if rng.random() > share / 2]
        return changed * 2 if rng.random() < share / 2 else changed
    if isinstance(value, (int, float)) and not isinstance(value, bool) and rng.random() < share:
        return EXTREMES[int(rng.integers(len(EXTREMES)))]
    return value


def _json_bytes(value: Any, rng: Rng) -> bytes:
    share = float(rng.choice([0.01, 0.03, 0.1, 0.3]))
    text = json.dumps(_replace_any(value, rng, share))
    data = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.02:
        data = b"[" * 100_000
    return mutate(data, rng, head=200) if rng.random() < 0.3 else data


@cache
def a_table() -> Table:
    """A small table of all that a table can have."""
    square = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0))
    cells = [
        Cell(0, 0, 1, 2, quad=square, text="Year", header="column", ocr_score=0.9),
        Cell(1, 0, quad=square, text="a", header="row"),
        Cell(1, 1, quad=square, text="1,234.5 m²", is_total=True, doubt="is unsure"),
    ]
    return Table(cells, square, title=Caption("Table 1", square, 0.5), notes=[Caption("Source")])


def _tables(rng: Rng) -> Given:
    if rng.random() < 0.25:
        return Given("tables", "tables.html", mutate(table_to_html(a_table()).encode(), rng, head=10_000))
    return Given("tables", "tables.json", _json_bytes(json.loads(tables_to_json([a_table()])), rng))


def _png() -> bytes:
    return seed_pictures()[0][1]


_QUAD = [[5, 5], [35, 5], [35, 25], [5, 25]]
_COCO = {
    "images": [{"id": 1, "file_name": "a.png", "width": 130, "height": 90}],
    "annotations": [
        {"id": k, "image_id": 1, "category_id": 1, "bbox": [5 + 30 * k, 5, 30, 20], "area": 600, "iscrowd": 0,
         "segmentation": [[5, 5, 35, 5, 35, 25, 5, 25]]} for k in range(3)
    ],
    "categories": [{"id": 1, "name": "cell"}],
}  # fmt: skip
_LABELME = {
    "version": "5.0", "imagePath": "a.png", "imageWidth": 130, "imageHeight": 90, "imageData": None, "flags": {},
    "shapes": [{"label": "cell", "points": _QUAD, "shape_type": "polygon", "group_id": None, "flags": {}}] * 2,
}  # fmt: skip
_LINE = [{"transcription": "a", "points": _QUAD, "difficult": False, "key_cls": "None"}] * 2
_CELLS = {
    "filename": "a.png",
    "html": {
        "structure": {"tokens": ["<tr>", "<td>", "</td>", "<td", ' colspan="2"', ">", "</td>", "</tr>"]},
        "cells": [{"tokens": ["a"], "bbox": _QUAD}, {"tokens": ["b"], "bbox": _QUAD}],
    },
}


def _labels(rng: Rng) -> Given:
    beside = {"a.png": _png()}
    match int(rng.integers(5)):
        case 0:
            name, data = "annotations/instance_train.json", _json_bytes(_COCO, rng)
            beside = {"images/a.png": _png()}
        case 1:
            name, data = "a.json", _json_bytes(_LABELME, rng)
        case 2:
            data = b"a.png\t" + _json_bytes(_LINE, rng) + b"\n"
            name, data = "Label.txt", mutate(data, rng) if rng.random() < 0.3 else data
        case 3:
            name, data = "train.txt", _json_bytes(_CELLS, rng) + b"\n"
        case _:
            sample = json.loads((SAMPLES / "ruled.json").read_text("utf-8"))
            name, data = "ruled.json", _json_bytes(sample, rng)
            beside = {"ruled.png": (SAMPLES / "ruled.png").read_bytes()}
    return Given("labels", name, data, more=beside)


@cache
def seed_settings() -> tuple[tuple[str, str], ...]:
    root = SAMPLES.parents[1]
    training = [("training.yaml", path.read_text("utf-8")) for path in sorted((root / "data/training").glob("*.yaml"))]
    recipes = [
        ("recipe.yaml", path.read_text("utf-8")) for path in sorted((root / "tablerec/synth/recipes").glob("*.yaml"))
    ]
    models = [
        ("inference.yml", path.read_text("utf-8")) for path in sorted((root / "tablerec/models").rglob("inference.yml"))
    ]
    return (*training, *recipes, *models)


def _settings(rng: Rng) -> Given:
    import yaml

    name, text = seed_settings()[int(rng.integers(len(seed_settings())))]
    if rng.random() < 0.6:
        changed = _replace_any(yaml.safe_load(text), rng, float(rng.choice([0.02, 0.1, 0.3])))
        try:
            text = yaml.safe_dump(changed)
        except (yaml.YAMLError, ValueError):
            text = repr(changed)
        data = text.encode("utf-8", "surrogatepass")
    else:
        data = mutate(text.encode(), rng, head=4000)
    odd = [
        b"a: !!int abc\n",
        b"a: 2026-99-99\n",
        b"[" * 5000,
        b"a: &a [*a]\n",
        b"? [a]\n: 1\n",
        b"\xff\xfe\0",
        b"--- \n---\n",
    ]
    if rng.random() < 0.1:
        data = data + b"\n" + odd[int(rng.integers(len(odd)))]
    return Given("settings", name, data)


def _weights(rng: Rng) -> Given:
    if rng.random() < 0.6:
        table = {"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
                 "b": {"dtype": "I64", "shape": [1], "data_offsets": [24, 32]}}  # fmt: skip
        head = _json_bytes(table, rng)
        size = len(head) if rng.random() < 0.9 else [0, 7, 2**31, 2**62, 2**64 - 1][int(rng.integers(5))]
        data = size.to_bytes(8, "little") + head + bytes(32)
        return Given("weights", "weights.safetensors", mutate(data, rng) if rng.random() < 0.3 else data)
    import pickle

    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": ("x", np.zeros(2, np.int64))}
    data = mutate(pickle.dumps(arrays, protocol=int(rng.integers(2, 5))), rng, head=400)
    return Given("weights", f"weights.{rng.choice(['pdparams', 'pth'])}", data)


# PDFs


def _pdf(rng: Rng) -> Given:
    seeds = seed_pdfs()
    return Given("pdf", "document.pdf", mutate(seeds[int(rng.integers(len(seeds)))], rng, head=2000))


def _crafted_pdf(rng: Rng) -> Given:
    return Given("crafted_pdf", "document.pdf", craft_pdf(rng))


KINDS: dict[str, Callable[[Rng], Given]] = {
    "picture": _picture,
    "pdf": _pdf,
    "crafted_pdf": _crafted_pdf,
    "words": _words,
    "array": _array,
    "tables": _tables,
    "labels": _labels,
    "settings": _settings,
    "weights": _weights,
    "read": _read,
}
