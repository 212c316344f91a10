"""Official statistics: boxed headers over many dense rows whose labels end in dots."""

from __future__ import annotations

from tablerec.synth.content.phrases import long_header, long_label
from tablerec.synth.content.texts import Value, Writer
from tablerec.synth.draft import Draft, DraftCell
from tablerec.synth.recipe import Recipe
from tablerec.synth.structures.headers import add_headers, choose_size, columns_of, put_group

_MISSING = ("(X)", "–", "-", "(NA)", "*****", "(D)", "(Z)", "...", "(S)", "X", "†", "--")


def census(writer: Writer, recipe: Recipe) -> Draft:
    """Compose groups of indented lines by measures that repeat under each year or sex."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = max(2, n_cols)
    draft = Draft(columns_of(1, n_cols - 1))
    levels = max(1, int(writer.pick(recipe.header_levels)))
    share_long = writer.choose_real(0, 0.3, 0.6)
    same = [long_header(writer) if writer.chance(share_long) else writer.label("measures") for _ in range(4)]
    groups = [str(writer.year()) for _ in range(3)] if writer.chance(0.4) else writer.labels("measure_groups", 4)
    add_headers(
        draft, writer, levels, 1, lambda place: same[place % 4],
        lambda: long_header(writer) if writer.chance(share_long * 0.4) else writer.choose(groups),
        [_stub_head(writer)] if writer.chance(0.8) else [""],
    )  # fmt: skip
    if writer.chance(0.2):
        _numbering(draft, writer)
    if writer.chance(0.2) and n_cols > 2:
        row = draft.add_row("header")
        put_group(draft, row, 1, n_cols - 1, f"({writer.label('units').strip('()')})")
        draft.groups.pop()
    _rows(draft, writer, recipe, max(1, n_rows - len(draft.rows)))
    return draft.finish()


def _stub_head(writer: Writer) -> str:
    return writer.label("headers") if writer.chance(0.7) else long_label(writer, "headers")


def _numbering(draft: Draft, writer: Writer) -> None:
    row = draft.add_row("header")
    start = writer.whole((0, 1))
    form = writer.choose(["({})", "{}"])
    for col in range(start, len(draft.columns)):
        draft.put(DraftCell(row, col, form.format(col + 1 - start), kind="column", align="center", bold=False))


def _rows(draft: Draft, writer: Writer, recipe: Recipe, count: int) -> None:
    topic = writer.pick({"groups": 3, "regions": 3, "items": 1, "accounts": 1})
    labels = writer.labels(topic, count)
    leaders = writer.chance(0.65)
    share_long = writer.choose_real(0, 0.1, 0.3)
    share_missing, missing = writer.choose_real(0, 0.05, 0.15), writer.choose(_MISSING)
    share_empty = writer.real(recipe.empty)
    bold_parents, right_parents = writer.chance(0.6), writer.chance(0.15)
    empty_parents = writer.chance(0.3)
    gaps = writer.chance(0.7)
    every = writer.whole((3, 9)) if writer.chance(0.8) else 10_000
    forms = [writer.number_format() for _ in range(4)]
    formats = [forms[(col - 1) % 4] for col in range(1, len(draft.columns))]
    level, until = 0, 0
    for number in range(count):
        is_parent = every < 10_000 and until == 0
        until = writer.whole((2, every)) if is_parent else until - 1
        row = draft.add_row("body", gap=is_parent and number > 0 and gaps)
        level = 0 if is_parent else min(3, max(1 if every < 10_000 else 0, level + writer.whole((-1, 1))))
        text = long_label(writer, topic) if writer.chance(share_long) else labels[number]
        cell = DraftCell(row, 0, text, kind="row", level=level)
        cell.has_leader = leaders and not (is_parent and empty_parents)
        cell.bold = (is_parent and bold_parents) or None
        if is_parent and right_parents:
            cell.align = "right"
            cell.has_leader = False
        if writer.chance(0.03):
            cell.mark = writer.mark()
        draft.put(cell)
        if is_parent and empty_parents:
            continue
        for col, form in enumerate(formats, start=1):
            if writer.chance(share_empty):
                continue
            value = Value(missing) if writer.chance(share_missing) else writer.number(form)
            draft.put_value(row, col, value).bold = cell.bold
