from __future__ import annotations

import pytest

from postprocess.cell import Cell
from postprocess.table import Table
from postprocess.word import Word
from tablerec.corrections.proof import Finding, Proof, proof_to_view, prove
from tablerec.corrections.proof.check_digits import ALGORITHMS, check_codes
from tablerec.corrections.proof.doubts import find_spots
from tablerec.corrections.proof.finding import MESSAGES


def column(*texts: str, head: str = "") -> Table:
    cells = [Cell(0, 0, text=head, header="column")] if head else []
    return Table([*cells, *(Cell(row, 0, text=text) for row, text in enumerate(texts, start=len(cells)))])


def found(table: Table) -> dict[str, list[tuple[str, str]]]:
    """Text of each doubtful cell -> reasons and proposals."""
    return {
        table.cells[cell].text: [(each.reason, each.mended) for each in findings]
        for cell, findings in prove(table).findings.items()
    }


def test_each_message_is_in_both_languages_with_the_same_gaps() -> None:
    for english, chinese in MESSAGES.values():
        assert english and any("\u4e00" <= char <= "\u9fff" for char in chinese)
        for gap in ("{0}", "{1}", "{2}"):
            assert (gap in english) == (gap in chinese)
    assert Finding(0, "sum", "sum", 0.5, ("7",)).messages[0] == "the sum would be right with 7"


@pytest.mark.parametrize(
    ("texts", "wrong", "mended"),
    [
        (["H1", "H2", "H3", "HO", "H5"], "HO", "H0"),
        (["1st", "2nd", "lst", "3rd"], "lst", "1st"),
        (["AB-12", "CD-34", "A8-56", "EF-78"], "A8-56", "AB-56"),
        (["1,204", "17", "l2", "8", "40"], "l2", "12"),
        (["10,218.57", "9,401.10", "10.218.57", "8.20"], "10.218.57", "10,218.57"),
        (["995.98", "17.20", "9 95.98", "3.10"], "9 95.98", "995.98"),
        (["1", "2", "7", "4", "5", "6"], "7", "3"),
    ],
)
def test_the_odd_one_of_a_column_is_found_with_what_it_should_be(texts: list[str], wrong: str, mended: str) -> None:
    doubts = found(column(*texts))
    assert set(doubts) == {wrong} and mended in [each for _, each in doubts[wrong]]


@pytest.mark.parametrize(
    "texts",
    [
        ["7A", "7B", "8A", "8B"],
        ["2007", "1,204", "3,300", "5,120", "2008"],
        ["ist", "der", "Mist", "die"],
        ["B12", "CO2", "H2O", "NaCl"],
        ["0.56-.74", "0.2", "0.3", "0.4"],
        ["Northern Ireland", "Rhode Island", "Illinois"],
        ["6th", "8th", "9th"],
    ],
)
def test_what_only_looks_odd_is_no_finding(texts: list[str]) -> None:
    assert found(column(*texts)) == {}


def test_dates_have_one_order_and_one_form() -> None:
    dates = ["2024-01-07", "2024-01-19", "2024-04-20", "2024-02-03", "2024-02-28", "2024-03-05"]
    assert found(column(*dates)) == {"2024-04-20": [("date_order", "")]}
    assert found(column(*sorted(dates))) == {}
    assert found(column(*sorted(dates)[::-1])) == {}
    assert found(column("01.02.2024", "05.02.2024", "O9.02.2024", "11.02.2024", "13.02.2024")) == {
        "O9.02.2024": [("no_date", "09.02.2024"), ("among_digits", "09.02.2024")]
    } or "O9.02.2024" in found(column("01.02.2024", "05.02.2024", "O9.02.2024", "11.02.2024", "13.02.2024"))
    assert [
        reason for reason, _ in found(column("03.01.2024", "05.01.2024", "7.01.2024", "09.01.2024"))["7.01.2024"]
    ] == ["date_format"]


GOOD = {
    "ISBN": ["9780306406157", "978-0-306-40615-7", "0306406152", "0-8044-2957-X"],
    "IBAN": ["DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819"],
    "身份证号": ["11010519491231002X"],
    "统一社会信用代码": ["91350100M000100Y43"],
    "EAN": ["4006381333931", "96385074"],
    "UPC": ["036000291452"],
    "Card no.": ["4111111111111111"],
    "VAT no.": ["DE136695976", "BE0428759497", "IT00743110157"],
}


@pytest.mark.parametrize(("head", "code"), [(head, code) for head, codes in GOOD.items() for code in codes])
def test_a_number_with_a_check_digit_proves_itself_and_no_misread_one_passes(head: str, code: str) -> None:
    passed, findings = check_codes(column(code, head=head))
    assert list(passed) == [1] and findings == []
    for at, digit in enumerate(code):
        if digit.isdigit():
            misread = code[:at] + str((int(digit) + 5) % 10) + code[at + 1 :]
            assert not check_codes(column(misread, head=head))[0]


