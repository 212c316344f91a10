"""What stands on a page: tables, and what is around them."""

from __future__ import annotations

from dataclasses import replace

from tablerec.synth.content.texts import Language, Writer
from tablerec.synth.description import Align, Color, Figure, Page, Paragraph, Placed, TextStyle
from tablerec.synth.determined import drop_hidden
from tablerec.synth.drawing.fonts import Family, can_write, families_for
from tablerec.synth.drawing.styles import Look, dress
from tablerec.synth.drawing.themes import make_theme, mix
from tablerec.synth.recipe import Recipe
from tablerec.synth.structures import BUILDERS


def compose(recipe: Recipe, writer: Writer) -> Page:
    """Describe a page as a recipe wants it.

    Args:
        recipe: Without parts, see ``Recipe.choose``.
        writer: Source of chance and of words.
    """
    structure = _structure(recipe, writer)
    look = _look(recipe, writer, structure)
    framing = writer.pick(recipe.framing)
    width = look.style.size * writer.real((20, 85)) if writer.chance(recipe.stretch) or framing == "page" else 0.0
    blocks: list[Placed] = []
    n_tables = writer.whole(recipe.tables)
    for number in range(n_tables):
        draft = BUILDERS[structure](writer, recipe)
        table = drop_hidden(dress(draft, writer, recipe, look, width))
        around = writer.chance(recipe.surroundings)
        touches = number > 0 and writer.chance(recipe.touching)
        if around and not touches:
            blocks += _above(writer, look, is_page=framing == "page", is_first=number == 0)
        if recipe.neighbours and writer.chance(recipe.neighbours) and not (around or touches):
            blocks.append(_neighbour(writer, look, "notes"))
        if recipe.report_heads and writer.chance(recipe.report_heads):
            blocks += _report_head(writer, look)
        indent = look.style.size * writer.real((0, 3)) if framing == "page" and writer.chance(0.3) else 0.0
        beside = number > 0 and writer.chance(0.25) and not around
        gap = 0.0 if touches else look.style.size * writer.real((0.2, 1.6))
        blocks.append(Placed(table, gap, indent, beside))
        if around:
            blocks += _below(writer, look, is_page=framing == "page", is_last=number == n_tables - 1)
        if recipe.neighbours and writer.chance(recipe.neighbours):
            blocks.append(_neighbour(writer, look, "captions"))
        if number < n_tables - 1 and writer.chance(0.4):
            structure, look = _structure(recipe, writer), _other_rules(recipe, writer, look)
    about = (
        ("recipe", recipe.name),
        ("structure", structure),
        ("script", writer.language),
        ("rules", look.rules),
        ("fill", look.fill),
        ("framing", framing),
    )
    margin = look.style.size * writer.real((2.5, 5))
    return Page(tuple(blocks), margin, look.theme.ground, framing, about)  # type: ignore[arg-type]


def choose_language(recipe: Recipe, writer: Writer) -> Language:
    """Return the language of a page: English where it would be Chinese and no font could write that."""
    language = writer.pick(recipe.scripts)
    if language == "chinese" and not can_write("chinese"):
        return "english"
    return language  # type: ignore[return-value]


def _structure(recipe: Recipe, writer: Writer) -> str:
    structure = writer.pick(recipe.structures)
    return "statement" if structure == "bilingual" and not can_write("traditional") else structure


def _look(recipe: Recipe, writer: Writer, structure: str) -> Look:
    family = _family(recipe, writer, structure)
    theme = make_theme(writer, writer.pick(recipe.themes))
    style = TextStyle(family.name, round(writer.real(recipe.font_size) * 2) / 2, color=theme.ink)
    rule_width = writer.real(recipe.rule_width)
    look = Look(style, theme, writer.pick(recipe.rules), writer.pick(recipe.fills), rule_width)
    if writer.chance(0.04):
        look = replace(look, style=replace(style, bold=True))
    return look


