"""Where a batch keeps results and journal: a folder, or a place of fsspec. What is there is there as a whole."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from tablerec.bulk.fetching import filesystem, is_url, patiently
from tablerec.errors import OutputError, TablerecError
from tablerec.inputs.images import display_name

_AGAIN = "then give the same command again: it goes on"
PARTIAL = "partial"
"""Folder for files that are being written; what a killed process left there is removed by the next one."""


class Store(Protocol):
    """Files by relative name, with ``/`` between folders."""

    name: str

    def prepare(self) -> None:
        """Make it, and remove what a process that was killed has left half done. Only its one writer calls this."""

    def write(self, name: str, content: bytes, *, new: bool = False) -> None:
        """Write a file: it appears as a whole, on the disk, in place of an older one.

        Raises:
            OutputError: It cannot be written.
            FileExistsError: It is there, and ``new`` was asked for.
        """

    def read(self, name: str) -> bytes | None:
        """Return a file, or None where there is none."""

    def list(self, folder: str) -> list[str]:
        """Return the names of files and folders in a folder, sorted; none where it is not there."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""


def open_store(place: str) -> Store:
    """Return the store at a path or URL; nothing is made or looked up yet."""
    return RemoteStore(place) if is_url(place) else FolderStore(Path(place))


class FolderStore:
    """A store in a folder.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = display_name(str(folder))
        self._checked: set[Path] = set()

    def prepare(self) -> None:
        """Make the folder, and empty what was being written; see ``Store``."""
        partial = self.folder / PARTIAL
        with _telling(self.name):
            if partial.is_dir() and not partial.is_symlink():
                shutil.rmtree(partial)
            self._make(partial)

    def write(self, name: str, content: bytes, *, new: bool = False) -> None:
        """Write a file; see ``Store``."""
        path = self.folder / PurePosixPath(name)
        with _telling(f"{self.name}/{display_name(name)}"):
            if new and path.exists():
                raise FileExistsError(errno.EEXIST, "is there already", str(path))
            self._make(path.parent)
            hidden = self.folder / PARTIAL / secrets.token_hex(8)
            try:
                with hidden.open("xb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                hidden.replace(path)
            finally:
                hidden.unlink(missing_ok=True)

    def read(self, name: str) -> bytes | None:
        """Return a file; see ``Store``."""
        with _telling(f"{self.name}/{display_name(name)}"):
            try:
                return (self.folder / name).read_bytes()
            except FileNotFoundError:
                return None

    def list(self, folder: str) -> list[str]:
        """Return what is in a folder; see ``Store``."""
        try:
            return sorted(os.listdir(self.folder / folder))
        except FileNotFoundError:
            return []
        except NotADirectoryError as error:
            raise OutputError(f"{self.name}/{folder}: a file, not a folder; give another folder with -o") from error

    def remove(self, name: str) -> None:
        """Remove a file; see ``Store``."""
        with _telling(f"{self.name}/{display_name(name)}"):
            (self.folder / name).unlink(missing_ok=True)

    def _make(self, folder: Path) -> None:
        """Make a folder of the store. A link in the store may lead out of it, and is not followed."""
        if folder in self._checked:
            return
        if folder == self.folder:
            folder.mkdir(parents=True, exist_ok=True)
        else:
            self._make(folder.parent)
            if folder.is_symlink():
                raise OutputError(f"{display_name(str(folder))}: a link; remove it")
            folder.mkdir(exist_ok=True)
        self._checked.add(folder)


class RemoteStore:
    """A store at a URL that fsspec knows: objects appear as a whole.

    Args:
        url: Such as ``s3://bucket/tables``.
    """

    def __init__(self, url: str) -> None:
        self.name = display_name(url)
        self._files, self._root = filesystem(url)

    def prepare(self) -> None:
        """Make the folder, where the file system has folders; see ``Store``."""
        with _telling(self.name), suppress(FileExistsError):
            self._files.makedirs(self._root, exist_ok=True)

    def write(self, name: str, content: bytes, *, new: bool = False) -> None:
        """Write an object; see ``Store``."""
        path = self._path(name)
        with _telling(f"{self.name}/{display_name(name)}"):
            if not new:
                patiently(lambda: self._put(path, content))
                return
            try:
                patiently(lambda: self._create(path, content))
            except FileExistsError:
                # A try of ours may have come through without an answer.
                if self.read(name) != content:
                    raise

    def read(self, name: str) -> bytes | None:
        """Return an object; see ``Store``."""
        with _telling(f"{self.name}/{display_name(name)}"):
            try:
                content: bytes = patiently(lambda: self._files.cat_file(self._path(name)))
            except FileNotFoundError:
                return None
            return content

    def list(self, folder: str) -> list[str]:
        """Return what is in a folder; see ``Store``."""
        with _telling(f"{self.name}/{folder}"):
            try:
                found = patiently(lambda: self._files.ls(self._path(folder), detail=False, refresh=True))
            except FileNotFoundError:
                return []
            return sorted(path.rstrip("/").rpartition("/")[2] for path in found)

    def remove(self, name: str) -> None:
        """Remove an object; see ``Store``."""
        with _telling(f"{self.name}/{display_name(name)}"), suppress(FileNotFoundError):
            self._files.rm_file(self._path(name))

    def _create(self, path: str, content: bytes) -> None:
        try:
            self._files.pipe_file(path, content, mode="create")
        except (NotImplementedError, TypeError, ValueError):
            # A file system that cannot make a file only where there is none: nearly the same in two steps.
            if self._files.exists(path):
                raise FileExistsError(errno.EEXIST, "is there already", path) from None
            self._put(path, content)

    def _put(self, path: str, content: bytes) -> None:
        """Write an object; file systems with folders write beside it first, and rename."""
        if not _has_whole_objects(self._files):
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            hidden = f"{path.rpartition('/')[0]}/.{secrets.token_hex(8)}"
            self._files.pipe_file(hidden, content)
            self._files.mv(hidden, path)
        else:
            self._files.pipe_file(path, content)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}".rstrip("/")


def _has_whole_objects(files: Any) -> bool:
    """Whether a file is there with all its content or not at all, as in object stores, but not in file systems."""
    protocols = {files.protocol} if isinstance(files.protocol, str) else set(files.protocol)
    return not protocols & {"hdfs", "file", "local", "ftp", "sftp", "ssh", "smb", "webhdfs", "arrow_hdfs"}


class _telling:  # noqa: N801 - used as a function is
    """Turn what a file system raises into an error that says what to do."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        """Turn the error."""
        if error is None or isinstance(error, (TablerecError, FileExistsError)) or not isinstance(error, Exception):
            return
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = (error.strerror if isinstance(error, OSError) else None) or f"{type(error).__name__}: {error}"
        step = "make room on the disk" if full else "mend that"
        raise OutputError(f"{self._name}: {display_name(str(reason))[:300]}; {step}, {_AGAIN}") from error