def test_codes_are_known_without_a_head_if_most_of_them_pass() -> None:
    codes = ["4006381333931", "4006381333948", "4006381333955", "4006381333968"]
    passed, [finding] = check_codes(column(*codes))
    assert list(passed) == [0, 1, 2] and finding.cell == 3 and finding.kind == "check_digit"
    assert check_codes(column("4006381333931", "1234567890123")) == ({}, [])
    assert all(algorithm.name for algorithm in ALGORITHMS)


def test_labels_that_look_alike() -> None:
    assert found(column("Total", "Totai", "Total")) == {"Totai": [("other_label", "Total")]}
    assert set(found(column("HO", "H0"))) == {"HO", "H0"}
    assert found(column("Total", "total", "TOTAL")) == {}
    assert found(column("Bank borrowings", "Bank borowings", "Bank borrowings")) == {
        "Bank borowings": [("other_label", "Bank borrowings")]
    }


def test_text_and_structure_are_doubted_apart() -> None:
    sure, unsure = 0.999, 0.4
    cells = [
        Cell(0, 0, text="a", ocr_score=unsure, confidence=unsure),
        Cell(0, 1, text="b", ocr_score=sure, confidence=unsure * sure),
        Cell(0, 2, text="c", ocr_score=sure, confidence=sure),
        Cell(0, 3, text="d", ocr_score=sure, confidence=0.3, doubt="is Cyrillic"),
    ]
    table = Table(cells)
    kinds = {cell: [each.kind for each in each_of] for cell, each_of in prove(table).findings.items()}
    assert kinds == {0: ["text"], 1: ["structure"], 3: ["text"]}
    assert [tuple(place) for place in proof_to_view(table, prove(table))["order"]] == [(0, 3), (0, 0), (0, 1), (0, 2)]


def test_the_least_sure_line_tells_and_all_its_characters_count() -> None:
    quad = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0))
    words = [Word("Net", quad, 0.999), Word("sales", quad, 0.95)]
    cell = Cell(0, 0, text="Net sales", ocr_score=0.99, words=((0, 0, 3), (1, 0, 5)))
    assert not prove(Table([cell])).findings
    assert prove(Table([cell]), words).findings


def test_an_empty_cell_in_a_full_column_is_a_finding() -> None:
    months = ["March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
    rows = [[month, "x", str(number * 7 + 100)] for number, month in enumerate(months)]
    rows += [["Year", "x", "900"], ["Week", "x", "20"]]
    rows[5][2] = ""
    table = Table.from_texts(rows)
    assert [table.cells[cell].row for cell in prove(table).findings] == [5]


def test_hostile_texts_do_no_harm() -> None:
    texts = [
        "",
        "\ufffd",
        "9" * 5000,
        "1e999999",
        "١٢٣",
        "−",
        "((((",
        "0" * 40,
        "%%%",
        "\u202e12",
        "DE" + "9" * 33,
        "1.2.3.4.5.6",
    ]
    prove(Table.from_texts([texts, texts[::-1], ["1"] * len(texts)]))
    for text in texts:
        prove(column(*[text] * 4, head="IBAN ISBN EAN card"))


def test_only_the_words_in_doubt_are_marked() -> None:
    """By the reader's score, by what would be right; not where that is the whole text, nor where nobody knows."""
    places = [((x, 0.0), (x + 30.0, 0.0), (x + 30.0, 9.0), (x, 9.0)) for x in (0.0, 40.0, 80.0)]
    words = [Word(text, quad, score) for text, quad, score in zip(("2O", "of", "2O"), places, (1, 0.3, 1), strict=True)]
    cell = Cell(0, 0, text="2O of 2O", words=((0, 0, 2), (1, 0, 2), (2, 0, 2)))
    score, mended = Finding(0, "text", "score", 0.5), Finding(0, "text", "among_digits", 0.9, ("O", "0"), "2O of 20")
    assert find_spots(cell, [score], words) == ([(3, 5)], [places[1]])
    assert find_spots(cell, [mended], words) == ([(6, 8)], [places[2]])
    assert find_spots(cell, [mended]) == ([(6, 8)], [])
    assert find_spots(cell, [score, mended], words)[0] == [(3, 5), (6, 8)]
    assert find_spots(cell, [Finding(0, "text", "ink", 0.5)], words) == ([], [])
    assert find_spots(cell, [Finding(0, "text", "like_form", 0.5, (), "x")], words) == ([], [])
    assert find_spots(Cell(0, 0), [score, mended], words) == ([], [])


def test_a_page_counts_characters_in_its_own_way() -> None:
    finding = Finding(0, "text", "among_digits", 0.9, ("O", "0"), "𠮷 20 kg")
    [cell] = proof_to_view(Table([Cell(0, 0, text="𠮷 2O kg")]), Proof(1, {0: (finding,)}, {}))["cells"]
    assert cell["spans"] == [[3, 5]]
