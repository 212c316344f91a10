"""Many clients against ``tablerec serve``, and beside it PaddleX's server and docling-serve, in one run.

Most clients are honest: each sends a picture, waits for the answer, comes again after Retry-After where it is told to,
and sends the next one. Among them are some that drip their bodies, that hang up in the midst, that send hostile files,
and that have no token. Every honest request is accounted for: answered, told why not, or lost. Nobody without a token
may get tables.

::

    python -m tests.benchmarks.throughput.server --clients 200 --seconds 300
    python -m tests.benchmarks.throughput.server --server tablerec \
        --server "paddlex=/venv/bin/python -m tablerec.plugins.paddlex --serve --pipeline FILE --port {port}"
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import io
import json
import os
import random
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
TOKEN = "a-token-of-the-benchmark"
COMMANDS = {
    "tablerec": f"{sys.executable} -m tablerec serve --port {{port}} --quiet",
    "paddlex": f"{sys.executable} -m tablerec.plugins.paddlex --serve --pipeline "
    f"{ROOT / 'tablerec/plugins/paddlex/table_recognition_cells.yaml'} --host 127.0.0.1 --port {{port}} --device cpu",
    "docling": "docling-serve run --host 127.0.0.1 --port {port}",
}
HEALTH = {"tablerec": "/readyz", "paddlex": "/health", "docling": "/health"}
RUDE = ("slow", "cut", "hostile", "stranger")
"""Kinds of clients besides honest ones."""


@dataclass
class Case:
    """A server under load, and what became of it.

    Args:
        kind: One of ``COMMANDS``.
        port: Where it listens.
        process: The server.
    """

    kind: str
    port: int
    process: subprocess.Popen[bytes]
    seconds: list[float] = field(default_factory=list)
    honest: Counter[str] = field(default_factory=Counter)
    rude: Counter[str] = field(default_factory=Counter)
    memory: list[float] = field(default_factory=list)
    elapsed: float = 0.0

    def to_request(self, content: bytes, token: str | None = TOKEN) -> bytes:
        """A picture as this server wants it."""
        path, kind, body = "/v1/tables", "application/octet-stream", content
        if self.kind == "paddlex":
            path, kind = "/table-recognition", "application/json"
            body = json.dumps({"file": base64.b64encode(content).decode(), "visualize": False}).encode()
        elif self.kind == "docling":
            path, kind = "/v1/convert/file", "multipart/form-data; boundary=b"
            head = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.png"\r\n\r\n'
            body = head + content + b"\r\n--b--\r\n"
        secret = f"Authorization: Bearer {token}\r\n" if token else ""
        head_ = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: {kind}\r\n{secret}"
        return f"{head_}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


async def ask(port: int, request: bytes, most_seconds: float) -> tuple[int, dict[str, str], bytes]:
    """Send a request, and return status, headers and body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:

        async def send() -> None:
            writer.write(request)
            await writer.drain()

        sending = asyncio.create_task(send())
        try:
            received = await asyncio.wait_for(reader.read(-1), most_seconds)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
    finally:
        writer.close()
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if not first.startswith("HTTP/1.1 "):
        raise ConnectionError("no answer")
    return int(first.split()[1]), headers, body


async def be_honest(case: Case, pictures: Sequence[bytes], end: float, most_seconds: float, rng: random.Random) -> None:
    """Send pictures until the time is over; each is answered, told of, or lost."""
    while time.monotonic() < end:
        request, started = case.to_request(rng.choice(pictures)), time.monotonic()
        while True:
            try:
                status, headers, body = await ask(case.port, request, most_seconds)
            except asyncio.TimeoutError:
                case.honest["no answer in time"] += 1
                break
            except OSError as error:
                case.honest[f"lost: {type(error).__name__}"] += 1
                break
            if status in (429, 503):
                case.honest["came again"] += 1
                if time.monotonic() > end:
                    case.honest["told to come again, at the end"] += 1
                    break
                await asyncio.sleep(min(60.0, float(headers.get("retry-after", "1"))) * rng.uniform(0.5, 1.5))
                continue
            if status == 200 and is_whole(headers, body):
                case.honest["answered"] += 1
                case.seconds.append(time.monotonic() - started)
            else:
                case.honest[f"told {status}" if is_whole(headers, body) else "lost: cut answer"] += 1
            break


def is_whole(headers: dict[str, str], body: bytes) -> bool:
    """Whether an answer has the length that it says."""
    length = headers.get("content-length")
    return body.endswith(b"0\r\n\r\n") if length is None else len(body) == int(length)


