"""Who may ask, and what bodies may come: tokens, names of hosts, sites, sizes, numbers, rates."""

from __future__ import annotations

import io
import socket

import pytest
from PIL import Image

from tablerec.errors import SettingsError
from tests.helpers.serve.serving import Running, StandIn, png, serving, tiff, to_parts, wait_until

TOKEN, OTHER = "0123456789abcdef-one", "0123456789abcdef-two"


@pytest.fixture(scope="module")
def locked() -> object:
    with serving(token=TOKEN, tokens=[OTHER], origins=["https://site.example"], hosts=["tables.example"]) as running:
        yield running


@pytest.mark.parametrize("path", ["/v1/tables", "/v1/jobs"])
@pytest.mark.parametrize(
    "given",
    ["", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN, "Bearer \xff",
     "Bearer x, y"],
)  # fmt: skip
def test_nobody_gets_in_without_a_token(locked: Running, path: str, given: str) -> None:
    reply = locked.ask("POST", path, png(), Authorization=given)
    assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
    assert locked.engine.asked == []


def test_all_but_the_page_and_health_needs_one(locked: Running) -> None:
    paths = locked.ask("GET", "/openapi.json", Authorization="").json["paths"]
    for path, operations in paths.items():
        for method in operations:
            reply = locked.ask(method.upper(), path.replace("{id}", "x"), b"", Authorization="")
            is_open = path in ("/healthz", "/readyz")
            assert (reply.status == 401) != is_open, path
    assert paths["/v1/tables"]["post"]["security"] == [{"HTTPBearer": []}]
    assert locked.ask("GET", "/", Authorization="").status == 200
    assert locked.ask("GET", "/nowhere", Authorization="").status == 401


def test_each_token_opens(locked: Running) -> None:
    for token in (TOKEN, OTHER):
        assert locked.ask("GET", "/v1/schema", Authorization=f"bearer {token}").status == 200


def test_a_job_is_for_the_client_that_handed_it_in(locked: Running) -> None:
    place = locked.post(png(), "/v1/jobs").headers["location"]
    for method in ("GET", "DELETE"):
        assert locked.ask(method, place, Authorization=f"Bearer {OTHER}").status == 404
    assert locked.ask("GET", f"{place}/result", Authorization=f"Bearer {OTHER}").status == 404
    assert locked.ask("GET", place).status == 200


@pytest.mark.parametrize("token", ["short", "with a blank in it", "zeichen-mit-ümlaut", "line\nbreak-and-more-of-it"])
def test_tokens_that_are_none(token: str) -> None:
    from tablerec.serve.guards import Tokens

    with pytest.raises(SettingsError, match="fewer than 16"):
        Tokens([token])


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200), ("localhost:8600", 200), ("[::1]:8600", 200), ("Tables.Example", 200), ("10.0.0.7:80", 200),
        ("evil.example", 421), ("127.0.0.1.evil.example", 421), ("localhost@evil.example", 421), ("", 421),
        ("a b", 421),
        ("localhost:99999999", 421), ("localhost/", 421),
    ],
)  # fmt: skip
def test_a_name_that_is_not_ours_gets_nothing(locked: Running, host: str, status: int) -> None:
    """Against sites that have their name point to this machine."""
    assert locked.ask("GET", "/v1/schema", Host=host).status == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://site.example", 200),
        ("http://127.0.0.1:{}", 200),
        ("https://evil.example", 403),
        ("null", 403),
        ("", 403),
    ],
)
def test_pages_of_other_sites_may_not_ask(locked: Running, origin: str, status: int) -> None:
    given = origin.format(locked.port)
    reply = locked.ask("POST", "/v1/tables", png(), Origin=given)
    assert reply.status == status
    allowed = reply.headers.get("access-control-allow-origin")
    assert allowed == ("https://site.example" if given == "https://site.example" else None)


def test_cors_is_off_unless_asked_for(server: Running) -> None:
    reply = server.ask("OPTIONS", "/v1/tables", Origin="https://site.example", Access_Control_Request_Method="POST")
    assert reply.status == 403 and "access-control-allow-origin" not in reply.headers


def test_answers_say_nothing_of_the_server_and_may_not_be_kept(server: Running) -> None:
    headers = server.post(png()).headers
    assert "server" not in headers
    assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")


