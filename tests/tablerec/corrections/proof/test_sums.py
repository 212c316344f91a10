from __future__ import annotations

import random
from decimal import Decimal

import pytest

from postprocess.cell import Cell
from postprocess.meaning.headers import mark_headers
from postprocess.table import Table
from tablerec.corrections.proof import prove, share_proved, to_workbook
from tablerec.corrections.proof.amounts import table_to_amounts, text_to_amount
from tablerec.corrections.proof.sums import find_equations

ACCOUNTS = [
    ["", "2024", "2023"],
    ["Tea", "1,204.50", "987.10"],
    ["Milk", "310.25", "402.35"],
    ["Sugar", "99.90", "88.05"],
    ["Total", "1,614.65", "1,477.50"],
]


def at(table: Table, row: int, col: int) -> int:
    return int(table.owner[row, col])


def changed(rows: list[list[str]], row: int, col: int, text: str) -> Table:
    copied = [[*line] for line in rows]
    copied[row][col] = text
    return mark_headers(Table.from_texts(copied))


@pytest.mark.parametrize("table", [Table([]), Table.from_texts([[""]]), Table.from_texts([["a", "b"], ["c", "d"]])])
def test_a_table_without_numbers_proves_nothing_and_has_no_findings(table: Table) -> None:
    proof = prove(table)
    assert not proof.findings and not proof.proved and proof.share_proved == (1.0 if proof.n_cells == 0 else 0.0)


def test_totals_that_agree_prove_all_their_cells() -> None:
    table = mark_headers(Table.from_texts(ACCOUNTS))
    proof = prove(table)
    assert not proof.findings
    assert set(proof.proved) == {at(table, row, col) for row in range(1, 5) for col in (1, 2)}
    assert share_proved([table, Table([])]) == proof.share_proved == pytest.approx(8 / 14)


@pytest.mark.parametrize(
    ("row", "col", "text", "meant"),
    [
        (1, 1, "1,264.50", "1,204.50"),
        (2, 2, "402.55", "402.35"),
        (4, 1, "1,614.55", "1,614.65"),
        (1, 1, "1.204.50", "1,204.50"),
        (3, 2, "8805", "88.05"),
        (3, 2, "88.O5", "88.05"),
        (2, 1, "310.2", "310.25"),
    ],
)
def test_the_misread_cell_of_a_total_is_named_with_what_it_should_be(row: int, col: int, text: str, meant: str) -> None:
    table = changed(ACCOUNTS, row, col, text)
    proof = prove(table)
    wrong = at(table, row, col)
    assert meant in [finding.mended for finding in proof.findings[wrong]]
    assert wrong not in proof.proved and at(table, 1, 3 - col) in proof.proved
    assert len(proof.findings) <= 3


def test_what_is_rounded_neither_proves_nor_alarms() -> None:
    rows = [
        ["", "a", "b"],
        ["x", "10.4", "20.4"],
        ["y", "10.4", "30.4"],
        ["z", "7.3", "9.3"],
        ["Total", "28.2", "60.1"],
    ]
    assert not prove(mark_headers(Table.from_texts(rows))).findings


def test_subtotals_grand_totals_and_what_is_left() -> None:
    rows = [
        ["Rent", "1,200", "1,350"], ["Power", "340", "310"], ["Total costs", "1,540", "1,660"],
        ["Sales", "4,871", "5,005"], ["Other", "229", "315"], ["Total income", "5,100", "5,320"],
        ["Result", "3,560", "3,660"],
    ]  # fmt: skip
    # The result is the second sum less the first: of neither is it the sum.
    swapped = [*rows[3:6], *rows[:3], rows[6]]
    table = Table.from_texts(swapped)
    states = [equation.state for equation in find_equations(table, table_to_amounts(table))]
    assert states == ["exact"] * 6
    assert len(prove(table).proved) == 14


def test_totals_of_rows_and_of_columns_agree_on_the_misread_cell() -> None:
    rng = random.Random(3)
    body = [[rng.randint(1000, 99_999) for _ in range(4)] for _ in range(5)]
    lines = [[*line, sum(line)] for line in body]
    lines.append([sum(column) for column in zip(*lines, strict=True)])
    rows = [["", "N", "E", "S", "W", "Total"]]
    rows += [[name, *(f"{value:,}" for value in line)] for name, line in zip([*"abcde", "Total"], lines, strict=True)]
    meant = rows[3][2]
    misread = meant[:-1] + {"8": "3", "3": "8"}.get(meant[-1], "8")
    table = changed(rows, 3, 2, misread)
    proof = prove(table)
    assert {*proof.findings} == {at(table, 3, 2)}
    [finding] = proof.findings[at(table, 3, 2)]
    assert finding.mended == meant and finding.severity > 0.6