async def drip(case: Case, pictures: Sequence[bytes], end: float, rng: random.Random) -> None:
    """Send a request byte by byte, from its head or from its body on, and note whether that is cut."""
    while time.monotonic() < end:
        request = case.to_request(rng.choice(pictures))
        head = request.index(b"\r\n\r\n") + 4
        n_first = rng.choice([5, head, head + 100])
        started = time.monotonic()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", case.port)
        except OSError:
            case.rude["slow: refused"] += 1
            await asyncio.sleep(1)
            continue
        ended = asyncio.create_task(reader.read(-1))
        try:
            writer.write(request[:n_first])
            for byte in request[n_first:]:
                await asyncio.wait([ended], timeout=1)
                if ended.done() or time.monotonic() > end:
                    break
                writer.write(bytes([byte]))
        except OSError:
            pass
        is_cut = ended.done()
        writer.transport.abort()
        await asyncio.gather(ended, return_exceptions=True)
        case.rude["slow: cut" if is_cut else "slow: open at the end"] += 1
        if is_cut:
            seconds = round(time.monotonic() - started)
            case.rude["slow: longest seconds"] = max(case.rude["slow: longest seconds"], seconds)


async def hang_up(case: Case, pictures: Sequence[bytes], end: float, rng: random.Random) -> None:
    """End the connection in the midst of the body, or of the answer."""
    while time.monotonic() < end:
        request = case.to_request(rng.choice(pictures))
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", case.port)
            writer.write(request[: rng.choice([3, len(request) // 2, len(request)])])
            await writer.drain()
            await asyncio.sleep(rng.uniform(0, 2))
            writer.transport.abort()
            case.rude["cut"] += 1
        except OSError:
            case.rude["cut: refused"] += 1
        await asyncio.sleep(0.5)


async def send_hostile(case: Case, files: Sequence[bytes], end: float, most_seconds: float, rng: random.Random) -> None:
    """Send what is no good."""
    while time.monotonic() < end:
        try:
            status, headers, _ = await ask(case.port, case.to_request(rng.choice(files)), most_seconds)
            case.rude[f"hostile: {status}"] += 1
            await asyncio.sleep(min(30.0, float(headers.get("retry-after", "1"))))
        except (OSError, asyncio.TimeoutError) as error:
            case.rude[f"hostile: {type(error).__name__}"] += 1
            await asyncio.sleep(1)


async def be_strange(case: Case, pictures: Sequence[bytes], end: float, rng: random.Random) -> None:
    """Ask without a token, or with another one."""
    while time.monotonic() < end:
        token = rng.choice([None, TOKEN[:-1], TOKEN + "x", "x" * 20])
        try:
            status, _, body = await ask(case.port, case.to_request(rng.choice(pictures), token), 60)
            case.rude[f"without a token: {status}"] += 1
            case.rude["WITHOUT A TOKEN: TABLES"] += status == 200 and b'"cells"' in body
        except (OSError, asyncio.TimeoutError) as error:
            case.rude[f"without a token: {type(error).__name__}"] += 1
        await asyncio.sleep(1)


async def load(case: Case, options: argparse.Namespace, pictures: Sequence[bytes], hostile: Sequence[bytes]) -> None:
    """Let all clients at a server, and watch its memory."""
    seconds = options.seconds if case.kind == "tablerec" else options.peer_seconds or options.seconds
    started, end = time.monotonic(), time.monotonic() + seconds
    n_rude = {kind: round(options.rude * options.clients) for kind in RUDE}
    if case.kind != "tablerec":
        n_rude["stranger"] = 0  # these have no token here
    rngs = (random.Random(number) for number in range(options.clients + 1))
    makers: dict[str, Callable[[], Any]] = {
        "slow": lambda: drip(case, pictures, end, next(rngs)),
        "cut": lambda: hang_up(case, pictures, end, next(rngs)),
        "hostile": lambda: send_hostile(case, hostile, end, options.most_seconds, next(rngs)),
        "stranger": lambda: be_strange(case, pictures, end, next(rngs)),
    }
    clients = [makers[kind]() for kind in RUDE for _ in range(n_rude[kind])]
    while len(clients) < options.clients:
        clients.append(be_honest(case, pictures, end, options.most_seconds, next(rngs)))

    async def watch() -> None:
        while True:
            case.memory.append(tree_memory(case.process.pid))
            await asyncio.sleep(1)

    watching = asyncio.create_task(watch())
    await asyncio.gather(*clients)
    watching.cancel()
    case.elapsed = time.monotonic() - started


def tree_memory(process: int) -> float:
    """Resident megabytes of a process and of all below it, shared pages counted once in each."""
    pending, total = [process], 0
    while pending:
        folder = Path("/proc") / str(pending.pop())
        try:
            total += int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            for children in (folder / "task").glob("*/children"):
                pending += map(int, children.read_text().split())
        except (OSError, IndexError):
            continue
    return total / 1e6


def start(kind: str, command: str) -> Case:
    """Start a server, and wait until it is ready."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | ({"TABLEREC_TOKEN": TOKEN} if kind == "tablerec" else {})
    process = subprocess.Popen(
        shlex.split(command.format(port=port)), cwd=ROOT, env=environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    request = f"GET {HEALTH[kind]} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
    for _ in range(3000):
        if process.poll() is not None:
            raise SystemExit(f"{kind}: the server ended with {process.returncode}: {command}")
        try:
            if asyncio.run(ask(port, request, 10))[0] == 200:
                return Case(kind, port, process)
        except (OSError, asyncio.TimeoutError):
            pass
        time.sleep(0.1)
    raise SystemExit(f"{kind}: the server is not ready within five minutes")


def hostile_files(folder: Path | None) -> list[bytes]:
    """Bombs, garbage, and the files of a folder, PDFs and pictures."""
    from PIL import Image

    content = io.BytesIO()
    pages = [Image.new("1", (9_900, 9_900), 1)] * 11
    pages[0].save(content, "TIFF", save_all=True, append_images=pages[1:], compression="group4")
    made = [b"", b"%PDF-1.4", b"\x89PNG\r\n\x1a\n", random.Random(0).randbytes(100_000), content.getvalue()]
    given = sorted(folder.glob("*.pdf")) if folder is not None and folder.is_dir() else []
    return made + [path.read_bytes() for path in given]


def report(case: Case) -> list[str]:
    """What is printed of a server."""
    seconds = sorted(case.seconds) or [float("nan")]
    half, most = seconds[len(seconds) // 2], seconds[min(len(seconds) - 1, int(0.99 * len(seconds)))]
    lost = sum(count for what, count in case.honest.items() if what.startswith(("lost", "no answer")))
    kept = case.memory[len(case.memory) // 10 :] or [0.0]
    return [
        f"{case.kind}: {case.honest['answered'] / case.elapsed:.2f} requests/s answered in {case.elapsed:.0f} s, "
        f"p50 {half:.1f} s, p99 {most:.1f} s, lost {lost}, "
        f"memory {max(kept):.0f} MB at most, {kept[-1]:.0f} MB at the end",
        f"  honest: {dict(case.honest.most_common())}",
        f"  others: {dict(sorted(case.rude.items()))}",
    ]


def main() -> None:
    """Measure each server in turn."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.throughput.server", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--clients", type=int, default=200, help="at the same time")
    parser.add_argument("--seconds", type=float, default=300, help="for each server")
    parser.add_argument("--peer-seconds", type=float, help="for each of the others, if not the same")
    parser.add_argument("--rude", type=float, default=0.025, help="share of each kind of clients that are not honest")
    parser.add_argument("--most-seconds", type=float, default=300, help="that a client waits for an answer")
    parser.add_argument("--pictures", type=Path, default=ROOT / "data" / "samples", help="folder with pictures")
    parser.add_argument("--most-bytes", type=int, default=200_000, help="larger pictures are left out")
    parser.add_argument("--hostile", type=Path, default=ROOT.parent / "shared" / "cases" / "hostile", help="more files")
    parser.add_argument(
        "--server", action="append", metavar="KIND[=COMMAND]", help=f"of {', '.join(COMMANDS)}; {{port}} is replaced"
    )
    options = parser.parse_args()
    paths = [path for path in sorted(options.pictures.glob("*.png")) if path.stat().st_size <= options.most_bytes]
    pictures, hostile = [path.read_bytes() for path in paths], hostile_files(options.hostile)
    print(f"{options.clients} clients, {len(pictures)} pictures, {len(hostile)} hostile files", flush=True)
    for each in options.server or ["tablerec"]:
        kind, _, command = each.partition("=")
        if kind not in COMMANDS:
            parser.error(f"--server {each}: choose from {', '.join(COMMANDS)}")
        case = start(kind, command or COMMANDS[kind])
        try:
            asyncio.run(load(case, options, pictures, hostile))
            print("\n".join(report(case)), flush=True)
            case.process.send_signal(signal.SIGTERM)
            try:
                print(f"  ended after SIGTERM with {case.process.wait(60)}", flush=True)
            except subprocess.TimeoutExpired:
                print("  did not end within 60 s of SIGTERM", flush=True)
        finally:
            if case.process.poll() is None:
                os.killpg(case.process.pid, signal.SIGKILL)
                case.process.wait()


if __name__ == "__main__":
    main()
