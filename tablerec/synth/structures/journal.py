"""Tables of journal articles: statements over several lines, values in two lines, panels side by side."""

from __future__ import annotations

from collections.abc import Callable

from tablerec.synth.content.phrases import long_header, long_label
from tablerec.synth.content.texts import NumberFormat, Value, Writer
from tablerec.synth.draft import ColumnKind, Draft, DraftCell
from tablerec.synth.recipe import Recipe
from tablerec.synth.structures.headers import (
    add_headers,
    choose_size,
    columns_of,
    empty_columns,
    put_group,
    put_section,
)


def journal(writer: Writer, recipe: Recipe) -> Draft:
    """Compose a table of an article."""
    kinds: dict[str, tuple[float, Callable[[Writer, Recipe], Draft]]] = {
        "survey": (3, _survey),
        "studies": (4, _studies),
        "counts": (5, _counts),
        "levels": (4, _levels),
        "panels": (2, _panels),
        "notes": (2, _notes),
        "estimates": (2, _estimates),
        "matrix": (1, _matrix),
        "sequences": (1, _sequences),
    }
    kind = writer.pick({name: weight for name, (weight, _) in kinds.items()})
    return kinds[kind][1](writer, recipe).finish()


def _header(writer: Writer, draft: Draft, recipe: Recipe, first: int, leaf: Callable[[], str]) -> None:
    n_cols = len(draft.columns)
    stubs = [writer.choose(("", leaf())) for _ in range(first)]
    if n_cols - first >= 4 and (n_cols - first) % 2 == 0 and writer.chance(0.15):
        _repeated_header(writer, draft, first, stubs, leaf)
        return
    levels = min(2, max(1, int(writer.pick(recipe.header_levels))))
    add_headers(draft, writer, levels, first, lambda place: leaf(), lambda: writer.label("measure_groups"), stubs)
    if levels == 1 and n_cols - first > 2 and writer.chance(0.08):
        # What holds for all columns but the first, below their names.
        put_group(draft, draft.add_row("header"), first + 1, n_cols - first - 1, f"N (% of {writer.label('groups')})")


def _repeated_header(writer: Writer, draft: Draft, first: int, stubs: list[str], leaf: Callable[[], str]) -> None:
    """Two groups with the same columns, at times with a group of the same width below each."""
    half = (len(draft.columns) - first) // 2
    levels = 3 if writer.chance(0.4) else 2
    for _ in range(levels):
        draft.add_row("header")
    for col, text in enumerate(stubs):
        draft.put(DraftCell(0, col, text, rowspan=levels, kind="column"))
    below, leaves = writer.label("measures"), [leaf() for _ in range(half)]
    for start in (first, first + half):
        put_group(draft, 0, start, half, f"{writer.label('groups')} (n = {writer.whole((20, 900))})")
        if levels == 3:
            put_group(draft, 1, start, half, below)
        for place, text in enumerate(leaves):
            draft.put(DraftCell(levels - 1, start + place, text, kind="column"))


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
    draft = Draft(columns_of(1, max(1, n_cols - 1)))
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
    longest = writer.choose_real(1, 2, 3, 6, 9)
    groups = writer.pick({"none": 4, "once": 3, "merged": 2})
    first, count = len(draft.rows), max(2, n_rows - len(draft.rows))
    for _ in range(count):
        draft.add_row("body")
    row = first
    while row < first + count:
        height = 1 if groups == "none" else writer.whole((1, 4))
        label = long_label(writer, "clinical") if writer.chance(0.15) else _gene_or_label(writer)
        merged = groups == "merged"
        draft.put(DraftCell(row, 0, label, rowspan=height if merged else 1, kind="row", is_centred=merged))
        row += height
    for row in range(first, first + count):
        for col, kind in enumerate(kinds, start=1):
            if writer.chance(recipe.empty[1] / 3):
                continue
            if kind == "number":
                draft.put_value(row, col, writer.number(formats[col - 1]))
            elif kind == "code":
                draft.put(DraftCell(row, col, writer.code(code)))
            else:
                draft.put(DraftCell(row, col, writer.prose((1, longest)).rstrip(".")))
    return draft


