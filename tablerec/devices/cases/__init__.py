"""What each operator is tried on: calls in Paddle's own words, with shapes that include the empty and the 0-d.

A case names the operators that it must reach, so that a test can ask whether all registered ones were tried.
There is a module for each group of files of kernels (see the table in ``csrc/README.md``): ``elementwise``,
``reduction``, ``movement`` (with views), ``indexing``, ``normalization``, ``creation``, ``sorting`` (with searching),
``products`` (with convolutions), ``spatial`` (pooling and resizing), ``training`` (losses and optimizers), ``ctc``;
``language`` holds those that language models ask for. ``case`` says what a case is.
"""

from __future__ import annotations

from tablerec.devices.cases import (
    creation,
    ctc,
    elementwise,
    indexing,
    movement,
    normalization,
    products,
    reduction,
    sorting,
    spatial,
    training,
)
from tablerec.devices.cases.case import Case
from tablerec.devices.cases.language import (
    attention,
    decoding,
    einsum,
    entropy,
    experts,
    float8,
    linear,
    quantized,
    sampling,
    transformer,
)

_PARTS = (
    elementwise,
    reduction,
    movement,
    creation,
    indexing,
    sorting,
    products,
    normalization,
    spatial,
    training,
    ctc,
    transformer,
    attention,
    entropy,
    einsum,
    linear,
    experts,
    sampling,
    float8,
    quantized,
    decoding,
)


def all_cases() -> list[Case]:
    """Return all cases."""
    return [case for part in _PARTS for case in part.cases()]
