"""Which actor reads which page: a pool that grows with the cluster, and heals when actors or nodes are lost."""

from __future__ import annotations

import logging
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Protocol

from tablerec.bulk.executor import Outcome, Task
from tablerec.bulk.ray.reader import Answer, Begun, Order
from tablerec.engine.engine import tell
from tablerec.errors import InputError, TablerecError, WorkerLostError

_MOST_NODES = 3
"""Nodes that a page may be lost with before it is suspected."""

_FIRST = 8
"""Actors that are asked for at once, before any has begun."""

_MOST_STARTS = 3
"""Actors in a row that die before they begin, until the cluster is given up."""

_PATIENCE = 30.0
"""Seconds without any actor after which a person is told."""

_logger = logging.getLogger(__name__)


class LostError(Exception):
    """An actor or what it gave is lost.

    Args:
        reason: In a line.
        by_node: Whether the node was lost, or the way to it, and not just the actor's process.
    """

    def __init__(self, reason: str, by_node: bool) -> None:
        super().__init__(reason)
        self.by_node = by_node


class Cluster(Protocol):
    """What a pool needs of a cluster. Actors, contents and references are what it gives, and nothing else is known."""

    jobs: int
    """Pages that an actor reads at the same time."""

    def start(self) -> tuple[Any, Any]:
        """Ask for an actor; return it, and a reference to what it says when it is ready."""

    def keep(self, content: bytes) -> Any:
        """Keep a content in the cluster as long as what is returned."""

    def read(self, actor: Any, order: Order, content: Any) -> Any:
        """Have an actor read a page; return a reference to its answer."""

    def wait(self, references: list[Any], seconds: float) -> list[Any]:
        """Wait until there is something behind some of the references, and return these."""

    def get(self, reference: Any) -> Any:
        """Return what is behind a reference.

        Raises:
            LostError: The actor is lost.
        """

    def stop(self, actor: Any) -> None:
        """End an actor, also one that could not begin yet."""


@dataclass(slots=True)
class _Content:
    """A content with pages that are not read yet; in the cluster as soon as the first of them is begun."""

    n_tasks: int = 0
    kept: Any = None


@dataclass(slots=True)
class _Work:
    """A page at hand."""

    task: Task
    nodes_lost: int = 0


@dataclass(slots=True)
class _Actor:
    """An actor that can read."""

    handle: Any
    running: set[Any] = field(default_factory=set)


