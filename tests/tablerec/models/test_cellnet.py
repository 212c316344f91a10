"""The network: its size, any input size, and what its rows and columns see."""

from __future__ import annotations

import numpy as np
import pytest

paddle = pytest.importorskip("paddle")

from tablerec.models.arrays import trainable  # noqa: E402
from tablerec.models.cellnet import N_MAPS, CellNet, Double, StripContext, decode  # noqa: E402


def test_size() -> None:
    count = sum(int(np.prod(parameter.shape)) for parameter in trainable(CellNet()).values())
    assert 1_000_000 < count < 2_000_000


@pytest.mark.parametrize("size", [(32, 32), (64, 160)])
def test_any_multiple_of_32(size: tuple[int, int]) -> None:
    net = CellNet(depths=(0, 0, 0, 0))
    net.eval()
    assert net(paddle.zeros([2, 3, *size])).shape == [2, N_MAPS, size[0] // 4, size[1] // 4]


def test_a_strip_sees_its_row_and_column_only() -> None:
    paddle.seed(3)
    layer = StripContext(8, 16, kernel=1)
    layer.eval()
    x = paddle.rand([1, 8, 6, 7])
    changed = x.clone()
    changed[0, :, 2, 3] = 30.0
    differs = np.abs((layer(changed) - layer(x)).numpy()).max((0, 1)) > 1e-6
    rows, columns = np.nonzero(differs)
    assert ((rows == 2) | (columns == 3)).all()
    assert differs[2].all() and differs[:, 3].all()


def test_doubling_has_two_forms() -> None:
    double, x = Double(), paddle.rand([2, 3, 4, 5])
    by_interpolation = double(x).numpy()
    double.by_copies = True
    np.testing.assert_array_equal(double(x).numpy(), by_interpolation)


def test_a_new_network_sees_no_cells() -> None:
    net = CellNet()
    net.eval()
    assert len(decode(net(paddle.full([1, 3, 64, 64], 200.0)), 0.3)[0]) == 0


def test_one_picture_is_the_same_in_a_batch() -> None:
    paddle.seed(0)
    net = CellNet(depths=(1, 1, 1, 1))
    net.eval()
    images = paddle.rand([3, 3, 64, 96]) * 255
    np.testing.assert_allclose(net(images)[1:2].numpy(), net(images[1:2]).numpy(), atol=1e-5)
