"""Text that does not run from left to right, read in drawn cells:
``python -m tests.benchmarks.reading.columns [--ocr auto --ocr rapidocr] [--count N] [--kind KIND...] [--sheet FILE]``.

A developer script, not a test. Each table is ruled and holds narrow cells with Chinese characters one below another,
in one column or two, with digits among them, or words turned by 90 degrees; fonts, sizes, gaps, rules and ground vary.
By kind and engine: the share of cells whose text is right without blanks, when the engine finds and reads the lines
itself (``found``), and when it reads each cell as a second look does (``looked at``); seconds a table. ``--sheet`` is
a picture of the cells that the first engine misread.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from postprocess.arrays import Floats, Image
from postprocess.geometry.boxes import boxes_to_quads
from postprocess.text.lines import words_to_texts
from postprocess.word import Word, Words
from tablerec.config import Settings
from tablerec.ocr import make_ocr_engine
from tablerec.synth.drawing.fonts import families_for
from tests.benchmarks.reading.tables import plain

KINDS = ("one column", "with digits", "two columns", "upwards", "downwards", "level")
"""``level`` is text that runs from left to right, wrapped in cells as narrow: it must not suffer."""
PHRASES = (
    "数量", "单位", "合计", "备注", "日期", "序号", "名称", "规格", "金额", "本年", "上年", "负责人", "审核人",
    "存栏量", "免疫数", "疫苗名称", "累计发放", "应免数量", "实际数量", "主要负责人", "经办人员", "固定资产",
    "流动资产", "本月合计", "填报单位", "实际免疫数量", "当年累计发病", "所有者权益", "生产许可编号",
)  # fmt: skip
WORDS = (
    "Total", "Amount", "Revenue", "Quantity", "Department", "2024", "Net-income", "Surface-area", "Population",
    "Cost/unit", "Balance", "1,250",
)  # fmt: skip
CELLS = 6
_SEED = 19


@dataclass(frozen=True)
class Drawn:
    """A picture of a table of one row, ``(N, 4)`` boxes of its cells, and their texts."""

    image: Image
    boxes: Floats
    texts: tuple[str, ...]


def draw(seed: int, kind: str) -> Drawn:
    """Draw a table."""
    from PIL import Image as Pillow
    from PIL import ImageDraw, ImageFont

    chance = random.Random(f"{seed} {kind}")
    turned = kind in ("upwards", "downwards")
    family = chance.choice(families_for("latin" if turned and chance.random() < 0.7 else "chinese"))
    face = chance.choice(family.faces)
    size = chance.randint(14, 40)
    font = ImageFont.truetype(face.path, size, face.index) if face.path else ImageFont.load_default(size)
    ground = chance.choice([(255, 255, 255)] * 3 + [(238, 243, 250), (250, 244, 225)])
    pitch, pad = round(size * chance.uniform(1.05, 1.5)), round(size * chance.uniform(0.15, 0.6))
    is_chinese = "chinese" in family.scripts
    layouts = [_lay_out(chance, kind, is_chinese) for _ in range(CELLS)]
    blocks = [_block(Pillow, ImageDraw, font, each, kind, pitch, ground) for each in layouts]
    height = max(block.size[1] for block in blocks) + 2 * pad + chance.randint(0, size)
    x, boxes = chance.randint(3, 30), []
    top = chance.randint(3, 30)
    width = x + sum(block.size[0] + 2 * pad for block in blocks) + 30
    picture = Pillow.new("RGB", (width, height + top + 30), ground)
    pen = ImageDraw.Draw(picture)
    for block in blocks:
        box = (x, top, x + block.size[0] + 2 * pad, top + height)
        below = top + (height - block.size[1]) // 2 if chance.random() < 0.7 else top + pad
        picture.paste(block, (x + pad, below))
        boxes.append(box)
        x = box[2]
    for box in boxes:
        pen.rectangle(box, outline=(0, 0, 0), width=1 + (size > 24))
    image = np.asarray(picture)[..., ::-1].copy()
    if chance.random() < 0.3:
        import cv2

        image = np.asarray(cv2.GaussianBlur(image, (3, 3), 0.7))
    return Drawn(image, np.array(boxes, np.float64), tuple("".join(map("".join, each)) for each in layouts))


def _lay_out(chance: random.Random, kind: str, is_chinese: bool) -> list[list[str]]:
    """The parts of a cell's text: columns, or lines, each of its signs that stand apart."""
    if kind in ("upwards", "downwards"):
        return [[chance.choice(PHRASES if is_chinese else WORDS)]]
    text = chance.choice(PHRASES)
    if kind == "one column":
        return [list(text[: chance.choice([1, 2, 3, 4, 5, 6])])]
    if kind == "with digits":
        number = str(chance.choice([1, 2, 3, 4, 12, 2023]))
        signs = [
            "第",
            *([number] if len(number) < 3 and chance.random() < 0.7 else number),
            chance.choice("季年组号次"),
        ]
        return [signs + list(text[: chance.choice([0, 2])])]
    if kind == "two columns":
        count = chance.choice([3, 4, 5])
        return [list((text + "".join(PHRASES[:9]))[:count]), list(chance.choice(PHRASES)[:count])]
    count = chance.choice([2, 3])
    text += chance.choice(PHRASES)
    return [[text[start : start + count]] for start in range(0, len(text), count)]