def test_bodies_that_are_too_large() -> None:
    with serving(body_megabytes=0.1, files=3, pages=4) as server:
        reply = server.post(bytes(100_001))
        assert (reply.status, reply.json["code"]) == (413, "too-large")
        with server.connect() as connection:  # without a length, it is counted as it comes
            connection.sendall(b"POST /v1/tables HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            connection.sendall((b"1000\r\n" + bytes(0x1000) + b"\r\n") * 30)
            assert b" 413 " in connection.recv(65536)
        reply = server.post_files(*[(f"{number}.png", png()) for number in range(4)])
        assert (reply.status, reply.json["code"]) == (413, "too-many-files")
        reply = server.post_files(("a.tif", tiff(3)), ("b.tif", tiff(2)))
        assert (reply.status, reply.json["code"]) == (413, "too-many-pages") and "b.tif" in reply.json["detail"]
        assert server.post(tiff(5), "/v1/jobs").status == 202
        assert server.post(tiff(5), "/v1/tables?pages=2-4").status == 200
        assert server.parts.storage.used == 0


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (b"", "application/octet-stream", 422, "empty"),
        (b"", "multipart/form-data", 400, "multipart"),
        (b"", "multipart/form-data; boundary=x", 400, "multipart"),
        (b"--x--\r\n", "multipart/form-data; boundary=x", 422, "empty"),
        (b"nothing of it", "multipart/form-data; boundary=x", 400, "multipart"),
        (b"--x\r\n\r\nno head\r\n--x--\r\n", "multipart/form-data; boundary=x", 400, "multipart"),
        (to_parts([("a.png", png())])[0][:-20], "multipart/form-data; boundary=frontier", 400, "multipart"),
        (to_parts([], {"layout": "x" * 5000})[0], "multipart/form-data; boundary=frontier", 413, "too-large"),
        (to_parts([], {str(n): "" for n in range(50)})[0], "multipart/form-data; boundary=frontier", 400, "multipart"),
        (to_parts([("", b"")])[0], "multipart/form-data; boundary=frontier", 422, "empty"),
        (b"--" + b"x" * 5000, f"multipart/form-data; boundary={'x' * 5000}", 400, "multipart"),
    ],
    ids=range(11),
)
def test_bodies_that_are_no_request(server: Running, body: bytes, kind: str, status: int, code: str) -> None:
    reply = server.ask("POST", "/v1/tables", body, Content_Type=kind)
    assert (reply.status, reply.json["code"]) == (status, code), reply.body
    assert server.post(png()).status == 200


def test_packed_bodies_are_refused(server: Running) -> None:
    assert server.post(png(), Content_Encoding="gzip").status == 415


def test_a_document_of_huge_pages_is_not_decoded(server: Running) -> None:
    """Pages of 98 megapixels in a few kilobytes: each is refused for its size before its pixels are looked at."""
    pages = [Image.new("1", (9_900, 9_900), 1)] * 3
    content = io.BytesIO()
    pages[0].save(content, "TIFF", save_all=True, append_images=pages[1:], compression="group4")
    reply = server.post(content.getvalue())
    assert reply.status == 422 and "max_megapixels = 50" in reply.body.decode()


def test_a_body_that_comes_too_slowly_is_cut() -> None:
    with serving(body_seconds=0.3) as server, server.connect() as connection:
        connection.sendall(b"POST /v1/tables HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nabc")
        reply = b"".join(iter(lambda: connection.recv(65536), b""))
        assert b" 408 " in reply and b"too slowly: 3 bytes" in reply


def test_large_bodies_do_not_stay_in_memory() -> None:
    with serving() as server:
        body, kind = to_parts([(f"{number}.bin", bytes(400_000)) for number in range(20)])
        with server.connect() as connection:
            head = f"POST /v1/tables HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:-10])
            wait_until(lambda: server.parts.storage.used > 6_000_000)
            files = list((server.folder / "bodies").iterdir())
            assert files and all(file.stat().st_mode & 0o777 == 0o600 for file in files)
        wait_until(lambda: server.parts.storage.used == 0)
        assert list((server.folder / "bodies").iterdir()) == []


def test_disk_space_for_bodies_has_a_bound() -> None:
    with serving(spool_gigabytes=0.002) as server:
        reply = server.post(bytes(5_000_000))
        assert (reply.status, reply.json["code"]) == (503, "no-room") and reply.headers["retry-after"]
        wait_until(lambda: server.parts.storage.used == 0)
        assert server.post(png()).status == 200


def test_too_many_pages_wait() -> None:
    engine = StandIn(jobs=1)
    with serving(engine, waiting_pages=10) as server:
        engine.hold()
        connections = [_send(server, tiff(9)), _send(server, png())]
        wait_until(lambda: server.parts.reader.waiting == 10)
        reply = server.post(png())
        assert (reply.status, reply.json["code"]) == (429, "busy")
        assert 1 <= int(reply.headers["retry-after"]) <= 60
        assert server.ask("GET", "/healthz").status == 200
        engine.free.set()
        for connection in connections:
            with connection:
                assert b" 200 " in connection.recv(65536)
        assert server.post(png()).status == 200
        assert 'tablerec_rejections_total{reason="busy"} 1.0' in server.ask("GET", "/metrics").body.decode()


def test_a_document_longer_than_the_queue_is_read_when_nothing_waits() -> None:
    with serving(waiting_pages=3) as server:
        assert server.post(tiff(5)).status == 200


@pytest.mark.parametrize("format", ["json", "ndjson"])
def test_a_request_has_an_end(format: str) -> None:
    engine = StandIn(jobs=1)
    with serving(engine, document_seconds=0.2) as server:
        engine.hold()
        reply = server.post(tiff(3), f"/v1/tables?format={format}")
        if format == "json":
            assert (reply.status, reply.json["code"]) == (504, "timeout")
        else:
            assert b'"code": "timeout"' in reply.body and b'"pages": 0, "failed": 3' in reply.body
        wait_until(lambda: server.parts.reader.waiting == 0)


def _send(server: Running, body: bytes) -> socket.socket:
    connection = server.connect()
    head = f"POST /v1/tables HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)
    return connection
