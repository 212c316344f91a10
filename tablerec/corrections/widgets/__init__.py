"""Widgets for notebooks; they need the extra ``notebook``.

::

    table_editor.py   TableEditor: the editor in the output of a cell
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tablerec.errors import MissingDependencyError

if TYPE_CHECKING:
    from tablerec.corrections.widgets.table_editor import TableEditor

__all__ = ["TableEditor"]


def __getattr__(name: str) -> Any:
    """Import the widget when it is asked for, and say what is missing where it cannot be."""
    if name != "TableEditor":
        raise AttributeError(f"module 'tablerec.corrections.widgets' has no attribute {name!r}")
    try:
        from tablerec.corrections.widgets.table_editor import TableEditor
    except ImportError as error:
        message = f"the table editor cannot be loaded ({error}): pip install 'tablerec[notebook]'"
        raise MissingDependencyError(message) from error
    return TableEditor
