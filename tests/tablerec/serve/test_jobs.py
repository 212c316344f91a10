"""Jobs: handed in, looked at, fetched, deleted, forgotten."""

from __future__ import annotations

import io
import json
from pathlib import Path

import openpyxl
import pytest

from tablerec.errors import InputError
from tests.helpers.serve.serving import Reply, Running, StandIn, png, serving, tiff, wait_until


def finished(server: Running, place: str) -> Reply:
    wait_until(lambda: server.ask("GET", place).json["state"] in ("done", "failed"))
    return server.ask("GET", place)


def test_a_job_from_its_beginning_to_its_end() -> None:
    engine = StandIn(jobs=1)
    engine.error = lambda name, number: InputError(f"{name}: page 2 is broken") if number == 2 else None
    with serving(engine, pages=2) as server:
        engine.hold()
        reply = server.post_files(("a.tif", tiff(5)), ("b.txt", b"text"), ("c.png", png()), path="/v1/jobs")
        place = reply.headers["location"]
        assert reply.status == 202 and place == f"/v1/jobs/{reply.json['id']}" and len(reply.json["id"]) >= 32
        wait_until(lambda: server.ask("GET", place).json["state"] == "running")
        state = server.ask("GET", place).json
        assert (state["pages"], state["expires"]) == ({"total": 6, "done": 0}, None)
        early = server.ask("GET", f"{place}/result")
        assert (early.status, early.json["code"]) == (409, "not-done") and early.headers["retry-after"]
        engine.free.set()
        state = finished(server, place).json
        assert (state["state"], state["pages"]) == ("done", {"total": 6, "done": 6})
        assert [(each["name"], each["tables"]) for each in state["files"]] == [("a.tif", 4), ("b.txt", 0), ("c.png", 1)]
        assert [[failed["page"] for failed in each["failed"]] for each in state["files"]] == [[2], [None], []]
        data = server.ask("GET", f"{place}/result").json
        assert [len(each["pages"]) for each in data["results"]] == [4, 0, 1]
        workbook = server.ask("GET", f"{place}/result?format=xlsx").body
        assert len(openpyxl.load_workbook(io.BytesIO(workbook)).sheetnames) == 5
        lines = server.ask("GET", f"{place}/result", Accept="application/x-ndjson").body.splitlines()
        assert json.loads(lines[-1]) == {"type": "end", "pages": 5, "failed": 2}
        assert server.parts.storage.used == 0 and server.parts.reader.waiting == 0
        assert server.ask("DELETE", place).status == 204
        assert server.ask("GET", place).status == server.ask("GET", f"{place}/result").status == 404
        assert list((server.folder / "jobs").iterdir()) == []


def test_a_job_of_which_nothing_can_be_read_is_refused_at_once(server: Running) -> None:
    reply = server.post(b"text", "/v1/jobs?name=a.txt")
    assert (reply.status, reply.json["code"]) == (422, "input")
    assert server.post(tiff(3), "/v1/jobs?pages=7").status == 422


def test_a_job_that_is_deleted_is_read_no_further() -> None:
    engine = StandIn(jobs=1)
    with serving(engine) as server:
        engine.hold()
        place = server.post(tiff(50), "/v1/jobs").headers["location"]
        wait_until(lambda: engine.asked)
        assert server.ask("DELETE", place).status == 204
        engine.free.set()
        assert server.post(png()).status == 200
        assert engine.n_read <= 3 and server.ask("GET", place).status == 404


def test_a_job_whose_time_is_over() -> None:
    engine = StandIn(jobs=1)
    with serving(engine, job_seconds=0.2) as server:
        engine.hold()
        place = server.post(tiff(3), "/v1/jobs").headers["location"]
        state = finished(server, place).json
        assert (state["state"], state["problem"]["code"]) == ("failed", "timeout")
        assert server.ask("GET", f"{place}/result").status == 504


def test_finished_jobs_are_forgotten_in_time() -> None:
    with serving(job_minutes=0.02 / 60) as server:
        place = server.post(png(), "/v1/jobs").headers["location"]
        wait_until(lambda: server.ask("GET", place).status == 404)
        assert list((server.folder / "jobs").iterdir()) == []


def test_finished_jobs_make_room_and_unfinished_ones_do_not() -> None:
    engine = StandIn(jobs=1)
    with serving(engine, kept_jobs=2) as server:
        places = []
        for _ in range(2):
            places.append(server.post(png(), "/v1/jobs").headers["location"])
            finished(server, places[-1])
        engine.hold()
        assert server.post(png(), "/v1/jobs").status == 202
        assert [server.ask("GET", place).status for place in places] == [404, 200]
        assert server.post(png(), "/v1/jobs").status == 202
        reply = server.post(png(), "/v1/jobs")
        assert (reply.status, reply.json["code"]) == (429, "busy") and reply.headers["retry-after"]


def test_results_have_a_bound_on_the_disk() -> None:
    with serving(job_gigabytes=1e-5) as server:
        places = []
        for _ in range(3):
            places.append(server.post(png(), "/v1/jobs").headers["location"])
            finished(server, places[-1])
        assert [server.ask("GET", f"{place}/result").status for place in places] == [404, 404, 200]


@pytest.mark.parametrize("id", ["x", "../bodies", "%2e%2e%2fbodies", "a" * 5000, "%00"])
def test_ids_that_are_none(server: Running, id: str) -> None:
    for method, path in (("GET", ""), ("GET", "/result"), ("DELETE", "")):
        assert server.ask(method, f"/v1/jobs/{id}{path}").status == 404


def test_results_are_for_nobody_else_on_the_machine(tmp_path: Path) -> None:
    with serving(folder=tmp_path) as server:
        finished(server, server.post(png(), "/v1/jobs").headers["location"])
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        (job,) = (folder / "jobs").iterdir()
        assert job.stat().st_mode & 0o777 == 0o700
    assert list(tmp_path.iterdir()) == []
