"""Files in, tables out: formats, options, several files, pages that fail, pages as they are ready."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from dataclasses import replace

import openpyxl
import pytest

from tablerec.errors import InputError, PageMemoryError, PageTimeoutError, WorkerLostError
from tests.helpers.pdf import make_document
from tests.helpers.serve.serving import Running, StandIn, png, serving, tiff, wait_until


def test_a_file_alone_is_answered_as_the_command_line_prints_it(server: Running) -> None:
    reply = server.post(png(), "/v1/tables?name=scan.png")
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    data = reply.json
    assert (data["format"], data["source"], "failed" in data) == ("tablerec-result", "scan.png", False)
    ((page,),) = [data["pages"]]
    assert (page["number"], page["width"], page["height"]) == (1, 60, 40)
    assert page["tables"][0]["cells"][0]["text"] == "a"


def test_answers_follow_the_schema(server: Running) -> None:
    from tablerec.serve.schema import FileAnswer, FilesAnswer, JobAnswer, ProblemDetails

    FileAnswer.model_validate_json(server.post(tiff(2), "/v1/tables?join_pages=true").body)
    FileAnswer.model_validate_json(server.post_files(("a.tif", tiff(2))).body)
    FilesAnswer.model_validate_json(server.post_files(("a.png", png()), ("b.txt", b"text")).body)
    ProblemDetails.model_validate_json(server.post(b"text").body)
    JobAnswer.model_validate_json(server.post(png(), "/v1/jobs").body)
    assert "anyOf" in server.ask("GET", "/v1/schema").json


def test_a_real_page_follows_the_schema(samples: object) -> None:
    from pathlib import Path

    from tablerec.outputs.files import result_to_json
    from tablerec.pipeline import Recognizer
    from tablerec.serve.schema import FileAnswer

    recognizer = Recognizer(replace(Recognizer().settings, detector="rulings", ocr="none"))
    result = recognizer.recognize(Path(str(samples)) / "ruled.png")
    FileAnswer.model_validate_json(result_to_json(result))


@pytest.mark.parametrize(
    ("accept", "kind", "start"),
    [
        ("application/json", "application/json", b'{"format"'),
        ("*/*", "application/json", b'{"format"'),
        ("text/html,application/xhtml+xml;q=0.9", "text/html; charset=utf-8", b"<!DOCTYPE html>"),
        ("text/csv", "text/csv; charset=utf-8", b"\xef\xbb\xbf"),
        ("text/markdown", "text/markdown; charset=utf-8", b""),
        ("application/x-tex", "application/x-tex", b""),
        ("application/zip", "application/zip", b"PK"),
        ("application/x-ndjson", "application/x-ndjson", b'{"type": "page"'),
        (
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            b"PK",
        ),
    ],
)
def test_accept_chooses_the_format(server: Running, accept: str, kind: str, start: bytes) -> None:
    reply = server.post(png(), Accept=accept)
    assert (reply.status, reply.headers["content-type"]) == (200, kind)
    assert reply.body.startswith(start) and b"p1" in (reply.body if start != b"PK" else b"p1")


def test_the_address_can_choose_it_too(server: Running) -> None:
    assert (
        server.post(png(), "/v1/tables?format=csv", Accept="text/html").headers["content-type"].startswith("text/csv")
    )
    for reply in (server.post(png(), "/v1/tables?format=docx"), server.post(png(), Accept="image/png")):
        assert (reply.status, reply.json["code"]) == (406, "format")


def test_a_page_of_tables_keeps_its_style_and_runs_nothing(server: Running) -> None:
    policy = server.post(png(), Accept="text/html").headers["content-security-policy"]
    assert "style-src 'unsafe-inline'" in policy and "script" not in policy and "sandbox" in policy


def test_formulas_stay_texts(server: Running) -> None:
    assert b'"\'=1+1"' in server.post(png(), "/v1/tables?format=csv").body


def test_several_files_become_one_workbook(server: Running) -> None:
    files = [("one.png", png()), ("表.tif", tiff(2)), ("one.png", png())]
    body = server.post_files(*files, format="xlsx").body
    assert openpyxl.load_workbook(io.BytesIO(body)).sheetnames == ["one", "表 p1 t1", "表 p2 t1", "one (2)"]
    data = server.post_files(*files).json
    assert (data["format"], [each["source"] for each in data["results"]]) == (
        "tablerec-results",
        ["one.png", "表.tif", "one.png"],
    )
    archive = zipfile.ZipFile(io.BytesIO(server.post_files(*files, format="zip").body))
    assert {"one.xlsx", "表.html", "one (2).json"} <= set(archive.namelist())


def test_a_file_that_fails_costs_itself_alone(server: Running) -> None:
    data = server.post_files(("good.png", png()), ("bad.txt", b"no picture")).json
    good, bad = data["results"]
    assert "failed" not in good and bad["pages"] == []
    (failed,) = bad["failed"]
    assert (failed["page"], failed["status"], failed["code"]) == (None, 422, "input")
    assert failed["detail"].startswith("bad.txt: a text file, not a picture; give a PNG, JPEG")
    archive = zipfile.ZipFile(io.BytesIO(server.post_files(("bad", b"x"), ("a", png()), format="zip").body))
    assert json.loads(archive.read("failed.json"))["failed"][0]["source"] == "bad"


@pytest.mark.parametrize(("body", "part"), [(b"x", "a text file"), (b"%PDF-1.4", "PDF"), (png()[:40], "broken")])
@pytest.mark.parametrize("is_large", [False, True])
def test_where_nothing_is_read_the_answer_is_a_problem(server: Running, body: bytes, part: str, is_large: bool) -> None:
    """In memory or on the disk: messages name the client's file, never ours."""
    reply = server.post(body + bytes(2_000_000 * is_large), "/v1/tables?name=a.png")
    assert (reply.status, reply.headers["content-type"]) == (422, "application/problem+json")
    assert reply.json["title"] == "Unprocessable Entity" and reply.json["detail"].startswith("a.png: ")
    assert str(server.folder) not in reply.body.decode()
    if not is_large:
        assert part in reply.json["detail"]


