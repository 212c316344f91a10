"""Tables over several pages as one."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from tablerec.corrections.alike.joined import Joined
from tablerec.corrections.review.outputs.entries import to_entries
from tablerec.corrections.review.outputs.files import Wanted, write_output
from tablerec.errors import InputError
from tests.helpers.corrections.documents import open_pages, page_of


def test_without_tables_there_is_nothing_to_join(tmp_path: Path) -> None:
    desk = open_pages(tmp_path)
    assert Joined(desk).groups() == [] and Joined(desk).join_all() == 0
    with pytest.raises(InputError):
        Joined(desk).view("x")


def test_pages_become_one_table_whose_head_stands_once(tmp_path: Path) -> None:
    desk = open_pages(tmp_path, page_of(1), page_of(2), page_of(3))
    joined = Joined(desk)
    assert joined.view("book_1_1")["next"]["name"] == "book_2_1"
    assert joined.join_all() == 2
    names = ["book_1_1", "book_2_1", "book_3_1"]
    assert Joined(desk).groups() == [names], "also after a restart"
    [entry] = to_entries([[desk.correction(name) for name in names]], only_saved=False)
    assert entry.table.n_rows == 7 and entry.pages == "1-3"
    column = [row[0] for row in entry.table.to_grid()]
    assert column == ["head 0", "1.1.0", "1.2.0", "2.1.0", "2.2.0", "3.1.0", "3.2.0"]
    workbook = openpyxl.load_workbook(write_output([entry], desk.corrections, Wanted("xlsx", with_crops=True)))
    assert workbook.sheetnames == ["Contents", "book_1_1"] and workbook["Contents"]["C2"].value == "1-3"
    assert workbook["book_1_1"]["A4"].hyperlink.target == "crops/book_1_1/r4_c1.png"
    assert len(list((desk.corrections.folder / "outputs" / "crops" / "book_1_1").iterdir())) == 21
    assert [desk.correction(name).table.n_rows for name in names] == [3, 3, 3], "each page stays as it is"


def test_what_was_joined_can_be_taken_apart(tmp_path: Path) -> None:
    desk = open_pages(tmp_path, page_of(1), page_of(2), page_of(3))
    joined = Joined(desk)
    joined.join("book_2_1", "book_3_1")
    joined.join("book_1_1", "book_2_1")
    assert joined.view("book_2_1") == {"group": ["book_1_1", "book_2_1", "book_3_1"], "next": None}
    with pytest.raises(InputError, match="already"):
        joined.join("book_1_1", "book_3_1")
    joined.part("book_2_1")
    assert joined.groups() == [["book_1_1"], ["book_2_1"], ["book_3_1"]]
    with pytest.raises(InputError, match="one page"):
        joined.part("book_2_1")


def test_tables_with_other_columns_are_not_joined(tmp_path: Path) -> None:
    desk = open_pages(tmp_path, page_of(1), page_of(2, 4))
    joined = Joined(desk)
    assert joined.join_all() == 0
    with pytest.raises(InputError, match="does not continue"):
        joined.join("book_1_1", "book_2_1")
    assert joined.view("book_1_1")["next"]["score"] == 0


def test_what_was_changed_after_it_was_joined_is_named(tmp_path: Path) -> None:
    desk = open_pages(tmp_path, page_of(1), page_of(2))
    joined = Joined(desk)
    joined.join_all()
    step = {"do": "divide", "axis": "col", "index": 0, "fraction": 0.5}
    desk.corrections.do(desk.correction("book_2_1"), step)
    with pytest.raises(InputError, match="book_1_1, book_2_1: are no longer one table"):
        to_entries([[desk.correction(name) for name in group] for group in joined.groups()], only_saved=False)


@pytest.mark.parametrize("content", ["", "{}", "[", '["ab"]', "[3]", '[["book_1_1", "book_2_1"], ["book_2_1", "x"]]'])
def test_a_broken_note_is_as_none(tmp_path: Path, content: str) -> None:
    desk = open_pages(tmp_path, page_of(1), page_of(2))
    (desk.corrections.folder / "joined.json").write_text(content)
    joined = Joined(desk)
    assert [name for group in joined.groups() for name in group] == ["book_1_1", "book_2_1"]


def test_a_rejected_part_and_one_that_is_gone_are_left_out(tmp_path: Path) -> None:
    desk = open_pages(tmp_path, page_of(1), page_of(2))
    joined = Joined(desk)
    joined.join_all()
    desk.corrections.do(desk.correction("book_2_1"), {"do": "reject"})
    [entry] = to_entries([[desk.correction(name) for name in group] for group in joined.groups()], only_saved=False)
    assert entry.table.n_rows == 3
