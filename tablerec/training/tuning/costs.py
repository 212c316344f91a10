"""A model of what a step costs: linear in pixels and in cells, fitted to a few measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from tablerec.errors import TrainingError


@dataclass(frozen=True, slots=True)
class Point:
    """A measurement.

    Args:
        batch_size: Canvases that are computed at once.
        image_size: Height and width of each, pixels.
        n_cells: Cells in a picture.
        peak_bytes: Most that was taken.
        seconds: Time of a step.
    """

    batch_size: int
    image_size: int
    n_cells: int
    peak_bytes: float
    seconds: float


@dataclass(frozen=True, slots=True)
class CostModel:
    """Costs of one way of making a step, at any batch size and image size.

    Args:
        of_bytes: ``(3,)`` for a step, for each pixel of the batch, for each cell of the batch.
        of_seconds: ``(3,)`` the same.
    """

    of_bytes: NDArray[np.float64]
    of_seconds: NDArray[np.float64]

    def peak_bytes(self, batch_size: int, image_size: int, n_cells: int) -> float:
        """Predict the most bytes that a step takes."""
        return float(_terms(batch_size, image_size, n_cells) @ self.of_bytes)

    def seconds(self, batch_size: int, image_size: int, n_cells: int) -> float:
        """Predict the time of a step with one batch; never below 0.1 ms."""
        return max(1e-4, float(_terms(batch_size, image_size, n_cells) @ self.of_seconds))


def _terms(batch_size: int, image_size: int, n_cells: int) -> NDArray[np.float64]:
    return np.array([1.0, batch_size * image_size**2 / 1e6, batch_size * n_cells / 1e3])


def fit_costs(points: Sequence[Point]) -> CostModel:
    """Fit a model by least squares of the relative errors; no term is negative.

    Args:
        points: Measurements of one way; batch sizes and image sizes should differ.

    Raises:
        TrainingError: There are fewer than two.

    >>> points = [Point(b, s, 100, 50 + b * s * s / 1e4, 0.1 * b) for b, s in ((1, 640), (2, 640), (1, 480))]
    >>> round(fit_costs(points).peak_bytes(8, 960, 100), 3)
    787.28
    """
    if len(points) < 2:
        raise TrainingError("costs cannot be fitted to fewer than two measurements: give more minutes")
    terms = np.array([_terms(point.batch_size, point.image_size, point.n_cells) for point in points])
    of_bytes, of_seconds = (
        _solve(terms, np.array([getattr(point, name) for point in points])) for name in ("peak_bytes", "seconds")
    )
    return CostModel(of_bytes, of_seconds)


def _solve(terms: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    share = 1 / np.maximum(values, 1e-12)
    size = np.abs(terms * share[:, None]).max(axis=0)
    size[size == 0] = 1.0
    found, _ = nnls(terms * share[:, None] / size, np.ones(len(values)))
    return np.asarray(found / size)
