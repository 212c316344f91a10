"""Read the commands and the example of README.md, so that CI and the tests run what users read.

README.md holds a section ``## Set up`` with two ``bash`` blocks of one command each: the first installs
and runs the main job, the second installs and passes the tests. The first ``python`` block of README.md
is an example, and the ``text`` block after it is what the example prints.

    python .ci/readme.py job      prints the first command
    python .ci/readme.py tests    prints the second
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def set_up_commands(text: str) -> tuple[str, str]:
    """Return the commands (main job, tests) of a README; raise ValueError where it holds others."""
    section = re.search(r"^## Set up\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if section is None:
        raise ValueError("README.md has no section '## Set up'")
    commands = [body.strip() for language, body in _BLOCK.findall(section[1]) if language == "bash"]
    if len(commands) != 2 or any("\n" in command for command in commands):
        raise ValueError(f"README.md, '## Set up': expected two bash blocks of one line each, found {commands}")
    job, tests = commands
    for command, part in ((job, "tablerec "), (tests, "pytest")):
        if "pip install" not in command or part not in command:
            raise ValueError(f"README.md, '## Set up': {command!r} does not install and run {part.strip()}")
    return job, tests


def example(text: str) -> tuple[str, str]:
    """Return (code, output) of the first Python example; raise ValueError where it is missing."""
    blocks = _BLOCK.findall(text)
    languages = [language for language, _ in blocks]
    if "python" not in languages:
        raise ValueError("README.md has no python block")
    first = languages.index("python")
    if languages[first + 1 : first + 2] != ["text"]:
        raise ValueError("README.md: a text block with the output must follow the first python block")
    return blocks[first][1], blocks[first + 1][1]


if __name__ == "__main__":
    print(set_up_commands(README.read_text(encoding="utf-8"))[("job", "tests").index(sys.argv[1])])
