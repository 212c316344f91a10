"""The error tree, re-exported from ``postprocess.errors`` so that one import serves."""

from postprocess.errors import (
    InputError,
    MissingDependencyError,
    ModelNotFoundError,
    OutputError,
    PasswordError,
    SettingsError,
    TableError,
    TablerecError,
    TrainingError,
)

__all__ = [
    "InputError",
    "MissingDependencyError",
    "ModelNotFoundError",
    "OutputError",
    "PasswordError",
    "SettingsError",
    "TableError",
    "TablerecError",
    "TrainingError",
]
