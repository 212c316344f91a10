from __future__ import annotations

import itertools
from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from tablerec.bulk.journal import Record
from tablerec.bulk.state import MOST_NAMED, State, name_key, numbers_to_ranges, ranges_to_numbers
from tablerec.bulk.summary import summarize, to_lines, to_page


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def an_input(name: str, pages: list[int], content: str | None = None) -> Record:
    return {
        "input": {
            "name": name,
            "key": name_key(name, ""),
            "content": digest(content or name),
            "size": 10,
            "pages": numbers_to_ranges(pages),
        }
    }


def a_page(position: int, number: int, seconds: float = 1.0, sure: float = 1.0) -> Record:
    page = {"input": position, "page": number, "sure": [sure], "seconds": {"read": seconds}}
    return {"group": {"at": 2.0, "memory": 7, "part": None, "pages": [page], "failed": []}}


def a_failure(position: int, number: int, final: bool, tries: int = 1) -> Record:
    failure = {"input": position, "page": number, "reason": "why", "kind": "E", "final": final, "tries": tries}
    return {"group": {"at": 3.0, "memory": 5, "part": None, "pages": [], "failed": [failure]}}


def test_of_nothing_nothing_is_known() -> None:
    state = State().load([])
    assert (state.header, state.n_failures, state.position(digest("a")), state.is_settled("00")) == (
        None,
        0,
        None,
        False,
    )
    assert summarize(state)["pages_per_second"] == 0.0


@given(st.sets(st.integers(1, 60)))
def test_ranges_are_another_way_to_write_numbers(numbers: set[int]) -> None:
    ranges = numbers_to_ranges(numbers)
    assert ranges_to_numbers(ranges) == sorted(numbers)
    assert all(after[0] - before[1] > 1 for before, after in itertools.pairwise(ranges))


def test_an_input_is_settled_when_each_of_its_pages_is_done_or_given_up() -> None:
    state = State().load(
        [
            (0, {"run": {"at": 1.0}}),
            (5, an_input("a", [1, 2])),
            (9, a_page(5, 1)),
            (12, a_failure(5, 2, final=False)),
        ]
    )
    key = name_key("a", "")
    assert (state.open[5].left, state.open[5].tries, state.is_settled(key)) == ({2}, {2: 1}, False)
    state.add(20, a_failure(5, 2, final=True, tries=2))
    assert (state.open, state.is_settled(key), state.n_failures) == ({}, True, 1)
    assert (state.sums.seconds, state.sums.memory) == (2.0, 7)
    state.retry_failed()
    assert not state.is_settled(key)
    state.reopen(5)
    assert (state.open[5].left, state.open[5].tries) == ({2}, {2: 2})
    state.add(30, a_page(5, 2))
    assert (state.n_failures, state.open, state.sums.pages, state.is_settled(key)) == (0, {}, 2, True)
    assert not state.is_settled(name_key("a", "changed"))


def test_an_input_that_was_retried_under_another_name_keeps_its_first_one() -> None:
    live = State().load([(0, an_input("a", [0])), (5, a_failure(0, 0, final=True))])
    live.retry_failed()
    live.reopen(0)
    again = an_input("b", [1, 2], content="a")
    live.add(9, again)
    after_a_kill = State().load([(0, an_input("a", [0])), (5, a_failure(0, 0, final=True)), (9, again)])
    assert live.open == after_a_kill.open
    assert (live.open[0].name, live.open[0].left, live.n_failures) == ("a", {1, 2}, 0)


def test_what_a_summary_names_does_not_grow_with_the_pages() -> None:
    state = State()
    for number in range(3 * MOST_NAMED):
        state.add(10 * number, an_input(f"{number}", [1]))
        state.add(10 * number + 1, a_page(10 * number, 1, seconds=number, sure=number / 1000))
    summary = summarize(state)
    assert [each["source"] for each in summary["slowest"][:2]] == ["299", "298"]
    assert [each["source"] for each in summary["least_sure"][:2]] == ["0", "1"]
    assert len(summary["slowest"]) == len(summary["least_sure"]) == MOST_NAMED
    assert summary["doubtful"] == 300


def test_names_in_the_page_are_texts_and_nothing_else() -> None:
    state = State().load(
        [(0, an_input("<script>\x1b[2J\udc80", [1], "a")), (9, a_failure(0, 1, final=True)), (12, an_input("b", [1]))]
    )
    page = to_page(summarize(state), "<b>store</b>")
    assert "<script>" not in page and "<b>" not in page and "\x1b" not in page
    assert "&lt;script&gt;" in page
    page.encode()
    assert "Failed: why" in to_lines(state, summarize(state))
