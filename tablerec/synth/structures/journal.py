"""Tables of journal articles: statements over several lines, values in two lines, panels side by side."""

from __future__ import annotations

from collections.abc import Callable

from tablerec.synth.content import NumberFormat, Writer
from tablerec.synth.draft import ColumnKind, Draft, DraftCell
from tablerec.synth.recipe import Recipe
from tablerec.synth.structures.headers import add_headers, choose_size, empty_columns, put_section
from tablerec.synth.structures.phrases import long_header, long_label


def journal(writer: Writer, recipe: Recipe) -> Draft:
    """Compose a table of an article: a survey, a list of studies, counts with shares, or two panels of one list."""
    kind = writer.pick({"survey": 3, "studies": 4, "counts": 4, "panels": 2})
    compose = {"survey": _survey, "studies": _studies, "counts": _counts, "panels": _panels}[kind]
    return compose(writer, recipe).finish()


def _header(writer: Writer, draft: Draft, recipe: Recipe, first: int, leaf: Callable[[], str]) -> None:
    levels = min(2, max(1, int(writer.pick(recipe.header_levels))))
    stubs = [writer.choose(("", leaf())) for _ in range(first)]
    add_headers(draft, writer, levels, first, lambda place: leaf(), lambda: writer.label("measure_groups"), stubs)


def _leaf(writer: Writer, share_long: float) -> Callable[[], str]:
    def leaf() -> str:
        text = long_header(writer) if writer.chance(share_long) else writer.label(writer.choose(_TOPICS))
        if writer.chance(0.15):
            text += "\n" + writer.choose((f"(n = {writer.whole((8, 900))})", "n (%)", "(%)", "(mean ± SD)", "[95% CI]"))
        return text

    return leaf


_TOPICS = ("measures", "headers", "groups", "metrics", "datasets")


def _survey(writer: Writer, recipe: Recipe) -> Draft:
    """Statements of one to four lines and the shares of the answers."""
    n_rows, n_cols = choose_size(writer, recipe)
    draft = Draft(["label", *_numbers(max(1, n_cols - 1))])
    _header(writer, draft, recipe, 1, _leaf(writer, writer.choose_real(0, 0.2, 0.6)))
    form = writer.number_format()
    numbered = writer.chance(0.5)
    words = (3, writer.whole((5, 22)))
    blank = empty_columns(draft, writer, recipe)
    for number in range(max(2, n_rows - len(draft.rows))):
        if number and writer.chance(0.08):
            put_section(draft, writer, writer.label("clinical_sections"), spans=0.7, gap=False)
        row = draft.add_row("body")
        text = writer.prose(words) if writer.chance(0.8) else writer.label("clinical")
        draft.put(DraftCell(row, 0, f"{number + 1}. {text}" if numbered else text, kind="row"))
        for col in range(1, len(draft.columns)):
            if col not in blank and not writer.chance(recipe.empty[1] / 3):
                draft.put_value(row, col, writer.number(form))
    return draft


def _studies(writer: Writer, recipe: Recipe) -> Draft:
    """A list of things with words and numbers; a group is named once, above empty cells or over all its rows."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = min(max(2, n_cols), 9)
    kinds: list[ColumnKind] = [writer.pick({"text": 4, "code": 2, "number": 3}) for _ in range(n_cols - 1)]  # type: ignore[misc]
    draft = Draft(["label", *kinds])
    _header(writer, draft, recipe, 1, _leaf(writer, writer.choose_real(0, 0.2, 0.5)))
    formats = [writer.number_format() for _ in kinds]
    code = writer.code_format()
    longest = writer.whole((1, 9))
    groups = writer.pick({"none": 4, "once": 3, "merged": 2})
    left, count = 0, max(2, n_rows - len(draft.rows))
    for number in range(count):
        row = draft.add_row("body")
        if left == 0:
            left = 1 if groups == "none" else writer.whole((1, 4))
            height = min(left, count - number) if groups == "merged" else 1
            label = long_label(writer, "clinical") if writer.chance(0.2) else _gene_or_label(writer)
            draft.put(DraftCell(row, 0, label, rowspan=height, kind="row", is_centred=groups == "merged"))
        left -= 1
        for col, kind in enumerate(kinds, start=1):
            if writer.chance(recipe.empty[1] / 3):
                continue
            if kind == "number":
                draft.put_value(row, col, writer.number(formats[col - 1]))
            elif kind == "code":
                draft.put(DraftCell(row, col, writer.code(code)))
            else:
                draft.put(DraftCell(row, col, writer.prose((1, longest)).rstrip(".")))
    # A group whose rows were cut short by the end of the table keeps what there is.
    return draft


def _gene_or_label(writer: Writer) -> str:
    if writer.chance(0.25):
        return writer.choose(("hsa-miR-", "IL-", "CYP", "AT", "rs", "Os", "PMC")) + str(writer.whole((1, 9999)))
    return writer.label(writer.choose(("clinical", "methods", "items", "datasets")))


def _counts(writer: Writer, recipe: Recipe) -> Draft:
    """Characteristics by groups; each value with its share behind it or, in narrow columns, below it."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = min(max(2, n_cols), 10)
    draft = Draft(["label", *_numbers(n_cols - 1)])
    _header(writer, draft, recipe, 1, _leaf(writer, writer.choose_real(0, 0.2, 0.5)))
    extras = ("sd", "paren", "interval", "range")
    broken = writer.chance(0.35)
    always_broken = writer.chance(0.5)
    level = 0
    for number in range(max(2, n_rows - len(draft.rows))):
        if writer.chance(0.12):
            put_section(draft, writer, writer.label("clinical_sections"), spans=recipe.spans * 0.6, gap=number > 0)
            level = 1
        row = draft.add_row("body")
        text = writer.label("clinical") + (" " + writer.mark() if writer.chance(0.05) else "")
        draft.put(DraftCell(row, 0, text, kind="row", level=level))
        form = NumberFormat(1, 10 ** writer.real((1, 4.5)), writer.whole((0, 2)), extra=writer.choose(extras))
        breaks = broken and (always_broken or writer.chance(0.3))
        for col in range(1, n_cols):
            if writer.chance(recipe.empty[1] / 4):
                continue
            value = writer.number(form)
            cell = draft.put_value(row, col, value)
            if breaks:
                cell.text = cell.text.replace(" (", "\n(", 1).replace(" ± ", "\n± ", 1)
    return draft


def _panels(writer: Writer, recipe: Recipe) -> Draft:
    """One list in two or three panels side by side, each with the same columns."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_panels = 3 if n_cols >= 9 and writer.chance(0.3) else 2
    width = max(2, min(4, n_cols // n_panels))
    panel: list[ColumnKind] = ["label", *_numbers(width - 1)]
    draft = Draft(panel * n_panels)
    row = draft.add_row("header")
    heads = [_leaf(writer, 0.2)() for _ in range(width)]
    for col in range(len(draft.columns)):
        draft.put(DraftCell(row, col, heads[col % width], kind="column"))
    formats = [writer.number_format() for _ in range(width)]
    count = max(2, n_rows - 1)
    short = writer.whole((0, min(3, count - 1)))
    for number in range(count):
        row = draft.add_row("body")
        for col in range(len(draft.columns)):
            if number >= count - short and col >= len(draft.columns) - width:
                continue  # the last panel ends earlier
            if col % width == 0:
                draft.put(DraftCell(row, col, _gene_or_label(writer), kind="row"))
            else:
                draft.put_value(row, col, writer.number(formats[col % width]))
    return draft


def _numbers(count: int) -> list[ColumnKind]:
    numbers: list[ColumnKind] = ["number"] * count
    return numbers
