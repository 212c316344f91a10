"""The client: files, options, streams, jobs; what it does where the server is busy, refuses, or is not there."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tablerec.errors import InputError
from tablerec.serve.client import Client, ServerError
from tests.helpers.pages import ROOT, blocks
from tests.helpers.pdf import make_document
from tests.helpers.serve.serving import Running, StandIn, serving, tiff, wait_until

TOKEN = "0123456789abcdef"

pytestmark = pytest.mark.usefixtures("localhost")


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with serving(token=TOKEN, body_megabytes=3) as running:
        yield running


@pytest.fixture
def client(server: Running) -> Client:
    return Client(server.url, TOKEN, seconds=60)


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "表 1.tif"
    path.write_bytes(tiff(3))
    return path


def test_a_file_is_read(client: Client, document: Path) -> None:
    answer = client.recognize(document, pages="2-", join_pages=True)
    assert (answer.source, [page["number"] for page in answer.pages], answer.failed) == ("表 1.tif", [2, 3], ())
    assert [table.to_grid()[0] for table in answer.tables] == [["a", "p2"], ["a", "p3"]]


def test_the_example_of_its_page_runs(server: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [code] = [block.code for block in blocks(ROOT / "tablerec/serve/README.md") if block.language == "python"]
    here = code.replace("http://127.0.0.1:8600", server.url).replace("token=None", f"token={TOKEN!r}")
    assert here.count(server.url) == 1 and TOKEN in here
    (tmp_path / "scan.pdf").write_bytes(tiff(3))
    monkeypatch.chdir(tmp_path)
    exec(here, names := {})
    assert len(names["tables"]) == 3


def test_several_files_are_read(client: Client, document: Path, tmp_path: Path) -> None:
    (tmp_path / 'b "quoted".txt').write_bytes(b"text")
    one, two = client.recognize_many([document, tmp_path / 'b "quoted".txt'])
    assert (len(one.tables), two.tables, two.failed[0]["code"]) == (3, (), "input")
    assert len(client.recognize_many([document])) == 1


def test_a_file_is_written(client: Client, document: Path, tmp_path: Path) -> None:
    assert client.save(document, tmp_path / "out" / "a.XLSX").read_bytes().startswith(b"PK")
    with pytest.raises(InputError, match="suffix"):
        client.save(document, tmp_path / "a.docx")


def test_pages_come_as_they_are_ready(client: Client, document: Path) -> None:
    assert sorted(each["page"]["number"] for each in client.stream(document)) == [1, 2, 3]


def test_a_job(client: Client, document: Path, tmp_path: Path) -> None:
    job = client.submit(document, document, layout="table")
    state = client.wait(job)
    assert (state["state"], state["pages"]) == ("done", {"total": 6, "done": 6})
    assert [len(each.tables) for each in client.result(job)] == [3, 3]
    assert client.save_result(job, tmp_path / "a.zip").read_bytes().startswith(b"PK")
    client.delete(job)
    with pytest.raises(ServerError, match="no such job"):
        client.job(job)


def test_a_document_with_a_password(client: Client, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(make_document(1, "sésame"))
    assert len(client.recognize(tmp_path / "a.pdf", password="sésame").pages) == 1
    with pytest.raises(ServerError) as refused:
        client.recognize(tmp_path / "a.pdf", password="wrong")
    assert (refused.value.status, refused.value.code) == (422, "password")


def test_what_is_refused_says_why(server: Running, client: Client, document: Path, tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="a token is needed"):
        Client(server.url).recognize(document)
    with pytest.raises(ServerError, match="device is no option"):
        client.recognize(document, device="gpu:0")
    (tmp_path / "large").write_bytes(bytes(40_000_000))
    with pytest.raises(ServerError, match="more than 3 MB"):
        client.recognize(tmp_path / "large")
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(InputError, match="cannot be opened"):
            client.recognize(path)
    assert TOKEN not in repr(client)


def test_a_busy_server_is_asked_again(document: Path) -> None:
    engine = StandIn(jobs=1)
    with serving(engine, waiting_pages=3) as server:
        engine.hold()
        client = Client(server.url, seconds=60)
        first = threading.Thread(target=client.recognize, args=[document])
        first.start()
        wait_until(lambda: server.parts.reader.waiting == 3)
        with pytest.raises(ServerError) as refused:
            Client(server.url, tries=1).recognize(document)
        assert refused.value.status == 429
        answers: list[object] = []
        second = threading.Thread(target=lambda: answers.append(client.recognize(document)))
        second.start()
        wait_until(lambda: b'tablerec_rejections_total{reason="busy"} 2.0' in server.ask("GET", "/metrics").body)
        engine.free.set()
        first.join(60)
        second.join(60)
        assert len(answers) == 1


def test_a_server_that_is_not_there(document: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ServerError, match="is the server there"):
        Client(f"http://127.0.0.1:{port}").recognize(document)
    for url in ("127.0.0.1:8600", "ftp://127.0.0.1", ""):
        with pytest.raises(InputError, match="http://HOST:PORT"):
            Client(url).recognize(document)


@pytest.mark.parametrize("is_reset", [False, True], ids=["closed", "reset"])
def test_an_answer_that_ends_too_soon(document: Path, is_reset: bool) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        is_read = threading.Event()

        def answer() -> None:
            connection, _ = listening.accept()
            with connection, connection.makefile("rb") as asked:
                length = 0
                while (line := asked.readline().strip()) != b"":
                    length = int(line.split()[1]) if line.startswith(b"Content-Length") else length
                asked.read(length)  # a connection that is closed with something unread is reset
                connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b'{"type": "page", "page": {}}\n')
                is_read.wait(60)
                if is_reset:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        thread = threading.Thread(target=answer)
        thread.start()
        pages = Client(f"http://127.0.0.1:{listening.getsockname()[1]}").stream(document)
        assert next(pages)["type"] == "page"
        is_read.set()
        with pytest.raises(ServerError, match=r"ends too soon.*try again"):
            next(pages)
        thread.join(60)
