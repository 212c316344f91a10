"""What speaks against a reading that is sure of itself."""

from __future__ import annotations

import numpy as np
import pytest

from tablerec.ocr.doubts import SEEN, has_letter_like_zero, has_unread_ink, is_doubtful, mixes_scripts, settle_scripts
from tablerec.ocr.line import Line


def paper(height: int = 20, width: int = 120) -> np.ndarray:
    return np.full((height, width, 3), 250, np.uint8)


def printed(*places: tuple[int, int], height: int = 20) -> np.ndarray:
    crop = paper(height)
    for start, stop in places:
        crop[height // 4 : -height // 4, start:stop] = 20
    return crop


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (1, 90), (40, 3)])
def test_nothing_to_see(shape: tuple[int, int]) -> None:
    crop = np.zeros((*shape, 3), np.uint8)
    assert not has_unread_ink(Line("", 1.0), crop)
    assert not has_unread_ink(Line("a", 1.0, ((0.0, 1.0),)), crop)


def test_all_ink_has_its_character() -> None:
    crop = printed((10, 18), (24, 32), (38, 46))
    line = Line("123", 1.0, ((10 / 120, 20 / 120), (22 / 120, 34 / 120), (36 / 120, 46 / 120)))
    assert not has_unread_ink(line, crop)
    assert not is_doubtful(line, crop)


@pytest.mark.parametrize("inverted", [False, True])
def test_a_dash_at_the_end_that_was_not_read_is_a_doubt(inverted: bool) -> None:
    crop = printed((10, 18), (24, 32))
    crop[9:11, 44:54] = 20
    crop = 255 - crop if inverted else crop
    assert has_unread_ink(Line("Re", 1.0, ((0.08, 0.17), (0.18, 0.28))), crop)
    assert not has_unread_ink(Line("Re-", 1.0, ((0.08, 0.17), (0.18, 0.28), (0.36, 0.46))), crop)


def test_rules_at_both_ends_are_no_ink() -> None:
    crop = printed((40, 52), (60, 72))
    crop[:, :2] = crop[:, -2:] = 0
    assert not has_unread_ink(Line("55", 1.0, ((0.3, 0.46), (0.46, 0.62))), crop)


def test_noise_is_no_ink() -> None:
    noise = np.random.default_rng(0).normal(240, 6, (24, 200, 3)).clip(0, 255).astype(np.uint8)
    assert not has_unread_ink(Line("1", 1.0, ((0.1, 0.2),)), noise)


def test_small_print_is_a_doubt() -> None:
    assert is_doubtful(Line("5", 1.0), paper(SEEN - 1))
    assert not is_doubtful(Line("5", 1.0), paper(SEEN + 1))


@pytest.mark.parametrize("text", ["", "abc 12", "Привет", "Привет world", "表 abc", "5 μm", "Aβ₄₂", "שלום abc", "é"])
def test_words_of_one_script_are_none(text: str) -> None:
    assert not mixes_scripts(text)


@pytest.mark.parametrize("text", ["Аpo8", "Lіpoprotein", "the сat", "n٠", "x (Аb)"])
def test_look_alikes_in_a_word_are_a_doubt(text: str) -> None:
    assert mixes_scripts(text)


def test_no_text_is_in_no_script() -> None:
    assert settle_scripts("") == "" and not has_letter_like_zero("")


@pytest.mark.parametrize(
    ("read", "settled"),
    [
        ("GTАСС", "GTACC"),
        ("CATTΑ", "CATTA"),
        ("Хлop", "Хлор"),
        ("СО net", "CO net"),
        ("выбросы CO", "выбросы CO"),
        ("Привет", "Привет"),
        ("Δt μm", "Δt μm"),
        ("表А1", "表А1"),
    ],
)
def test_a_word_is_written_in_one_script(read: str, settled: str) -> None:
    assert settle_scripts(read) == settled
    assert len(settled) == len(read)


@pytest.mark.parametrize("text", ["10 km", "0", "0.5 m", "A 0,5", "500", "Total 0%", "CO2", "x0.1"])
def test_a_zero_of_a_number_is_no_letter(text: str) -> None:
    assert not has_letter_like_zero(text)


@pytest.mark.parametrize("text", ["口蹄疫0型", "C0 net", "ml_0n", "25O"])
def test_a_zero_among_letters_may_be_one(text: str) -> None:
    assert has_letter_like_zero(text)
