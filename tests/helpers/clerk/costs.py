"""What each thing that a clerk does costs in the editor: keys and clicks.

A key with Control, Alt or Shift held is one keystroke; a drag, with the button held, is one click. The keys are those
of the list behind F1; tests/tablerec/corrections/review/test_costs_of_steps.py does each thing once in a browser. The
editor before living text (commit 0164d52) had the same keys for what it could do, see ``BEFORE``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """Keys, as Playwright calls them, and clicks; texts that are typed come to it."""

    clicks: int = 0
    keys: tuple[str, ...] = ()


COSTS: dict[str, Cost] = {
    "move a line": Cost(1),  # dragged in the picture
    "move a border": Cost(1, ("Shift",)),  # held while it is dragged
    "draw a row line": Cost(1, ("Alt+r",)),  # a click in the picture, where it belongs
    "draw a column line": Cost(1, ("Alt+c",)),
    "add a row at the top": Cost(1),  # a button
    "add a row at the bottom": Cost(0, ("Alt+a",)),
    "add a column at the left": Cost(1),
    "add a column at the right": Cost(0, ("Alt+Shift+a",)),
    "delete rows": Cost(1, ("Alt+x",)),  # a click on the number of the row, or a drag over several
    "delete columns": Cost(1, ("Alt+Shift+x",)),
    "join rows": Cost(1, ("Alt+j",)),  # a click on a cell, or a drag over several
    "join columns": Cost(1, ("Alt+Shift+j",)),
    "merge": Cost(1, ("Alt+m",)),
    "split": Cost(1, ("Alt+s",)),
    "empty": Cost(1, ("Delete",)),
    "type": Cost(1, ("Enter",)),
    "type on": Cost(0, ("Enter",)),  # in the cell to which Enter, or Tab, has led
    "edit": Cost(1, ("F2", "Enter")),  # and for each place in the text a click
    "edit on": Cost(0, ("F2", "Enter")),
    "undo": Cost(0, ("Control+z",)),
    "save and go on": Cost(0, ("Control+Enter",)),
    # With living text.
    "fill": Cost(1, ("Control+Enter",)),
    "read again": Cost(1, ("Alt+l",)),
    "place a word": Cost(1),  # dragged in the picture from where it stands
    "replace all": Cost(2, ("Control+h",)),  # the second field, the button
    "take another grid": Cost(2),  # the button, the picture of the grid
    "take readings": Cost(2),  # two buttons, and for each text that is taken a click
    "look for nothing": Cost(1, ("Escape",)),  # no other grid, or no other reading, is any better
}
NEW = (
    *("fill", "read again", "place a word", "replace all"),
    *("take another grid", "take readings", "look for nothing"),
)
BEFORE = tuple(name for name in COSTS if name not in NEW)
"""What the editor before living text could do."""
