"""Whether anything is lost when the editor's server is killed: ``python -m tests.benchmarks.editor.kill``.

A server with one table is killed (SIGKILL) at random moments while steps are sent to it, among them saves; it is
started again, and the step that got no answer is sent again, as a page does. Each time the journal must hold every
step that was answered, once; and workbook, page and label must be those of the last save. The steps that the journal
has are then done again in a folder of its own, without any kill: both tables must be the same.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import openpyxl

from postprocess.editing.placing import tidy
from postprocess.export import html_to_tables
from tablerec.corrections.editor.correction import Correction, read_correction
from tablerec.corrections.editor.label import find_fault
from tablerec.corrections.editor.operations import OPERATIONS

NAME = "scan_1_1"
SERVE = """
import sys
from pathlib import Path
from tests.helpers.review import make_read_desk, serve
with serve(make_read_desk(Path(sys.argv[1]))) as server:
    print(server.address, flush=True)
    sys.stdin.read()
"""


class Client:
    """One server, and a page that talks to it."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._killers: list[subprocess.Popen[bytes]] = []
        assert self.process.stdout is not None
        address = urlsplit(self.process.stdout.readline().strip())
        self.host = str(address.netloc)
        self._connection = HTTPConnection(self.host, timeout=20)
        self._connection.sock = socket.socket()  # by number: nothing is looked up
        self._connection.sock.settimeout(20)
        self._connection.sock.connect(("127.0.0.1", address.port))
        self._connection.request("GET", f"/?{address.query}")
        answer = self._connection.getresponse()
        answer.read()
        self._cookie = str(answer.headers["Set-Cookie"]).partition(";")[0]

    def ask(self, step: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a step, or ask for the table.

        Raises:
            OSError: The server has gone.
            HTTPException: The same.
        """
        headers = {"Cookie": self._cookie, "Origin": f"http://{self.host}", "Content-Type": "application/json"}
        path, method = (f"/tables/{NAME}", "GET") if step is None else (f"/tables/{NAME}/do", "POST")
        self._connection.request(method, path, json.dumps(step) if step else None, headers)
        return dict(json.loads(self._connection.getresponse().read()))

    def kill_in(self, seconds: float) -> None:
        """End the server at once, so much later, from a process of its own."""
        code = f"import os, time; time.sleep({seconds}); os.kill({self.process.pid}, 9)"
        self._killers.append(subprocess.Popen([sys.executable, "-S", "-c", code]))

    def wait(self) -> None:
        """Wait until the server has ended."""
        self.process.communicate()
        for each in self._killers:
            each.wait()
        self._connection.close()


def random_step(rng: random.Random) -> dict[str, Any]:
    """A step of a person at the top left of the table."""
    row, col = rng.randrange(3), rng.randrange(3)
    axis = rng.choice(["row", "col"])
    return rng.choice([
        {"do": "set_text", "row": row, "col": col, "text": f"typed {rng.random():.3f}"},
        {"do": "move_line", "axis": axis, "line": 1, "offset": rng.uniform(-9, 9)},
        {"do": "divide", "axis": axis, "index": row},
        {"do": "remove_line", "axis": axis, "line": 1},
        {"do": "merge", "row": 0, "col": 0, "end_row": 1 + row, "end_col": 1 + col},
        {"do": "split", "row": row, "col": col},
        {"do": "reset_text", "row": row, "col": col, "end_row": row + 1, "end_col": col + 1},
        {"do": "undo"},
        {"do": "redo"},
        {"do": "save"},
        {"do": "save"},
        {"do": "reject"},
    ])  # fmt: skip


def check_files(folder: Path, journal: Path) -> None:
    """Compare workbook, page and label with the table as it was when it was saved last."""
    lines = journal.read_bytes().splitlines(keepends=True)
    verdicts = [at for at, line in enumerate(lines) if at and json.loads(line)["do"] in ("save", "reject")]
    paths = [folder / "tables" / f"{NAME}.xlsx", folder / "tables" / f"{NAME}.html", folder / "images" / f"{NAME}.json"]
    if not verdicts or json.loads(lines[verdicts[-1]])["do"] == "reject":
        assert not any(path.exists() for path in paths), "a table that is none has files"
        return
    saved = read_to(journal, lines[: verdicts[-1] + 1])
    table = tidy(saved.table)
    grid = table.to_grid()
    assert html_to_tables(paths[1].read_text("utf-8"))[0].to_grid() == grid, "the page"
    sheet = openpyxl.load_workbook(paths[0]).active
    assert sheet is not None
    for cell in table.cells:
        value = sheet.cell(cell.row + 1, cell.col + 1).value
        assert value == (cell.text or None) or isinstance(value, (int, float)), "the workbook"
    assert paths[2].exists() == (find_fault(table, saved.head.size_wh) is None), "the label is there, or is not"
    if paths[2].exists():
        label = json.loads(paths[2].read_text("utf-8"))
        assert [cell["text"] for cell in label["cells"]] == [cell.text for cell in table.cells], "the label"


def read_to(journal: Path, lines: list[bytes]) -> Correction:
    """The correction as the first lines of its journal say."""
    with tempfile.TemporaryDirectory() as other:
        part = Path(other) / journal.name
        part.write_bytes(b"".join(lines))
        correction, problem = read_correction(part)
        assert problem is None, problem
        return correction


def check_journal(journal: Path, answered: list[str]) -> None:
    """Each step that was answered is there once, and the steps, done anew, lead to the same table."""
    lines = [json.loads(line) for line in journal.read_bytes().splitlines()]
    marks = [line["id"] for line in lines[1:] if "id" in line]
    assert len(marks) == len(set(marks)), "a step was done twice"
    assert set(answered) <= set(marks), "a step that was answered is lost"
    correction, problem = read_correction(journal)
    assert problem is None, problem
    first = journal.read_bytes().splitlines(keepends=True)[:1]
    with tempfile.TemporaryDirectory() as other:
        again = Path(other) / journal.name
        again.write_bytes(first[0])
        anew, _ = read_correction(again)
        for line in lines[1:]:
            step = {key: value for key, value in line.items() if key not in ("dealt", "id")}
            if step["do"] in (*OPERATIONS, "undo", "redo"):
                anew.replay(step)
        assert anew.state == correction.state, "words are dealt otherwise when a journal is read"


def run(n_kills: int, seed: int) -> str:
    """Kill so many times, and return what happened."""
    rng = random.Random(seed)
    n_steps = n_resent = n_in_midst = 0
    answered: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "corrections"
        journal = folder / "journal" / f"{NAME}.jsonl"
        waiting: dict[str, Any] | None = None
        for number in range(n_kills + 1):
            client = Client(Path(name))
            version = client.ask()["version"]
            check_files(folder, journal)
            if waiting is not None:
                n_resent += 1
                done = any(json.loads(line).get("id") == waiting["id"] for line in journal.read_bytes().splitlines())
                n_in_midst += done
                reply = client.ask(waiting)
                version, waiting = reply.get("version", reply.get("table", {}).get("version")), None
            if number == n_kills:
                client.kill_in(0)
                client.wait()
                break
            n_before = rng.randrange(4)
            while waiting is None:
                step = {**random_step(rng), "version": version, "id": f"step-{n_steps}"}
                n_steps += 1
                if n_before == 0:
                    client.kill_in(rng.uniform(0, 0.03))  # while the step is under way, or a later one
                n_before -= 1
                try:
                    reply = client.ask(step)
                except (OSError, HTTPException, ValueError):
                    waiting = step
                    break
                if "error" not in reply:
                    if reply["version"] > version:
                        answered.append(step["id"])
                    version = reply["version"]
                if n_before < 0:
                    time.sleep(0.002)
            client.wait()
            check_journal(journal, answered)
        check_files(folder, journal)
        check_journal(journal, answered)
    return (
        f"{n_kills} kills among {n_steps} steps, {len(answered)} answered and in the journal; {n_resent} sent again, "
        f"{n_in_midst} of which had been done before the kill: nothing lost, nothing done twice"
    )


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50, help="How often the server is killed.  [default: 50]")
    parser.add_argument("--seed", type=int, default=0, help="Of the random steps and moments.  [default: 0]")
    options = parser.parse_args()
    print(run(options.kills, options.seed))


if __name__ == "__main__":
    main()
