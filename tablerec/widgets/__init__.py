"""Widgets for notebooks; they need the extra ``lab``."""

from tablerec.widgets.table_editor import TableEditor

__all__ = ["TableEditor"]
