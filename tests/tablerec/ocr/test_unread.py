"""What was found and not read is marked; the network is a stand-in that tells classes by the grey of the ink."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from postprocess.arrays import Image
from postprocess.word import UNREAD, Word
from tablerec.ocr.line import Line
from tablerec.ocr.lines import LineReader, read_crops
from tablerec.ocr.paddlex import PaddleXOcrEngine
from tablerec.ocr.script import CHINESE, CLASSES, LATIN, NONE, NUMBER
from tablerec.ocr.unread import FAMILIES, UnreadFinder, doubt_of, unread_notes
from tablerec.paddlex_support import import_paddlex
from tests.helpers.models.paddlex_models import needs_paddlex

GREYS = {"Cyrillic": 0, "Hebrew": 20, "Greek": 30, LATIN: 40, CHINESE: 60, NUMBER: 80, NONE: 100}
CYRILLIC = doubt_of("Cyrillic", "x")
PLACE = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0))


class GreyNet:
    """Says with a given certainty that a word is of the class of its darkest pixel."""

    def __init__(self, certainty: float = 0.999) -> None:
        self.certainty = certainty
        self.n_asked = 0

    def __call__(self, crops: Sequence[Image]) -> np.ndarray:
        self.n_asked += len(crops)
        likely = np.full((len(crops), len(CLASSES)), (1 - self.certainty) / len(CLASSES))
        for row, crop in zip(likely, crops, strict=True):
            name = min(GREYS, key=lambda each: abs(GREYS[each] - int(crop.min())))
            row[CLASSES.index(name)] = self.certainty
        return np.log(likely)


def finder(certainty: float = 0.999) -> UnreadFinder:
    return UnreadFinder("x", {LATIN, CHINESE}, GreyNet(certainty))  # type: ignore[arg-type]


def drawn(*words: tuple[str, int]) -> Image:
    """A crop with a bar for each word, by class and width; gaps are 20 px wide."""
    crop = np.full((30, 20 + sum(width + 20 for _, width in words), 3), 255, np.uint8)
    x = 20
    for name, width in words:
        crop[5:25, x : x + width] = GREYS[name]
        x += width + 20
    return crop


def read(crop: Image, text: str, score: float, *places: float) -> Line:
    """A line whose visible characters lie at these pixels."""
    spans = tuple(((x - 4) / crop.shape[1], (x + 4) / crop.shape[1]) for x in places)
    return Line(text, score, spans)


def test_nothing() -> None:
    assert finder().mark([], []) == []
    blank = np.full((30, 90, 3), 255, np.uint8)
    assert finder().mark([blank], [Line("", 0.0)]) == [Line("", 0.0)]


def test_a_line_in_which_nothing_was_read() -> None:
    """Cyrillic vanished without a word: the recogniser returns an empty text for it."""
    crop = drawn(("Cyrillic", 80))
    [line] = finder().mark([crop], [Line("", 0.0)])
    assert (line.text, line.score, line.doubt) == (UNREAD, 0.0, CYRILLIC)
    assert line.char_spans is not None
    assert np.allclose(np.array(line.char_spans) * crop.shape[1], [[20, 100]])


def test_a_word_for_each_word() -> None:
    [line] = finder().mark([drawn(("Cyrillic", 80), ("Cyrillic", 60))], [Line("", 0.0)])
    assert line.text == f"{UNREAD} {UNREAD}"
    assert line.char_spans is not None and len(line.char_spans) == 3


def test_what_was_read_beside_it_stays() -> None:
    """Of "Уголок 90°" the recogniser returns "90°" and is sure of it."""
    crop = drawn(("Cyrillic", 80), (NUMBER, 30))
    [line] = finder().mark([crop], [read(crop, "90°", 0.96, 124, 135, 145)])
    assert (line.text, line.score, line.doubt) == (f"{UNREAD} 90°", 0.96, CYRILLIC)
    assert line.char_spans is not None and len(line.char_spans) == len(line.text)
    assert (np.diff(np.array(line.char_spans).ravel()) >= 0).all()


def test_nonsense_with_a_low_score() -> None:
    crop = drawn(("Hebrew", 80))
    [line] = finder().mark([crop], [read(crop, "T'np", 0.45, 30, 50, 70, 90)])
    assert (line.text, line.doubt) == (UNREAD, doubt_of("Hebrew", "x"))


def test_nonsense_with_a_high_score_beside_other_lines_of_the_script() -> None:
    """One of five Hebrew words is read as "170" with a score of 0.96."""
    clear, sly = drawn(("Hebrew", 90)), drawn(("Hebrew", 40))
    lines = [read(clear, "abcd", 0.5, 30, 50, 70, 90)] * 4 + [read(sly, "170", 0.96, 25, 40, 55)]
    assert finder().mark([clear] * 4 + [sly], lines)[-1].text == UNREAD
    alone = read(sly, "170", 0.96, 25, 40, 55)
    assert finder().mark([sly], [alone]) == [alone]


def test_greek_letters_in_a_reading_speak_for_greek() -> None:
    """PP-OCRv6 reads Greek words with the plain letters of formulas, and wrongly."""
    crop = drawn(("Greek", 80))
    for text, expected in (("απλε", UNREAD), ("anle", "anle")):
        lines = [read(crop, text, 0.78, 30, 50, 70, 90)]
        assert finder(0.98).mark([crop], lines)[0].text == expected


def test_sure_lines_cost_nothing() -> None:
    mark = finder()
    crop = drawn((LATIN, 80))
    lines = [read(crop, "abcdefgh", 0.99, *range(24, 100, 10))] * 5
    assert mark.mark([crop] * 5, lines) == lines
    assert mark.net.n_asked == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [LATIN, CHINESE, NUMBER])
@pytest.mark.parametrize("score", [0.1, 0.8, 0.99])
def test_scripts_that_are_read_stay_as_they_are(name: str, score: float) -> None:
    crop = drawn((name, 80))
    line = read(crop, "abcdefgh", score, *range(24, 100, 10))
    assert finder().mark([crop], [line]) == [line]


def test_one_unclear_word_of_a_latin_page_is_not_foreign() -> None:
    """A page in Latin letters is not called Cyrillic for a blurred word."""
    crop, blurred = drawn((LATIN, 80)), drawn(("Cyrillic", 80))
    lines = [read(crop, "abcdefgh", 0.99, *range(24, 100, 10))] * 50
    unclear = read(blurred, "abcdefgh", 0.75, *range(24, 100, 10))
    assert finder(0.9).mark([crop] * 50 + [blurred], [*lines, unclear])[-1] == unclear


def test_holes_of_punches_are_no_script() -> None:
    """Thirteen holes in the edge of a photographed sheet were said to be Bengali: each looked a little like it."""
    hole = drawn(("Hebrew", 20))
    lines = [read(hole, "o", 0.03, 30)] * 13
    assert finder(0.6).mark([hole] * 13, lines) == lines


def test_words_that_are_not_clear_are_foreign_beside_a_clear_one() -> None:
    class Net(GreyNet):
        def __call__(self, crops: Sequence[Image]) -> np.ndarray:
            return np.concatenate([GreyNet(0.999 if crop.shape[1] > 60 else 0.6)([crop]) for crop in crops])

    clear, unclear = drawn(("Hebrew", 80)), drawn(("Hebrew", 20))
    lines = [read(clear, "abcd", 0.3, 30, 50, 70, 90), *[read(unclear, "o", 0.03, 30)] * 12]
    marked = UnreadFinder("x", {LATIN, CHINESE}, Net()).mark([clear, *[unclear] * 12], lines)  # type: ignore[arg-type]
    assert {line.text for line in marked} == {UNREAD}


def test_known_letters_without_a_reading_are_said() -> None:
    [line] = finder().mark([drawn((LATIN, 80))], [Line("", 0.0)])
    assert (line.text, line.doubt) == (UNREAD, doubt_of(None, "x"))


@pytest.mark.parametrize("crop", [drawn((NONE, 80)), np.zeros((30, 90, 3), np.uint8), drawn((NONE, 4))])
def test_what_is_no_text_is_no_word(crop: Image) -> None:
    assert finder().mark([crop], [Line("", 0.0)]) == [Line("", 0.0)]


def test_without_places_of_characters() -> None:
    crop = drawn(("Cyrillic", 80), (NUMBER, 80))
    [line] = finder().mark([crop], [Line("ab 12", 0.5)])
    assert line.text.startswith(UNREAD) and line.text.endswith("12")


class OneLine(LineReader):
    """Reads an empty text in every crop."""

    name = "x"

    def __init__(self, reads: frozenset[str]) -> None:
        self._reads = reads

    @property
    def reads(self) -> frozenset[str]:
        return self._reads

    def detect(self, image: Image) -> np.ndarray:
        return np.zeros((0, 4, 2), np.float32)

    def recognize(self, crops: Sequence[Image]) -> list[Line]:
        return [Line("", 0.0) for _ in crops]


@pytest.mark.parametrize("is_tall", [False, True])
def test_words_lie_where_they_were_found(is_tall: bool) -> None:
    reader = OneLine(frozenset({LATIN}))
    assert reader.unread is not None
    reader.unread.net = GreyNet()  # type: ignore[assignment]
    crop = drawn(("Cyrillic", 80))
    quad = np.float32([[10, 10], [130, 10], [130, 40], [10, 40]])
    if is_tall:
        crop = np.ascontiguousarray(np.rot90(crop))
        quad = np.float32([[10, 10], [40, 10], [40, 130], [10, 130]])
    [word] = read_crops(reader, [crop], quad[None])
    assert (word.text, word.doubt) == (UNREAD, CYRILLIC)
    assert sorted(word.quad) == sorted(map(tuple, quad.tolist()))
    assert (word.quad[0] == (10, 130)) == is_tall


def test_an_engine_that_does_not_say_what_it_reads_is_believed() -> None:
    reader = OneLine(frozenset())
    assert read_crops(reader, [drawn(("Cyrillic", 80))], np.zeros((1, 4, 2), np.float32)) == []


def test_notes() -> None:
    assert unread_notes([], "x") == []
    words = [Word(UNREAD, PLACE, doubt=CYRILLIC)] * 7 + [
        Word("12", PLACE),
        Word(UNREAD, PLACE, doubt=doubt_of(None, "x")),
    ]
    [note] = unread_notes(words, "x")
    assert note == (
        "7 lines of Cyrillic, which x does not read: their cells are marked; "
        "--ocr paddlex:cyrillic_PP-OCRv5_mobile reads it"
    )
    [note] = unread_notes([Word(UNREAD, PLACE, doubt=doubt_of("Khmer", "x"))], "x")
    assert note.startswith("1 line of Khmer, which x does not read: its cell is marked;")


@needs_paddlex
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", sorted(set(FAMILIES.values())))
def test_advice_names_models_of_paddlex(family: str) -> None:
    import_paddlex()
    from paddlex.inference.utils.official_models import ALL_MODELS

    engine = PaddleXOcrEngine.of_family(family)
    assert {engine.detection, engine.recognition} <= set(ALL_MODELS)
