"""The errors of the project, one tree.

::

    TablerecError                 the root: catch this one
    ├── TableError                cells that do not form a table
    ├── InputError                a picture, document or file that cannot be read
    │   └── PasswordError         a PDF that opens with a password, or with another one
    ├── PageFailedError           a page whose reading failed in another process
    │   ├── PageTimeoutError      it takes longer than it may
    │   ├── PageMemoryError       it takes more memory than it may
    │   └── WorkerLostError       that process ended
    ├── OutputError               a file that cannot be written
    ├── SettingsError             an option that does not exist or does not fit
    ├── MissingDependencyError    an optional package is not installed
    ├── ModelNotFoundError        a model that is not on this machine
    └── TrainingError             a training run that cannot go on

Every message names the file or the setting, the cause, and the next step.
``tablerec.errors`` offers the same names.
"""

from typing import TypeVar

E = TypeVar("E", bound="TablerecError")


class TablerecError(Exception):
    """Root of all errors that the project raises on purpose."""

    reason: str = ""
    """Names what is the matter, for a page that says it in another language; empty where nobody has to."""
    values: tuple[object, ...] = ()
    """What the message speaks of."""

    def named(self: E, reason: str, *values: object) -> E:
        """Return this error with a name.

        >>> TablerecError("there is no row 7").named("no_row", 7).values
        (7,)
        """
        self.reason, self.values = reason, values
        return self


class TableError(TablerecError, ValueError):
    """Cells that clash, leave holes, or lie outside the table."""


class InputError(TablerecError, ValueError):
    """A picture, document, label or other input that cannot be used."""


class PasswordError(InputError):
    """A document that opens with a password only, and none or another one was given."""


class PageFailedError(TablerecError, RuntimeError):
    """A page that could not be read to its end."""


class PageTimeoutError(PageFailedError):
    """A page that takes longer than the limit."""


class PageMemoryError(PageFailedError):
    """A page that takes more memory than the limit."""


class WorkerLostError(PageFailedError):
    """A page whose process was killed or crashed."""


class OutputError(TablerecError, OSError):
    """A result that cannot be written."""


class SettingsError(TablerecError, ValueError):
    """An option that does not exist, or does not fit the others."""


class MissingDependencyError(TablerecError, ImportError):
    """An optional package is needed; the message says how to install it."""


class ModelNotFoundError(TablerecError, FileNotFoundError):
    """A model is not on this machine; the message says where it belongs."""


class TrainingError(TablerecError, RuntimeError):
    """A training run cannot go on; its last checkpoint is whole."""
