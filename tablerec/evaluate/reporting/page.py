"""One HTML page with the worst cases; it needs nothing but itself."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from postprocess.arrays import Image
from postprocess.cell import Cell
from postprocess.characters import clean_text
from tablerec.evaluate.reporting.report import HEADINGS, Summary, case_to_entry, format_summary
from tablerec.evaluate.runner import Case
from tablerec.evaluate.truth import Grid, Position, normalize
from tablerec.inputs.images import load_pages
from tablerec.result import Page, PageImage

MAX_PICTURE_SIDE = 1000
"""Pixels; larger pictures are reduced for the page."""

_STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #222 }
section { border-top: 2px solid #888; margin-top: 2em; padding-top: .5em }
.pair { display: flex; gap: 1.5em; align-items: flex-start; flex-wrap: wrap; margin: 1em 0 }
.pair > figure { flex: 1 1 28em; min-width: 0; margin: 0; overflow-x: auto }
figcaption { color: #666 }
img { max-width: 100%; border: 1px solid #ccc }
table { border-collapse: collapse; font-size: 12px }
td { border: 1px solid #888; padding: 1px 4px; min-width: 1em; height: 1.2em }
td { white-space: pre-wrap; vertical-align: top }
td.place { background: #fbb }
td.text { background: #ffb }
.error { color: #a00 }
"""


def worst_page(cases: Sequence[Case], n_worst: int, summary: Summary) -> str:
    """Return an HTML page that shows the cases with the lowest overall score.

    Each shows the picture, the cells found drawn over it, and the table found beside the true
    one. Cells without a counterpart at the same place are red, those with another text yellow.

    Args:
        cases: Of an evaluation.
        n_worst: At most this many are shown.
        summary: The ``sources`` of the report.
    """
    worst = sorted(cases, key=lambda case: (case.scores.overall, case.truth.id))[:n_worst]
    sections = "\n".join(_case_to_html(case) for case in worst)
    return f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Worst {len(worst)} of {len(cases)} tables</title><style>{_STYLE}</style></head>
<body>
<h1>Worst {len(worst)} of {len(cases)} tables</h1>
<pre>{escape(format_summary(summary))}</pre>
<p>Red: no cell at this place in the other table. Yellow: another text.</p>
{sections}
</body>
</html>
"""


def _case_to_html(case: Case) -> str:
    entry, found, true = case_to_entry(case), case.prediction.table, case.truth.table
    shown = [(heading, entry[name]) for name, heading in HEADINGS.items() if entry.get(name) is not None]
    scores = ", ".join(f"{heading} {value:.3g}" for heading, value in [("overall", entry["overall"]), *shown])
    error = f'<p class="error">{escape(clean_text(case.prediction.error))}</p>' if case.prediction.error else ""
    tables = _figure(
        f"found by {case.prediction.detector or 'no detector'}",
        _table_to_html(found, true, case) if found else "nothing",
    )
    tables += _figure("true", _table_to_html(true, found, case))
    return f"""<section>
<h2>{escape(case.truth.id)}</h2>
<p>{escape(case.truth.source)}: {escape(scores)}</p>
{error}<div class="pair">{_pictures(case)}</div>
<div class="pair">{tables}</div>
</section>"""


def _figure(caption: str, content: str) -> str:
    return f"<figure><figcaption>{escape(caption)}</figcaption>{content}</figure>"


def _pictures(case: Case) -> str:
    # A picture that cannot be shown is part of the report, not the end of it.
    try:
        picture = next(load_pages(case.truth.image))
    except Exception as error:
        return _figure("picture", escape(str(error)))
    try:
        overlay = _image_to_html(_draw_cells(case, picture))
    except Exception as error:
        overlay = escape(f"cannot be drawn: {error}")
    return _figure("picture", _image_to_html(picture.image)) + _figure("cells found", overlay)


def _draw_cells(case: Case, picture: PageImage) -> Image:
    from tablerec.outputs.overlay import draw_overlay

    found = case.prediction.table
    return draw_overlay(Page(picture, tables=() if found is None else (found,), detector=case.prediction.detector))


def _image_to_html(image: Image) -> str:
    import cv2

    height, width = image.shape[:2]
    factor = min(1.0, MAX_PICTURE_SIDE / max(height, width))
    size = max(1, round(width * factor)), max(1, round(height * factor))
    ok, data = cv2.imencode(
        ".jpg", cv2.resize(image, size, interpolation=cv2.INTER_AREA), [cv2.IMWRITE_JPEG_QUALITY, 80]
    )
    if not ok:
        raise ValueError("the picture cannot be encoded as JPEG")
    return f'<img alt="" src="data:image/jpeg;base64,{base64.b64encode(data.tobytes()).decode()}">'


def _table_to_html(grid: Grid, other: Grid | None, case: Case) -> str:
    others = {} if other is None else {(cell.row, cell.col): cell for cell in other.cells}
    rows = [""] * grid.owner.shape[0]
    for cell in grid.cells:
        rows[cell.row] += _cell_to_html(cell, _difference(cell, others, case.truth.has_text))
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


def _difference(cell: Cell, others: dict[Position, Cell], has_text: bool) -> str:
    other = others.get((cell.row, cell.col))
    if other is None or (other.rowspan, other.colspan) != (cell.rowspan, cell.colspan):
        return "place"
    return "text" if has_text and normalize(other.text) != normalize(cell.text) else ""


def _cell_to_html(cell: Cell, difference: str) -> str:
    spans = {"rowspan": cell.rowspan, "colspan": cell.colspan}
    attributes = [f'{name}="{span}"' for name, span in spans.items() if span > 1]
    attributes += [f'class="{difference}"'] if difference else []
    return f"<td {' '.join(attributes)}>{escape(clean_text(cell.text))}</td>"
