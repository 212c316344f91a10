"""A clerk who corrects a table and counts what it takes.

Structure first: lines, then spans. Then texts. With living text, what the lines have not mended is mended by words that
lie in no cell, by other readings, by reading again, by replacing everywhere, and only then by typing. A clerk does not
know beforehand whether reading again, or other grids and readings, help: where they do not, looking at them, or
undoing it, is counted too.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from postprocess.arrays import Floats
from postprocess.cell import Cell
from postprocess.editing.axes import SIDES, Axis, cell_span
from postprocess.editing.placing import table_lines
from postprocess.errors import TableError
from postprocess.table import Table
from tablerec.corrections.editor import Correction
from tablerec.corrections.editor.operations import apply
from tablerec.corrections.editor.reading import Reader, to_read_step
from tablerec.corrections.proposals.grids import Find, find_grids
from tablerec.corrections.proposals.readings import find_readings
from tests.helpers.clerk.costs import COSTS
from tests.helpers.clerk.wrong_tables import WrongTable, grid_of, squeeze
from tests.helpers.find_corrections import Person, Step

_QUICK = 1
"""Characters that are typed sooner than read again."""
_CHEAPER = 2
"""Cells from which on replacing everywhere, or reading all twice, is worth its keys."""
_WORTH_A_LOOK = 5
"""Steps on the grid from which on a clerk looks whether another grid is nearer."""


@dataclass
class Tally:
    """What a table took."""

    keystrokes: int = 0
    clicks: int = 0
    characters: int = 0
    """Typed ones; they are keystrokes too."""
    steps: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    """How often each thing of ``COSTS`` was done."""
    by_action: Counter[str] = field(default_factory=Counter)
    """Characters that were typed by it."""

    def add(self, other: Tally) -> None:
        """Count another table too."""
        for name in ("keystrokes", "clicks", "characters", "steps"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.actions += other.actions
        self.by_action += other.by_action


class Draughtsman(Person):
    """Finds the steps on the grid that a clerk does, who looks at the texts, not at pixels.

    A line is moved only where it runs through a text, or where it would have to be on the other side of one.

    Args:
        wrong: Table as found and as it is.
        moves: Whether lines are moved: without living text that changes no text.
        table: In the place of the table as found.
    """

    def __init__(self, wrong: WrongTable, moves: bool, table: Table | None = None) -> None:
        super().__init__(wrong.draft.table if table is None else table, wrong.true)
        self.moves = moves
        self.free = {axis: list(self._free(wrong, axis)) for axis in SIDES}

    def _free(self, wrong: WrongTable, axis: Axis) -> Iterator[tuple[float, float]]:
        """For each true line, between which positions it runs through no text of the cells that end there."""
        from postprocess.geometry.boxes import boxes_to_quads

        boxes, at = wrong.boxes, int(axis == "row")
        there = np.isfinite(boxes).all(axis=1)
        corners = self.frame.to_upright(boxes_to_quads(np.nan_to_num(boxes)).reshape(-1, 2)).reshape(-1, 4, 2)[:, :, at]
        spans = np.array([cell_span(cell, axis) for cell in wrong.true.cells])
        for line in range(len(self.lines[axis])):
            before, after = corners[there & (spans[:, 1] == line)], corners[there & (spans[:, 0] == line)]
            low = float(before.max()) if len(before) else -np.inf
            high = float(after.min()) if len(after) else np.inf
            yield low, high

    def found_lines(self, axis: Axis) -> Floats:
        """With living text a line that would be right as a true one counts as that one, without being moved."""
        lines, true = super().found_lines(axis), self.lines[axis]
        if not self.moves:
            return lines
        for at, line in enumerate(lines.tolist()):
            bounds = zip(true.tolist(), self.free[axis], strict=True)
            fits = [place for place, (low, high) in bounds if low <= line <= high]
            if fits:
                lines[at] = min(fits, key=lambda place: abs(place - line))
        return np.maximum.accumulate(lines)

    def correct_spans(self) -> None:
        """Before living text cells are split one by one, now all of a row or column of cells at once."""
        if not self.moves:
            return super().correct_spans()
        while wrong := [cell for cell in self.table.cells if len(np.unique(self._owners(cell))) > 1]:
            self.do("split", **max(map(self._block, wrong), key=self._count))
        return super().correct_spans()

    def _owners(self, cell: Cell) -> Any:
        return self.true.owner[cell.row : cell.end_row, cell.col : cell.end_col]

    def _block(self, cell: Cell) -> dict[str, int]:
        """The largest block of a row or column from a cell on, in which nothing that is right is merged."""
        blocks = []
        for axis in SIDES:
            row, col, end = cell.row, cell.col, list(cell_span(cell, axis))[1]
            last = self.table.n_rows if axis == "row" else self.table.n_cols
            for stop in range(end, last + 1):
                bounds = (row, col, stop, cell.end_col) if axis == "row" else (row, col, cell.end_row, stop)
                members = set(self.table.owner[row : bounds[2], col : bounds[3]].ravel().tolist())
                cells = [self.table.cells[index] for index in members]
                if any(each.is_spanning and len(np.unique(self._owners(each))) == 1 for each in cells):
                    break
                blocks.append(dict(zip(("row", "col", "end_row", "end_col"), bounds, strict=True)))
        return max(blocks, key=lambda block: (self._count(block), -block["end_row"] - block["end_col"]))

    def _count(self, block: dict[str, int]) -> int:
        part = self.table.owner[block["row"] : block["end_row"], block["col"] : block["end_col"]]
        return sum(self.table.cells[index].is_spanning for index in np.unique(part).tolist())

    def find_steps(self) -> list[Step]:
        """All steps on the grid."""
        for axis in SIDES:
            self.correct_lines(axis)
        self.correct_spans()
        for axis in SIDES:
            self.place_lines(axis, self.lines[axis].tolist())
        return self.steps

    def place_lines(self, axis: Axis, places: list[float]) -> None:
        """Move the lines that run through a text."""
        if not self.moves:
            return
        true, now, wanted = self.lines[axis].tolist(), table_lines(self.table, axis, self.frame), list(places)
        for line, place in enumerate(places):
            low, high = self.free[axis][true.index(place)]
            if low <= now[line] <= high or abs(now[line] - place) <= 1:
                wanted[line] = float(now[line])
        super().place_lines(axis, wanted)

    def place_borders(self, axis: Axis) -> None:
        """Borders of single cells stay."""

    def _remove_lines(self, axis: Axis, places: list[float | None]) -> list[float]:
        """As one step what lies beside each other."""
        first = next(at for at, place in enumerate(places) if place is not None)
        if first:
            self.do("remove", axis=axis, index=0, count=first)
            del places[:first]
        last = max(at for at, place in enumerate(places) if place is not None)
        if last < len(places) - 1:
            self.do("remove", axis=axis, index=last, count=len(places) - 1 - last)
            del places[last + 1 :]
        line = len(places) - 1
        while line > 0:
            if places[line] is not None:
                line -= 1
                continue
            end = line
            while places[line - 1] is None:
                line -= 1
            self.do("remove_line", axis=axis, line=line, count=end - line + 1)
            line -= 1
        return [place for place in places if place is not None]

    def _draw_line(self, axis: Axis, places: list[float], place: float) -> None:
        index = bisect(places, place) - 1
        self.split_if_covered(axis, index)
        now = table_lines(self.table, axis, self.frame)
        fraction = float(np.clip((place - now[index]) / max(now[index + 1] - now[index], 1e-9), 0.05, 0.95))
        self.do("divide", axis=axis, index=index, fraction=round(fraction, 4))
        places.insert(index + 1, place)


class Clerk:
    """Corrects one table.

    Args:
        correction: Of the draft.
        wrong: As it was found, and as it is.
        reader: Reads cells again; None for the editor before living text.
        find: Finds other grids; None where none are offered.
    """

    def __init__(
        self, correction: Correction, wrong: WrongTable, reader: Reader | None, find: Find | None = None
    ) -> None:
        self.correction, self.wrong, self.reader, self.find = correction, wrong, reader, find
        self.true = {(cell.row, cell.col): cell.text for cell in wrong.true.cells}
        self.tally = Tally()

    @property
    def is_right(self) -> bool:
        """Whether grid, spans and texts are those of the truth."""
        return grid_of(self.correction.table) == grid_of(self.wrong.true) and not self.wrong_cells()

    def correct(self) -> Tally:
        """Do all of it."""
        steps = self.steps_on_grid(self.correction.table)
        if self.find is not None and len(steps) >= _WORTH_A_LOOK:
            steps = self.take_grid(steps)
        for step in steps:
            self.do(step, _name(step))
        if self.reader is not None:
            self.place_words()
            if self.find is None or len(self._unread()) < _CHEAPER:
                self.read_again()
            else:
                self.take_readings()
            self.replace_all()
        self.empty()
        if self.reader is not None:
            self.fill()
        self.type()
        self.count("save and go on")
        return self.tally

    def do(self, step: Step, name: str, typed: int = 0, moves: int = 0) -> None:
        """Do a step, and count it.

        Args:
            step: See ``Correction.do``.
            name: Of ``COSTS``.
            typed: Characters.
            moves: Further keys.
        """
        self.correction.do(step)
        self.count(name, typed, moves)

    def count(self, name: str, typed: int = 0, moves: int = 0) -> None:
        """Count what was done."""
        cost, tally = COSTS[name], self.tally
        tally.steps += 1
        tally.clicks += cost.clicks
        tally.keystrokes += len(cost.keys) + typed + moves
        tally.characters += typed
        tally.actions[name] += 1
        tally.by_action[name] += typed

    def wrong_cells(self, table: Table | None = None) -> list[Cell]:
        """Cells whose text is not right."""
        table = table or self.correction.table
        return [cell for cell in table.cells if squeeze(cell.text) != squeeze(self.true.get((cell.row, cell.col), ""))]

    def try_step(self, step: Step) -> Table | None:
        """The table after a step that is only thought of; None where it is not allowed."""
        try:
            return apply(self.correction.history, step).now.table
        except TableError:
            return None

    def steps_on_grid(self, table: Table) -> list[Step]:
        """The steps that give a table the grid that is right."""
        return Draughtsman(self.wrong, self.reader is not None, table).find_steps()

    # --- with proposals ---

    def take_grid(self, steps: list[Step]) -> list[Step]:
        """Take the grid from which fewer steps are left, and return these; a look at the others is counted anyway."""
        assert self.find is not None
        found = find_grids(self.correction, self.wrong.draft.image, self.find)
        left = [self.steps_on_grid(other.after) for other in found]
        best = min(range(len(found)), key=lambda at: len(left[at]), default=None)
        if best is None or len(left[best]) + 1 >= len(steps):
            self.count("look for nothing")
            return steps
        self.do(found[best].step, "take another grid")
        return left[best]

    def take_readings(self) -> None:
        """Take the other readings that are right, and type there what none of them is, as one step."""
        assert self.reader is not None
        found = find_readings(self.correction, self.wrong.draft.image, self.reader)
        wrong = {(cell.row, cell.col): cell for cell in self.wrong_cells() if (cell.row, cell.col) in found}
        chosen: list[dict[str, Any]] = []
        typed, clicks, moves = 0, 0, 0
        for place, cell in wrong.items():
            true = self.true[place]
            fitting = [each for each in found[place] if squeeze(each.text) == squeeze(true)]
            clicks += 1
            if fitting:
                chosen.append(fitting[0].to_dict(cell)["reading"])
                continue
            n_typed, n_deleted, n_places = edit(cell.text, true)
            chosen.append({"row": cell.row, "col": cell.col, "text": true})
            typed, moves, clicks = typed + n_typed, moves + n_deleted, clicks + n_places - 1
        if not chosen:
            self.count("look for nothing")
            return
        self.do({"do": "set_readings", "readings": chosen}, "take readings", typed, moves)
        self.tally.clicks += clicks

    # --- with living text ---

    def place_words(self) -> None:
        """Drag words that lie in no cell into those that lack them."""
        for cell in self.wrong_cells():
            lacks = squeeze(self.true[cell.row, cell.col])
            for index in sorted({part[0] for part in self.correction.state.outside}):
                word = squeeze(self.correction.state.words[index].text)
                now = squeeze(self.correction.table[cell.row, cell.col].text)
                step = {"do": "place_word", "word": index, "row": cell.row, "col": cell.col}
                if word and word in lacks and _likeness(now, lacks) < _likeness(now + word, lacks):
                    after = self.try_step(step)
                    if after and _likeness(squeeze(after[cell.row, cell.col].text), lacks) > _likeness(now, lacks):
                        self.do(step, "place a word")

    def read_again(self) -> None:
        """Read again what is wrong, several cells of a row or column at once."""
        asked: set[tuple[int, int]] = set()
        while missing := [cell for cell in self._unread() if (cell.row, cell.col) not in asked]:
            column = [cell for cell in missing if (cell.col, cell.end_col) == (missing[0].col, missing[0].end_col)]
            row = [cell for cell in missing if (cell.row, cell.end_row) == (missing[0].row, missing[0].end_row)]
            chosen = max(column, row, key=len)
            [first, *others] = chosen
            is_quick = not others and edit(first.text, self.true[first.row, first.col])[0] <= _QUICK
            if is_quick or not self._read(chosen) or not others:
                asked |= {(cell.row, cell.col) for cell in chosen}

    def _unread(self) -> list[Cell]:
        return [cell for cell in self.wrong_cells() if squeeze(self.true[cell.row, cell.col])]

    def _read(self, cells: Sequence[Cell]) -> bool:
        """Read the block of these cells; returns whether it helped."""
        assert self.reader is not None
        block = {
            "row": min(cell.row for cell in cells), "col": min(cell.col for cell in cells),
            "end_row": max(cell.end_row for cell in cells), "end_col": max(cell.end_col for cell in cells),
        }  # fmt: skip
        before, wrong, table = self._distance(), len(self.wrong_cells()), self.correction.table
        self.do(to_read_step(block, table, self.wrong.draft.image, self.reader), "read again")
        is_better = self._distance() < before
        if not is_better and len(self.wrong_cells()) > wrong:
            self.do({"do": "undo"}, "undo")
        return is_better

    def _distance(self) -> float:
        """How much is wrong."""
        return sum(
            1 - _likeness(squeeze(cell.text), squeeze(self.true[cell.row, cell.col])) for cell in self.wrong_cells()
        )

    def replace_all(self) -> None:
        """Replace what is misread alike in several cells, where nothing right has it."""
        pairs = Counter(pair for cell in self.wrong_cells() for pair in [self._misread(cell)] if pair)
        for (find, text), count in pairs.most_common():
            if count < _CHEAPER:
                return
            step = {"do": "replace_all", "find": find, "text": text, "match_case": False}
            after, before = self.try_step(step), self.wrong_cells()
            if after and len(before) - len(self.wrong_cells(after)) >= _CHEAPER:
                self.do(step, "replace all", len(find) + len(text))

    def _misread(self, cell: Cell) -> tuple[str, str] | None:
        """What would have to be replaced by what; None where only something would have to be put in."""
        now, true = cell.text, self.true[cell.row, cell.col]
        start, end = _same_ends(now, true)
        found = now[start : len(now) - end]
        return (found, true[start : len(true) - end]) if found else None

    def fill(self) -> None:
        """Type once what several cells below each other lack."""
        wrong = {(cell.row, cell.col): cell for cell in self.wrong_cells() if not cell.is_spanning}
        for row, col in sorted(wrong):
            end = row
            while (end, col) in wrong and self.true[end, col] == self.true[row, col]:
                end += 1
            if end - row >= _CHEAPER:
                text = self.true[row, col]
                block = {"row": row, "col": col, "end_row": end, "end_col": col + 1}
                self.do({"do": "fill", **block, "text": text}, "fill", len(text))
                for each in range(row, end):
                    del wrong[each, col]
                return self.fill()
        return None

    # --- as before ---

    def empty(self) -> None:
        """Empty cells that have no text, those below each other at once."""
        wrong = {
            (cell.row, cell.col): cell for cell in self.wrong_cells() if not squeeze(self.true[cell.row, cell.col])
        }
        for row, col in sorted(wrong, key=lambda place: place[::-1]):
            if (row, col) not in wrong:
                continue
            end = row
            while (end, col) in wrong and (end == row or not wrong[end, col].is_spanning):
                end = wrong.pop((end, col)).end_row
            texts = [[""]] * (end - row)
            self.do({"do": "set_texts", "row": row, "col": col, "texts": texts}, "empty")

    def type(self) -> None:
        """Type, or edit, what is still wrong: along rows or down columns, where there is less to click."""
        wrong = self.wrong_cells()
        along, down = (
            [*zip([None, *cells], cells, strict=False)] for cells in (wrong, sorted(wrong, key=_column_first))
        )
        for before, cell in max(along, down, key=lambda pairs: sum(_follows(*pair) for pair in pairs)):
            true = self.true[cell.row, cell.col]
            typed, moves, clicks = edit(cell.text, true)
            step = {"do": "set_text", "row": cell.row, "col": cell.col, "text": true}
            name = "type on" if _follows(before, cell) else "type"
            if len(COSTS["edit"].keys) + typed + moves + clicks < len(COSTS[name].keys) + len(true):
                self.do(step, f"edit{name[4:]}", typed, moves)
                self.tally.clicks += clicks
            else:
                self.do(step, name, len(true))


def _column_first(cell: Cell) -> tuple[int, int]:
    return cell.col, cell.row


def _follows(before: Cell | None, cell: Cell) -> bool:
    """Whether Tab or Enter leads from one cell to the other."""
    places = [(before.row, before.end_col), (before.end_row, before.col)] if before else []
    return (cell.row, cell.col) in places


def _name(step: Step) -> str:
    """What a step on the grid is called in ``COSTS``."""
    is_row = step.get("axis") == "row"
    if step["do"] == "extend":
        where = ("bottom" if is_row else "right") if step["at_end"] else ("top" if is_row else "left")
        return f"add a {'row' if is_row else 'column'} at the {where}"
    names = {"divide": ("draw a row line", "draw a column line"), "remove": ("delete rows", "delete columns")}
    names |= {"remove_line": ("join rows", "join columns"), "move_line": ("move a line",) * 2}
    return names[step["do"]][int(not is_row)] if step["do"] in names else str(step["do"])


def _likeness(text: str, other: str) -> float:
    return 1.0 if text == other else SequenceMatcher(None, text, other, autojunk=False).ratio()


def _same_ends(now: str, true: str) -> tuple[int, int]:
    """How many characters are the same at the start, and of the rest at the end."""
    most = min(len(now), len(true))
    start = next((at for at in range(most) if now[at] != true[at]), most)
    end = next((at for at in range(most - start) if now[-1 - at] != true[-1 - at]), most - start)
    return start, end


def edit(now: str, true: str) -> tuple[int, int, int]:
    """Characters to type, deletions, and clicks into the text to where they are, where it is changed in its place.

    >>> edit("lst quarter", "1st quarter")
    (1, 1, 1)
    """
    changes = [
        change for change in SequenceMatcher(None, now, true, autojunk=False).get_opcodes() if change[0] != "equal"
    ]
    typed = sum(end - start for _, _, _, start, end in changes)
    return typed, sum(end - start for _, start, end, _, _ in changes), len(changes)