def _gene_or_label(writer: Writer) -> str:
    if writer.chance(0.25):
        return writer.choose(("hsa-miR-", "IL-", "CYP", "AT", "rs", "Os", "PMC")) + str(writer.whole((1, 9999)))
    return writer.label(writer.choose(("clinical", "methods", "items", "datasets")))


def _counts(writer: Writer, recipe: Recipe) -> Draft:
    """Characteristics by groups; each value with its share behind it or, in narrow columns, below it."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = min(max(2, n_cols), 10)
    draft = Draft(columns_of(1, n_cols - 1))
    _header(writer, draft, recipe, 1, _leaf(writer, writer.choose_real(0, 0.2, 0.5)))
    extras = ("sd", "paren", "interval", "range")
    # Broken: no value, all of them, those of some rows, or single ones that are too wide for their column.
    breaking = writer.pick({"none": 5, "all": 1, "rows": 1, "values": 1.5})
    level = 0
    for number in range(max(2, n_rows - len(draft.rows))):
        if writer.chance(0.12):
            put_section(draft, writer, writer.label("clinical_sections"), spans=recipe.spans * 0.6, gap=number > 0)
            level = 1
        row = draft.add_row("body")
        cell = draft.put(DraftCell(row, 0, writer.label("clinical"), kind="row", level=level))
        cell.mark = writer.mark() if writer.chance(0.08) else ""
        form = NumberFormat(1, 10 ** writer.real((1, 4.5)), writer.whole((0, 2)), extra=writer.choose(extras))
        some = writer.chance({"none": 0.0, "all": 1.0, "rows": 0.3, "values": 0.35}[breaking])
        for col in range(1, n_cols):
            if writer.chance(recipe.empty[1] / 4):
                continue
            cell = draft.put_value(row, col, writer.number(form))
            if some and (breaking != "values" or writer.chance(0.6)):
                cell.text = cell.text.replace(" (", "\n(", 1).replace(" ± ", "\n± ", 1)
            if writer.chance(0.02) and not cell.trail:
                cell.mark = writer.mark()
    return draft


def _levels(writer: Writer, recipe: Recipe) -> Draft:
    """Factors with their levels below them, each factor with one p value; or the levels in a column of their own."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = min(max(3, n_cols), 9)
    n_stub = 2 if n_cols > 3 and writer.chance(0.25) else 1
    draft = Draft(columns_of(n_stub, n_cols - n_stub))
    _header(writer, draft, recipe, n_stub, _leaf(writer, writer.choose_real(0, 0, 0.3)))
    for cell in draft.cells:
        if cell.col == n_cols - 1 and cell.colspan == 1:
            cell.text = writer.choose(("p value", "P", "P-value", "p", "p*"))
    has_p, p_at_level = writer.chance(0.8), writer.chance(0.2)
    forms = [_count_or_ratio(writer) for _ in range(n_cols - n_stub - has_p)]
    labels = writer.labels("clinical", n_rows)
    while len(draft.rows) < max(n_rows, 3):
        count = writer.whole((1, 4))
        head = draft.add_row("section" if n_stub == 1 and count > 1 else "body", gap=writer.chance(0.1))
        text = labels[len(draft.rows) % len(labels)]
        if writer.chance(0.06):
            # A long name runs on over the empty cells behind it.
            text = long_label(writer, "clinical")
            draft.put(DraftCell(head, 0, text, kind="section", colspan=n_cols - has_p if count > 1 else 1, bold=False))
        else:
            draft.put(DraftCell(head, 0, text, kind="row", bold=writer.chance(0.2) or None))
        if has_p and not p_at_level:
            draft.put_value(head, n_cols - 1, _p_value(writer))
        rows = [head] * (n_stub == 2 or count == 1)
        rows += [draft.add_row("body") for _ in range(count - len(rows))]
        for place, row in enumerate(rows):
            if count > 1:
                draft.put(DraftCell(row, n_stub - 1, writer.choose(_LEVELS[place % 2]), kind="row", level=n_stub == 1))
            for index, form in enumerate(forms):
                reference = place == 0 and count > 1 and index > 0 and writer.chance(0.5)
                value = Value(writer.choose(("1", "1.000", "Ref.", "–"))) if reference else writer.number(form)
                if not writer.chance(recipe.empty[1] / 4):
                    draft.put_value(row, n_stub + index, value)
            if has_p and p_at_level and place:
                draft.put_value(row, n_cols - 1, _p_value(writer))
    return draft


