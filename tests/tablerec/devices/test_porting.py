"""PORTING.md: what can be checked without a vendor's card is checked."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys

import pytest

from tablerec.devices import exercise as lab
from tablerec.devices.build import SOURCES

GUIDE = SOURCES.parent / "PORTING.md"
PADDLEX_KINDS = ["npu", "dcu", "mlu", "gcu", "metax_gpu", "iluvatar_gpu", "xpu"]
DETECTORS = ("RT-DETR-L_wired_table_cell_det", "RT-DETR-L_wireless_table_cell_det")

needs_paddlex = pytest.mark.skipif(
    importlib.util.find_spec("paddlex") is None or importlib.util.find_spec("paddle") is None, reason="needs PaddleX"
)
needs_paddle = pytest.mark.skipif(importlib.util.find_spec("paddle") is None, reason="needs Paddle")


@pytest.fixture(scope="module")
def guide() -> str:
    return GUIDE.read_text(encoding="utf-8")


def section(guide: str, title: str) -> str:
    return guide.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of a section's first table, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_links_lead_to_files(guide: str) -> None:
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", guide) if not target.startswith("#")]
    assert targets and [target for target in targets if not (GUIDE.parent / target).exists()] == []


def test_tables_are_rectangular(guide: str) -> None:
    for block in guide.split("\n\n"):
        widths = {line.count("|") for line in block.splitlines() if line.startswith("|")}
        assert len(widths) <= 1, block[:80]


def test_every_source_is_cited_and_every_citation_has_a_source(guide: str) -> None:
    body, sources = guide.split("\n## Sources\n")
    listed = {int(number) for number in re.findall(r"^(\d+)\. ", sources, re.MULTILINE)}
    cited: set[int] = set()
    for group in re.findall(r"\[([\d, -]+)\](?!\()", body):
        for part in group.split(","):
            first, _, last = part.strip().partition("-")
            cited |= set(range(int(first), int(last or first) + 1))
    assert cited <= listed
    assert listed - cited <= {6}  # the interface itself


def test_the_runtimes_table_has_every_call_of_ours(guide: str) -> None:
    source = (SOURCES / "runtime_cuda.cc").read_text(encoding="utf-8")
    calls = set(re.findall(r"\b(cuda[A-Z]\w+)\(", source)) | set(re.findall(r"\b(cudaMemcpy\w+To\w+)", source))
    table = section(guide, "The runtime")
    assert len(calls) > 25
    assert sorted(call for call in calls if f"`{call}`" not in table) == []


@needs_paddle
def test_the_runtimes_table_names_functions_of_paddle(guide: str) -> None:
    known = dict(lab.table_of_functions("runtime_cuda.cc"))
    named = [re.findall(r"`(\w+)`", row[0])[:1] for row in rows(section(guide, "The runtime"))]
    names = {name for found in named for name in found}
    assert names <= set(known) and len(names) > 20
    missing = {
        name for name, filled in known.items() if filled and not re.match("profiler|is_|async|memory_copy|xccl", name)
    }
    without = {"finalize", "init_device", "deinit_device", "get_device_list", "device_min_chunk_size"}
    assert missing - names - without == set()


@needs_paddlex
def test_the_paddlex_table_is_what_paddlex_does(guide: str) -> None:
    from importlib.metadata import version

    if version("paddlex") != "3.7.2":
        pytest.skip("the guide is about PaddleX 3.7.2")
    code = f"""
import json, os
from tablerec.paddlex_support import import_paddlex
import_paddlex()
import paddle
from paddlex.utils import custom_device_list as lists, device
answers = {{}}
for kind in {PADDLEX_KINDS!r}:
    before = dict(os.environ)
    device.set_env_for_device_type(kind)
    changed = {{name: value for name, value in os.environ.items() if before.get(name) != value}}
    for name in changed:
        os.environ.pop(name)
    upper = kind.upper()
    allowed, denied = getattr(lists, upper + "_WHITELIST", None), getattr(lists, upper + "_BLACKLIST", None)
    models = "all" if allowed is None and denied is None else len(set(allowed or denied))
    ours = [name in allowed if allowed else name not in (denied or ()) for name in {DETECTORS!r}]
    answers[kind] = [models if not denied else f"all but {{models}}", ours, changed]
print("ANSWER", json.dumps(answers))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(SOURCES.parents[2])},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout.rsplit("ANSWER ", 1)[1])
    table = {row[0].strip("`"): row for row in rows(section(guide, "PaddleX"))}
    assert list(table) == PADDLEX_KINDS
    for kind, (models, detectors, changed) in answers.items():
        _, said, cells, environment, _, _ = table[kind]
        assert said == str(models), kind
        assert cells == ("allowed" if all(detectors) else "not on the list") and len(set(detectors)) == 1
        if kind != "dcu":  # only with Paddle's ROCm build
            assert dict(item.split("=") for item in re.findall(r"`([^`]+)`", environment)) == changed, kind
