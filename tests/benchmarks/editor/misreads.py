"""Drawn tables whose contents prove themselves, and what the engine reads of them in bad pictures."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from unittest import mock

import numpy as np

from postprocess.arrays import Image
from postprocess.export.json import table_from_dict, table_to_dict
from postprocess.geometry.boxes import array_to_quad
from postprocess.table import Table
from postprocess.word import Word
from tablerec.config import Settings
from tablerec.corrections.editor.words import hold
from tablerec.evaluate.scoring.cells import same_cells
from tablerec.pipeline import Recognizer
from tablerec.result import PageImage
from tablerec.synth import Recipe, Sample, draw, load_recipe
from tablerec.synth.camera.optics import add_noise, bleed_through, blur, fax, jpeg
from tablerec.synth.camera.warp import rescale
from tablerec.synth.content.texts import NumberFormat, Writer
from tablerec.synth.draft import Draft, DraftCell
from tablerec.synth.structures import BUILDERS

RECIPES = ("ruled", "horizontal", "lineless")
HEIGHTS = (9.0, 15.0)
"""Height of the words in pixels, between which a picture is made smaller."""


@dataclass(frozen=True)
class Misread:
    """A table as it was read, and as it is.

    Args:
        name: Which one.
        read: What the engine found, with the very grid of the truth; its cells count words.
        words: What it read, with their places and scores.
        true: The texts of the cells, in their order.
        image: ``(H, W, 3)`` uint8 BGR; drawn again for one that is kept.
    """

    name: str
    read: Table
    words: tuple[Word, ...]
    true: tuple[str, ...]
    image: Image | None = None


# --- what is drawn ---


def _money(writer: Writer) -> NumberFormat:
    return replace(writer.money_format(), dashes=0, marks=0, hangs=False)


def _amount(writer: Writer, form: NumberFormat) -> Decimal:
    digits = writer.real((1.5, 5))
    return Decimal(10 ** (digits * writer.real((0.6, 1)))).quantize(Decimal(1).scaleb(-form.decimals))


def _write(form: NumberFormat, value: Decimal) -> str:
    text = form.write(float(value))
    if value >= 0:
        return form.prefix + text
    return f"({form.prefix}{text})" if form.parentheses else f"-{form.prefix}{text}"


def accounts(writer: Writer, recipe: Recipe) -> Draft:
    """Sections with subtotals, a grand total, what is left after expenses; or one block with its total."""
    n_cols = writer.whole((1, 4))
    has_row_total = n_cols > 2 and writer.chance(0.5)
    draft = Draft(["label", *["number"] * (n_cols + has_row_total)])  # type: ignore[list-item]
    form, year = _money(writer), writer.year()
    draft.add_row("header")
    heads = [str(year - index) for index in range(n_cols)]
    if has_row_total:
        heads = [*writer.labels("regions", n_cols), "Total"]
    draft.put(DraftCell(0, 0, writer.label("captions"), kind="column"))
    for col, head in enumerate(heads):
        draft.put(DraftCell(0, col + 1, head, kind="column"))

    def put(label: str, values: list[Decimal], kind: str) -> None:
        row = draft.add_row("total" if kind == "total" else "body")
        draft.put(DraftCell(row, 0, label, kind="total" if kind == "total" else "row"))
        shown = [*values, sum(values, Decimal())] if has_row_total else values
        for col, value in enumerate(shown):
            draft.put(DraftCell(row, col + 1, _write(form, value), kind=kind))  # type: ignore[arg-type]

    sums = []
    for name in writer.labels("account_sections", writer.whole((1, 3))):
        labels = writer.labels("accounts", writer.whole((2, 6)))
        items = [[_amount(writer, form) for _ in range(n_cols)] for _ in labels]
        for label, values in zip(labels, items, strict=True):
            put(label, values, "body")
        sums.append([sum(column, Decimal()) for column in zip(*items, strict=True)])
        put(f"Total {name.lower()}", sums[-1], "total")
    if len(sums) > 1:
        put("Total", [sum(column, Decimal()) for column in zip(*sums, strict=True)], "total")
    elif writer.chance(0.5):
        less = [(value * 2 / 5).quantize(Decimal(1).scaleb(-form.decimals)) for value in sums[0]]
        put("Expenses", less, "body")
        put("Result", [a - b for a, b in zip(sums[0], less, strict=True)], "total")
    return draft.finish()


def invoice(writer: Writer, recipe: Recipe) -> Draft:
    """Lines of quantity times price, their sum, the tax and the total."""
    form = replace(NumberFormat(1, 900, 2), separator=writer.choose([",", ""]))
    heads = ["No.", "Description", "EAN", "Qty", "Unit price", "Amount"]
    has_codes = writer.chance(0.5)
    kept = [index for index in range(6) if index != 2 or has_codes]
    kinds = ["code", "label", "code", "number", "number", "number"]
    draft = Draft([kinds[index] for index in kept])  # type: ignore[misc]
    draft.add_row("header")
    for col, index in enumerate(kept):
        draft.put(DraftCell(0, col, heads[index], kind="column"))
    total, last = Decimal(), len(kept) - 1
    for number, label in enumerate(writer.labels("items", writer.whole((4, 14)))):
        row = draft.add_row()
        count, price = Decimal(writer.whole((1, 48))), _amount(writer, form)
        texts = [str(number + 1), label, ean(writer), str(count), _write(form, price), _write(form, count * price)]
        for col, index in enumerate(kept):
            draft.put(DraftCell(row, col, texts[index]))
        total += count * price
    tax = (total * Decimal("0.19")).quantize(Decimal("0.01"), ROUND_HALF_UP)
    for name, value in (("Subtotal", total), ("VAT 19%", tax), ("Total", total + tax)):
        row = draft.add_row("total")
        draft.put(DraftCell(row, last - 1, name, kind="total"))
        draft.put(DraftCell(row, last, _write(form, value), kind="total"))
    return draft.finish()


def bank(writer: Writer, recipe: Recipe) -> Draft:
    """Dated entries with what goes out and in, and the balance after each."""
    form = replace(NumberFormat(1, 900, 2), separator=writer.choose([",", ""]))
    pattern = writer.choose(["{y}-{m:02}-{d:02}", "{d:02}.{m:02}.{y}", "{d:02}/{m:02}/{y}"])
    draft = Draft(["code", "label", "number", "number", "number"])
    draft.add_row("header")
    for col, head in enumerate(["Date", "Description", "Paid out", "Paid in", "Balance"]):
        draft.put(DraftCell(0, col, head, kind="column"))
    balance, day, year = _amount(writer, form) + 10_000, 0, writer.year()
    for label in writer.labels("accounts", writer.whole((6, 16))):
        row = draft.add_row()
        day += writer.whole((0, 12))
        draft.put(DraftCell(row, 0, pattern.format(y=year, m=day // 28 + 1, d=day % 28 + 1)))
        draft.put(DraftCell(row, 1, label))
        amount, is_out = _amount(writer, form), writer.chance(0.6)
        balance += -amount if is_out else amount
        draft.put(DraftCell(row, 2 if is_out else 3, _write(form, amount)))
        draft.put(DraftCell(row, 4, _write(form, balance)))
    return draft.finish()


def codes(writer: Writer, recipe: Recipe) -> Draft:
    """Things with ordinals, codes of one form, numbers with check digits, dates in order and shares of a whole."""
    makers: dict[str, Callable[[int], str]] = {}
    start, letter = writer.whole((1, 4)), writer.choose("HBSGZ")
    pattern = writer.choose(["AA9999", "A-999", "AA-9999-99", "A99.9"])
    makers["Rank"] = ordinal
    makers["Group"] = lambda index: f"{letter}{(index + start) % 10}"
    makers["Code"] = lambda index: writer.code(pattern)
    makers["ISBN"] = lambda index: isbn(writer)
    makers["IBAN"] = lambda index: iban(writer)
    makers["Date"] = lambda index: f"{index * 2 % 28 + 1:02}.{index // 14 + 1:02}.2024"
    makers["Price"] = lambda index: f"{writer.real((1, 900)):.2f}"
    chosen = sorted(writer.rng.permutation(len(makers))[: writer.whole((3, 5))].tolist())
    names = [list(makers)[index] for index in chosen]
    draft = Draft(["code" if name != "Price" else "number" for name in names] + ["label"])
    draft.add_row("header")
    for col, name in enumerate([*names, "Name"]):
        draft.put(DraftCell(0, col, name, kind="column"))
    topic = writer.choose(["items", "regions", "accounts"])
    labels = writer.labels(topic, 6)
    for index in range(writer.whole((6, 16))):
        row = draft.add_row()
        for col, name in enumerate(names):
            draft.put(DraftCell(row, col, makers[name](index)))
        draft.put(DraftCell(row, len(names), writer.choose(labels)))
    return draft.finish()


def shares(writer: Writer, recipe: Recipe) -> Draft:
    """Amounts of groups and their share in per cent, with or without the total."""
    decimals, form = writer.whole((0, 1)), _money(writer)
    labels = writer.labels("groups", writer.whole((4, 9)))
    values = [_amount(writer, form) for _ in labels]
    step = Decimal(1).scaleb(-decimals)
    parts = [(100 * value / sum(values)).quantize(step) for value in values]
    parts[values.index(max(values))] += 100 - sum(parts)
    draft = Draft(["label", "number", "number"])
    draft.add_row("header")
    for col, head in enumerate([writer.label("captions"), "Number", writer.choose(["Share (%)", "Percent"])]):
        draft.put(DraftCell(0, col, head, kind="column"))
    rows = list(zip(labels, values, parts, strict=True))
    if writer.chance(0.6):
        rows.append((writer.choose(["Total", "All", "Sum"]), sum(values, Decimal()), sum(parts, Decimal())))
    sign = writer.choose(["", "%"])
    for label, value, part in rows:
        row = draft.add_row()
        for col, text in enumerate([label, _write(form, value), f"{part}{sign}"]):
            draft.put(DraftCell(row, col, text))
    return draft.finish()


def ordinal(index: int) -> str:
    """First, second, third ...

    >>> ordinal(0), ordinal(10), ordinal(21)
    ('1st', '11th', '22nd')
    """
    number = index + 1
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number not in (11, 12, 13) else "th"
    return f"{number}{ending}"


def _digits(writer: Writer, count: int) -> str:
    return "".join(str(writer.whole((0, 9))) for _ in range(count))


def _with_ean_digit(digits: str) -> str:
    weighted = sum(int(digit) * (1 + 2 * (index % 2)) for index, digit in enumerate(digits))
    return digits + str(-weighted % 10)


def ean(writer: Writer) -> str:
    """An article number with its check digit."""
    return _with_ean_digit("4" + _digits(writer, 11))


def isbn(writer: Writer) -> str:
    """The number of a book, in groups."""
    digits = _with_ean_digit("9783" + _digits(writer, 8))
    return f"{digits[:3]}-{digits[3]}-{digits[4:8]}-{digits[8:12]}-{digits[12]}"


def iban(writer: Writer) -> str:
    """An account in Germany, in groups of four."""
    account = _digits(writer, 18)
    check = 98 - int(account + "131400") % 97
    text = f"DE{check:02}{account}"
    return " ".join(text[start : start + 4] for start in range(0, len(text), 4))


KINDS: dict[str, Callable[[Writer, Recipe], Draft]] = {
    "accounts": accounts, "invoice": invoice, "bank": bank, "codes": codes, "shares": shares,
}  # fmt: skip


def draw_table(seed: int, index: int) -> Sample:
    """A clean picture of a table, each kind in turn."""
    kind = list(KINDS)[index % len(KINDS)]
    recipe = load_recipe(RECIPES[index // len(KINDS) % len(RECIPES)])
    plain = replace(
        recipe, structures={"records": 1}, scripts={"english": 1}, effects={"clean": 1}, turns={"0": 1}, tables=(1, 1),
        surroundings=0, neighbours=0, framing={"tight": 1}, themes={"light": 1}, renderers={"fast": 1}, report_heads=0,
    )  # fmt: skip
    with mock.patch.dict(BUILDERS, records=KINDS[kind]):
        sample = draw(plain, seed, index)
    return replace(sample, about={**sample.about, "kind": kind})


# --- how it is seen ---


def _faint(sample: Sample, rng: np.random.Generator) -> Sample:
    contrast = rng.uniform(0.12, 0.35)
    pale = 255 - (255 - sample.image.astype(np.float32)) * contrast
    return replace(sample, image=add_noise(pale.astype(np.uint8), float(rng.uniform(2, 6)), rng))


def _blurred(sample: Sample, rng: np.random.Generator) -> Sample:
    return replace(sample, image=jpeg(blur(sample.image, float(rng.uniform(0.9, 1.8))), int(rng.integers(30, 80))))


def _noisy(sample: Sample, rng: np.random.Generator) -> Sample:
    seen = bleed_through(sample.image, rng) if rng.random() < 0.4 else sample.image
    return replace(sample, image=add_noise(blur(seen, 0.6), float(rng.uniform(15, 40)), rng))


def _faxed(sample: Sample, rng: np.random.Generator) -> Sample:
    return replace(sample, image=fax(sample.image, rng))


EFFECTS = {"faint": _faint, "blurred": _blurred, "noisy": _noisy, "faxed": _faxed}


def see(sample: Sample, seed: int, index: int) -> Sample:
    """The table in a small and bad picture."""
    rng = np.random.default_rng([seed, index, 7])
    heights = np.linalg.norm(sample.words.quads[:, 3] - sample.words.quads[:, 0], axis=1)
    factor = min(1.0, float(rng.uniform(*HEIGHTS)) / float(np.median(heights)))
    effect = list(EFFECTS)[int(rng.integers(len(EFFECTS)))]
    seen = EFFECTS[effect](rescale(sample, factor), rng)
    return replace(seen, about={**sample.about, "effect": effect})


# --- what is read ---


def same_text(read: str, true: str) -> bool:
    """Whether a text was read right: blanks but for those in numbers (thousands have them at will), and the form
    of dashes, are no faults.

    >>> same_text("a – b\\n1", "a -b 1"), same_text("9 95", "995")
    (True, False)
    """
    return _plain(read) == _plain(true)


_CODE = 10
"""Digits from which blanks among them are but groups."""


def _plain(text: str) -> str:
    is_code = sum(map(str.isdigit, text)) >= _CODE
    parted = text if is_code else re.sub(r"(?<=[0-9.,])\s+(?=[0-9.,])(?![0-9]{3}(?![0-9]))", "_", text)
    return "".join(parted.split()).translate(str.maketrans("–—−’", "---'"))


def read_misreads(seed: int, kept: Path | None, *, only_wrong: bool = True) -> Iterator[Misread]:
    """Read drawn tables one after the other; those of the right grid are given, wrong in a text unless all are asked.

    Args:
        seed: Of the drawing.
        kept: Folder with what was read before.
    """
    recognizer = None
    for index in itertools.count():
        file = None if kept is None else kept / f"{seed}-{index}.json"
        if file is not None and file.is_file():
            found = _from_json(json.loads(file.read_text("utf-8")))
        else:
            recognizer = recognizer or Recognizer(Settings(layout="table", turn=0))
            found = _read(recognizer, seed, index)
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(json.dumps(_to_json(found), ensure_ascii=False), "utf-8")
        found = _with_words(found)
        if found is None:
            continue
        is_wrong = any(not same_text(cell.text, true) for cell, true in zip(found.read.cells, found.true, strict=True))
        if is_wrong or not only_wrong:
            sample = see(draw_table(seed, index), seed, index)
            yield replace(found, image=np.ascontiguousarray(sample.image[..., ::-1]))


def _read(recognizer: Recognizer, seed: int, index: int) -> Misread | None:
    sample = see(draw_table(seed, index), seed, index)
    [true] = sample.to_tables()
    picture = PageImage(f"{seed}-{index}.png", 1, np.ascontiguousarray(sample.image[..., ::-1]))
    pages = list(recognizer.pages(picture))
    tables = [table for page in pages for table in page.tables]
    if len(tables) != 1 or not same_cells(tables[0], true):
        return None
    texts = {(cell.row, cell.col): cell.text for cell in true.cells}
    name = f"{seed}-{index} {sample.about['kind']}, {sample.about['effect']}"
    words = tuple(word for page in pages for word in page.words)
    return Misread(name, tables[0], words, tuple(texts[cell.row, cell.col] for cell in tables[0].cells))


def _with_words(found: Misread | None) -> Misread | None:
    """As the editor has it: the cells say which words are theirs."""
    if found is None:
        return None
    held = hold([found.read], found.words)
    state = held.to_state(held.tables[0], (0, 0, _FARTHEST, _FARTHEST))
    return replace(found, read=state.table, words=state.words)


_FARTHEST = 1_000_000
"""Pixels that no picture has."""


def _to_json(found: Misread | None) -> object:
    if found is None:
        return None
    words = [[word.text, word.quad, word.score, word.doubt] for word in found.words]
    return {"name": found.name, "table": table_to_dict(found.read), "words": words, "true": found.true}


def _from_json(data: dict[str, object] | None) -> Misread | None:
    if data is None:
        return None
    words = tuple(
        Word(text, array_to_quad(np.array(quad, np.float64)), score, doubt=doubt)
        for text, quad, score, doubt in data["words"]  # type: ignore[attr-defined]
    )
    return Misread(str(data["name"]), table_from_dict(data["table"]), words, tuple(data["true"]))  # type: ignore[arg-type]
