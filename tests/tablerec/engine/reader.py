"""What workers of the engine do in tests: the name of an input says how its page comes out."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from postprocess.table import Table
from tablerec import Settings
from tablerec.engine.tasks import PageTask, Setup
from tablerec.errors import InputError, SettingsError
from tablerec.inputs.images import load_pages
from tablerec.result import Page, PageImage

FOREVER = 600.0


def make_reader(setup: Setup) -> Callable[[PageTask], Page]:
    """Return what answers with a table that says of which input, page and device it is."""
    settings = setup.settings
    if settings.detector == "missing":
        raise SettingsError("detector 'missing' is unknown: choose auto")

    def read(task: PageTask) -> Page:
        os.chdir(task.folder)
        stem = Path(task.name).stem
        if isinstance(task.source, str):
            list(load_pages(task.source, Settings(pages=str(task.number))))
        if stem.startswith("die"):
            os.kill(os.getpid(), signal.SIGKILL)
        elif stem.startswith("hang"):
            # A process that it started must not outlive it.
            with subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({FOREVER})"]) as process:
                Path(f"{task.source}.pid").write_text(str(process.pid), "ascii")
                time.sleep(FOREVER)
        elif stem.startswith("large"):
            np.ones(2**33, np.uint8)
        elif stem.startswith("fault"):
            raise ZeroDivisionError("division by zero")
        elif stem.startswith("broken"):
            raise InputError(f"{task.name}: broken; export it again")
        elif stem.startswith("note"):
            logging.getLogger("tablerec.tests").warning("noted %s", stem)
            warnings.warn_explicit(f"warned of {stem}", UserWarning, "tablerec/some.py", 1)
            print("printed", stem)
        table = Table.from_texts([[stem, str(task.number), settings.device, str(os.getpid()), str(task.password)]])
        picture = PageImage(task.name, task.number, np.zeros((30, 40, 3), np.uint8))
        page = Page(picture, (table,), detector="fake", seconds={"reader": 0.0})
        if task.keep_pixels:
            return page
        return Page(
            PageImage(task.name, task.number, np.array((30, 40, 3)).tolist()),  # type: ignore[arg-type]
            (table,), detector="fake", seconds={"reader": 0.0},
        )  # fmt: skip

    return read
