"""Text -> typed value, as an accountant would type it into a spreadsheet.

A text becomes a number or a date only where one reading is possible, and its number format shows it again as it was
read. What the marks mean, 1.234 or 1,5, is decided by all cells of the column, then by the table, then by the page,
that is all tables given together. Where nobody decides, where one cell with digits does not fit, and where units or
currencies differ, the column stays text as a whole: a sum must not skip cells in silence.

Text are leading zeros, more than 15 digits, phone numbers, versions, ranges, fractions, times, and a column of unlike
things, such as the values of a form. In a column of numbers, words and dashes without digits are text and do not
disturb. Per cents, currencies (one a column) and plain numbers may stand in one column, as they do in a table that is
written across; other units only where all its numbers carry the same. ``12‰`` is the number 12 with that unit.

The OCR engine's own decimal and thousands marks decide how a program shows a number, so 1.234,56 is shown as 1,234.56
by an English Excel.

::

    value.py        Value              numbers.py   text -> numbers        columns.py   what a column is
    script.py       digits, marks      dates.py     text -> dates          tables.py    tables -> values
    chinese.py      numerals           reading.py   text -> all readings
    conventions.py  which mark is what
    units.py        names beside numbers
    formats.py      number formats
"""

from postprocess.values.columns import Column, reading_to_value
from postprocess.values.reading import is_numeric, read_text
from postprocess.values.tables import TableValues, is_heading, table_to_values, tables_to_values
from postprocess.values.value import FIRST_DATE, MAX_DIGITS, Value, text_to_value

__all__ = [
    "FIRST_DATE",
    "MAX_DIGITS",
    "Column",
    "TableValues",
    "Value",
    "is_heading",
    "is_numeric",
    "parse_value",
    "table_to_values",
    "tables_to_values",
    "text_to_value",
]


def parse_value(text: str) -> Value:
    r"""Read one text alone as a number, a percentage, an amount of money, a date, or text.

    Args:
        text: Content of a cell. Where the others of its column are known, ``table_to_values`` knows more.

    Returns:
        The value; ``float`` where the text shows decimals or a percent sign.

    >>> parse_value("(1,234.50)")
    Value(value=-1234.5, number_format='#,##0.00;(#,##0.00)')
    >>> parse_value("12.5%")
    Value(value=0.125, number_format='0.0%')
    >>> parse_value("2026-01-02")
    Value(value=datetime.date(2026, 1, 2), number_format='yyyy\\-mm\\-dd')
    >>> parse_value("00123"), parse_value("1.234").value
    (Value(value='00123', number_format='@'), '1.234')
    """
    return reading_to_value(read_text(text))