def _other_rules(recipe: Recipe, writer: Writer, look: Look) -> Look:
    return replace(look, rules=writer.pick(recipe.rules), fill=writer.pick(recipe.fills))


_MODERN = ("CMU Serif", "Latin Modern Roman", "LM Roman 10", "LMRoman10")
"""Names of the fonts of LaTeX."""


def _family(recipe: Recipe, writer: Writer, structure: str) -> Family:
    script = "traditional" if structure == "bilingual" else "chinese" if writer.is_chinese else "latin"
    families = families_for(script)  # type: ignore[arg-type]
    flavor = writer.pick(recipe.flavors)
    fitting = [family for family in families if flavor == "modern" and family.name in _MODERN]
    flavor = "serif" if flavor == "modern" else flavor
    fitting = fitting or [family for family in families if family.flavor == flavor] or list(families)
    # Families of one design in several variants, such as Noto Sans CJK, count once.
    designs = sorted({family.name.rsplit(" ", 1)[0] for family in fitting})
    design = writer.choose(designs)
    variants = [family for family in fitting if family.name.rsplit(" ", 1)[0] == design]
    return variants[int(writer.rng.integers(len(variants)))]


def _paragraph(writer: Writer, look: Look, text: str, **changes: object) -> Paragraph:
    style = replace(look.style, **changes)  # type: ignore[arg-type]
    return Paragraph(text, style, line_height=writer.real((1.1, 1.5)))


def _above(writer: Writer, look: Look, *, is_page: bool, is_first: bool) -> list[Placed]:
    size = look.style.size
    blocks = []
    if is_page and is_first:
        blocks += _page_head(writer, look)
    if writer.chance(0.6 if is_page else 0.4):
        blocks += _prose(writer, look, writer.whole((1, 3 if is_page else 1)))
    if is_page and writer.chance(0.25):
        blocks.append(Placed(_figure(writer, look), size, size * writer.real((0, 6))))
    if writer.chance(0.7):
        blocks.append(Placed(_caption(writer, look), size * writer.real((0.4, 2))))
        if writer.chance(0.25):
            unit = _paragraph(writer, look, writer.label("units"), italic=writer.chance(0.4), size=size * 0.9)
            align: Align = "right" if writer.chance(0.6) else "left"
            blocks.append(Placed(replace(unit, align=align, role="unit")))
    return blocks


def _below(writer: Writer, look: Look, *, is_page: bool, is_last: bool) -> list[Placed]:
    size = look.style.size
    blocks = []
    for _ in range(writer.whole((0, 2))):
        note = _paragraph(writer, look, writer.label("notes"), size=size * writer.real((0.75, 1)))
        blocks.append(Placed(replace(note, role="note"), size * writer.real((0.1, 0.6))))
    if writer.chance(0.15):
        blocks.append(Placed(_caption(writer, look), size * writer.real((0.4, 1.2))))
    if writer.chance(0.6 if is_page else 0.4):
        blocks += _prose(writer, look, writer.whole((1, 4 if is_page else 1)))
    if is_page and is_last and writer.chance(0.5):
        text = writer.choose([str(writer.whole((1, 300))), f"– {writer.whole((1, 99))} –", writer.company()])
        page_number = _paragraph(writer, look, text, size=size * 0.85)
        blocks.append(Placed(replace(page_number, align=writer.choose(["left", "center", "right"])), 2 * size))  # type: ignore[arg-type]
    return blocks


def _page_head(writer: Writer, look: Look) -> list[Placed]:
    size = look.style.size
    blocks = []
    if writer.chance(0.3):
        values = tuple(writer.real((0.3, 1)) for _ in range(writer.whole((1, 4))))
        blocks.append(Placed(Figure("logo", 5 * size, 2 * size, _colors(writer, look), look.style, values)))
    if writer.chance(0.5):
        running = _paragraph(writer, look, f"{writer.company()}  {writer.label('captions')}", size=size * 0.85)
        blocks.append(Placed(running, 0.5 * size))
        if writer.chance(0.5):
            blocks.append(Placed(Figure("rule", 40 * size, writer.real((1, 3)), (look.theme.rule,), look.style), 2))
    if writer.chance(0.6):
        title = _paragraph(writer, look, writer.label("captions"), bold=True, size=size * writer.real((1.2, 1.9)))
        blocks.append(Placed(replace(title, role="title"), size))
    return blocks


