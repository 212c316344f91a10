"""That docling can find tablerec costs nobody anything else; needs no docling."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize("statement", ["import tablerec", "import tablerec.cli", "from tablerec import Recognizer"])
def test_nothing_of_docling_is_imported_with_tablerec(statement: str) -> None:
    code = f"import sys; {statement}; print(*(name for name in sys.modules if 'docling' in name or 'plugins' in name))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr
