from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablerec.config import Settings
from tablerec.errors import InputError, SettingsError
from tablerec.page_numbers import PageNumbers, parse_pages

NUMBERS = st.integers(1, 60)
RANGES = st.lists(
    st.one_of(
        NUMBERS.map(lambda n: (n, n)),
        st.tuples(NUMBERS, NUMBERS).map(lambda pair: (min(pair), max(pair))),
        NUMBERS.map(lambda n: (n, None)),
    ),
    min_size=1,
    max_size=5,
)


def write(first: int, last: int | None, style: int) -> str:
    if first == last:
        return str(first)
    dash = [" - ", "-", "- "][style]
    return f"{'' if first == 1 and last and style else first}{dash}{last or ''}"


def test_nobody_chose() -> None:
    pages = PageNumbers()
    assert pages == parse_pages(None) == Settings().page_numbers
    assert pages.within(0, "a.pdf") == [] and pages.within(3, "a.pdf") == [1, 2, 3]
    assert (pages.first, pages.last) == (1, None)


@given(RANGES, st.integers(0, 2), st.sampled_from([",", ", ", " , "]))
def test_what_is_written_is_wanted(ranges: list[tuple[int, int | None]], style: int, comma: str) -> None:
    pages = parse_pages(comma.join(write(*each, style) for each in ranges))
    expected = [n for n in range(1, 80) if any(first <= n <= (last or n) for first, last in ranges)]
    assert [number for number in range(1, 80) if number in pages] == expected
    assert 0 not in pages
    assert pages.first == expected[0]
    assert pages.last == (None if any(last is None for _, last in ranges) else expected[-1])
    assert parse_pages(pages.text) == pages


@given(RANGES, st.integers(1, 80))
def test_a_document_gives_what_it_has_or_says_so(ranges: list[tuple[int, int | None]], n_pages: int) -> None:
    pages = parse_pages(",".join(write(*each, 0) for each in ranges))
    expected = [number for number in range(1, n_pages + 1) if number in pages]
    if expected:
        assert pages.within(n_pages, "a.pdf") == expected
    else:
        with pytest.raises(InputError, match=rf"^a\.pdf: has {n_pages} pages?; --pages .* asks for none of them"):
            pages.within(n_pages, "a.pdf")


@pytest.mark.parametrize("text", ["5-", "-3", "2", " 1 - 3 , 7 ", "007", "1-1"])
def test_forms_that_are_read(text: str) -> None:
    assert parse_pages(text).text == text.strip().replace(" , ", ",")


@pytest.mark.parametrize(
    "text", ["", " ", "0", "0-3", "3-1", "-0", "1,,2", "-", "1-2-3", "a", "1.5", "一", "²", "1-3;7", "-1-2"]
)
def test_other_forms_are_refused_with_the_right_one(text: str) -> None:
    for parse in (parse_pages, lambda pages: Settings(pages=pages)):
        with pytest.raises(SettingsError, match=r"^pages is '.*such as 1-3,7") as caught:
            parse(text)
        assert repr(text) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [3, [1, 2], 1.5, True])
def test_what_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(SettingsError, match="which is no text"):
        Settings(pages=value)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        message = str(parse_pages(text).first)
    except SettingsError as error:
        message = str(error)
    assert message and "\n" not in message and len(message) < 900


def test_a_long_list_is_shortened_in_the_message() -> None:
    with pytest.raises(SettingsError) as caught:
        parse_pages("1," * 10_000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("text", "n_pages", "says"),
    [("2-7", 3, True), ("1,9", 3, True), ("1,9-", 3, True), ("1-3", 3, False), ("2-", 3, False), ("-3", 3, False)],
)
def test_pages_beyond_the_end_are_said(text: str, n_pages: int, says: bool, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tablerec"):
        parse_pages(text).check(n_pages, "a.pdf")
    assert caplog.messages == [f"a.pdf: has 3 pages; --pages {text} asks for more, which are left out"] * says
