"""Processes that meet hear each other, wait for no dead one, and listen to no stranger."""

from __future__ import annotations

import queue
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from tablerec.errors import TrainingError
from tablerec.training.ranks.meeting import Meeting, open_meeting


def meet(count: int, before: object = None) -> list[Meeting]:
    published: queue.Queue[str] = queue.Queue()

    def publish(said: str) -> None:
        if before is not None:
            before(int(said.split()[0]))
        for _ in range(count):
            published.put(said)

    with ThreadPoolExecutor(count) as pool:
        opened = [pool.submit(open_meeting, k, count, "127.0.0.1", publish, published.get) for k in range(count)]
        return [each.result(20) for each in opened]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_each_one_hears_all(count: int) -> None:
    meetings = meet(count)
    said = [[(turn + 1) * [number] for turn in range(4)] for number in range(count)]
    with ThreadPoolExecutor(count) as pool:
        heard = list(pool.map(lambda one: [one.exchange(word) for word in said[one.number]], meetings))
    for each in heard:
        assert each == [[said[number][turn] for number in range(count)] for turn in range(4)]
    for each in meetings:
        each.close()


@pytest.mark.parametrize("dead", [0, 1, 2])
def test_nobody_waits_for_the_dead(dead: int) -> None:
    meetings = meet(3)
    living = [each for each in meetings if each.number != dead]
    with ThreadPoolExecutor(2) as pool:
        # As processes that fail do, those that hear of it go too.
        def attend(one: Meeting) -> None:
            try:
                one.exchange()
            finally:
                one.close()

        waiting = [pool.submit(attend, each) for each in living]
        meetings[dead].close()
        for each in waiting:
            with pytest.raises(TrainingError, match="goes on from the last checkpoint"):
                each.result(20)


def test_strangers_are_not_listened_to() -> None:
    strangers = []

    def disturb(port: int) -> None:
        for words in (b'["no token", 1]\n', b"\n", b"7\n", b"GET / HTTP/1.1\n", b'[["a"], 1]\n'):
            line = socket.socket()
            line.connect(("127.0.0.1", port))
            line.sendall(words)
            strangers.append(line)

    meetings = meet(2, disturb)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda one: one.exchange(one.number), meetings)) == [[0, 1], [0, 1]]
    for each in (*meetings, *strangers):
        each.close()


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(TrainingError, match="do not find each other"):
        open_meeting(1, 2, "127.0.0.1", print, lambda: f"{port} token")
    with pytest.raises(TrainingError, match="do not find each other"):
        open_meeting(1, 2, "127.0.0.1", print, lambda: "nonsense")
