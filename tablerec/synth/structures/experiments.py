"""Results of experiments as papers print them: groups named once, blocks with headers of their own, parameters."""

from __future__ import annotations

from collections.abc import Callable

from tablerec.synth.content.texts import NumberFormat, Value, Writer
from tablerec.synth.draft import ColumnKind, Draft, DraftCell
from tablerec.synth.recipe import Recipe
from tablerec.synth.structures.headers import add_headers, choose_size, columns_of, put_section

_SYMBOLS = (
    "α", "β", "γ", "δ", "ε", "θ", "λ", "μ", "π", "ρ", "σ", "τ", "φ", "χ", "ω", "Δ", "Σ", "Ω", "N", "n", "k", "p", "M",
    "K", "d", "t", "T", "x", "i", "R²", "χ²", "m′",
)  # fmt: skip
_SHORT = (
    "mean", "max", "min", "std", "best", "avg", "time", "size", "acc.", "err.", "#", "%", "rank", "iter", "CPU", "MSE",
    "PSNR", "SSIM", "F1", "AP", "@1", "@5", "@10", "@100", "8-bit", "16-bit", "train", "dev", "test",
)  # fmt: skip


def experiment(writer: Writer, recipe: Recipe) -> Draft:
    """Compose what one experiment yields, in few words and many numbers."""
    kinds: dict[str, tuple[float, Callable[[Writer, Recipe], Draft]]] = {
        "grouped": (5, _grouped),
        "blocks": (2, _blocks),
        "plain": (5, _plain),
        "parameters": (2, _parameters),
        "across": (2, _across),
    }
    kind = writer.pick({name: weight for name, (weight, _) in kinds.items()})
    return kinds[kind][1](writer, recipe).finish()


def _name(writer: Writer) -> str:
    """Return a name for a column or row: a symbol, a short word, a data set, a setting."""
    kind = writer.pick({"symbol": 2, "short": 4, "label": 4, "setting": 1})
    if kind == "symbol":
        return writer.choose(_SYMBOLS)
    if kind == "short":
        return writer.choose(_SHORT)
    if kind == "setting":
        return f"{writer.choose(_SYMBOLS)} = {writer.choose(('0.1', '0.5', '1', '5', '10', '100', '1000'))}"
    return writer.label(writer.choose(("datasets", "metrics", "methods")))


def _headers(writer: Writer, draft: Draft, recipe: Recipe, stubs: list[str]) -> None:
    levels = min(2, max(1, int(writer.pick(recipe.header_levels))))
    same = [_name(writer) for _ in range(4)]
    repeats = levels == 2 and writer.chance(0.7)

    def leaf(place: int) -> str:
        return same[place % 4] if repeats else _name(writer)

    if levels == 2:
        # A stub's name in two lines stands over both rows.
        stubs = [f"{text}\n{writer.choose(_SHORT)}" if text and writer.chance(0.15) else text for text in stubs]
    add_headers(draft, writer, levels, len(stubs), leaf, lambda: writer.label("datasets"), stubs)


def _formats(writer: Writer, count: int) -> list[NumberFormat]:
    def one() -> NumberFormat:
        high = 10 ** writer.real((0, 4))
        extra = "sd" if writer.chance(0.1) else ""
        return NumberFormat(0, high, writer.whole((0, 4 if high < 50 else 2)), separator="", extra=extra, dash="-")

    shared = one()
    return [shared] * count if writer.chance(0.6) else [one() for _ in range(count)]


def _fill(writer: Writer, draft: Draft, recipe: Recipe, row: int, first: int, formats: list[NumberFormat]) -> None:
    for index, form in enumerate(formats):
        if not writer.chance(recipe.empty[1] / 6):
            cell = draft.put_value(row, first + index, writer.number(form))
            cell.bold = True if writer.chance(0.08) else None


def _grouped(writer: Writer, recipe: Recipe) -> Draft:
    """Groups of rows with one name each, the same measures or settings in all of them."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = max(3, n_cols)
    draft = Draft(columns_of(2, n_cols - 2))
    draft.columns[1] = "label" if writer.chance(0.5) else "code"
    _headers(writer, draft, recipe, [_name(writer) if writer.chance(0.8) else "" for _ in range(2)])
    size = writer.whole((2, 4))
    inner = [_name(writer) for _ in range(size)]
    same = writer.chance(0.8)
    symbol = writer.choose(_SYMBOLS) if writer.chance(0.3) else ""
    formats = _formats(writer, n_cols - 2)
    count = max(1, round((n_rows - len(draft.rows)) / size))
    for number in range(count):
        height = size if same else writer.whole((1, 4))
        rows = [draft.add_row("body") for _ in range(height)]
        name = f"{symbol}={2 * number + 1}" if symbol else writer.label(writer.choose(("datasets", "methods")))
        draft.put(DraftCell(rows[0], 0, name, rowspan=height, kind="row", is_centred=True))
        for place, row in enumerate(rows):
            draft.put(DraftCell(row, 1, inner[place] if same else _name(writer), kind="row"))
            _fill(writer, draft, recipe, row, 2, formats)
    return draft


def _blocks(writer: Writer, recipe: Recipe) -> Draft:
    """Blocks below one another, each with a header row of its own."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = max(2, n_cols)
    draft = Draft(columns_of(1, n_cols - 1))
    columns, names = [_name(writer) for _ in range(n_cols - 1)], writer.labels("datasets", 5)
    formats = _formats(writer, n_cols - 1)
    size = writer.whole((1, 5))
    titled = writer.chance(0.3)
    while len(draft.rows) < max(n_rows, 3):
        is_first = not draft.rows
        if titled:
            title = writer.label("datasets")
            if is_first:
                draft.add_row("header")
                draft.put(DraftCell(0, 0, title, colspan=n_cols, kind="column", align="center"))
            else:
                row = put_section(draft, writer, title, spans=0, gap=False)
                section = draft.cells[-1]
                draft.release(section)
                section.colspan, section.align = n_cols, "center"
                draft.cells.pop()
                draft.put(section)
        row = draft.add_row("header" if is_first else "section")
        draft.put(DraftCell(row, 0, writer.label("metrics"), kind="column"))
        for col, text in enumerate(columns, start=1):
            draft.put(DraftCell(row, col, text, kind="column"))
        for place in range(size):
            row = draft.add_row("body")
            draft.put(DraftCell(row, 0, names[place % 5], kind="row", italic=writer.chance(0.2)))
            _fill(writer, draft, recipe, row, 1, formats)
    return draft