def _report_head(writer: Writer, look: Look) -> list[Placed]:
    """Return the lines above the column heads of a report: who, what, when, in what unit."""
    size = look.style.size
    align: Align = "center" if writer.chance(0.65) else "left"
    lines = [(writer.company(), 1.0), (writer.label("captions"), writer.real((1, 1.5)))]
    if writer.chance(0.6):
        lines.append((writer.date(writer.date_format()), 1.0))
    if writer.chance(0.3):
        lines[0], lines[1] = lines[1], lines[0]
    bold = writer.chance(0.6)
    blocks = []
    for text, factor in lines[writer.chance(0.25) :]:
        line = _paragraph(writer, look, text, bold=bold and writer.chance(0.8), size=size * factor)
        blocks.append(Placed(replace(line, align=align, role="title"), size * writer.real((0, 0.4))))
    if writer.chance(0.55):
        unit = _paragraph(writer, look, writer.label("units"), italic=writer.chance(0.3), size=size * 0.95)
        side: Align = align if writer.chance(0.5) else "right"
        blocks.append(Placed(replace(unit, align=side, role="unit"), size * writer.real((0, 0.3))))
    return blocks


def _neighbour(writer: Writer, look: Look, what: str) -> Placed:
    """Return the note of a table that ends above, or the caption of one that begins below."""
    size = look.style.size
    line = _caption(writer, look) if what == "captions" else _paragraph(writer, look, writer.label(what))
    return Placed(replace(line, role="none"), size * writer.real((0.5, 1.8)))


def _caption(writer: Writer, look: Look) -> Paragraph:
    text = writer.label("captions")
    if writer.chance(0.6):
        number = writer.whole((1, 40))
        prefix = (
            f"表{number}"
            if writer.is_chinese
            else writer.choose([f"Table {number}.", f"Table {number}:", f"TABLE {number}"])
        )
        text = f"{prefix} {text}"
    if writer.chance(0.2):
        text += f" {writer.prose((4, 14))}"
    color: Color = look.theme.accent if writer.chance(0.2) else look.style.color
    size = look.style.size * writer.real((0.9, 1.25))
    caption = _paragraph(writer, look, text, bold=writer.chance(0.5), italic=writer.chance(0.1), color=color, size=size)
    return replace(caption, align="center" if writer.chance(0.35) else "left", role="title")


def _prose(writer: Writer, look: Look, count: int) -> list[Placed]:
    """Return paragraphs, sometimes in two columns."""
    size = look.style.size
    width = size * writer.real((22, 40))
    if count > 1 and writer.chance(0.3):
        first, second = (replace(_paragraph(writer, look, writer.prose((30, 70))), width=width) for _ in range(2))
        return [Placed(first, size), Placed(second, 2 * size, is_beside=True)]
    return [Placed(_paragraph(writer, look, writer.prose((8, 60))), size * writer.real((0.3, 1))) for _ in range(count)]


def _figure(writer: Writer, look: Look) -> Figure:
    size = look.style.size
    kind = writer.pick({"bars": 3, "lines": 2, "pie": 1})
    values = tuple(writer.real((0.1, 1)) for _ in range(writer.whole((3, 9))))
    small = replace(look.style, size=max(7, size * 0.8))
    width, height = size * writer.real((14, 30)), size * writer.real((9, 16))
    return Figure(kind, width, height, _colors(writer, look), small, values)  # type: ignore[arg-type]


def _colors(writer: Writer, look: Look) -> tuple[Color, ...]:
    theme = look.theme
    return theme.accent, mix(theme.accent, theme.ground, 0.5), theme.rule, mix(theme.ink, theme.ground, 0.6)
