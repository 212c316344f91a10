"""Turn the tables of the Linux kernel's documentation into pictures with labels, for ``tablerec train``.

    python data/datasets/kernel_docs/prepare.py SOURCE -o out/kernel_docs

SOURCE is the folder ``html`` of the documentation, see README.md beside this file. Chromium draws it without network
and without scripts; the same version of it draws the same pictures.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import numpy as np

from tablerec.errors import InputError, TablerecError
from tablerec.outputs.files import atomic_file, check_folder
from tablerec.synth.browser.chromium import Chromium

LICENSE_NOTE = "documentation of the Linux kernel, GPL-2.0 (parts GFDL-1.1 or later), drawn by Chromium"
SHEETS = ("pygments.css", "css/theme.css", "theme_overrides.css", "theme_rtd_colors.css")
MOST_BYTES = 20 << 20
LEAST_CELLS, MOST_CELLS = 9, 600
MOST_OF_A_PAGE = 3
SIDES = (40, 2400)
"""Least and greatest width and height of a table, px of CSS."""

# Cells of tables without spans over nothing, without tables and pictures in them; their outer sides lie in the middle
# of the space between neighbours. Returns [box of the table, [box, row, col, rowspan, colspan, text]...] for each.
MEASURE = """
(() => [...document.querySelectorAll("table")].filter((table) =>
    !table.querySelector("table, img, svg, pre") && !table.parentElement.closest("table")).map((table) => {
  const style = getComputedStyle(table), shared = style.borderCollapse === "collapse";
  const [x, y] = shared ? [0, 0] : style.borderSpacing.split(" ").map((part) => parseFloat(part) / 2);
  const taken = new Set(), cells = [];
  [...table.rows].forEach((line, row) => {
    let col = 0;
    for (const cell of line.cells) {
      while (taken.has(`${row},${col}`)) col += 1;
      for (let down = 0; down < cell.rowSpan; down++)
        for (let right = 0; right < cell.colSpan; right++) taken.add(`${row + down},${col + right}`);
      const box = cell.getBoundingClientRect();
      cells.push([[box.left - x, box.top - (y ?? x), box.right + x, box.bottom + (y ?? x)],
                  row, col, cell.rowSpan, cell.colSpan, cell.innerText.trim()]);
      col += cell.colSpan;
    }
  });
  const whole = table.getBoundingClientRect();
  return [[whole.left, whole.top, whole.right, whole.bottom].map((side, at) => side + (at % 2 ? scrollY : scrollX)),
          cells.map(([box, ...rest]) => [box.map((side, at) => side + (at % 2 ? scrollY : scrollX)), ...rest])];
}))()
"""


def pages_of(source: Path) -> list[Path]:
    """Return the pages that have tables, in an order that any number of them is a fair sample of.

    Raises:
        InputError: There are none.
    """
    pages = [
        page
        for page in source.rglob("*.html")
        if page.is_file() and page.stat().st_size < MOST_BYTES and "translations" not in page.parts
    ]
    pages = [page for page in pages if b'class="docutils' in page.read_bytes()]
    if not pages:
        raise InputError(f"{source} holds no pages with tables: give the folder html of the documentation")
    return sorted(pages, key=lambda page: hashlib.sha256(name_of(page, source).encode()).digest())


def name_of(page: Path, source: Path) -> str:
    """Return the name of a page, which its pictures begin with."""
    return re.sub(r"[^a-z0-9]+", "_", page.relative_to(source).with_suffix("").as_posix().lower())


def to_document(page: Path, source: Path, plain: bool) -> str:
    """Return the article of a page with its style sheets inside, or with none of them where it is plain."""
    text = page.read_text("utf-8", "replace")
    article = text.partition('itemprop="articleBody">')[2].partition("<footer")[0] or text
    article = re.sub(r"<script\b.*?</script>", "", article, flags=re.DOTALL | re.IGNORECASE)
    style = "" if plain else "".join((source / "_static" / sheet).read_text("utf-8") for sheet in SHEETS)
    return f'<meta charset="utf-8"><style>{style}</style><div class="rst-content"><div>{article}</div></div>'


def is_wanted(box: list[float], cells: list[list[Any]]) -> bool:
    """Return whether a table is whole, of a fair size, and no list in disguise."""
    n_rows = max((cell[1] + cell[3] for cell in cells), default=0)
    n_cols = max((cell[2] + cell[4] for cell in cells), default=0)
    sides = box[2] - box[0], box[3] - box[1]
    return (
        LEAST_CELLS <= len(cells) <= MOST_CELLS
        and min(n_rows, n_cols) >= 2
        and sum(cell[3] * cell[4] for cell in cells) == n_rows * n_cols
        and all(SIDES[0] <= side <= SIDES[1] for side in sides)
        and all(cell[0][2] - cell[0][0] >= 4 and cell[0][3] - cell[0][1] >= 4 for cell in cells)
    )


def draw_page(browser: Chromium, page: Path, source: Path) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield label and picture, as PNG, of the tables of a page."""
    rng = np.random.default_rng(zlib.crc32(name_of(page, source).encode()))
    width, scale, plain = int(rng.integers(620, 1100)), float(rng.uniform(0.9, 1.6)), bool(rng.random() < 0.5)
    metrics = {"width": width, "deviceScaleFactor": scale, "mobile": False}
    browser.call("Emulation.setDeviceMetricsOverride", height=1000, **metrics)
    browser.show(to_document(page, source, plain))
    tables = [table for table in browser.evaluate(MEASURE) if is_wanted(*table)]
    for box, cells in tables[:MOST_OF_A_PAGE]:
        margin = float(rng.uniform(2, 14))
        clip = [max(box[0] - margin, 0), max(box[1] - margin, 0), box[2] + margin, box[3] + margin]
        area = {"x": clip[0], "y": clip[1], "width": clip[2] - clip[0], "height": clip[3] - clip[1], "scale": 1}
        answer = browser.call("Page.captureScreenshot", format="png", clip=area, captureBeyondViewport=True)
        yield to_label(cells, clip, scale, plain), base64.b64decode(answer["data"])


