"""Glyphs become words: pieces of a line without wide gaps, in logical order, with raised and lowered signs as such.

PDFium tells where it believes blanks and line ends to be. That holds for text from left to right; letters set apart,
raised signs, text from right to left and text that runs downwards are put together by their places.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from postprocess.cell import Quad
from postprocess.raised import to_subscript, to_superscript
from postprocess.text.bidi import has_right_to_left, is_right_to_left, mirror_brackets, visual_to_logical
from postprocess.word import Word
from tablerec.inputs.pdf.glyphs import GENERATED, LINE_END, SPACE, VISIBLE

WIDE_GAP = 0.5
"""Characters further apart than this share of the text size start a new word."""
BASELINE_SHIFT = 0.5
"""A baseline that moves by more than this share of the text size starts a new word: indices move less."""
ASCENT, DESCENT = 0.88, 0.22
"""Height of a word above and below its baseline, as shares of the text size."""
SHOWN = 0.4
"""Share of its extent from which a glyph is seen."""
BLANK = 0.15
"""Gap, as a share of the text size, that is a blank where the order is told by places."""
LETTER_SPACING, MOST_SPACING = 0.1, 1.3
"""Gaps within a word whose letters are set apart, as shares of the text size, and how far they may differ."""
EVEN = 0.15
SMALL = 0.85
"""Size, as a share of that of its word, up to which a sign may be raised or lowered."""
RAISED, LOWERED = 0.15, 0.05
"""How far its baseline is then above or below, at least."""
TEXT_RISE = 0.25
"""The same of a sign of the same size."""
FAINT = "has characters that the page hardly shows"
"""The doubt of a word in which they are."""
NEAR = 0.25
"""Gap up to which it belongs to what it follows."""

LARGE, SLANTED = 1.8, 0.15
"""Height of a watermark, in usual heights, and the sine of its angle."""

HIDDEN = "the text layer holds it, but the page does not show it"
WATERMARK = "it is a watermark"
"""Why a word is in no cell."""

Shift = Literal["sup", "sub", None]


@dataclass(frozen=True, slots=True)
class Glyph:
    """One glyph in pixels: ``start`` and ``end`` along its reading direction, ``baseline`` across it."""

    text: str
    direction: tuple[float, float]
    size: float
    start: float
    end: float
    baseline: float
    font: int = -1
    object: int = -1
    is_shown: bool = True
    shift: Shift = None

    @property
    def is_blank(self) -> bool:
        """Whether it stands between words."""
        return self.text == " "


@dataclass(frozen=True, slots=True)
class Piece:
    """A word, with the font that most of it is set in, and whether it is seen."""

    word: Word
    font: int
    is_shown: bool


def glyphs_to_pieces(glyphs: NDArray[Any]) -> list[Piece]:
    """Put glyphs together.

    Args:
        glyphs: ``(N,)`` of ``GLYPH``, as PDFium orders them.

    Returns:
        Words in pixels. One that is seen in part comes in pieces.
    """
    items = _share_ligatures(_to_items(glyphs))
    text = "".join(item.text for item in items if not isinstance(item, int))
    lines, items = _take_right_to_left(items) if has_right_to_left(text) else ([], items)
    pieces = _attach_indices(list(map(_mark_shifts, split_at_gaps(items))))
    pieces = _stack_downwards(pieces)
    pieces += [_to_logical(_mark_shifts(line), in_right_to_left=is_right_to_left(text)) for line in lines]
    return [made for piece in pieces for made in _to_pieces(piece)]


def find_watermarks(pieces: Sequence[Piece]) -> list[Piece]:
    """Words that run across the page at an angle and are much larger than others: they belong to no cell."""
    sides = [np.array(piece.word.quad)[[1, 3]] - piece.word.quad[0] for piece in pieces]
    heights = [float(np.linalg.norm(down)) for _, down in sides]
    usual = float(np.median(heights)) if heights else 0.0
    return [
        piece
        for piece, (along, _), height in zip(pieces, sides, heights, strict=True)
        if height >= LARGE * usual and np.abs(along).min() > SLANTED * np.linalg.norm(along)
    ]


Item = Glyph | int
"""A glyph, or the kind of what stands between two."""


def _to_items(glyphs: NDArray[Any]) -> list[Item]:
    items: list[Item] = []
    for code, kind, font, number, u, v, size, start, end, baseline, shown, _ in glyphs.tolist():
        if kind != VISIBLE:
            items.append(kind)
        else:
            # A glyph without ink, such as a mark that joins others, is seen with them.
            is_shown = not shown < SHOWN
            items.append(Glyph(chr(code), (u, v), size, start, end, baseline, font, number, is_shown))
    return items


def _share_ligatures(items: Sequence[Item]) -> list[Item]:
    """Give each letter of a ligature its share of the one glyph; PDFium gives all of them the whole."""
    shared: list[Item] = []
    for place, group in groupby(items, key=_place_of):
        letters = list(group)
        if place is not None and len(letters) > 1:
            edges = np.linspace(place[0], place[1], len(letters) + 1).tolist()
            solid = [letter for letter in letters if not isinstance(letter, int)]
            if has_right_to_left("".join(letter.text for letter in solid)):
                # PDFium gives them as read or as seen; the one that all fonts have is lam with alef.
                solid.sort(key=lambda letter: letter.text != "ل")
                edges.reverse()
            letters = [
                replace(letter, start=min(ends), end=max(ends))
                for letter, ends in zip(solid, pairwise(edges), strict=True)
            ]
        shared += letters
    return shared


def _place_of(item: Item) -> tuple[float, ...] | None:
    return None if isinstance(item, int) else (item.start, item.end, item.baseline, item.size)


# From left to right


def split_at_gaps(items: Sequence[Item]) -> list[list[Glyph]]:
    """Split glyphs at line ends, wide gaps and turns, so that no piece spans two columns.

    Blanks inside a piece stay, one at a time, as wide as the gap that they fill.
    """
    pieces: list[list[Glyph]] = []
    spacings = _letter_spacings(items)
    blank, line_ends = -1, True
    for index, item in enumerate(items):
        if isinstance(item, int):
            blank, line_ends = item if blank != SPACE else blank, line_ends or item == LINE_END
            continue
        last = None if line_ends else pieces[-1][-1]
        spacing = spacings.get(index, 0.0)
        if last is None or not _continues(last, item, spacing):
            pieces.append([item])
        else:
            gap = item.start - last.end - spacing
            if blank == SPACE or (blank == GENERATED and (not spacing or gap > BLANK * item.size)):
                pieces[-1].append(replace(_blank(last, item), object=-blank))
            pieces[-1].append(item)
        blank, line_ends = -1, False
    return pieces


def _continues(last: Glyph, glyph: Glyph, spacing: float) -> bool:
    size = max(last.size, glyph.size)
    gap = glyph.start - last.end - spacing
    shift = abs(glyph.baseline - last.baseline)
    return _same_direction(last, glyph) and abs(gap) <= WIDE_GAP * size and shift <= BASELINE_SHIFT * size


def _same_direction(a: Glyph, b: Glyph) -> bool:
    return a.direction[0] * b.direction[0] + a.direction[1] * b.direction[1] > 0.99


def _blank(last: Glyph, glyph: Glyph) -> Glyph:
    start, end = sorted((last.end, glyph.start))
    return replace(last, text=" ", start=start, end=end, is_shown=last.is_shown and glyph.is_shown)


def _letter_spacings(items: Sequence[Item]) -> dict[int, float]:
    """By index of a glyph the gap before it that is no gap: letters of a text set apart evenly."""
    spacings: dict[int, float] = {}
    run: list[int] = []
    for index, item in enumerate([*items, LINE_END]):
        if item == GENERATED:
            continue
        glyph = None if isinstance(item, int) else item
        if glyph is not None and run and _is_set_with(items[run[-1]], glyph):
            run.append(index)
            continue
        spacings |= _spacing_of(items, run)
        run = [index] if glyph is not None else []
    return spacings


def _is_set_with(last: Item, glyph: Glyph) -> bool:
    assert not isinstance(last, int)
    same = last.font == glyph.font and last.size == glyph.size and _same_direction(last, glyph)
    if last.object != glyph.object and glyph.start - last.end > WIDE_GAP * glyph.size:
        return False
    return same and abs(last.baseline - glyph.baseline) < 0.01 * glyph.size


def _spacing_of(items: Sequence[Item], run: Sequence[int]) -> dict[int, float]:
    glyphs = [glyph for index in run for glyph in [items[index]] if not isinstance(glyph, int)]
    if len(run) < 3:
        return {}
    size = glyphs[0].size
    gaps = np.array([b.start - a.end for a, b in pairwise(glyphs)]) / size
    usual = float(np.median(gaps))
    even = (np.abs(gaps - usual) <= EVEN).mean() >= 0.7 and gaps.min() >= 0.5 * usual
    if not (LETTER_SPACING <= usual <= _most_spacing(glyphs) and even):
        return {}
    return dict.fromkeys(run[1:], usual * size)


def _most_spacing(glyphs: Sequence[Glyph]) -> float:
    """Digits set further apart are those of several columns, and so may be letters that are drawn one by one."""
    if not all(glyph.text.isalpha() for glyph in glyphs):
        return 2 * LETTER_SPACING
    return MOST_SPACING if len({glyph.object for glyph in glyphs}) == 1 else WIDE_GAP


# Raised and lowered signs


def _mark_shifts(piece: Sequence[Glyph]) -> list[Glyph]:
    """Say of each glyph of a piece whether it is raised or lowered."""
    main = max((glyph for glyph in piece if not glyph.is_blank), key=lambda glyph: (glyph.size, glyph.text.isalnum()))
    level = _main_baseline(piece, main.size)
    shifts = [_shift_of(glyph, main.size, level) for glyph in piece]
    if not any(shifts):
        return list(piece)
    marked = [replace(glyph, shift=shift) for glyph, shift in zip(piece, shifts, strict=True)]
    around = zip([None, *marked], [*marked[1:], None], strict=False)
    return [glyph for glyph, (last, after) in zip(marked, around, strict=False) if not _is_assumed(glyph, last, after)]


def _is_assumed(blank: Glyph, last: Glyph | None, after: Glyph | None) -> bool:
    """Whether PDFium has put in a blank because a sign is raised or lowered, where there is hardly a gap."""
    if not blank.is_blank or blank.object != -GENERATED or last is None or after is None:
        return False
    return last.shift != after.shift and blank.end - blank.start <= NEAR * max(last.size, after.size)


def _main_baseline(piece: Sequence[Glyph], size: float) -> float:
    """The baseline on which most of the glyphs of full size stand."""
    baselines = [round(glyph.baseline, 1) for glyph in piece if not glyph.is_blank and glyph.size > SMALL * size]
    return max(baselines, key=baselines.count)


def _shift_of(glyph: Glyph, size: float, level: float) -> Shift:
    rise = (level - glyph.baseline) / size
    is_small = glyph.size <= SMALL * size
    if glyph.is_blank:
        return None
    if rise >= (RAISED if is_small else TEXT_RISE):
        return "sup"
    return "sub" if -rise >= (LOWERED if is_small else TEXT_RISE) else None


def _attach_indices(pieces: Sequence[list[Glyph]]) -> list[list[Glyph]]:
    """Join signs that PDFium takes for a line of their own to the word that they follow, or that follows them."""
    ends = np.array([(piece[0].start, piece[-1].end, piece[0].baseline, piece[0].size) for piece in pieces])
    ways = np.array([piece[0].direction for piece in pieces])
    joined = list(pieces)
    for index, piece in enumerate(pieces):
        if len(piece) > 6 or any(glyph.shift for glyph in piece):
            continue
        start, end, baseline, size = ends[index]
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = (ends[:, 2] - baseline) / ends[:, 3]
        is_larger = (size <= SMALL * ends[:, 3]) & (ways @ ways[index] > 0.99)
        shifted = is_larger & (((rise >= RAISED) & (rise <= 0.9)) | ((rise <= -LOWERED) & (rise >= -0.5)))
        near = NEAR * ends[:, 3]
        follows = shifted & (np.abs(start - ends[:, 1]) <= near)
        leads = shifted & (np.abs(ends[:, 0] - end) <= near)
        for fits, is_behind in ((follows, True), (leads, False)):
            if fits.any():
                host = int(np.flatnonzero(fits)[0])
                shift: Shift = "sup" if rise[host] > 0 else "sub"
                signs = [replace(glyph, shift=shift) for glyph in piece]
                joined[host] = [*joined[host], *signs] if is_behind else [*signs, *joined[host]]
                joined[index] = []
                break
    return _continue_after_signs([piece for piece in joined if piece])


def _continue_after_signs(pieces: Sequence[list[Glyph]]) -> list[list[Glyph]]:
    """Join what follows a sign directly, as the O of H₂O does, and what begins with one."""
    joined: list[list[Glyph]] = []
    for piece in pieces:
        host = next((each for each in reversed(joined[-8:]) if _follows(each, piece)), None)
        if host is None:
            joined.append(piece)
        else:
            host.extend(piece)
    return joined


def _follows(host: Sequence[Glyph], piece: Sequence[Glyph]) -> bool:
    level, next_level = (next((g for g in each if not g.shift and not g.is_blank), None) for each in (host, piece))
    if level is None or next_level is None or not (host[-1].shift or piece[0].shift):
        return False
    on_line = abs(next_level.baseline - level.baseline) < LOWERED * level.size and _same_direction(level, next_level)
    return on_line and abs(piece[0].start - host[-1].end) <= BLANK * level.size


# From right to left


def _take_right_to_left(items: Sequence[Item]) -> tuple[list[list[Glyph]], list[Item]]:
    """Take out the pieces of lines that hold letters written from right to left, each seen from left to right."""
    glyphs = [(index, item) for index, item in enumerate(items) if not isinstance(item, int)]
    taken: dict[int, int] = {}
    pieces = []
    for line in _lines(glyphs):
        for part in _split_line(line):
            if has_right_to_left("".join(glyph.text for _, glyph in part)):
                pieces.append(_with_blanks(part, items))
                taken |= dict.fromkeys((index for index, _ in part), LINE_END)
    return pieces, [taken.get(index, item) for index, item in enumerate(items)]


def _lines(glyphs: Sequence[tuple[int, Glyph]]) -> list[list[tuple[int, Glyph]]]:
    """Glyphs by direction and baseline."""
    lines: list[list[tuple[int, Glyph]]] = []
    for _, group in groupby(sorted(glyphs, key=_direction_key), key=_direction_key):
        for index, glyph in sorted(group, key=lambda each: each[1].baseline):
            if lines and _same_direction(lines[-1][0][1], glyph):
                size = max(lines[-1][-1][1].size, glyph.size)
                if abs(glyph.baseline - lines[-1][-1][1].baseline) <= 0.3 * size:
                    lines[-1].append((index, glyph))
                    continue
            lines.append([(index, glyph)])
    return lines


def _direction_key(each: tuple[int, Glyph]) -> tuple[float, ...]:
    return tuple(round(x, 1) for x in each[1].direction)


def _split_line(line: Sequence[tuple[int, Glyph]]) -> list[list[tuple[int, Glyph]]]:
    parts: list[list[tuple[int, Glyph]]] = []
    reached = -np.inf
    for index, glyph in sorted(line, key=lambda each: each[1].start + each[1].end):
        if not parts or glyph.start - reached > WIDE_GAP * glyph.size:
            parts.append([])
            reached = -np.inf
        parts[-1].append((index, glyph))
        reached = max(reached, glyph.end)
    return parts


def _with_blanks(part: Sequence[tuple[int, Glyph]], items: Sequence[Item]) -> list[Glyph]:
    """Glyphs from left to right with their marks, and a blank in each gap that is one."""
    units: list[Glyph] = []
    last = 0
    for index, glyph in part:
        if units and unicodedata.combining(glyph.text[0]):
            units[-1] = replace(units[-1], text=units[-1].text + glyph.text)
            continue
        if units and glyph.start - units[-1].end > _least_blank(items, *sorted((last, index))) * glyph.size:
            units.append(_blank(units[-1], glyph))
        units.append(glyph)
        last = index
    return units


def _least_blank(items: Sequence[Item], first: int, second: int) -> float:
    """Width from which a gap is a blank: nearly any where the document has one, a wide one between neighbours."""
    between = items[first + 1 : second]
    if SPACE in between and all(isinstance(item, int) for item in between):
        return 0.02
    return BLANK if between else 2 * BLANK


def _to_logical(piece: Sequence[Glyph], *, in_right_to_left: bool) -> list[Glyph]:
    order = visual_to_logical([glyph.text for glyph in piece], in_right_to_left=in_right_to_left)
    texts = mirror_brackets([piece[index].text for index in order])
    return [replace(piece[index], text=text) for index, text in zip(order, texts, strict=True)]


# Downwards


def _stack_downwards(pieces: Sequence[list[Glyph]]) -> list[list[Glyph]]:
    """Join wide characters that stand below one another as vertical text does: as close as its lines are high."""
    stacked: list[list[Glyph]] = []
    for piece in pieces:
        if len(piece) == 1 and stacked and _is_below(stacked[-1][-1], piece[0], len(stacked[-1]) > 1):
            if len(stacked[-1]) == 1:
                stacked[-1] = [_downwards(stacked[-1][0])]
            stacked[-1].append(_downwards(piece[0]))
        else:
            stacked.append(list(piece))
    return stacked


def _is_below(last: Glyph, glyph: Glyph, is_turned: bool) -> bool:
    if not all(unicodedata.east_asian_width(each.text) in "WF" for each in (last, glyph)):
        return False
    before = last if is_turned else _downwards(last)
    after = _downwards(glyph)
    aligned = abs(after.baseline - before.baseline) <= 0.2 * glyph.size
    step = after.start - before.start
    same_way = _same_direction(before, after) and abs(last.size - glyph.size) < 0.01 * glyph.size
    return same_way and aligned and 0.8 * glyph.size <= step <= 1.15 * glyph.size


def _downwards(glyph: Glyph) -> Glyph:
    """An upright glyph as one of a line that runs downwards."""
    u, v = glyph.direction
    middle = (glyph.start + glyph.end) / 2
    top = glyph.baseline - ASCENT * glyph.size
    # Across such a line is against the direction of the glyph; its baseline lies so that the glyph is in its middle.
    baseline = -middle + (ASCENT - DESCENT) / 2 * glyph.size
    return replace(glyph, direction=(-v, u), start=top, end=top + glyph.size, baseline=baseline)


# Words


def _to_pieces(glyphs: Sequence[Glyph]) -> list[Piece]:
    """Words of a piece: one where all of it is seen, or hidden, else several."""
    shown = _bridge([glyph.is_shown for glyph in glyphs])
    pieces = []
    for is_shown, group in groupby(zip(glyphs, shown, strict=True), key=lambda each: each[1]):
        run = _trimmed([glyph for glyph, _ in group])
        if run:
            fonts = [glyph.font for glyph in run]
            word = _to_word(run)
            if is_shown and not all(glyph.is_shown for glyph in run):
                word = replace(word, doubt=FAINT)
            pieces.append(Piece(word, max(fonts, key=fonts.count), is_shown))
    hidden = " ".join(piece.word.text for piece in pieces if not piece.is_shown)
    cut = f"goes on in the text layer with {hidden!r}, which the page does not show"
    return [replace(p, word=replace(p.word, doubt=p.word.doubt or cut)) if hidden and p.is_shown else p for p in pieces]


def _bridge(shown: Sequence[bool]) -> list[bool]:
    """Take a hidden glyph or two between such as are seen for seen: a dark spot behind them hides no word."""
    bridged = list(shown)
    for start in range(1, len(shown) - 1):
        for end in range(start + 1, min(start + 3, len(shown))):
            if bridged[start - 1] and shown[end] and not any(shown[start:end]):
                bridged[start:end] = [True] * (end - start)
    return bridged


def _trimmed(glyphs: list[Glyph]) -> list[Glyph]:
    solid = [index for index, glyph in enumerate(glyphs) if not glyph.is_blank]
    return glyphs[solid[0] : solid[-1] + 1] if solid else []


def _to_word(glyphs: Sequence[Glyph]) -> Word:
    u, v = glyphs[0].direction
    left, right = min(g.start for g in glyphs), max(g.end for g in glyphs)
    level = [g for g in glyphs if not g.shift] or glyphs
    top = min(g.baseline - ASCENT * g.size for g in level)
    bottom = max(g.baseline + DESCENT * g.size for g in level)
    width = max(right - left, 1e-6)

    def to_point(along: float, across: float) -> tuple[float, float]:
        return along * u - across * v, along * v + across * u

    quad: Quad = (to_point(left, top), to_point(right, top), to_point(right, bottom), to_point(left, bottom))
    texts = [_shifted(g.text, g.shift) for g in glyphs]
    spans = [((g.start - left) / width, (g.end - left) / width) for g in glyphs]
    return Word("".join(texts), quad, 1.0, tuple(span for span, text in zip(spans, texts, strict=True) for _ in text))


def _shifted(text: str, shift: Shift) -> str:
    return to_superscript(text) if shift == "sup" else to_subscript(text) if shift == "sub" else text
