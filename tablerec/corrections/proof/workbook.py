"""Workbooks that say which share of their cells is proved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from postprocess.export import tables_to_workbook
from postprocess.table import Table
from tablerec.corrections.proof.prove import share_proved

if TYPE_CHECKING:
    from openpyxl import Workbook

PROPERTY = "share_proved"
"""Name of the property of the document: File, Info, Properties, Advanced in Excel."""


def to_workbook(tables: Sequence[Table], names: Sequence[str] | None = None) -> Workbook:
    """Write tables into a workbook with the share of their cells that is proved among its properties.

    Args:
        tables: See ``postprocess.export.tables_to_workbook``, which may raise as well.
        names: Of the sheets.

    >>> book = to_workbook([Table.from_texts([["Tea", "25.10"], ["Milk", "171.05"], ["Total", "196.15"]])])
    >>> book.custom_doc_props[PROPERTY].value
    0.5
    """
    from openpyxl.packaging.custom import FloatProperty

    workbook = tables_to_workbook(tables, names)
    workbook.custom_doc_props.append(FloatProperty(name=PROPERTY, value=round(share_proved(tables), 4)))
    return workbook