def _plain(writer: Writer, recipe: Recipe) -> Draft:
    """Names or numbers by measures, often in two to four rows only."""
    n_rows, n_cols = choose_size(writer, recipe)
    draft = Draft(columns_of(1, max(1, n_cols - 1)))
    _headers(writer, draft, recipe, [_name(writer) if writer.chance(0.8) else ""])
    if writer.chance(0.08):
        draft.add_title(writer.label("datasets"))
    formats = _formats(writer, len(draft.columns) - 1)
    stub = writer.pick({"methods": 4, "numbers": 2, "numbered": 1, "names": 3})
    step = int(writer.choose_real(1, 2, 5, 10, 100))
    for number in range(max(1, n_rows - len(draft.rows))):
        row = draft.add_row("body")
        texts = {
            "methods": writer.label("methods"),
            "numbers": str(step * (number + 1)),
            "numbered": f"({number + 1}) {writer.label('methods')}",
            "names": _name(writer),
        }
        draft.put(DraftCell(row, 0, texts[stub], kind="row"))
        _fill(writer, draft, recipe, row, 1, formats)
    if writer.chance(0.2) and len(draft.rows) - draft.n_header > 1:
        draft.rows[-1] = "total"
    return draft


def _parameters(writer: Writer, recipe: Recipe) -> Draft:
    """Symbols and what they stand for or range over."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_cols = min(max(2, n_cols), 4)
    texts: list[ColumnKind] = ["text"] * (n_cols - 1)
    draft = Draft(["label", *texts])
    if writer.chance(0.7):
        row = draft.add_row("header")
        for col in range(n_cols):
            text = writer.choose(
                (("Symbol", "Type", "Parameter", ""), ("Range", "Value", "Meaning", "Setting"))[col > 0]
            )
            draft.put(DraftCell(row, col, text, kind="column"))
    for _ in range(max(2, n_rows - len(draft.rows))):
        row = draft.add_row("body")
        draft.put(DraftCell(row, 0, writer.choose(_SYMBOLS) if writer.chance(0.7) else _name(writer), kind="row"))
        for col in range(1, n_cols):
            kind = writer.pick({"values": 3, "power": 2, "words": 4, "number": 2})
            if kind == "values":
                values = sorted({writer.whole((0, 99)) for _ in range(writer.whole((2, 12)))})
                draft.put(DraftCell(row, col, ", ".join(map(str, values))))
            elif kind == "power":
                mark = f"−{writer.whole((1, 12))}" if writer.chance(0.7) else str(writer.whole((2, 12)))
                draft.put(DraftCell(row, col, f"{writer.real((1, 9.9)):.1f} × 10", mark=mark))
            elif kind == "words":
                draft.put(DraftCell(row, col, writer.prose((1, 9)).rstrip(".")))
            else:
                draft.put(DraftCell(row, col, f"{writer.real((0, 100)):.2f}"))
    return draft


def _across(writer: Writer, recipe: Recipe) -> Draft:
    """Few rows with many narrow columns: the settings run from left to right."""
    n_rows, n_cols = choose_size(writer, recipe)
    n_rows, n_cols = min(n_rows, 6), min(max(4, n_cols + 3), int(recipe.columns[1]) + 6)
    draft = Draft(columns_of(1, n_cols - 1))
    row = draft.add_row("header")
    draft.put(DraftCell(row, 0, _name(writer), kind="column"))
    form = writer.pick({"number": 3, "product": 1, "name": 1})
    for col in range(1, n_cols):
        texts = {"number": str(col), "product": f"{2 ** (col % 5)}x{2 ** (col % 3)}", "name": writer.choose(_SHORT)}
        draft.put(DraftCell(row, col, texts[form], kind="column"))
    for _ in range(max(1, n_rows - 1)):
        row = draft.add_row("body")
        draft.put(DraftCell(row, 0, writer.label(writer.choose(("metrics", "methods"))), kind="row"))
        formats = [NumberFormat(0, 1, 2) if writer.chance(0.5) else NumberFormat(0, 99, 0)] * (n_cols - 1)
        for index, column in enumerate(formats):
            if not writer.chance(recipe.empty[1] / 4):
                text = writer.number(column).text
                draft.put_value(row, 1 + index, Value(text.removeprefix("0") if column.decimals else text))
    return draft