def test_totals_above_their_parts_are_found() -> None:
    rows = [["All", "1,614.65", "1,477.50"], *ACCOUNTS[1:4]]
    assert len(prove(Table.from_texts(rows)).proved) == 8


def test_shares_add_up_to_a_hundred() -> None:
    rows = [
        ["Group", "Share"],
        *[[name, text] for name, text in zip("abcd", ["41.2%", "30.5%", "18.1%", "10.2%"], strict=True)],
    ]
    assert len(prove(mark_headers(Table.from_texts(rows))).proved) == 4
    table = changed(rows, 2, 1, "36.5%")
    assert "30.5%" in [finding.mended for finding in prove(table).findings[at(table, 2, 1)]]


INVOICE = [
    ["Item", "Qty", "Price", "Amount"],
    ["Lamp", "12", "19.90", "238.80"],
    ["Chair", "4", "149.50", "598.00"],
    ["Desk", "3", "310.25", "930.75"],
    ["Shelf", "15", "44.95", "674.25"],
]


def test_products_prove_and_name_what_is_misread() -> None:
    table = mark_headers(Table.from_texts(INVOICE))
    assert len(prove(table).proved) == 12
    table = changed(INVOICE, 3, 2, "316.25")
    proof = prove(table)
    assert "310.25" in [finding.mended for finding in proof.findings[at(table, 3, 2)]]
    assert proof.proved[at(table, 2, 3)] == "product"


def bank(count: int = 8) -> list[list[str]]:
    rng, balance = random.Random(5), Decimal("10451.20")
    rows = [["Date", "Out", "In", "Balance"]]
    for day in range(count):
        amount, is_out = Decimal(rng.randint(1000, 90_000)) / 100, day % 3 > 0
        balance += -amount if is_out else amount
        rows.append(
            [
                f"2024-03-{day + 10}",
                f"{amount:.2f}" if is_out else "",
                "" if is_out else f"{amount:.2f}",
                f"{balance:,.2f}",
            ]
        )
    return rows


def test_balances_that_run_on_prove_what_moves_them() -> None:
    table = mark_headers(Table.from_texts(bank()))
    proof = prove(table)
    assert not proof.findings and sum(evidence == "balance" for evidence in proof.proved.values()) >= 14
    rows = bank()
    meant = rows[4][3]
    table = changed(rows, 4, 3, meant.replace(meant[0], {"1": "7"}.get(meant[0], "1"), 1))
    proof = prove(table)
    assert [finding.mended for finding in proof.findings[at(table, 4, 3)]] == [meant]


def test_numbers_of_chance_prove_nothing() -> None:
    rng = random.Random(1)
    for _ in range(20):
        rows = [[f"row {number}", *(f"{rng.randint(1000, 99_999):,}" for _ in range(4))] for number in range(12)]
        proof = prove(Table.from_texts(rows))
        assert not proof.findings and len(proof.proved) <= 3


def test_exact_numbers_of_any_notation() -> None:
    amount = text_to_amount("0.1")
    assert amount is not None and amount.value == Decimal("0.1") and amount.step == Decimal("0.1")
    euros = table_to_amounts(Table.from_texts([["1.234,50"], ["2.000,00"], ["(0,50)"]]))
    assert [each and each.value for each in euros.cells] == [Decimal("1234.5"), 2000, Decimal("-0.5")]


def test_what_a_person_confirmed_is_proved_and_no_longer_doubtful() -> None:
    cells = [Cell(0, 0, text="lst", ocr_score=0.3), Cell(0, 1, text="lst", ocr_score=0.3, confirmed=True)]
    proof = prove(Table(cells))
    assert set(proof.findings) == {0} and proof.proved == {1: "confirmed"}


def test_a_workbook_says_which_share_is_proved() -> None:
    pytest.importorskip("openpyxl")
    book = to_workbook([mark_headers(Table.from_texts(ACCOUNTS))], ["Accounts"])
    assert book.custom_doc_props["share_proved"].value == pytest.approx(8 / 14, abs=1e-4)


def test_large_tables_are_checked_in_seconds() -> None:
    rng = random.Random(2)
    rows = [["x", *(f"{rng.randint(1, 99_999) / 100:,.2f}" for _ in range(9))] for _ in range(300)]
    proof = prove(Table.from_texts(rows))
    assert proof.n_cells == 3000


def test_what_rounding_explains_is_told_where_nothing_mends_a_total() -> None:
    rows = [["", "a", "b"], ["x", "10.4", "20.4"], ["y", "11.5", "30.4"], ["Total one", "21.9", "50.8"]]
    rows += [["z", "17.2", "44.1"], ["w", "23.8", "19.6"], ["Total two", "41.0", "88.2"]]
    table = mark_headers(Table.from_texts(rows))
    messages = [finding.messages[0] for finding in prove(table).findings[at(table, 6, 2)]]
    assert messages == ["the cells add up to 63.7; rounding explains at most 0.15"]
