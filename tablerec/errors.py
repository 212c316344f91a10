"""The error tree, re-exported from ``postprocess.errors`` so that one import serves."""

from postprocess.errors import (
    InputError,
    MissingDependencyError,
    ModelNotFoundError,
    OutputError,
    PageFailedError,
    PageMemoryError,
    PageTimeoutError,
    PasswordError,
    SettingsError,
    TableError,
    TablerecError,
    TrainingError,
    WorkerLostError,
)

__all__ = [
    "InputError",
    "MissingDependencyError",
    "ModelNotFoundError",
    "OutputError",
    "PageFailedError",
    "PageMemoryError",
    "PageTimeoutError",
    "PasswordError",
    "SettingsError",
    "TableError",
    "TablerecError",
    "TrainingError",
    "WorkerLostError",
]
