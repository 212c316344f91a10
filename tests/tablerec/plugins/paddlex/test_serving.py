"""The pipeline behind PaddleX's own server, in a process of its own, asked over HTTP."""

from __future__ import annotations

import base64
import http.client
import importlib.util
import io
import json
import os
import re
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from tests.helpers.pages import blocks
from tests.helpers.pdf import make_document
from tests.helpers.serve.serving import resolve

ROOT = Path(__file__).resolve().parents[4]
HAS_SERVER = all(importlib.util.find_spec(name) for name in ("fastapi", "uvicorn", "aiohttp", "filetype"))
pytestmark = pytest.mark.skipif(not HAS_SERVER, reason="needs the serving extra")

Ask = Callable[..., tuple[int, dict[str, Any]]]
MOST = 2
"""Megabytes of a request."""


@pytest.fixture(scope="module")
def ask(config: Callable[..., dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Return a client of a server that finds ruled tables and reads nothing."""
    with serve(config, tmp_path_factory.mktemp("server"), max_num_input_imgs=2) as client:
        yield client


@contextmanager
def serve(config: Callable[..., dict[str, Any]], folder: Path, **extra: Any) -> Iterator[Ask]:
    made = config(switches={"Serving": {"extra": {"max_request_megabytes": MOST, **extra}}})
    (folder / "pipeline.yaml").write_text(yaml.safe_dump(made), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = ["--serve", "--pipeline", str(folder / "pipeline.yaml"), "--port", str(port)]
    command = [sys.executable, "-m", "tablerec.plugins.paddlex", *arguments, "--device", "cpu"]
    with (folder / "log").open("w+b") as log:
        server = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, env=os.environ | {"PYTHONPATH": str(ROOT)})
        try:
            wait_for(port, server, folder / "log")

            def ask(body: bytes | None = None, **fields: Any) -> Any:
                return send(port, json.dumps(fields).encode() if body is None else body)

            ask.port = port  # type: ignore[attr-defined]
            yield ask
            assert server.poll() is None, "the server ended"
        finally:
            server.terminate()
            server.wait(60)


@contextmanager
def offer(folder: Path) -> Iterator[str]:
    """Return an address at which the files of a folder are."""
    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as files:
        threading.Thread(target=files.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{files.server_address[1]}"
        finally:
            files.shutdown()


def wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 300
    while True:
        try:
            return send(port, None, "/health")
        except OSError:
            assert server.poll() is None and time.monotonic() < deadline, log.read_text(errors="replace")
            time.sleep(0.1)


def send(port: int, body: bytes | None, path: str = "/table-recognition", headers: dict[str, str] | None = None) -> Any:
    # The names of hosts are not looked up in tests.
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.sock = socket.socket()
    connection.sock.settimeout(300)
    connection.sock.connect(("127.0.0.1", port))
    with connection.sock:
        connection.request(
            "GET" if body is None else "POST", path, body, {"Content-Type": "application/json", **(headers or {})}
        )
        answer = connection.getresponse()
        return answer.status, json.load(answer)


def encode(image: np.ndarray, format: str = "PNG", **options: Any) -> str:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, format, **options)
    return base64.b64encode(buffer.getvalue()).decode()


def bomb(width: int, height: int) -> str:
    """A PNG of a few kilobytes with many pixels."""
    pack = zlib.compressobj(9)
    rows = b"".join(pack.compress(bytes(1 + width // 8)) for _ in range(height)) + pack.flush()
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)), (b"IDAT", rows), (b"IEND", b"")]
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    ]
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


def test_an_answer_has_the_fields_of_table_recognition_v2(ask: Ask, image: np.ndarray) -> None:
    from paddlex.inference.serving.schemas.table_recognition_v2 import InferResult

    status, answer = ask(file=encode(image), fileType=1)
    assert (status, answer["errorCode"], answer["errorMsg"]) == (200, 0, "Success")
    InferResult.model_validate(answer["result"])
    (found,) = answer["result"]["tableRecResults"]
    assert answer["result"]["dataInfo"] == {"type": "image", "width": 240, "height": 120}
    (table,) = found["prunedResult"]["table_res_list"]
    assert len(table["cell_box_list"]) == 4
    assert "<table>" in table["pred_html"]
    assert "outputImages" not in found and "inputImage" not in found, "pictures are many times the size of the tables"
    status, answer = ask(file=encode(image), visualize=True, logId="mine")
    assert status == 200
    (found,) = answer["result"]["tableRecResults"]
    assert base64.b64decode(found["outputImages"]["table_cell_img"])[:2] == b"\xff\xd8"


def test_the_client_of_its_page_runs(
    ask: Ask, image: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = ROOT / "tablerec/plugins/paddlex/README.md"
    [code] = [block.code for block in blocks(page) if "urllib" in block.code]
    (tmp_path / "scan.png").write_bytes(base64.b64decode(encode(image)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    exec(code.replace(":8080/", f":{ask.port}/"), {})  # type: ignore[attr-defined]
    assert capsys.readouterr().out.startswith("<html><body><table>")


@pytest.mark.parametrize("format", ["PDF", "TIFF"])
def test_documents_have_pages(ask: Ask, image: np.ndarray, format: str) -> None:
    page = Image.fromarray(image)
    for more, expected in [(1, 200), (2, 422)]:
        status, answer = ask(file=encode(image, format, save_all=True, append_images=[page] * more), fileType=0)
        assert status == expected, answer
        if status == 200:
            assert answer["result"]["dataInfo"]["numPages"] == len(answer["result"]["tableRecResults"]) == 2
        else:
            assert "more than 2 pages" in answer["errorMsg"]


def test_documents_are_opened_as_the_request_says(ask: Ask) -> None:
    file = base64.b64encode(make_document(4, "open sesame")).decode()
    for fields, status, message in [
        ({"password": "open sesame", "pages": "2,4", "textLayer": "use"}, 200, "Success"),
        ({"password": "open sesame"}, 422, "more than 2 pages"),
        ({"password": "wrong one"}, 422, "does not open"),
        ({}, 422, "needs a password"),
        ({"password": "open sesame", "pages": "7-"}, 422, "has 4 pages"),
        ({"password": "open sesame", "pages": "4-2"}, 422, "runs backwards"),
        ({"password": "open sesame", "textLayer": "believe"}, 422, "choose auto, use or ignore"),
        ({"password": ["open sesame"]}, 422, "password"),
        ({"password": "open sesame", "pages": 3}, 422, "pages"),
    ]:
        found, answer = ask(file=file, fileType=0, visualize=False, **fields)
        assert (found, message in answer["errorMsg"]) == (status, True), answer
        assert "wrong one" not in str(answer) and "open sesame" not in str(answer)
        if status == 200:
            assert answer["result"]["dataInfo"]["numPages"] == len(answer["result"]["tableRecResults"]) == 2


@pytest.mark.parametrize(
    ("request_", "status", "message"),
    [
        ({"file": ""}, 422, "empty"),
        ({"file": "%%%"}, 422, ""),
        ({"file": "abc"}, 422, "base64"),
        ({"file": base64.b64encode(b"no picture").decode()}, 422, "not a picture"),
        ({"file": base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()}, 422, "broken or incomplete"),
        ({"file": base64.b64encode(b"%PDF-1.4").decode(), "fileType": 0}, 422, "PDF"),
        ({"file": "http://127.0.0.1:1/a.png"}, 422, "allow_addresses: True"),
        ({"file": "HTTPS://127.0.0.1:1/a.png"}, 422, "allow_addresses: True"),
        ({"file": 5}, 422, "file"),
        ({}, 422, "file"),
        ({"file": "", "textDetThresh": 0.5}, 422, ""),
        ({"file": bomb(12_000, 12_000)}, 422, "max_megapixels"),
        ({"file": bomb(40_000, 40_000)}, 422, "pixels"),
        ({"file": "A" * (MOST * 1_000_000 + 1)}, 413, f"larger than {MOST} MB"),
    ],
    ids=range(14),
)
def test_bad_requests_are_told_why(ask: Ask, request_: dict[str, Any], status: int, message: str) -> None:
    found, answer = ask(**request_)
    assert (found, answer["errorCode"]) == (status, status)
    assert message in answer["errorMsg"]
    assert answer["logId"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"useOcrModell": False}, "useOcrModell: no such field; did you mean useOcrModel?"),
        ({"use_ocr_model": False}, "use_ocr_model: no such field; did you mean useOcrModel?"),
        ({"\u202ecolour\x1b": 1}, "colour\\x1b: no such field; there are file, fileType, visualize, "),
        ({"useE2eWiredTableRecModel": True}, "useE2eWiredTableRecModel is True: there is no structure model"),
        ({"textLayer": "believe"}, "textLayer 'believe' is unknown"),
        ({"pages": "4-2"}, "pages"),
        ({"pages": 3, "useOcrModel": "x"}, "useOcrModel: input should be a valid boolean"),
        ({"textDetThresh": 0.5}, "textDetThresh: the OCR engine"),
        ({"file": "abc"}, "file: "),
        ({"file": ""}, "file: "),
        ({"file": base64.b64encode(b"no picture").decode()}, "file: "),
    ],
    ids=range(11),
)
def test_an_error_names_the_field_of_the_request(
    ask: Ask, image: np.ndarray, fields: dict[str, Any], message: str
) -> None:
    status, answer = ask(**{"file": encode(image), **fields})
    assert status == 422 and message in answer["errorMsg"], answer
    of_request = re.sub("`[^`]*`", "", answer["errorMsg"])  # without what stands in the pipeline's file
    assert "_" not in of_request.replace("use_ocr_model: no", "") and "\x1b" not in of_request


def test_pictures_are_sent_where_the_file_says_so() -> None:
    """PaddleX sends them unless it is told otherwise; a file that says nothing sends none."""
    from paddlex.inference.serving.infra.config import create_app_config

    from tablerec.plugins.paddlex.serving import sends_pictures

    said: list[tuple[dict[str, Any], bool]] = [({}, False), ({"visualize": True}, True), ({"visualize": False}, False)]
    for serving, expected in said:
        assert sends_pictures(create_app_config({"Serving": serving})) is expected


def test_addresses_are_fetched_where_the_file_says_so(
    config: Callable[..., dict[str, Any]], image: np.ndarray, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(base64.b64decode(encode(image)))
    (tmp_path / "large.png").write_bytes(bytes(MOST * 1_000_000 + 1))
    with offer(tmp_path) as address, serve(config, tmp_path, allow_addresses=True) as ask:
        status, answer = ask(file=f"{address}/a.png")
        assert (status, answer["result"]["dataInfo"]["width"]) == (200, 240)
        for name, message in [("/no.png", "404"), ("/large.png", f"more than {MOST} MB"), (":x", "cannot be read")]:
            status, answer = ask(file=address + name)
            assert status == 422 and message in answer["errorMsg"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff\xfe", b"x" * (3_000_000)])
def test_bodies_that_are_no_request(ask: Ask, body: bytes) -> None:
    status, answer = ask(body)
    assert status == answer["errorCode"] == (413 if len(body) > 2_000_000 else 422)


def test_a_request_under_another_name_is_refused(ask: Ask) -> None:
    """Against sites that have their name point to this machine."""
    for host, status in (("evil.example", 421), ("localhost:1", 200), ("10.0.0.1", 200)):
        assert send(ask.port, None, "/health", {"Host": host})[0] == status


def test_a_document_of_huge_pages_is_counted_before_it_is_decoded(ask: Ask) -> None:
    """Eleven pages of 98 megapixels in a few kilobytes: they are too many, and none is decoded."""
    content = io.BytesIO()
    pages = [Image.new("1", (9_900, 9_900), 1)] * 11
    pages[0].save(content, "TIFF", save_all=True, append_images=pages[1:], compression="group4")
    started = time.monotonic()
    status, answer = ask(file=base64.b64encode(content.getvalue()).decode(), fileType=0)
    assert status == 422 and "more than 2 pages" in answer["errorMsg"]
    assert time.monotonic() - started < 5


def test_pages_of_a_document_are_decoded_one_by_one(ask: Ask, image: np.ndarray) -> None:
    good, wide = Image.fromarray(image), Image.new("1", (12_000, 12_000), 1)
    content = io.BytesIO()
    good.save(content, "TIFF", save_all=True, append_images=[wide], compression="tiff_deflate")
    status, answer = ask(file=base64.b64encode(content.getvalue()).decode(), fileType=0)
    assert status == 422 and "max_megapixels" in answer["errorMsg"]


def test_tokens_names_and_times_are_those_of_the_file_and_the_environment(
    config: Callable[..., dict[str, Any]], image: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TABLEREC_TOKEN", "0123456789abcdef")
    with serve(config, tmp_path, allow_hosts=["tables.example"], max_document_seconds=1e-6) as ask:
        port, token = ask.port, {"Authorization": "Bearer 0123456789abcdef"}  # type: ignore[attr-defined]
        body = json.dumps({"file": encode(image)}).encode()
        for headers, status, message in [
            ({}, 401, "token"),
            ({"Authorization": "Bearer 0123456789abcdeg"}, 401, "token"),
            (token | {"Host": "evil.example"}, 421, "name"),
            (token | {"Host": "tables.example"}, 504, "not read within"),
        ]:
            found, answer = send(port, body, headers=headers)
            assert (found, message in answer["errorMsg"]) == (status, True), answer


def test_a_body_that_comes_too_slowly_is_cut_and_kept_on_the_disk() -> None:
    import asyncio

    from tablerec.plugins.paddlex.serving import RequestGuard
    from tablerec.serve.guards import Access, Tokens
    from tablerec.serve.limits import ServerLimits

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(len(body)).encode()})

    async def ask_with(pieces: list[bytes | None]) -> list[dict[str, Any]]:
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            piece = pieces.pop(0) if pieces else None
            if piece is None:
                await asyncio.Event().wait()
            return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        guard = RequestGuard(app, Access(Tokens()), ServerLimits(body_seconds=0.1))
        scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"host", b"localhost")]}
        await guard(scope, receive, send)
        return sent

    async def ask_and_leave() -> int:
        """Of six clients, four are at work, and two hang up before it is their turn."""
        n_begun, go_on, ended = 0, asyncio.Event(), asyncio.Event()

        async def slow(scope: Any, receive: Any, send: Any) -> None:
            nonlocal n_begun
            n_begun += 1
            await go_on.wait()

        guard = RequestGuard(slow, Access(Tokens()), ServerLimits())

        async def one() -> None:
            messages = [{"type": "http.request", "body": b"", "more_body": False}]

            async def receive() -> dict[str, Any]:
                if not messages:
                    await ended.wait()
                    return {"type": "http.disconnect"}
                return messages.pop()

            scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"host", b"localhost")]}
            await guard(scope, receive, lambda message: None)

        tasks = [asyncio.create_task(one()) for _ in range(6)]
        while n_begun < 4:
            await asyncio.sleep(0)
        ended.set()
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        go_on.set()
        await asyncio.gather(*tasks)
        assert guard._places._value == 4
        return n_begun

    assert asyncio.run(ask_and_leave()) == 4
    assert asyncio.run(ask_with([b"abc", None]))[0]["status"] == 408
    for size in (0, 1, 1 << 20, 3_000_000):
        assert asyncio.run(ask_with([bytes(size)]))[1]["body"] == str(size).encode()


def test_options_of_parts_that_are_not_there(ask: Ask, image: np.ndarray) -> None:
    for option in ({"textDetThresh": 0.5}, {"useE2eWiredTableRecModel": True}, {"useDocUnwarping": True}):
        status, answer = ask(file=encode(image), **option)
        assert status == 422 and "Internal" not in answer["errorMsg"], answer


def test_fifty_at_once(ask: Ask, image: np.ndarray) -> None:
    pictures = [image[:, : 130 if number % 2 else 240] for number in range(50)]
    with ThreadPoolExecutor(50) as pool:
        broken = pool.submit(ask, file=bomb(12_000, 12_000))
        answers = list(pool.map(lambda picture: ask(file=encode(picture), visualize=False), pictures))
    assert broken.result()[0] == 422
    assert {status for status, _ in answers} == {200}
    cells = [
        len(answer["result"]["tableRecResults"][0]["prunedResult"]["table_res_list"][0]["cell_box_list"])
        for _, answer in answers
    ]
    assert cells == [2 if number % 2 else 4 for number in range(50)]