def test_where_nothing_of_several_is_read_all_reasons_are_told(server: Running) -> None:
    reply = server.post_files(("a.txt", b"text"), ("b", b"\x00\x01"))
    assert reply.status == 422
    assert [each["source"] for each in reply.json["errors"]] == ["a.txt", "b"]


def test_a_page_that_fails_costs_itself_alone() -> None:
    engine = StandIn()
    engine.error = lambda name, number: InputError(f"{name}: page {number} is broken") if number == 2 else None
    with serving(engine) as server:
        data = server.post(tiff(3), "/v1/tables?name=a.tif").json
        assert [page["number"] for page in data["pages"]] == [1, 3]
        assert [(each["page"], each["detail"]) for each in data["failed"]] == [(2, "a.tif: page 2 is broken")]
        engine.error = lambda name, number: ZeroDivisionError("a secret")
        reply = server.post(png())
        assert reply.status == 500 and b"secret" not in reply.body


@pytest.mark.parametrize(("kind", "status"), [(PageTimeoutError, 504), (PageMemoryError, 422), (WorkerLostError, 500)])
def test_pages_that_cost_a_worker(kind: type[Exception], status: int) -> None:
    engine = StandIn()
    engine.error = lambda source, number: kind(f"{source}: page {number} took too much")
    with serving(engine) as server:
        reply = server.post(png(), "/v1/tables?name=a.png")
        assert (reply.status, reply.json["detail"]) == (status, "a.png: page 1 took too much")


def test_options_are_settings_of_the_page(server: Running) -> None:
    server.engine.asked.clear()
    assert server.post(png(), "/v1/tables?layout=table&turn=90&ocr=none&min_ocr_score=0.5").status == 200
    assert server.post_files(("a.png", png()), layout="table", cell_pictures="true").status == 200
    (_, _, first), (_, _, second) = server.engine.asked
    assert (first.layout, first.turn, first.ocr, first.min_ocr_score) == ("table", 90, "none", 0.5)
    assert (second.layout, second.cell_pictures, second.turn) == ("table", True, "auto")


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("layout=folder", "layout"),
        ("detector_dir=/etc", "detector_dir is no option"),
        ("ocr=paddlex", "ocr"),
        ("device=gpu:0", "device is no option"),
        ("turn=45", "turn"),
        ("pages=3-1", "runs backwards"),
        ("min_ocr_score=2", "min_ocr_score"),
        ("min_ocr_score=nan", "min_ocr_score"),
        ("max_megapixels=1000", "max_megapixels is no option"),
        ("join_pages=perhaps", "join_pages"),
    ],
)
def test_options_that_are_not_there(server: Running, query: str, part: str) -> None:
    reply = server.post(png(), f"/v1/tables?{query}")
    assert (reply.status, reply.json["code"]) == (422, "option") and part in reply.json["detail"]
    name, _, value = query.partition("=")
    assert part in server.post_files(("a.png", png()), **{name: value}).json["detail"]