def _block(pillow: Any, drawing: Any, font: Any, layout: list[list[str]], kind: str, pitch: int, ground: Any) -> Any:
    """A picture of the text of a cell, without ground around it."""
    size = round(font.size)
    if kind in ("upwards", "downwards"):
        text = layout[0][0]
        left, up, right, low = font.getbbox(text)
        block = pillow.new("RGB", (right - left + 2, low - up + 2), ground)
        drawing.Draw(block).text((1 - left, 1 - up), text, (20, 20, 20), font)
        return block.transpose(pillow.Transpose.ROTATE_90 if kind == "upwards" else pillow.Transpose.ROTATE_270)
    if kind == "level":
        block = pillow.new(
            "RGB", (round(max(font.getlength(line[0]) for line in layout)) + 2, pitch * len(layout)), ground
        )
        for row, line in enumerate(layout):
            drawing.Draw(block).text((1, row * pitch), line[0], (20, 20, 20), font, anchor="lt")
        return block
    # Columns follow one another from right to left, further apart than the characters of one.
    step = round(1.6 * pitch)
    rows = max(map(len, layout))
    block = pillow.new("RGB", (size + 4 + step * (len(layout) - 1), pitch * rows), ground)
    for column, signs in enumerate(layout):
        for row, sign in enumerate(signs):
            middle = block.size[0] - 2 - size / 2 - step * column, (row + 0.5) * pitch
            drawing.Draw(block).text(middle, sign, (20, 20, 20), font, anchor="mm")
    return block


def texts_of(words: Sequence[Word], boxes: Floats) -> list[str]:
    """What was read in each cell, without blanks."""
    placed = Words(words)
    middles = placed.middles[:, None].reshape(-1, 1, 2)
    inside = np.asarray((middles >= boxes[:, :2]) & (middles <= boxes[:, 2:])).all(axis=2)
    owner = np.where(inside.max(axis=1), inside.argmax(axis=1), -1)
    return [plain(text) for text in words_to_texts(placed, owner, len(boxes))]


def main() -> None:
    """Draw, read, and print a line for each kind and engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ocr", action="append", help="as of tablerec; several are compared  [auto and rapidocr]")
    parser.add_argument("--kind", nargs="*", default=KINDS)
    parser.add_argument("--count", type=int, default=20, help=f"tables of each kind, of {CELLS} cells")
    parser.add_argument("--seed", type=int, default=_SEED)
    parser.add_argument("--sheet", type=Path)
    options = parser.parse_args()
    engines = {name: make_ocr_engine(Settings(ocr=name)) for name in options.ocr or ["auto", "rapidocr"]}
    wrong: list[Image] = []
    for kind in options.kind:
        right: dict[tuple[str, str], list[bool]] = defaultdict(list)
        seconds: dict[str, float] = defaultdict(float)
        for number in range(options.count):
            drawn = draw(1000 * options.seed + number, kind)
            true = [plain(text) for text in drawn.texts]
            for name, engine in engines.items():
                started = time.perf_counter()
                found = texts_of(engine.read(drawn.image), drawn.boxes)
                seconds[name] += time.perf_counter() - started
                inner = boxes_to_quads(drawn.boxes + np.array([3, 3, -3, -3]))
                seen = texts_of(engine.read_quads(drawn.image, inner), drawn.boxes)
                right[name, "found"] += [a == b for a, b in zip(true, found, strict=True)]
                right[name, "looked at"] += [a == b for a, b in zip(true, seen, strict=True)]
                for text, read, box in zip(true, found, drawn.boxes.astype(int).tolist(), strict=True):
                    if read != text and name == next(iter(engines)):
                        if options.sheet:
                            print(f"  {kind}: {text} read as {read!r}")
                        wrong.append(drawn.image[box[1] : box[3] + 2, box[0] : box[2] + 2])
        for name in engines:
            shares = "  ".join(f"{way} {np.mean(right[name, way]):.3f}" for way in ("found", "looked at"))
            took = f"{seconds[name] / options.count:.2f} s"
            print(f"{kind:12} {name:10} {len(right[name, 'found'])} cells  {shares}  {took}")
    if options.sheet and wrong:
        _write_sheet(options.sheet, wrong)


def _write_sheet(path: Path, pictures: Sequence[Image]) -> None:
    import cv2

    rows = []
    for start in range(0, min(len(pictures), 160), 20):
        some = [each[:300, :100] for each in pictures[start : start + 20]]
        padded = [cv2.copyMakeBorder(s, 0, 300 - s.shape[0], 0, 100 - s.shape[1], cv2.BORDER_CONSTANT) for s in some]
        rows.append(np.hstack(padded + [np.zeros((300, 100, 3), np.uint8)] * (20 - len(some))))
    cv2.imwrite(str(path), np.vstack(rows))


if __name__ == "__main__":
    main()
