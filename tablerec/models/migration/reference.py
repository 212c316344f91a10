"""What PyTorch gave, as a small JSON file, so that a conversion can be checked without PyTorch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tablerec.errors import InputError
from tablerec.fields import read_json
from tablerec.models.migration.layers import Output
from tablerec.models.migration.operators import Call, Input
from tablerec.outputs.files import atomic_file

DIGITS = 7
"""What float32 holds."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A network of PyTorch, seen from outside.

    Args:
        about: Versions and settings that it was made with.
        shapes: Of the weights that ``draw_weights`` draws.
        layers: What each layer gave, sampled.
        calls: One call of each kind.
        spreads: Standard deviation of each weight of a fresh network.
    """

    about: Mapping[str, str]
    shapes: Mapping[str, tuple[int, ...]]
    layers: Mapping[str, Output]
    calls: Sequence[Call]
    spreads: Mapping[str, float]


def write_reference(path: Path, reference: Reference) -> None:
    """Write a reference.

    Raises:
        OutputError: The file cannot be written.
    """
    text = json.dumps(asdict(reference), default=_round, separators=(",", ":"))
    with atomic_file(path) as file:
        file.write((text + "\n").encode())


def read_reference(path: Path) -> Reference:
    """Read a reference.

    Raises:
        InputError: The file cannot be read or is none.
    """
    data = read_json(path)
    try:
        return Reference(
            dict(data["about"]),
            {name: tuple(shape) for name, shape in data["shapes"].items()},
            {name: _output(item) for name, item in data["layers"].items()},
            [_call(item) for item in data["calls"]],
            dict(data["spreads"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: is no reference ({error!r}); write it again with write_reference") from error


def _round(values: Any) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]


def _output(item: Mapping[str, Any]) -> Output:
    return Output(str(item["kind"]), tuple(item["shape"]), np.array(item["values"], np.float64))


def _call(item: Mapping[str, Any]) -> Call:
    inputs = tuple(
        Input(tuple(each["shape"]), each["dtype"], None if each["values"] is None else tuple(each["values"]))
        for each in item["inputs"]
    )
    return Call(item["name"], item["code"], inputs, tuple(map(_output, item["outputs"])))