_LEVELS = (
    ("Male", "Yes", "≤65", "<50", "I–II", "Negative", "Absent", "G1", "Low", "T1–T2", "18–44", "Urban", "≤4 cm"),
    ("Female", "No", ">65", "≥50", "III–IV", "Positive", "Present", "G2", "High", "T3", "45–64", "Rural", ">4 cm"),
)


def _count_or_ratio(writer: Writer) -> NumberFormat:
    extra = writer.choose(("paren", "interval", "", "sd"))
    return NumberFormat(0.1, 10 ** writer.real((0, 3)), 0 if extra == "paren" else writer.whole((1, 3)), extra=extra)


def _p_value(writer: Writer) -> Value:
    text = writer.choose(("<0.001", "NS", f"{writer.real((0, 1)):.2f}", f"{writer.real((0, 0.3)):.3f}", "< 0.0001"))
    return Value(text, trail=writer.choose(("*", "")) if writer.chance(0.2) else "")


def _panels(writer: Writer, recipe: Recipe) -> Draft:
    """One list in two or three panels side by side, each with the same columns."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_panels = 3 if n_cols >= 9 and writer.chance(0.3) else 2
    width = max(2, min(4, n_cols // n_panels))
    draft = Draft(columns_of(1, width - 1) * n_panels)
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


def _notes(writer: Writer, recipe: Recipe) -> Draft:
    """Short rows, and beside several of them one text that fills their height line by line."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = min(max(3, n_cols), 7)
    kinds: list[ColumnKind] = [writer.pick({"code": 2, "number": 2, "text": 1}) for _ in range(n_cols - 2)]  # type: ignore[misc]
    draft = Draft(["code" if writer.chance(0.6) else "label", *kinds, "long"])
    _header(writer, draft, recipe, 1, _leaf(writer, 0))
    form, code, stub_code = writer.number_format(), writer.code_format(), writer.code_format()
    words = (3, writer.whole((4, 8)))
    while len(draft.rows) < max(n_rows, 3):
        height = writer.whole((1, 4))
        # Without free space between them, nobody could tell where one text ends.
        first = draft.add_row("body", gap=True)
        rows = [first, *(draft.add_row("body") for _ in range(height - 1))]
        lines = height + (writer.whole((0, 2)) if writer.chance(0.3) else 0)
        text = "\n".join(writer.prose(words) if line == 0 else writer.prose(words).lower() for line in range(lines))
        draft.put(DraftCell(first, n_cols - 1, text, rowspan=height))
        for row in rows:
            label = writer.code(stub_code) if draft.columns[0] == "code" else _gene_or_label(writer)
            draft.put(DraftCell(row, 0, label, kind="row"))
            for col, kind in enumerate(kinds, start=1):
                if kind == "number":
                    draft.put_value(row, col, writer.number(form))
                else:
                    draft.put(DraftCell(row, col, writer.code(code) if kind == "code" else writer.label("groups")))
    longest = max(len(line) for cell in draft.cells for line in cell.text.split("\n") if cell.col == n_cols - 1)
    draft.widths[n_cols - 1] = max(6, 0.54 * longest)
    return draft