def test_documents_are_opened_as_the_request_says(server: Running) -> None:
    document = make_document(4, "open sésame")
    for reply in (
        server.post(document, "/v1/tables?pages=2,4", Document_Password="open sésame".encode().decode("latin-1")),
        server.post_files(("a.pdf", document), pages="2,4", password="open sésame"),
    ):
        assert reply.status == 200, reply.body
        assert [page["number"] for page in reply.json["pages"]] == [2, 4]
    for password, code in (("wrong one", "password"), (None, "password")):
        reply = server.post(document, **({"Document_Password": password} if password else {}))
        assert (reply.status, reply.json["code"]) == (422, code) and b"wrong one" not in reply.body


def test_pages_come_as_they_are_ready(server: Running) -> None:
    lines = server.post_files(("a.tif", tiff(5)), ("b.txt", b"text"), format="ndjson").body.splitlines()
    *pages, end = [json.loads(line) for line in lines]
    assert sorted(each["page"]["number"] for each in pages if each["type"] == "page") == [1, 2, 3, 4, 5]
    assert [each["source"] for each in pages if each["type"] == "failed"] == ["b.txt"]
    assert end == {"type": "end", "pages": 5, "failed": 1}


def test_the_first_page_is_there_before_the_last_is_read() -> None:
    engine = StandIn(jobs=1)
    with serving(engine) as server, server.connect() as connection:
        engine.error = lambda name, number: engine.hold() if number == 1 else None  # type: ignore[func-returns-value]
        body = tiff(3)
        head = f"POST /v1/tables?format=ndjson HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        received = b""
        while b'"number": 1' not in received:
            received += connection.recv(65536)
        assert b'"end"' not in received
        engine.error = lambda name, number: None
        engine.free.set()
        while b'"type": "end"' not in received:
            received += connection.recv(65536)


@pytest.mark.parametrize("format", ["json", "ndjson"])
def test_a_client_that_hangs_up_has_its_pages_cancelled(format: str) -> None:
    engine = StandIn(jobs=1)
    with serving(engine) as server:
        engine.hold()
        body = tiff(20)
        with server.connect() as connection:
            head = f"POST /v1/tables?format={format} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
            wait_until(lambda: engine.asked)
            assert server.parts.reader.waiting == 20
        wait_until(lambda: server.parts.reader.waiting == 0 and server.parts.guard.n_active == 0)
        engine.free.set()
        assert server.post(png()).status == 200
        assert engine.n_read <= 3
        assert format == "ndjson" or 'status="499"' in server.ask("GET", "/metrics").body.decode()


def test_pages_of_many_requests_take_turns() -> None:
    """A long document has a few pages in the works, so that a short one need not wait for all of it."""
    engine = StandIn(jobs=1)
    with serving(engine) as server:
        engine.hold()
        long = threading.Thread(target=lambda: server.post(tiff(50), "/v1/tables?name=long"))
        long.start()
        wait_until(lambda: engine.asked)
        short = threading.Thread(target=lambda: server.post(png(), "/v1/tables?name=short"))
        short.start()
        wait_until(lambda: any(name == "short" for name, *_ in engine.asked))
        assert sum(name == "long" for name, *_ in engine.asked) <= 2
        engine.free.set()
        short.join(60)
        long.join(60)


def test_metrics_count_what_was_done(server: Running) -> None:
    def value(name: str) -> float:
        lines = server.ask("GET", "/metrics").body.decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name + " "))

    before = value('tablerec_pages_total{outcome="read"}'), value("tablerec_tables_total")
    server.post(tiff(3))
    assert value('tablerec_pages_total{outcome="read"}') == before[0] + 3
    assert value("tablerec_tables_total") == before[1] + 3
    assert value('tablerec_stage_seconds_total{stage="read"}') > 0
    assert value("tablerec_memory_bytes") > 1e6 and value("tablerec_pages_waiting") == 0


def test_health_and_documentation(server: Running) -> None:
    assert server.ask("GET", "/healthz").json == {"status": "ok"}
    assert server.ask("GET", "/readyz").json["workers"] == 2
    described = server.ask("GET", "/openapi.json").json
    assert {"/v1/tables", "/v1/jobs", "/v1/jobs/{id}", "/v1/jobs/{id}/result"} <= described["paths"].keys()
    post = described["paths"]["/v1/tables"]["post"]
    assert "layout" in {each["name"] for each in post["parameters"]}
    assert {"200", "401", "413", "422", "429", "504"} <= post["responses"].keys()
    for path in ("/", "/docs", "/static/serve.js", "/static/texts.js", "/static/icon.svg"):
        assert server.ask("GET", path).status == 200
    for method, path, status in (("GET", "/nowhere", 404), ("PUT", "/v1/tables", 405), ("GET", "/static/app.py", 404)):
        reply = server.ask(method, path)
        assert (reply.status, reply.headers["content-type"]) == (status, "application/problem+json")
