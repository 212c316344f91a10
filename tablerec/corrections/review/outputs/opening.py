"""A folder in the machine's own file manager."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tablerec.errors import TablerecError
from tablerec.inputs.images import display_name


def open_folder(folder: Path) -> None:
    """Show a folder to the person at this machine.

    Raises:
        TablerecError: There is no program that shows folders, or no screen; the message says where the folder is.
    """
    path = folder.resolve()
    opener = {"win32": "explorer", "darwin": "open"}.get(sys.platform, "xdg-open")
    found = shutil.which(opener)
    has_screen = sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    try:
        if not found or not has_screen:
            raise OSError(f"no {opener}" if not found else "no screen")
        # No shell: the path is one word, and begins with a root, so it is no option either.
        subprocess.Popen(  # noqa: S603 - found on the path, as a desktop has it
            [found, str(path)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        where = display_name(str(path))
        message = f"no program shows folders here ({error}); the files are in {where}"
        raise TablerecError(message).named("no_viewer", error, where) from error
