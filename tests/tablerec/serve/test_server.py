"""Connections: silent ones, those that take no answer, too many of them; and the end of the server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.helpers.serve.serving import Running, StandIn, png, serving, tiff, wait_until

ROOT = Path(__file__).resolve().parents[3]


def read_all(connection: socket.socket) -> bytes:
    """All that comes until the other side ends; a connection that was cut counts as ended."""
    received = b""
    try:
        while piece := connection.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return received


@pytest.mark.parametrize("start", [b"", b"POST /v1/ta", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "])
def test_a_client_that_says_nothing_more_is_cut(start: bytes) -> None:
    with serving(header_seconds=0.2) as server, server.connect() as connection:
        connection.sendall(start)
        assert read_all(connection) == b""
        wait_until(lambda: not server.server.server_state.connections)


def test_a_client_that_drips_its_head_is_cut() -> None:
    with serving(header_seconds=0.3) as server, server.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        for _ in range(1000):
            try:
                connection.sendall(b"a")
            except OSError:
                return
            threading.Event().wait(0.02)
        raise AssertionError("it was not cut")


def test_a_client_that_drips_after_its_answer_is_cut() -> None:
    with serving(header_seconds=0.3) as server, server.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in connection.recv(65536)
        connection.sendall(b"G")
        assert read_all(connection).count(b" 200 ") == 0


def test_a_connection_can_be_used_again(server: Running) -> None:
    with server.connect() as connection:
        for _ in range(3):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            received = b""
            while b'"ok"' not in received:
                received += connection.recv(65536)


def test_requests_in_a_row_are_answered_in_a_row(server: Running) -> None:
    with server.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
        received = b""
        while received.count(b'"ok"') < 3:
            received += connection.recv(65536)


def test_a_client_that_takes_no_answer_is_cut() -> None:
    engine, body = StandIn(), png()
    engine.n_rows = 10_000
    with serving(engine, write_seconds=0.3, header_seconds=0.3) as server:
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", server.port))
            head = f"POST /v1/tables HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
            wait_until(lambda: engine.n_read == 1)
            wait_until(lambda: not server.server.server_state.connections)
        assert server.parts.guard.n_active == 0


@pytest.mark.parametrize(
    "start",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000,
        b"GET /\r\n\r\n" + bytes(9),
    ],
)
def test_what_is_no_http_is_told_so(server: Running, start: bytes) -> None:
    with server.connect() as connection:
        connection.sendall(start)
        assert read_all(connection).startswith(b"HTTP/1.1 400 ")
    assert server.post(png()).status == 200


def test_too_many_connections_are_told_so() -> None:
    with serving(connections=5) as server:
        idle = [server.connect() for _ in range(5)]
        wait_until(lambda: len(server.server.server_state.connections) == 5)
        with server.connect() as sixth:
            received = read_all(sixth)
            assert received.startswith(b"HTTP/1.1 503 ") and b"Retry-After: 2" in received
        for connection in idle:
            connection.close()
        wait_until(lambda: not server.server.server_state.connections)
        assert server.post(png()).status == 200


def test_the_end_waits_for_requests_at_hand_and_refuses_new_ones() -> None:
    engine = StandIn()
    with serving(engine) as server:
        engine.hold()
        body = tiff(3)
        with server.connect() as connection:
            head = f"POST /v1/tables HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
            wait_until(lambda: engine.asked)
            server.server.end()
            for method, path in (("POST", "/v1/tables"), ("GET", "/readyz")):
                reply = server.ask(method, path, png() if method == "POST" else None)
                assert (reply.status, reply.headers["connection"]) == (503, "close") and reply.headers["retry-after"]
            assert server.ask("GET", "/healthz").status == 200
            engine.free.set()
            assert b" 200 " in read_all(connection)
        server.thread.join(60)
        assert not server.thread.is_alive()


def test_the_end_does_not_wait_for_ever() -> None:
    engine = StandIn()
    with serving(engine, grace_seconds=0.2) as server:
        engine.hold()
        with server.connect() as connection:
            body = png()
            head = f"POST /v1/tables HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
            wait_until(lambda: engine.asked)
            server.server.end()
            server.thread.join(30)
            assert not server.thread.is_alive()
        engine.free.set()


def test_a_signal_writes_no_line_in_the_midst_of_another(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "tablerec.serve"), serving() as server:
        server.server.handle_exit(signal.SIGTERM, None)  # in this thread, which may be in the midst of anything
        server.thread.join(60)
    told = [record.thread == threading.get_ident() for record in caplog.records if "ending" in record.getMessage()]
    assert told == [False]


@pytest.fixture
def program(tmp_path_factory: pytest.TempPathFactory) -> object:
    """Return the command line's own server, with a worker that finds ruled tables and reads nothing."""
    folder = tmp_path_factory.mktemp("program")
    command = [sys.executable, "-m", "tablerec", "serve", "--port", "0", "--jobs", "1", "--detector", "rulings"]
    command += ["--ocr", "none", "--jobs-dir", str(folder), "--grace", "20", "--draw-seconds", "2"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TABLEREC_TOKEN": "0123456789abcdef"}
    with (folder.parent / "log").open("w+b") as log:
        process = subprocess.Popen(command, cwd=ROOT, stderr=log, env=environment)
        try:
            wait_until(lambda: b"/\n" in (folder.parent / "log").read_bytes(), seconds=120)
            address = (folder.parent / "log").read_bytes().split()[0].decode()
            server = Running(int(address.rstrip("/").rpartition(":")[2]), None, None, process, threading.main_thread())
            server.token, server.folder = "0123456789abcdef", folder
            wait_until(lambda: server.ask("GET", "/readyz").status == 200, seconds=120)
            yield server
        finally:
            process.kill()
            process.wait(60)


def test_documents_that_take_all_time_and_memory_cost_themselves_alone(program: Running, shared: Path) -> None:
    folder = shared / "cases" / "hostile"
    files = [
        (folder / name).read_bytes() for name in ("recursive_form.pdf", "billion_forms8.pdf", "huge_glyph_1000000.pdf")
    ]
    with ThreadPoolExecutor(len(files)) as pool:
        replies = list(pool.map(program.post, files))
    assert all(reply.status in (200, 422, 504) for reply in replies), [reply.body[:200] for reply in replies]
    assert any(reply.status == 422 for reply in replies)
    assert program.post(png()).status == 200


def test_sigterm_ends_the_program_when_its_requests_are_answered(program: Running, samples: Path) -> None:
    body = (samples / "ruled.png").read_bytes()
    reply = program.post(body, "/v1/tables?name=ruled.png")
    assert reply.status == 200 and len(reply.json["pages"][0]["tables"][0]["cells"]) > 50
    assert program.post(body, "/v1/tables?layout=table&cell_pictures=true").status == 200
    assert program.ask("GET", "/v1/schema", Authorization="").status == 401
    assert program.post(body, "/v1/jobs").status == 202
    head = "POST /v1/tables HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\n"
    with program.connect() as connection:
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:-1])
        wait_until(lambda: b"tablerec_requests_active 2.0" in program.ask("GET", "/metrics").body)
        program.server.send_signal(signal.SIGTERM)
        wait_until(lambda: program.ask("GET", "/readyz").status == 503)
        connection.sendall(body[-1:])
        assert b" 200 " in read_all(connection)
    assert program.server.wait(60) == 0
    assert list(program.folder.iterdir()) == []
    log = (program.folder.parent / "log").read_text()
    assert "POST /v1/tables 200" in log and "0123456789abcdef" not in log and "Traceback" not in log
