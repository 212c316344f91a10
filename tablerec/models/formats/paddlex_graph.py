"""CellNet and LineNet as graphs with the inputs and outputs of PaddleX's own detectors and recognisers."""

from __future__ import annotations

import paddle
from paddle import Tensor, nn
from paddle.nn import functional as F  # noqa: N812

from tablerec.models.cellnet import CellNet, decode
from tablerec.models.linenet import LineNet

PAPER = 127.0
"""Grey around a picture."""
_SAME = 0.6
"""Intersection over union from which two boxes are one cell."""


class CellNetForPaddleX(nn.Layer):
    """Network and decoder with the inputs and outputs of PaddleX's detectors: boxes in pixels of the picture as given.

    PaddleX fits a picture into the canvas, and enlarges small ones. Text as large as that is strange to the network:
    so an enlarged picture is made as small as it was.

    Args:
        net: The network.
        side: Height and width of the canvas, a multiple of ``MULTIPLE``.
        threshold: Least score of a cell.
    """

    def __init__(self, net: CellNet, side: int, threshold: float = 0.1) -> None:
        super().__init__()
        self.net = net
        self.threshold = threshold
        self.register_buffer("middles", (2 * paddle.arange(side, dtype="float32") + 1) / side)

    def forward(self, im_shape: Tensor, image: Tensor, scale_factor: Tensor) -> tuple[Tensor, Tensor]:
        """Detect cells.

        Args:
            im_shape: ``(B, 2)`` float32, height and width of the picture in the canvas.
            image: ``(B, 3, S, S)`` float32 as for CellNet, the picture at the upper left of a grey canvas.
            scale_factor: ``(B, 2)`` float32, by how much the picture was made higher and wider.

        Returns:
            ``(N, 6)`` float32 class, score, left, top, right, bottom, picture by picture; ``(B,)`` int32 how many
            are of each picture.
        """
        enlarged = paddle.clip(scale_factor, min=1.0)
        maps = self.net(self._shrink(image, enlarged))
        quads, scores, picture, _ = decode(maps, self.threshold)
        which = picture.unsqueeze(1)
        size, factor = (_swap(paddle.gather_nd(each / enlarged, which)) for each in (im_shape, scale_factor))
        low = paddle.clip(quads.min(1), min=0.0) / factor
        high = paddle.minimum(quads.max(1), size) / factor
        boxes, score = paddle.concat([low, high], 1), scores.unsqueeze(1)
        kept = paddle.nonzero(_are_best(boxes, score, which))
        rows = paddle.gather_nd(paddle.concat([0.0 * score, score, boxes], 1), kept)
        pictures = paddle.nonzero(im_shape[:, 0] > 0)  # (B, 1)
        counts = (paddle.gather_nd(picture, kept).unsqueeze(0) == pictures).astype("int32").sum(1, dtype="int32")
        return rows, counts

    def _shrink(self, image: Tensor, times: Tensor) -> Tensor:
        """Canvases with their pictures made smaller, ``(B, 2)`` times in height and width."""
        down, across = times[:, 0:1].unsqueeze([2, 3]), times[:, 1:2].unsqueeze([2, 3])
        x = across * self.middles.reshape([1, 1, -1, 1]) - 1.0
        y = down * self.middles.reshape([1, -1, 1, 1]) - 1.0
        places = paddle.concat([x + 0.0 * y, y + 0.0 * x], 3)
        # What lies beyond the canvas is 0.
        return F.grid_sample(image - PAPER, places, align_corners=False) + PAPER


class LineNetForPaddleX(nn.Layer):
    """The network with the input and output of PaddleX's recognisers of text.

    All classes are asked at each position, as the decoder of PaddleX wants them, so it is slower than
    ``LineNetWithDecoder``.

    Args:
        net: The network.
    """

    def __init__(self, net: LineNet) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        """Compute the probabilities of the classes at each position.

        Args:
            x: ``(B, 3, 32, W)`` float32, RGB from -1 to 1; 0 to the right of a line that is narrower than others.

        Returns:
            ``(B, ceil(W / 4), 1 + n_letters + n_han)`` float32, which add up to 1; the first is for none.
        """
        net = self.net
        features = net.features(paddle.scale(x, 127.5, 127.5))
        letters = F.softmax(net.letters(features))
        if net.han is None:
            return letters
        han = F.softmax(net.han(features)) * letters[:, :, net.n_letters + 1 :]
        return paddle.concat([letters[:, :, : net.n_letters + 1], han], -1)


def _are_best(boxes: Tensor, score: Tensor, which: Tensor) -> Tensor:
    """Leave out each box that lies on a better one of its picture (Bolya et al., "YOLACT", 2019, fast suppression).

    Args:
        boxes: ``(N, 4)`` left, top, right, bottom.
        score: ``(N, 1)``.
        which: ``(N, 1)`` which picture of the batch.

    Returns:
        ``(N,)`` whether a box stays.
    """
    one, other = boxes.unsqueeze(1), boxes.unsqueeze(0)
    sides = paddle.clip(
        paddle.minimum(one[:, :, 2:], other[:, :, 2:]) - paddle.maximum(one[:, :, :2], other[:, :, :2]), 0.0
    )
    shared = sides[:, :, 0] * sides[:, :, 1]
    area = (boxes[:, 2:3] - boxes[:, 0:1]) * (boxes[:, 3:4] - boxes[:, 1:2])
    is_same = shared > _SAME * (area + area.transpose([1, 0]) - shared)
    is_better = paddle.logical_and(score.transpose([1, 0]) > score, which == which.transpose([1, 0]))
    return paddle.logical_and(is_same, is_better).astype("float32").sum(1) == 0.0


def _swap(pairs: Tensor) -> Tensor:
    """``(N, 2)`` heights and widths to widths and heights."""
    return paddle.concat([pairs[:, 1:2], pairs[:, 0:1]], 1)
