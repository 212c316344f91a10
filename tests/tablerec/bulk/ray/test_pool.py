"""A pool of actors on a cluster that is no more than lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tablerec.bulk.executor import Outcome, Task
from tablerec.bulk.ray.executor import PoolExecutor
from tablerec.bulk.ray.pool import LostError, Pool
from tablerec.bulk.ray.reader import Answer, Begun, Order
from tablerec.bulk.results import Origin
from tablerec.config import Settings
from tablerec.errors import (
    InputError,
    MissingDependencyError,
    ModelNotFoundError,
    TablerecError,
    WorkerLostError,
)
from tablerec.result import Page
from tests.helpers.bulk.executor import make_page


class ListCluster:
    """Has room for some actors, each of which answers in the next step; contents say what goes wrong.

    Args:
        room: Actors that can begin; the others are asked for in vain.
        begun: What they say when they begin.
    """

    def __init__(self, room: int = 2, begun: Begun | LostError = Begun("1", None), jobs: int = 1) -> None:  # noqa: B008
        self.jobs = jobs
        self.room = room
        self.begun = begun
        self.actors: list[int] = []
        self.pending: list[int] = []
        self.n_asked = 0
        self.lost: set[int] = set()
        self.node_losses = 0
        self.reads: Counter[tuple[str, int]] = Counter()
        self.kept: Counter[bytes] = Counter()
        self.most_running = 0
        self._behind: dict[str, Any] = {}
        self._of_actor: dict[str, int] = {}

    def start(self) -> tuple[int, str]:
        self.n_asked += 1
        self.pending.append(self.n_asked)
        return self.n_asked, f"begin {self.n_asked}"

    def keep(self, content: bytes) -> bytes:
        self.kept[content] += 1
        return content

    def read(self, actor: int, order: Order, content: bytes) -> str:
        reference = f"read {order.name} {order.number} {sum(self.reads.values())}"
        self.reads[order.name, order.number] += 1
        task = Task(order.name, Path(order.name), order.content, order.number, order.origin)
        page = make_page(task, content.decode())
        picture: Any = replace(page.picture, image=(9, 9, 3))
        self._behind[reference] = Answer(replace(page, picture=picture), [order.origin], (("tablerec", 20, "note"),))
        text = content.decode()
        if f"kills={order.number}" in text:
            self._behind[reference] = LostError("its process has died", by_node=False)
        elif f"nodes={order.number}" in text:
            self._behind[reference] = LostError("the node is gone", by_node=True)
        elif f"input={order.number}" in text:
            self._behind[reference] = Answer(InputError("a.png: broken; export it again"))
        self._of_actor[reference] = actor
        self.most_running = max(self.most_running, len(self._of_actor))
        return reference

    def wait(self, references: list[str], seconds: float) -> list[str]:
        while self.pending and len(self.actors) < self.room:
            self.actors.append(self.pending.pop(0))
        begun = [each for each in references if each.startswith("begin") and int(each.split()[1]) in self.actors]
        return begun + [each for each in references if each in self._behind]

    def get(self, reference: str) -> Any:
        if reference.startswith("begin"):
            value = self.begun
            if isinstance(value, LostError):
                self.actors.remove(int(reference.split()[1]))
        else:
            value = self._behind.pop(reference)
            actor = self._of_actor.pop(reference)
            if actor in self.lost:
                value = LostError("the node is gone", by_node=True)
        if isinstance(value, LostError):
            raise value
        return value

    def stop(self, actor: int) -> None:
        for actors in (self.actors, self.pending):
            if actor in actors:
                actors.remove(actor)


def write_tasks(folder: Path, *texts: str, n_pages: int = 1) -> list[Task]:
    tasks = []
    for number, text in enumerate(texts):
        path = folder / f"{number}.txt"
        path.write_text(text)
        origin = Origin(path.name, f"{number:064x}", n_pages == 1)
        tasks += [Task(path.name, path, origin.content, page, origin) for page in range(1, 1 + n_pages)]
    return tasks


def run(cluster: ListCluster, tasks: list[Task], most: int | None = None) -> list[Outcome]:
    executor = PoolExecutor(Settings(), Pool(cluster, most, "1"))
    return [outcome for outcome in executor.run(iter(tasks)) if outcome is not None]


def pages_of(outcomes: list[Outcome]) -> list[tuple[str, int]]:
    assert all(isinstance(outcome.page, Page) for outcome in outcomes)
    return sorted((outcome.task.source, outcome.task.number) for outcome in outcomes)


def test_nothing_to_do_asks_for_no_actor() -> None:
    cluster = ListCluster()
    assert run(cluster, []) == []
    assert cluster.n_asked == 0


def test_each_page_is_read_once_and_comes_back_blank(tmp_path: Path) -> None:
    cluster = ListCluster(room=3)
    tasks = write_tasks(tmp_path, *(f"tables={number % 3}" for number in range(50)))
    outcomes = run(cluster, tasks)
    assert pages_of(outcomes) == sorted((task.source, 1) for task in tasks)
    assert set(cluster.reads.values()) == {1}
    page = outcomes[0].page
    assert isinstance(page, Page) and page.picture.image.shape == (9, 9, 3)
    assert [outcome.encoded for outcome in outcomes] == [[outcome.task.origin] for outcome in outcomes]


def test_pages_are_pulled_as_there_is_room(tmp_path: Path) -> None:
    cluster, n_pulled, most = ListCluster(room=3), 0, 0
    tasks = write_tasks(tmp_path, *["tables=1"] * 200)

    def pulled() -> Iterator[Task]:
        nonlocal n_pulled
        for task in tasks:
            n_pulled += 1
            yield task

    executor, n_done = PoolExecutor(Settings(), Pool(cluster, None, "1")), 0
    for outcome in executor.run(pulled()):
        n_done += outcome is not None
        most = max(most, n_pulled - n_done)
    assert n_done == 200 and cluster.most_running <= 3
    assert most <= 8 + 3  # what a pool begins with, and what came in one step


def test_the_content_of_a_document_goes_into_the_cluster_once(tmp_path: Path) -> None:
    cluster = ListCluster(room=4)
    run(cluster, write_tasks(tmp_path, "a", "b", n_pages=30))
    assert cluster.kept == {b"a": 1, b"b": 1}


def test_no_more_actors_are_asked_for_than_pages_at_once(tmp_path: Path) -> None:
    cluster = ListCluster(room=100)
    run(cluster, write_tasks(tmp_path, *["a"] * 40), most=3)
    assert cluster.n_asked == 3
    cluster = ListCluster(room=100, jobs=4)
    run(cluster, write_tasks(tmp_path, *["a"] * 40), most=8)
    assert cluster.n_asked == 2


def test_a_pool_grows_with_its_cluster(tmp_path: Path) -> None:
    cluster = ListCluster(room=1)
    executor = PoolExecutor(Settings(), Pool(cluster, None, "1"))
    seen = []
    for outcome in executor.run(iter(write_tasks(tmp_path, *["a"] * 300))):
        if outcome is not None:
            cluster.room = min(64, cluster.room + 1)
            seen.append(len(cluster.actors))
    assert max(seen) > 30


def test_what_cannot_begin_stays_asked_for_and_is_ended_with_the_pool(tmp_path: Path) -> None:
    cluster = ListCluster(room=2)
    pool = Pool(cluster, None, "1")
    for task in write_tasks(tmp_path, *["a"] * 8):
        pool.submit(task)
    pool.wait(0)
    assert len(cluster.pending) == 6
    pool.close()
    assert cluster.pending == [] and cluster.actors == [] and len(pool) == 0


def test_a_page_that_kills_its_actor_is_lost_alone(tmp_path: Path) -> None:
    cluster = ListCluster(room=2)
    outcomes = run(cluster, write_tasks(tmp_path, *["a"] * 9, "kills=1", *["a"] * 9))
    [lost] = [outcome for outcome in outcomes if not isinstance(outcome.page, Page)]
    assert lost.task.source == "9.txt" and isinstance(lost.page, WorkerLostError)
    assert "its process has died" in str(lost.page)
    assert len(outcomes) == 19 and set(cluster.reads.values()) == {1}


def test_pages_of_a_node_that_is_lost_are_read_by_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cluster = ListCluster(room=3)
    executor = PoolExecutor(Settings(), Pool(cluster, None, "1"))
    tasks = write_tasks(tmp_path, *["a"] * 60)
    outcomes = []
    for outcome in executor.run(iter(tasks)):
        if outcome is not None:
            outcomes.append(outcome)
        if len(outcomes) == 20 and not cluster.lost:
            cluster.lost = set(cluster.actors[:2])
    assert pages_of(outcomes) == sorted((task.source, 1) for task in tasks)
    assert sum(cluster.reads.values()) > 60
    assert caplog.text.count("a node of the cluster was lost") == 1


def test_a_page_that_takes_every_node_with_it_is_given_up(tmp_path: Path) -> None:
    cluster = ListCluster(room=2)
    outcomes = run(cluster, write_tasks(tmp_path, "a", "nodes=1", "a"))
    [lost] = [outcome for outcome in outcomes if not isinstance(outcome.page, Page)]
    assert isinstance(lost.page, WorkerLostError) and "3 nodes were lost with it" in str(lost.page)
    assert cluster.reads["1.txt", 1] == 3


def test_errors_of_inputs_come_as_they_are(tmp_path: Path) -> None:
    [bad] = run(ListCluster(), write_tasks(tmp_path, "input=1"))
    assert isinstance(bad.page, InputError) and str(bad.page) == "a.png: broken; export it again"


def test_an_input_that_is_gone_costs_itself(tmp_path: Path) -> None:
    tasks = write_tasks(tmp_path, "a", "b", "c")
    tasks[1].path.unlink()
    outcomes = {outcome.task.source: outcome.page for outcome in run(ListCluster(), tasks)}
    assert isinstance(outcomes["1.txt"], InputError) and "No such file" in str(outcomes["1.txt"])
    assert isinstance(outcomes["0.txt"], Page) and isinstance(outcomes["2.txt"], Page)


@pytest.mark.parametrize("error", [ModelNotFoundError("no model"), MissingDependencyError("no Paddle")])
def test_what_no_actor_can_do_ends_the_run(tmp_path: Path, error: TablerecError) -> None:
    with pytest.raises(type(error), match="no "):
        run(ListCluster(begun=Begun("1", error)), write_tasks(tmp_path, "a"))


def test_nodes_with_another_version_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TablerecError, match=r"the cluster has tablerec 0, here is 1: install the same"):
        run(ListCluster(begun=Begun("0", None)), write_tasks(tmp_path, "a"))


def test_actors_that_cannot_begin_end_the_run_and_not_before_the_third(tmp_path: Path) -> None:
    cluster = ListCluster(begun=LostError("No module named 'tablerec'", by_node=False))
    with pytest.raises(TablerecError, match=r"no actor can begin on the cluster: No module named 'tablerec'"):
        run(cluster, write_tasks(tmp_path, *["a"] * 5))
    assert cluster.n_asked >= 3


def test_a_full_cluster_is_waited_for_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter((0.0, 10.0, 31.0, 40.0, 50.0))
    monkeypatch.setattr("tablerec.bulk.ray.pool.time.monotonic", lambda: next(times))
    pool = Pool(ListCluster(room=0), None, "1")
    pool.submit(*write_tasks(tmp_path, "a"))
    assert [pool.wait(0) for _ in range(4)] == [[]] * 4
    assert caplog.text.count("has had room") == 1
