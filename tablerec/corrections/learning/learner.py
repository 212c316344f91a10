"""What runs, what came of it, and which weights are used; all of it over restarts.

A run is: train, export, read the saved tables with the former and with the new weights, which are withheld where they
read them worse. With the new ones they are read twice: by the network among its rivals, as usual, and by it alone,
since the rules by which one of them is chosen have learned nothing. Each of its steps leaves a file, so that a run that
was stopped goes on where it was.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from postprocess.editing.placing import tidy
from postprocess.table import Table
from tablerec.corrections.learning import AFTER
from tablerec.corrections.learning.anew import (
    Change,
    apply_changes,
    line_to_table,
    picture_words,
    take_back,
    to_change,
)
from tablerec.corrections.learning.gain import is_better, is_no_worse, rate
from tablerec.corrections.learning.recipe import STEPS, to_recipe
from tablerec.corrections.learning.runs import RunCommand, is_finished, run_command, step_and_minutes_left
from tablerec.corrections.refusals import to_chinese
from tablerec.corrections.tables import Tables
from tablerec.errors import InputError, TablerecError
from tablerec.fields import Fields, whole
from tablerec.outputs.files import atomic_file

FOLDER = "learnt"
"""Of the corrections folder."""
ALONE = ("--detector", "cellnet")
"""Options by which the network reads without its rivals."""
FEWEST = 5
"""Saved tables to learn from: of so many one validates."""

_WEIGHTS = "cellnet.safetensors"
_MODEL = "inference.onnx"
_MOST_RATED = 60
"""Saved tables that are read to say what was gained, and as many held-out ones: each takes seconds."""
_PATIENCE = 30.0
"""Seconds that a process is given to end."""

_logger = logging.getLogger(__name__)

Doing = Literal["", "training", "rating", "reading"]
"""What runs in the background."""


@dataclass(slots=True)
class State:
    """What is kept.

    Args:
        run: Number of the last run; 0 before the first.
        is_done: Whether it came to its end.
        n_learnt: Saved tables that it learned from.
        current: The run whose weights are used; 0 for the package's.
        former: Those that were used before them.
        gain: Of the last run: what is in ``Rightness``, before and after, for ``saved`` and ``held_out``.
        applied: Name -> number of steps, of tables that were read anew.
        alone: Runs whose network reads better without its rivals.
    """

    run: int = 0
    is_done: bool = True
    n_learnt: int = 0
    current: int = 0
    former: list[int] = field(default_factory=list)
    gain: dict[str, Any] = field(default_factory=dict)
    applied: dict[str, int] = field(default_factory=dict)
    alone: list[int] = field(default_factory=list)


class Learner:
    """Learns from the saved tables of a review.

    Args:
        tables: Of the review.
        after: Saves after which it begins by itself; 0: only when it is asked to.
        steps: Of training.
        use: Called with the folder of the weights that are used from now on, None for the package's, and with whether
            their network reads alone.
        reading: Options of ``tablerec`` by which pictures are read, such as ``["--ocr", "none"]``.
        run: Runs a command of tablerec; tests have another.
    """

    def __init__(
        self,
        tables: Tables,
        *,
        after: int = AFTER,
        steps: int = STEPS,
        use: Callable[[Path | None, bool], None] = lambda _, is_alone: None,
        reading: Sequence[str] = (),
        run: RunCommand = run_command,
    ) -> None:
        self._tables, self._after, self._steps, self._use, self._run = tables, after, steps, use, run
        self._reading = list(reading)
        self._folder = tables.corrections.folder
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._worker: threading.Thread | None = None
        self._doing: Doing = ""
        self._progress = 0.0
        self._minutes_left: float | None = None
        self._problem: TablerecError | None = None
        self._changes: list[Change] | None = None
        self._state = self._read_state()

    @property
    def weights(self) -> Path | None:
        """Folder of the weights that are used; None for the package's."""
        return self._weights_of(self._state.current)

    @property
    def is_alone(self) -> bool:
        """Whether the network of these weights reads without its rivals."""
        return self._state.current in self._state.alone

    def view(self) -> dict[str, Any]:
        """Return what a person is shown, ready for JSON."""
        with self._lock:
            state, changes = self._state, self._changes
            n_saved = self._count_saved()
            return {
                "doing": self._doing,
                "progress": round(self._progress, 3),
                "minutes_left": self._minutes_left,
                "problem": str(self._problem or ""),
                "problem_zh": self._problem and to_chinese(self._problem),
                "is_paused": not state.is_done and not self._doing,
                "run": state.run,
                "current": state.current,
                "can_take_back": bool(state.former),
                "gain": state.gain if state.is_done else {},
                "is_withheld": self._is_withheld(),
                "n_saved": n_saved,
                "n_new": n_saved - state.n_learnt,
                "after": self._after,
                "fewest": FEWEST,
                "changes": None if changes is None else [each.to_dict() for each in changes],
            }

    def saved(self) -> None:
        """Begin where enough was saved since the last run."""
        with self._lock:
            n_new = self._count_saved() - self._state.n_learnt
            if self._after and n_new >= self._after and not self._doing and self._state.is_done and can_train():
                self.start()

    def start(self) -> None:
        """Train in the background, or go on with a training that was stopped.

        Raises:
            InputError: Something else runs, or there is too little to learn from.
            OutputError: Nothing can be written.
            TablerecError: What trains is not installed.
        """
        with self._lock:
            if not can_train():
                message = 'learning needs Paddle: run pip install "tablerec[paddle]" and start again'
                raise TablerecError(message).named("no_paddle")
            if self._state.is_done or not self._recipe.is_file():
                self._begin_run()
            self._begin("training", self._train)

    def read_anew(self, *, anyway: bool = False) -> None:
        """Use the weights of the last run, and read the open tables that nobody has touched with them.

        Args:
            anyway: Also where saved tables are read worse with them.

        Raises:
            InputError: Something else runs, there are no such weights, or saved tables are read worse with them.
        """
        with self._lock:
            state = self._state
            if not state.run or not state.is_done:
                raise InputError("nothing has been learned yet: start learning first").named("nothing_learnt")
            self._check_idle()
            if self._is_withheld() and not anyway:
                message = "some saved tables are read worse with what was learned: choose to use it anyway"
                raise InputError(message).named("worse")
            if state.current != state.run:
                state.former.append(state.current)
                state.current = state.run
                self._write_state()
                self._use(self.weights, self.is_alone)
            self._changes = None
            self._begin("reading", self._read_open)

    def apply(self, names: Sequence[str]) -> int:
        """Do the changes that a person has seen and wants; returns the number of tables.

        Raises:
            OutputError: A journal cannot be written.
        """
        with self._lock:
            wanted = [each for each in self._changes or [] if each.name in names]
            done = apply_changes(self._tables, wanted)
            self._state.applied.update(done)
            self._write_state()
            self._changes = [each for each in self._changes or [] if each.name not in names] or None
            return len(done)

    def take_back(self) -> int:
        """Use the former weights again, and undo what was read with the later ones; returns the number of tables.

        Raises:
            InputError: There is nothing to take back.
        """
        with self._lock:
            self._check_idle()
            if not self._state.former:
                raise InputError("there is no learning to undo").named("nothing_to_take_back")
            self._state.current = self._state.former.pop()
            n_tables = take_back(self._tables, self._state.applied)
            self._state.applied, self._changes = {}, None
            self._write_state()
            self._use(self.weights, self.is_alone)
            return n_tables

    def dismiss(self) -> None:
        """Leave the changes that were shown."""
        with self._lock:
            self._changes, self._problem = None, None

    def pause(self) -> None:
        """Ask what runs to end; a training can go on later."""
        self._stop.set()

    def stop(self) -> None:
        """End what runs, and wait for it."""
        self._stop.set()
        worker = self._worker
        if worker is not None:
            worker.join(_PATIENCE)

    def _is_withheld(self) -> bool:
        state = self._state
        return state.is_done and state.current != state.run and not is_no_worse(state.gain)

    # --- in the background ---

    def _begin(self, doing: Doing, work: Callable[[], None]) -> None:
        self._check_idle()
        self._doing, self._progress, self._minutes_left, self._problem = doing, 0.0, None, None
        self._stop.clear()
        self._worker = threading.Thread(target=self._work, args=(work,), name="learner", daemon=True)
        self._worker.start()

    def _work(self, work: Callable[[], None]) -> None:
        try:
            work()
        except TablerecError as error:
            self._problem = error
        except Exception as error:
            _logger.exception("learning")
            self._problem = TablerecError(f"a fault of tablerec ({error!r}): report it").named("fault", repr(error))
        finally:
            self._doing = ""

    def _check_idle(self) -> None:
        if self._doing:
            message = "wait for the task in the background to finish, or stop it"
            raise InputError(message).named("busy")

    def _begin_run(self) -> None:
        names = self._split_names()
        n_held_out = sum(split == "val" for split in names.values())
        if len(names) < FEWEST or not n_held_out:
            message = f"there are {len(names)} saved tables: save {FEWEST} or more to learn from"
            raise InputError(message).named("too_few", len(names), FEWEST)
        state = self._state
        number = 1 + max((int(each.name) for each in self._learnt.glob("*") if each.name.isdigit()), default=0)
        state.run, state.is_done, state.n_learnt, state.gain = number, False, len(names), {}
        recipe = to_recipe(Path(FOLDER) / str(number) / "training", n_held_out, self._steps)
        with atomic_file(self._recipe) as file:
            file.write(json.dumps(recipe, indent=1).encode())
        self._write_state()

    def _train(self) -> None:
        weights, here = self._weights_of(self._state.run), Path(FOLDER) / str(self._state.run)
        assert weights is not None
        if not (weights / _MODEL).is_file():
            self._tables.corrections.flush()
            finished: list[bool] = []

            def hear(line: str) -> None:
                said = step_and_minutes_left(line)
                if said is not None:
                    step, self._minutes_left = said
                    self._progress = min(step / self._steps, 1.0)
                if is_finished(line):
                    finished.append(True)

            if not self._do(["train", (here / "recipe.json").as_posix()], hear) or not finished:
                return
            trained = here / "training" / _WEIGHTS
            if not self._do(["export", trained.as_posix(), "-o", (here / "weights").as_posix()]):
                return
        self._doing, self._minutes_left = "rating", None
        gain = self._rate()
        if gain is not None:
            with self._lock:
                self._state.gain, self._state.is_done = gain, True
                self._write_state()

    def _rate(self) -> dict[str, Any] | None:
        """Read saved tables with the former and the new weights; None where it was stopped."""
        splits, state = self._split_names(), self._state
        chosen = [name for split in ("val", "train") for name in _some(n for n, s in splits.items() if s == split)]
        # A run that was stopped here is rated anew.
        state.alone = [run for run in state.alone if run != state.run]
        readings = [(state.current, state.current in state.alone), (state.run, False), (state.run, True)]
        rated: list[dict[str, Any]] = []
        for run, is_alone in readings:
            n_done = len(rated)

            def share_of_all(share: float, n_done: int = n_done) -> float:
                return (n_done + share) / len(readings)

            read = self._read(chosen, run, share_of_all, is_alone)
            if read is None:
                return None
            rated.append({})
            for kind, split in (("saved", "train"), ("held_out", "val")):
                true = {name: self._true(name) for name in chosen if splits[name] == split}
                pairs = [(read.get(name), table) for name, table in true.items() if table is not None]
                rated[-1][kind] = asdict(rate(pairs))
        before, after, alone = rated
        if is_better(alone["held_out"], after["held_out"]) and not is_better(after["saved"], alone["saved"]):
            state.alone.append(state.run)
            after = alone
        return {kind: {"before": before[kind], "after": after[kind]} for kind in before}

    def _read_open(self) -> None:
        names = [name for name in self._tables.names() if self._is_untouched(name)]
        read = self._read(names, self._state.current, lambda share: share, self.is_alone)
        if read is None:
            return
        changes = [to_change(self._tables.correction(name), table) for name, table in read.items()]
        self._changes = [change for change in changes if change is not None]

    def _is_untouched(self, name: str) -> bool:
        try:
            correction = self._tables.correction(name)
        except InputError:
            return False
        touched = correction.version != self._state.applied.get(name, 0)
        return correction.verdict == "open" and bool(correction.head.number) and not touched

    def _read(
        self, names: Sequence[str], run: int, share: Callable[[float], float], is_alone: bool
    ) -> dict[str, Table | None] | None:
        """Read the pictures of tables; None where it was stopped."""
        read: dict[str, Table | None] = {}

        def hear(line: str) -> None:
            found = line_to_table(line)
            if found is not None:
                read[found[0]] = found[1]
                self._progress = share(len(read) / len(names))

        if not names:
            return read
        weights = None if not run else Path(FOLDER) / str(run) / "weights"
        options = [*self._reading, *(ALONE if is_alone else ())]
        return read if self._do([*options, *picture_words(names, weights)], hear) else None

    def _do(self, words: Sequence[str], hear: Callable[[str], None] = lambda _: None) -> bool:
        return self._run(words, self._folder, hear, self._stop)

    def _true(self, name: str) -> Table | None:
        correction = self._tables.corrections.read_one(name)
        return None if correction is None else tidy(correction.table)

    def _count_saved(self) -> int:
        """Without reading them: a page asks for it again and again."""
        return sum(1 for _ in (self._folder / "images").glob("*.json"))

    def _split_names(self) -> dict[str, str]:
        """Name -> split, of saved tables that have a label."""
        return self._tables.corrections.splits()

    # --- what is kept ---

    @property
    def _learnt(self) -> Path:
        return self._tables.corrections.inside(FOLDER)

    @property
    def _recipe(self) -> Path:
        return self._learnt / str(self._state.run) / "recipe.json"

    def _weights_of(self, run: int) -> Path | None:
        return self._learnt / str(run) / "weights" if run else None

    def _read_state(self) -> State:
        path = self._learnt / "state.json"
        if not self._tables.corrections.holds(path):
            return State()
        try:
            fields = Fields(path.name, json.loads(path.read_text("utf-8")))
            number = whole(0)
            state = State(
                run=fields.get("run", number),
                is_done=bool(fields.get("is_done", lambda value: value)),
                n_learnt=fields.get("n_learnt", number),
                current=fields.get("current", number),
                former=fields.get("former", lambda values: [number(value) for value in values]),
                gain=dict(fields.get("gain", dict)),
                applied=fields.get("applied", lambda values: {str(k): number(v) for k, v in values.items()}),
                alone=fields.get("alone", lambda values: [number(value) for value in values], []),
            )
            is_no_worse(state.gain)
        except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError, TablerecError) as error:
            _logger.warning("%s: cannot be read (%s); what was learned is not used", path, error)
            return State()
        if state.current and not self._has_weights(state.current):
            _logger.warning("%s: the weights of run %d are not there; the package's are used", path, state.current)
            state.current = 0
        return state

    def _has_weights(self, run: int) -> bool:
        weights = self._weights_of(run)
        return weights is not None and self._tables.corrections.holds(weights / _MODEL)

    def _write_state(self) -> None:
        with atomic_file(self._learnt / "state.json") as file:
            file.write(json.dumps(asdict(self._state), indent=1).encode())


def can_train() -> bool:
    """Whether what trains is installed."""
    return find_spec("paddle") is not None


def _some(names: Any) -> list[str]:
    """So many that reading them takes minutes, evenly over all of them."""
    everything = sorted(names)
    step = max(1, -(-len(everything) // _MOST_RATED))
    return everything[::step]
