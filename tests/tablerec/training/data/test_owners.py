"""Owner maps."""

from __future__ import annotations

import numpy as np
import shapely

from postprocess.geometry.boxes import quads_to_polygons
from tablerec.training.data.owners import quads_to_owners
from tests.helpers.grids import grid_quads


def test_no_cells() -> None:
    owners = quads_to_owners(np.zeros((0, 4, 2)), (64, 96))
    assert owners.shape == (16, 24) and owners.dtype == np.int16 and not owners.any()


def test_cells_outside_the_picture() -> None:
    assert not quads_to_owners(grid_quads([200, 240], [200, 220]), (64, 64)).any()


def test_each_position_belongs_to_the_cell_that_holds_it() -> None:
    quads = grid_quads([20, 61, 140, 300], range(22, 222, 9), degrees=3)
    owners = quads_to_owners(quads, (256, 320))
    y, x = np.mgrid[2:256:4, 2:320:4]
    holds = shapely.contains_xy(quads_to_polygons(quads)[:, None], x.ravel(), y.ravel()).reshape(-1, *owners.shape)
    expected = np.where(holds.any(0), holds.argmax(0) + 1, 0)
    wrong = np.maximum(owners, 0) != expected
    sides = shapely.union_all(shapely.boundary(quads_to_polygons(quads)))
    assert shapely.distance(sides, shapely.points(x[wrong], y[wrong])).max() < 0.8


def test_every_dense_cell_owns_its_centre() -> None:
    quads = grid_quads(range(8, 240, 16), range(10, 210, 8))
    owners = quads_to_owners(quads, (224, 256))
    x, y = (quads.mean(1) // 4).astype(int).T
    assert (owners[y, x] == np.arange(len(quads)) + 1).all()