def _estimates(writer: Writer, recipe: Recipe) -> Draft:
    """Coefficients, each with its standard error in the row below, and what was observed at the end."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = min(max(2, n_cols), 9)
    draft = Draft(columns_of(1, n_cols - 1))
    _header(writer, draft, recipe, 1, _leaf(writer, 0))
    if writer.chance(0.5):
        row = draft.add_row("header")
        for col in range(1, n_cols):
            draft.put(DraftCell(row, col, f"({col})", kind="column"))
    digits, bracket = writer.whole((2, 4)), writer.choose(("()", "()", "[]"))
    labels = writer.labels("measures", n_rows)
    for number in range(max(1, (n_rows - len(draft.rows) - 2) // 2)):
        # Space between the pairs would make them look like rows with two lines.
        rows = [draft.add_row("body"), draft.add_row("body")]
        draft.put(DraftCell(rows[0], 0, labels[number % len(labels)], kind="row"))
        for col in range(1, n_cols):
            if writer.chance(0.15):
                continue
            value = writer.real((-3, 3)) * 10 ** writer.real((-1, 0.5))
            stars = writer.choose(("", "", "*", "**", "***"))
            draft.put_value(rows[0], col, Value(f"{value:.{digits}f}", trail=stars))
            error = f"{bracket[0]}{abs(value) * writer.real((0.1, 0.8)):.{digits}f}{bracket[1]}"
            draft.put_value(rows[1], col, Value(error))
    for number, label in enumerate(("Observations", "R²", "Fixed effects")[: writer.whole((0, 3))]):
        row = draft.add_row("total" if number == 0 else "body")
        draft.put(DraftCell(row, 0, label, kind="row"))
        for col in range(1, n_cols):
            values = (f"{writer.whole((90, 9000)):,}", f"{writer.real((0, 1)):.2f}", writer.choose(("Yes", "No")))
            draft.put_value(row, col, Value(values[number]))
    return draft


def _matrix(writer: Writer, recipe: Recipe) -> Draft:
    """The same names along both sides, numbers on one side of the diagonal only."""
    count = min(max(3, choose_size(writer, recipe)[1]), 12)
    names = writer.labels(writer.choose(("groups", "metrics", "measures")), count)
    numbered = writer.chance(0.3)
    draft = Draft(columns_of(1, count))
    row = draft.add_row("header")
    for col in range(count):
        draft.put(DraftCell(row, col + 1, f"{col + 1}" if numbered else names[col], kind="column"))
    form = NumberFormat(0.01, 1, writer.whole((1, 3)), negatives=0.3, parentheses=False)
    lower, diagonal = writer.chance(0.7), writer.choose(("–", "1", "1.00", ""))
    other = writer.choose(("", "", "–"))
    for number in range(count):
        row = draft.add_row("body")
        draft.put(DraftCell(row, 0, f"{number + 1}. {names[number]}" if numbered else names[number], kind="row"))
        for col in range(count):
            if col == number:
                draft.put_value(row, col + 1, Value(diagonal))
            elif (col < number) == lower:
                draft.put_value(row, col + 1, writer.number(form))
            else:
                draft.put_value(row, col + 1, Value(other))
    return draft


def _sequences(writer: Writer, recipe: Recipe) -> Draft:
    """Genes and their primers, in one line each or in two of one row."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_numbers = min(max(0, n_cols - 2), 3)
    draft = Draft(["label", "text", *columns_of(0, n_numbers)])
    _header(writer, draft, recipe, 1, _leaf(writer, 0))
    paired, prefixes = writer.chance(0.4), writer.choose(("F: R: ", "5′- 5′-", "S  AS "))
    longest = writer.whole((18, 28))
    formats = [writer.number_format() for _ in range(n_numbers)]
    for _ in range(max(2, n_rows - len(draft.rows))):
        row = draft.add_row("body")
        gene = writer.code("AAA9") if writer.chance(0.7) else _gene_or_label(writer)
        draft.put(DraftCell(row, 0, gene, kind="row", italic=writer.chance(0.3)))
        reads = ["".join(writer.choose("ACGT") for _ in range(writer.whole((16, longest)))) for _ in range(1 + paired)]
        if paired:
            reads = [prefixes[3 * place : 3 * place + 3] + read for place, read in enumerate(reads)]
        draft.put(DraftCell(row, 1, "\n".join(reads)))
        for index, form in enumerate(formats):
            draft.put_value(row, 2 + index, writer.number(form))
    return draft
