"""A page that is open goes on after the server was started again."""

from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path

import pytest

from tablerec.corrections.review.server import ReviewServer
from tablerec.corrections.review.session import NAME, Session, read_session, write_session
from tests.helpers.browsing import expect_version, needs_chromium, open_browser, open_page, open_review
from tests.helpers.review import make_desk, serve

posix = pytest.mark.skipif(os.name == "nt", reason="has other permissions")
TOKEN = "0123456789abcdef_-ABCDEFGHIJKLMN"


def reached(server: ReviewServer) -> tuple[int, str]:
    return server.server_port, server.token


def test_without_a_folder_a_session_is_new_and_no_other_has_its_token(tmp_path: Path) -> None:
    first, second = read_session(tmp_path / "x"), read_session(tmp_path / "x")
    assert first.port == 0 and first.token != second.token and len(first.token) == 32
    assert not (tmp_path / "x").exists()


def test_port_and_token_stay_over_a_restart(tmp_path: Path) -> None:
    with serve(make_desk(tmp_path)) as server:
        before = reached(server)
    with serve(make_desk(tmp_path)) as server:
        assert reached(server) == before


def test_another_folder_has_another_token(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    with serve(make_desk(folders[0])) as one, serve(make_desk(folders[1])) as other:
        assert one.token != other.token and one.server_port != other.server_port


def test_two_reviews_of_one_folder_have_two_ports_and_the_first_keeps_its_own(tmp_path: Path) -> None:
    with serve(make_desk(tmp_path)) as first:
        before = reached(first)
        with serve(make_desk(tmp_path)) as second:
            assert second.server_port != first.server_port
    with serve(make_desk(tmp_path)) as server:
        assert reached(server) == before


def test_a_port_that_is_asked_for_is_taken_or_refused(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(OSError, match=r"."):
            ReviewServer(make_desk(tmp_path), port)
    assert read_session(tmp_path / "corrections").port == 0


@posix
def test_nobody_else_can_read_the_session(tmp_path: Path) -> None:
    write_session(tmp_path, Session(8000, TOKEN))
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


@posix
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
def test_a_session_that_others_can_read_or_write_is_not_used(tmp_path: Path, mode: int) -> None:
    write_session(tmp_path, Session(8000, TOKEN))
    (tmp_path / NAME).chmod(mode)
    assert read_session(tmp_path).port == 0


@posix
def test_a_session_that_is_a_link_or_no_file_is_not_used(tmp_path: Path) -> None:
    write_session(tmp_path, Session(8000, TOKEN))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / NAME).symlink_to(tmp_path / NAME)
    assert read_session(tmp_path / "a").port == 0
    write_session(tmp_path / "a", Session(9000, TOKEN))
    assert read_session(tmp_path).port == 8000 and read_session(tmp_path / "a").port == 9000
    (tmp_path / "b" / NAME).mkdir(parents=True)
    assert read_session(tmp_path / "b").port == 0
    (tmp_path / "c").mkdir()
    os.mkfifo(tmp_path / "c" / NAME, 0o600)
    assert read_session(tmp_path / "c").port == 0


BROKEN = [
    *("", "[]", "{", "null", "[" * 900, json.dumps({"port": 8000}), json.dumps({"port": 8000, "token": "short"})),
    *(json.dumps({"port": port, "token": TOKEN}) for port in (True, "1", 0, -1, 70_000, 1.5)),
    *(json.dumps({"port": 8000, "token": token}) for token in (None, 3, "x" * 33, "\u00e9" * 32, TOKEN[:-1] + "\n")),
]


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_session_is_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / NAME).write_text(content)
    (tmp_path / NAME).chmod(0o600)
    session = read_session(tmp_path)
    assert session.port == 0 and session.token != TOKEN


def test_where_it_cannot_be_written_the_review_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / NAME).mkdir()
    write_session(tmp_path, Session(8000, TOKEN))
    assert "another address" in caplog.text and [path.name for path in tmp_path.iterdir()] == [NAME]


@needs_chromium
def test_an_open_page_goes_on_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_browser() as browser, open_page(browser) as page:
        with serve(make_desk(tmp_path)) as server:
            monkeypatch.setattr(server.RequestHandlerClass, "timeout", 0.1)
            open_review(page, server)
        for thread in threading.enumerate():  # connections outlive their server, but not its process
            if "process_request" in thread.name:
                thread.join(20)
        with serve(make_desk(tmp_path)) as server:
            page.reload()
            page.locator(".sheet td[data-place]").first.wait_for()
            page.keyboard.press("Alt+h")
            expect_version(page, server.desk.correction("scan_1_1"), 1)
