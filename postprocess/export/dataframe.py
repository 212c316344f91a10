"""Table -> pandas DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postprocess.errors import MissingDependencyError
from postprocess.table import Table, flatten
from postprocess.values import table_to_values

if TYPE_CHECKING:
    import pandas as pd


def table_to_dataframe(table: Table, *, typed: bool = False) -> pd.DataFrame:
    """Return the table with its header rows as column names.

    Each row is a header or a row of the frame, none is lost; where all rows are
    headers they are kept as data. A spanning header names all its columns, a
    spanning data cell is written once, and a table in a cell is its text.

    Args:
        table: Any table.
        typed: Numbers and dates as `postprocess.values.table_to_values` reads them,
            in place of texts.

    Returns:
        Texts; the columns are a `pandas.MultiIndex` if there are several header
        rows, and numbered if there is none. ``attrs`` holds ``title`` and ``notes``, where the table has them.

    Raises:
        MissingDependencyError: pandas is not installed.

    >>> from postprocess.cell import Cell
    >>> table = Table([Cell(0, 0, text="Sales", header="column"), Cell(1, 0, text="12.50")])
    >>> table_to_dataframe(table, typed=True)["Sales"].tolist()
    [12.5]
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError("a DataFrame needs pandas: pip install pandas") from error
    table = flatten(table)
    depth = table.n_header_rows if table.n_header_rows < table.n_rows else 0
    names = table.to_grid(fill_spans=True)[:depth]
    rows: list[list[object]] = [[*row] for row in table.to_grid()]
    for cell, value in zip(table.cells, table_to_values(table).cells if typed else (), strict=False):
        rows[cell.row][cell.col] = value.value
    columns = pd.MultiIndex.from_arrays(names) if depth > 1 else names[0] if depth else range(table.n_cols)
    frame = pd.DataFrame(rows[depth:], columns=columns)
    if table.title:
        frame.attrs["title"] = table.title.text
    if table.notes:
        frame.attrs["notes"] = [note.text for note in table.notes]
    return frame
