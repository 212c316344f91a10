"""The packages of the ``eval`` extra."""

from __future__ import annotations

from importlib import import_module

from tablerec.errors import MissingDependencyError

LIBRARIES = ("apted", "rapidfuzz", "pycocotools")


def require_libraries(*names: str) -> None:
    """Check that libraries can be imported; all of the extra where none is named.

    Raises:
        MissingDependencyError: One cannot; the message says how to install it.

    >>> require_libraries("numpy")
    """
    for name in names or LIBRARIES:
        try:
            import_module(name)
        except ImportError as error:
            raise MissingDependencyError(f'these scores need {error.name}: pip install "tablerec[eval]"') from error
