from __future__ import annotations

import http.client
import io
import json
import math
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from PIL import Image

from tablerec.corrections.editor import CorrectionFolder
from tablerec.corrections.review.desk import Desk
from tablerec.corrections.review.server import MAX_BODY, ReviewServer
from tests.helpers.review import make_desk, make_page, serve

MERGE = {"do": "merge", "row": 0, "col": 0, "end_row": 1, "end_col": 2, "version": 0}
TABLE = "/tables/scan_1_1"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ReviewServer]:
    with serve(make_desk(tmp_path)) as running:
        yield running


def ask(
    server: ReviewServer, method: str, path: str, body: bytes | None = None, **headers: str | None
) -> tuple[http.client.HTTPResponse, bytes]:
    """Ask as the page does; a header that is None is left out."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.sock = socket.socket()
    connection.sock.settimeout(20)
    connection.sock.connect(("127.0.0.1", server.server_port))
    origin = f"http://127.0.0.1:{server.server_port}"
    given = {"Host": origin[7:], "Origin": origin, "Cookie": f"{server.cookie}={server.token}"}
    given |= {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in given.items():
        if value is not None:
            connection.putheader(name, value)
    if body is not None and "Content_Length" not in headers:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response, content


def do(server: ReviewServer, step: Any, **headers: str | None) -> tuple[int, dict[str, Any]]:
    response, content = ask(server, "POST", f"{TABLE}/do", json.dumps(step).encode(), **headers)
    return response.status, json.loads(content)


def test_the_token_becomes_a_cookie_and_leaves_the_address(server: ReviewServer) -> None:
    response, _ = ask(server, "GET", f"/?token={server.token}", Cookie=None, Origin=None)
    assert (response.status, response.headers["Location"]) == (303, "/")
    cookie = response.headers["Set-Cookie"]
    assert "SameSite=Strict" in cookie and "HttpOnly" in cookie
    response, content = ask(server, "GET", "/", Cookie=cookie.partition(";")[0], Origin=None)
    assert response.status == 200 and b"<script" in content


def test_who_goes_before_the_answer_leaves_no_traceback(
    server: ReviewServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def send(*_: Any, **__: Any) -> None:
        raise ConnectionResetError("gone")

    monkeypatch.setattr(server.RequestHandlerClass, "_send", send)
    for path in (f"/?token={server.token}", "/tables"):
        with pytest.raises((http.client.HTTPException, OSError)):
            ask(server, "GET", path, Origin=None)
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.parametrize(
    "path", ["/", "/tables", TABLE, f"{TABLE}/picture", "/static/editor.js", "/?token=guess", "/x"]
)
@pytest.mark.parametrize("cookie", [None, "", "tablerec=", "{name}=guess", "{name}=\u00e9", "a=b; ;;="])
def test_nothing_without_the_token(server: ReviewServer, path: str, cookie: str | None) -> None:
    given = cookie and cookie.format(name=server.cookie)
    response, content = ask(server, "GET", path, Cookie=given)
    assert response.status == 403 and b"token" in content


@pytest.mark.parametrize("other", ['a={"b": 1}', "a[b]=1 2", "bare", "x=\u00e9", ""])
def test_cookies_of_other_servers_of_this_machine_do_not_lock_out(server: ReviewServer, other: str) -> None:
    ours = f"{server.cookie}={server.token}"
    for cookies in (f"{other}; {ours}", f"{ours}; {other}"):
        assert ask(server, "GET", "/tables", Cookie=cookies)[0].status == 200


@pytest.mark.parametrize(
    "host", [None, "", "evil.example", "127.0.0.1", "127.0.0.1.evil.example:{port}", "[::1]:{port}"]
)
def test_no_other_host_name(server: ReviewServer, host: str | None) -> None:
    given = host and host.format(port=server.server_port)
    assert ask(server, "GET", "/tables", Host=given)[0].status == 403
    assert ask(server, "GET", f"/?token={server.token}", Host=given)[0].status == 403


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_no_step_from_another_site(server: ReviewServer, origin: str | None) -> None:
    given = origin and origin.format(port=server.server_port)
    assert do(server, MERGE, Origin=given)[0] == 403
    assert server.desk.correction("scan_1_1").version == 0


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_no_step_of_another_type(server: ReviewServer, kind: str | None) -> None:
    assert do(server, MERGE, Content_Type=kind)[0] == 415


@pytest.mark.parametrize(
    ("length", "status"),
    [(None, 411), ("x", 411), ("-1", 411), (str(MAX_BODY + 1), 413), ("9" * 5000, 413), ("²", 411)],
)
def test_no_endless_body(server: ReviewServer, length: str | None, status: int) -> None:
    response, _ = ask(server, "POST", f"{TABLE}/do", b"{}", Content_Length=length)
    assert response.status == status and response.headers["Connection"] == "close"


def test_a_body_that_never_ends_leaves_no_traceback(
    server: ReviewServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server.RequestHandlerClass, "timeout", 0.05)
    with pytest.raises((http.client.HTTPException, OSError)):
        ask(server, "POST", f"{TABLE}/do", b"{", Content_Length="9")
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"[" * 100_000, b"\xff", b"NaN"])
def test_no_body_but_an_object(server: ReviewServer, body: bytes) -> None:
    assert ask(server, "POST", f"{TABLE}/do", body)[0].status == 400


@pytest.mark.parametrize(
    "path",
    [
        *("/tables/..%2F..%2Fsecret", "/tables/../../secret", "/tables/%2e%2e/x", "/static/../server.py"),
        *(
            "/static/%2e%2e%2fserver.py",
            "//etc/passwd",
            "/tables/scan_1_1%00",
            "/static/review.html",
            "/tables//picture",
        ),
    ],
)
def test_no_path_leads_out(server: ReviewServer, tmp_path: Path, path: str) -> None:
    (tmp_path / "secret").write_text("secret")
    response, content = ask(server, "GET", path)
    assert response.status in (404, 409) and b"secret" not in content.replace(b"..", b"").replace(b"/secret", b"")


def test_a_picture_that_is_gone_is_named(server: ReviewServer) -> None:
    corrections = server.desk.corrections
    corrections.picture(server.desk.correction("scan_1_1")).unlink()
    response, content = ask(server, "GET", f"{TABLE}/picture")
    assert response.status == 409 and b"scan_1_1.png" in content and b"start again" in content


def test_everything_has_the_headers_that_keep_others_out(server: ReviewServer) -> None:
    paths = ("/", "/tables", "/static/editor.js", "/nothing", f"{TABLE}/picture", "http://[x/")
    for method, path in [*(("GET", path) for path in paths), ("OPTIONS", "/"), ("PUT", "/tables"), ("<b>", "/")]:
        response, content = ask(server, method, path)
        headers = response.headers
        assert headers["Content-Type"] == "application/json" if response.status >= 400 else content
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("path", "headers", "said"),
    [
        ("/tables", {"Cookie": None}, (403, "tablerec review` printed", "打印的地址")),
        ("/tables", {"Host": "evil.example"}, (403, "not the one of the review", "不是本次校对")),
        ("/<b>", {}, (404, "nothing at this address", "没有内容")),
        ("/tables/<b>", {}, (409, "no table &#x27;&lt;b&gt;", "没有表格“&lt;b&gt;”")),
        ("http://[x/", {}, (400, "no address", "不是地址")),
    ],
)
def test_a_person_who_is_refused_sees_a_page_in_both_languages(
    server: ReviewServer, path: str, headers: dict[str, str | None], said: tuple[int, str, str]
) -> None:
    response, content = ask(server, "GET", path, Accept="text/html,*/*;q=0.8", **headers)
    page = content.decode()
    assert response.status == said[0] and response.headers["Content-Type"].startswith("text/html")
    assert said[1] in page and said[2] in page and "<b>" not in page
    assert ('href="/"' in page) == (said[0] != 403)  # without the token that would lead to this page again
    response, content = ask(server, "GET", path, Accept="*/*", **headers)
    assert response.headers["Content-Type"] == "application/json" and json.loads(content)["error"]


def test_a_method_that_is_none_is_refused_with_a_page(server: ReviewServer) -> None:
    response, content = ask(server, "PUT", "/", Accept="text/html")
    assert response.status == 501 and content.startswith(b"<!doctype html>")


def test_it_listens_on_this_machine_alone(server: ReviewServer) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert server.socket.family == socket.AF_INET


def test_steps_are_done_and_answered_with_the_table(server: ReviewServer) -> None:
    status, table = do(server, MERGE)
    assert (status, table["version"], table["cells"][0]["colspan"]) == (200, 1, 2)
    assert json.loads(ask(server, "GET", TABLE)[1]) == table


def test_a_refused_step_says_why_and_shows_the_table(server: ReviewServer) -> None:
    for step in ({**MERGE, "end_row": 9}, {"do": "nothing", "version": 0}, {**MERGE, "version": 4}, {"do": "undo"}):
        status, reply = do(server, step)
        assert status == 409 and reply["error"] and reply["table"]["version"] == 0


def test_saving_writes_the_files(server: ReviewServer, tmp_path: Path) -> None:
    do(server, MERGE)
    assert do(server, {"do": "save", "version": 0})[0] == 409
    assert not (tmp_path / "corrections" / "tables").exists()
    status, table = do(server, {"do": "save", "version": 1})
    assert (status, table["verdict"]) == (200, "saved")
    assert (tmp_path / "corrections" / "tables" / "scan_1_1.xlsx").is_file()
    [entry] = json.loads(ask(server, "GET", "/tables")[1])["tables"]
    assert entry["verdict"] == "saved" and entry["name"] == "scan_1_1"


def test_the_table_as_it_is_now_can_be_fetched(server: ReviewServer) -> None:
    do(server, {"do": "set_text", "row": 0, "col": 0, "text": "<script>alert(1)</script>", "version": 0})
    workbook = openpyxl.load_workbook(io.BytesIO(ask(server, "GET", f"{TABLE}/workbook")[1]))
    assert workbook.active["A1"].value == "<script>alert(1)</script>"
    response, page = ask(server, "GET", f"{TABLE}/page")
    assert b"<script>" not in page and response.headers["Content-Type"].startswith("text/plain")
    assert ask(server, "GET", f"{TABLE}/picture")[1].startswith(b"\x89PNG")


def test_a_frame_on_the_page_becomes_a_table(tmp_path: Path) -> None:
    page = make_page(source="scan.png")
    Image.fromarray(page.picture.image[..., ::-1]).save(tmp_path / "scan.png")
    corrections = CorrectionFolder(tmp_path / "corrections")
    desk = Desk([tmp_path / "scan.png"], tmp_path, corrections, lambda source: [make_page(source="scan.png")])
    with serve(desk) as server:
        assert ask(server, "GET", "/tables/scan_1/whole")[1].startswith(b"\x89PNG")
        whole = {"box": [10, 10, 90, 90], "rows": 2, "cols": 3}
        bad = [{"box": None}, {"box": [1, 2, 3, "4"]}, {"rows": 0}, {"cols": True}, {"rows": None}, {"cols": 10**6}]
        bad += [{"box": [0, 0, 10**400, 9]}, {"box": [0, 0, math.nan, 9]}]
        for frame in bad:
            response, content = ask(server, "POST", "/tables/scan_1/add", json.dumps({**whole, **frame}).encode())
            assert response.status == 409 and json.loads(content)["error"]
        response, content = ask(server, "POST", "/tables/scan_1/add", json.dumps(whole).encode())
        assert (response.status, json.loads(content)) == (200, {"name": "scan_1_1"})
        assert ask(server, "POST", "/tables/scan_1/add", json.dumps(whole).encode(), Origin=None)[0].status == 403
        entries = {entry["name"]: entry for entry in json.loads(ask(server, "GET", "/tables")[1])["tables"]}
    assert (entries["scan_1_1"]["n_rows"], entries["scan_1_1"]["n_cols"]) == (2, 3)
    assert entries["scan_1_1"]["window"] == [10, 10, 90, 90] and entries["scan_1"]["verdict"] == "rejected"


def test_a_file_that_is_dropped_becomes_a_table(server: ReviewServer) -> None:
    content = io.BytesIO()
    Image.new("RGB", (30, 20)).save(content, "PNG")
    kind = {"Content_Type": "application/octet-stream"}
    response, answer = ask(server, "POST", "/inputs", content.getvalue(), **kind, X_Name="%E8%A1%A8.png")
    assert (response.status, json.loads(answer)) == (200, {"name": "\u8868.png"})
    worker = server.desk._worker
    if worker is not None:
        worker.join(20)
    names = [table["source"] for table in json.loads(ask(server, "GET", "/tables")[1])["tables"]]
    assert sorted(names) == ["scan.png", "\u8868.png"]
    for name in ("a.exe", "%2E%2E%2Fa.exe", ""):
        response, answer = ask(server, "POST", "/inputs", content.getvalue(), **kind, X_Name=name)
        assert response.status == 409 and b"by its name" in answer
    assert ask(server, "POST", "/inputs", b"x", **kind, X_Name="a.png", Origin=None)[0].status == 403
    assert ask(server, "POST", "/inputs", None, **kind, X_Name="a.png", Content_Length="9" * 10)[0].status == 413
    assert ask(server, "POST", "/tables", b"x", **kind, X_Name="a.png")[0].status == 404


def test_all_tables_are_written_and_fetched(server: ReviewServer, tmp_path: Path) -> None:
    assert ask(server, "GET", "/outputs/tables.xlsx")[0].status == 409
    assert ask(server, "GET", "/outputs/secret.xlsx")[0].status == 404
    wanted = {"kind": "zip", "crops": True, "only_saved": False, "language": "en"}
    for change in ({"kind": "exe"}, {"language": "xx"}, {"only_saved": 1}, {"crops": "yes"}, {"only_saved": True}):
        response, content = ask(server, "POST", "/outputs", json.dumps(wanted | change).encode())
        assert response.status == 409 and json.loads(content)["error"]
    response, content = ask(server, "POST", "/outputs", json.dumps(wanted).encode())
    made = json.loads(content)
    assert (response.status, made["name"], made["n_tables"]) == (200, "tables.zip", 1)
    response, content = ask(server, "GET", "/outputs/tables.zip")
    assert (
        content == (tmp_path / "corrections" / "outputs" / "tables.zip").read_bytes() and len(content) == made["size"]
    )
    assert response.headers["Content-Disposition"] == 'attachment; filename="tables.zip"'


def test_the_list_tells_what_has_changed_since(server: ReviewServer) -> None:
    def listing(since: str = "") -> dict[str, Any]:
        return dict(json.loads(ask(server, "GET", f"/tables?since={since}")[1]))

    first = listing()
    assert first["is_whole"] and len(first["tables"]) == 1
    assert listing(first["revision"])["tables"] == [] and not listing(first["revision"])["is_whole"]
    do(server, MERGE)
    assert [table["n_steps"] for table in listing(first["revision"])["tables"]] == [1]
    for since in ("x", "-", "x-1", first["revision"] + "x", f"{server.desk._run}-\u00b2".encode().hex()):
        assert listing(since)["is_whole"] and len(listing(since)["tables"]) == 1
