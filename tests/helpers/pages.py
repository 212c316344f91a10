"""The pages that people read, in Markdown, and what is in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
_FOLDERS = ("data", "docs", "postprocess", "tablerec", "tests")
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"^ {4}(?=(?:tablerec|python) )((?:.*\\\n)*.*)", re.MULTILINE)


class Block(NamedTuple):
    """Code of a page."""

    page: str
    language: str
    code: str


def pages() -> list[Path]:
    """All pages but those of single notebooks, those in the root first."""
    parts = sorted(path for name in _FOLDERS for path in (ROOT / name).rglob("*.md"))
    return [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("notebooks/*.md")), *parts]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    return [Block(name_of(page), *found) for found in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def without_code(text: str) -> str:
    return _BLOCK.sub("", text)


def commands(page: Path) -> list[str]:
    """The lines for a shell, without comments, and with continued ones as one line; indented ones too."""
    shell = [block.code for block in blocks(page) if block.language == "bash"]
    shell += _INDENTED.findall(without_code(page.read_text(encoding="utf-8")))
    script = re.sub(r"^case .*?^esac$", "", "\n".join(shell), flags=re.MULTILINE | re.DOTALL)  # what follows a command
    lines = script.replace("\\\n", " ").splitlines()
    return [" ".join(bare.split()) for line in lines if (bare := re.sub(r"(?:^|\s+)#.*", "", line).strip())]


def translated(page: Path) -> Path:
    """Where the Chinese page of an English one lies."""
    return page.with_name(f"{page.stem}.zh-CN.md")
