"""Table -> CSV (RFC 4180): one line a row, a span writes its text once.

CSV holds rows only: title and notes are left out, and a table in a cell is its text. It has no types: Excel drops
leading zeros when it opens one. Write ``.xlsx`` where that matters. All fields are
quoted: a spreadsheet of a country that writes 1,5 parts them at semicolons else.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from postprocess.characters import clean_text, is_formula
from postprocess.table import Table, flatten
from postprocess.values import is_numeric

CSV_ENCODING = "utf-8-sig"
"""UTF-8 with the mark by which Excel knows it; without it Chinese text is garbled there."""


def table_to_csv(table: Table, *, fill_spans: bool = False, keep_formulas: bool = False) -> str:
    r"""Write the texts of a table as CSV.

    A spreadsheet runs a text that starts with ``=``, ``+``, ``-`` or ``@`` as a
    formula when it opens the file, so such a text gets a leading apostrophe,
    unless it is a number (https://owasp.org/www-community/attacks/CSV_Injection).
    So does each line of a text, and each part behind a semicolon: where these part
    the fields, quotes in the middle of a line are no quotes.

    Args:
        table: Any table; one without cells gives an empty text.
        fill_spans: Write the text of a spanning cell into all its slots.
        keep_formulas: Write formulas as they were read, for programs that only read.

    Returns:
        Lines that end with CR LF; encode them with `CSV_ENCODING`.

    >>> table_to_csv(Table.from_texts([["=1+1", "-5.2", "a;@b"]])).strip()
    '"\'=1+1","-5.2","a;\'@b"'
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    for row in flatten(table).to_grid(fill_spans=fill_spans):
        writer.writerow([clean_text(text) if keep_formulas else _defuse(clean_text(text)) for text in row])
    return stream.getvalue()


def tables_to_csv(tables: Sequence[Table], *, fill_spans: bool = False, keep_formulas: bool = False) -> str:
    r"""Write several tables into one text, with an empty line between them.

    >>> tables_to_csv([Table.from_texts([["a"]]), Table.from_texts([["b"]])])
    '"a"\r\n\r\n"b"\r\n'
    """
    return "\r\n".join(table_to_csv(table, fill_spans=fill_spans, keep_formulas=keep_formulas) for table in tables)


def _defuse(text: str) -> str:
    return "".join(f"'{part}" if _is_dangerous(part) else part for part in re.split("([;\n])", text))


def _is_dangerous(part: str) -> bool:
    return is_formula(part.lstrip('" ')) and not is_numeric(part)
