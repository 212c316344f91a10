"""README.md: its commands are the ones CI runs, its example prints what it says, its links lead somewhere.

README.zh-CN.md says the same in Chinese: sections, code, figures and links are those of README.md.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def reader() -> ModuleType:
    """Return .ci/readme.py, with which .ci/run reads the same commands."""
    spec = importlib.util.spec_from_file_location("ci_readme", ROOT / ".ci" / "readme.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_job_command_reads_the_samples(readme: str, reader: ModuleType) -> None:
    job, _ = reader.set_up_commands(readme)
    words = shlex.split(job)
    inputs = [word for word in words if word.startswith("data/samples")]
    assert inputs, f"{job!r} reads nothing of data/samples"
    assert all(list(ROOT.glob(word)) for word in inputs)


def test_test_command_runs_everything(readme: str, reader: ModuleType) -> None:
    _, tests = reader.set_up_commands(readme)
    last = [word for word in shlex.split(tests.split("&&")[-1]) if word not in ("python", "-m")]
    assert last == ["pytest"], "the command must not leave tests out"
    assert "[dev]" in tests


def test_example_prints_what_it_says(readme: str, reader: ModuleType) -> None:
    code, output = reader.example(readme)
    assert len(code.strip().splitlines()) <= 6
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines() == output.strip().splitlines()


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_links_lead_to_files(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)\s#]+)[^)]*\)|(?:src|href)=\"([^\"#]+)\"", text)
    local = [target for pair in targets for target in pair if target and "://" not in target]
    assert local, f"{name} shows no picture and links to no file"
    assert [target for target in local if not (ROOT / target).exists()] == []


class Section(NamedTuple):
    """What a section of a README holds, in whatever language it is written."""

    level: int
    code: list[tuple[str, str]]
    tables: list[list[str]]
    items: int
    terms: Counter[str]
    figures: Counter[str]
    links: Counter[str]


def sections(text: str) -> list[Section]:
    """Return the sections in their order; code without comments, of tables the figures and terms of each row."""
    return [to_section(part) for part in re.split(r"^(?=#+ )", text, flags=re.MULTILINE) if part]


def to_section(text: str) -> Section:
    block = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    code = [(language, re.sub(r"[ ]+# .*$", "", body, flags=re.MULTILINE)) for language, body in block.findall(text)]
    prose = block.sub("", text)
    links = re.findall(r"\]\(([^)\s]+)\)", prose)
    plain = re.sub(r"\]\([^)]*\)", "", prose)
    return Section(
        level=len(prose) - len(prose.lstrip("#")),
        code=code,
        tables=[re.findall(r"`[^`]+`|\|:?-+|\d[\d.,]*", row) for row in prose.splitlines() if row.startswith("|")],
        items=len(re.findall(r"^- ", prose, re.MULTILINE)),
        terms=Counter(re.findall(r"`[^`\n]+`", plain)),
        figures=Counter(re.findall(r"\d(?:[\d.,]*\d)?", plain)),
        links=Counter(link for link in links if not link.startswith("README.")),
    )


def test_the_chinese_readme_has_the_same_sections(readme: str) -> None:
    chinese = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
    assert "](README.zh-CN.md)" in readme.split("##")[0]
    assert "](README.md)" in chinese.split("##")[0]
    ours, theirs = sections(readme), sections(chinese)
    assert [section.level for section in ours] == [section.level for section in theirs]
    titles = re.findall(r"^#+ .*", readme, re.MULTILINE)
    for title, one, other in zip(titles, ours, theirs, strict=False):
        for field, this, that in zip(Section._fields, one, other, strict=True):
            assert this == that, f"{title}, {field}"


def test_the_comparison_of_two_readmes_notices_changes() -> None:
    text = "# a\n\n```bash\nls x  # look\n```\n\n## b\n- `c` [d](e)\n\n| f | 1.5 |\n| --- | --- |\n| 2 | 3 |\n"
    translated = text.replace("# look", "# 看").replace("[d]", "[丁]").replace("| f", "| 己").replace("## b", "## 乙")
    assert sections(text) == sections(translated) and len(sections(text)) == 2
    for old, new in [("ls x", "ls y"), ("## b", "### b"), ("`c`", "`d`"), ("(e)", "(f)"), ("1.5", "1.6"), ("- `", "`")]:
        assert sections(text) != sections(text.replace(old, new)), old
    assert sections(text) != sections(text.replace("| 2 | 3 |", "| 3 | 2 |"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "## Set up\n",
        "## Set up\n```bash\npip install . && tablerec a.png\n```\n",
        "## Set up\n```bash\npip install .\n```\n```bash\npip install . && pytest\n```\n",
        "## Set up\n```bash\npip install . && tablerec a.png\n```\n## Other\n```bash\npip install . && pytest\n```\n",
    ],
)
def test_missing_commands_are_noticed(text: str, reader: ModuleType) -> None:
    with pytest.raises(ValueError, match="Set up"):
        reader.set_up_commands(text)


@pytest.mark.parametrize("text", ["", "```python\n1\n```\n", "```python\n1\n```\n```bash\nls\n```\n```text\n1\n```\n"])
def test_missing_example_is_noticed(text: str, reader: ModuleType) -> None:
    with pytest.raises(ValueError, match="python block"):
        reader.example(text)