class Pool:
    """Actors, and the pages at hand: those that are read, and as many that wait.

    It asks for more actors as long as pages wait, and for no more at once than there are already. What the cluster has
    no room for stays asked for, which is what an autoscaler goes by.

    Args:
        cluster: Where the actors are.
        most_pages: That are read at the same time; None leaves it to the cluster.
        version: Of tablerec, which actors must have.
    """

    def __init__(self, cluster: Cluster, most_pages: int | None, version: str) -> None:
        self._cluster = cluster
        self._most_pages = most_pages
        self._version = version
        self._waiting: deque[_Work] = deque()
        self._running: dict[Any, tuple[_Work, _Actor]] = {}
        self._starting: dict[Any, Any] = {}
        self._ready: list[_Actor] = []
        self._contents: dict[str, _Content] = {}
        self._failed_starts = 0
        self._told_lost = float("-inf")
        self._seen_actor = time.monotonic()

    def __len__(self) -> int:
        """Return how many pages are at hand."""
        return len(self._waiting) + len(self._running)

    @property
    def n_actors(self) -> int:
        """Actors that can read."""
        return len(self._ready)

    @property
    def has_room(self) -> bool:
        """Whether another page should be submitted, so that no actor waits for one."""
        return len(self) < 2 * self._cluster.jobs * max(_FIRST // 2, len(self._ready))

    def submit(self, task: Task) -> None:
        """Have a page read."""
        self._contents.setdefault(task.content, _Content()).n_tasks += 1
        self._waiting.append(_Work(task))

    def wait(self, seconds: float) -> list[Outcome]:
        """Return the outcomes that are there, as soon as there is one; after this time without.

        Raises:
            TablerecError: No actor can read, and none could.
        """
        self._grow()
        outcomes = self._hand_out()
        references = [*self._running, *self._starting]
        done = self._cluster.wait(references, 0.0 if outcomes else seconds) if references else []
        for reference in done:
            if reference in self._starting:
                self._begin(reference)
            elif (outcome := self._take(reference)) is not None:
                outcomes.append(outcome)
        self._warn_if_alone()
        return outcomes + self._hand_out()

    def close(self) -> None:
        """End all actors."""
        for handle in [*self._starting.values(), *(actor.handle for actor in self._ready)]:
            self._cluster.stop(handle)
        self._starting, self._ready, self._running = {}, [], {}
        self._waiting.clear()
        self._contents.clear()

    def _grow(self) -> None:
        most = len(self) if self._most_pages is None else min(self._most_pages, len(self))
        while (
            len(self._starting) < max(_FIRST, len(self._ready))
            and (len(self._starting) + len(self._ready)) * self._cluster.jobs < most
        ):
            handle, reference = self._cluster.start()
            self._starting[reference] = handle

    def _begin(self, reference: Any) -> None:
        """Take an actor in that says that it is ready."""
        handle = self._starting.pop(reference)
        try:
            begun: Begun = self._cluster.get(reference)
        except LostError as error:
            self._failed_starts += not error.by_node
            if self._failed_starts >= _MOST_STARTS:
                raise TablerecError(f"no actor can begin on the cluster: {error}") from error
            return
        tell(begun.notes)
        if begun.version != self._version:
            raise TablerecError(
                f"the cluster has tablerec {begun.version}, here is {self._version}: install the same on its nodes"
            )
        if begun.error is not None:
            raise begun.error
        self._failed_starts = 0
        self._ready.append(_Actor(handle))

    def _hand_out(self) -> list[Outcome]:
        """Give waiting pages to actors that are free; return those whose input cannot be read any more."""
        outcomes = []
        for actor in self._ready:
            while self._waiting and len(actor.running) < self._cluster.jobs:
                work = self._waiting.popleft()
                try:
                    content = self._keep(work.task)
                except OSError as error:
                    reason = error.strerror or str(error)
                    outcomes.append(self._end(work, InputError(f"{work.task.path}: cannot be read ({reason})")))
                    continue
                order = Order(work.task.source, work.task.content, work.task.number, work.task.origin)
                reference = self._cluster.read(actor.handle, order, content)
                self._running[reference] = work, actor
                actor.running.add(reference)
        return outcomes

    def _keep(self, task: Task) -> Any:
        content = self._contents[task.content]
        if content.kept is None:
            content.kept = self._cluster.keep(task.path.read_bytes())
        return content.kept

    def _take(self, reference: Any) -> Outcome | None:
        """Return what became of a page; None where it is to be read elsewhere."""
        work, actor = self._running.pop(reference)
        actor.running.discard(reference)
        try:
            answer: Answer = self._cluster.get(reference)
        except LostError as error:
            self._lose(actor, error)
            work.nodes_lost += error.by_node
            if error.by_node and work.nodes_lost < _MOST_NODES:
                self._waiting.appendleft(work)
                return None
            what = f"{work.nodes_lost} nodes were lost with it" if error.by_node else "its actor was lost"
            return self._end(work, WorkerLostError(f"was lost: {what} ({error}); try it alone"))
        tell(answer.notes)
        return self._end(work, answer.result(), answer.encoded)

    def _end(self, work: _Work, page: Any, encoded: Any = None) -> Outcome:
        content = self._contents[work.task.content]
        content.n_tasks -= 1
        if not content.n_tasks:
            del self._contents[work.task.content]
        return Outcome(work.task, page, encoded)

    def _lose(self, actor: _Actor, error: LostError) -> None:
        """Let an actor go; what else it had comes back as lost by itself."""
        if actor not in self._ready:
            return
        self._ready.remove(actor)
        self._cluster.stop(actor.handle)
        self._seen_actor = now = time.monotonic()
        if error.by_node and now - self._told_lost > _PATIENCE:  # each of its actors comes by
            self._told_lost = now
            _logger.warning("a node of the cluster was lost; its pages are read by others")

    def _warn_if_alone(self) -> None:
        now = time.monotonic()
        if self._ready:
            self._seen_actor = now
        elif now - self._seen_actor > _PATIENCE:
            self._seen_actor = now + 9 * _PATIENCE
            _logger.warning("no node of the cluster has had room for %d seconds; still waiting", _PATIENCE)