def to_label(cells: list[list[Any]], clip: list[float], scale: float, plain: bool) -> dict[str, Any]:
    """Return what is known of a table, ready for JSON."""
    origin = np.array([clip[0], clip[1]] * 2)
    names = ("row", "col", "rowspan", "colspan", "text")
    listed = [
        {"bbox": ((np.array(box) - origin) * scale).round(2).tolist(), **dict(zip(names, rest, strict=True))}
        for box, *rest in cells
    ]
    meta = {"bbox_kind": "cell", "has_text": True, "language": "en", "plain": plain}
    return {"source": "kernel_docs", "license_note": LICENSE_NOTE, "cells": listed, "meta": meta}


def write_table(folder: Path, name: str, split: str, label: dict[str, Any], picture: bytes) -> None:
    """Write a picture as JPEG, and then its label."""
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as image, atomic_file(folder / f"{name}.jpg") as file:
        image.convert("RGB").save(file, "JPEG", quality=93)
        label["meta"] |= {"width": image.width, "height": image.height, "split": split}
    with atomic_file(folder / f"{name}.json") as file:
        file.write(json.dumps({"id": name, "image": f"{name}.jpg", **label}, ensure_ascii=False).encode())


def prepare(source: Path, folder: Path, count: int) -> Counter[str]:
    """Write so many tables; return what was written and what was left out."""
    check_folder(folder)
    counts: Counter[str] = Counter()
    seen: set[bytes] = set()
    with closing(Chromium()) as browser:
        for page in pages_of(source):
            # Tables of one page look alike: all of them are on one side.
            split = "train" if zlib.crc32(f"{name_of(page, source)} ".encode()) & 1 else "test"
            for number, (label, picture) in enumerate(draw_page(browser, page, source)):
                # What differs in numbers alone is the same table of another version.
                texts = re.sub(r"\d+", "0", "\n".join(cell["text"] for cell in label["cells"]))
                digest = hashlib.sha256(texts.encode()).digest()
                if digest in seen:
                    counts["left out: the same as another"] += 1
                    continue
                seen.add(digest)
                write_table(folder, f"{name_of(page, source)[-80:]}_{number}", split, label, picture)
                counts[f"written: {split}"] += 1
                if counts["written: train"] + counts["written: test"] == count:
                    return counts
    return counts


@click.command(help=__doc__)
@click.argument("source", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), required=True)
@click.option("-n", "--count", type=click.IntRange(1), default=600, show_default=True, help="Tables, at most.")
def main(source: Path, output: Path, count: int) -> None:
    """Write a picture and a label for each table."""
    try:
        counts = prepare(source, output, count)
    except (TablerecError, OSError) as error:
        raise click.ClickException(str(error)) from error
    for what, number in sorted(counts.items()):
        click.echo(f"{number:5d} {what}")


if __name__ == "__main__":
    main()
