"""CellNet: a small convolutional network that detects the cells of ruled, lineless and mixed tables, and lines of text.

One pass from picture to dense maps, a quarter of the picture's height and width. At each position:

======== ============================================================================================
channel  meaning
======== ============================================================================================
0        how likely the centre of a cell lies here, as a logit
1 to 8   from here to the four corners of the cell around it: x, y of TL, TR, BR, BL, in ``UNIT`` px
9, 10    whether a border between columns, between rows is within ``REACH`` px, as logits
11, 12   from here to that border: along x, along y, in ``REACH`` px
13       whether a table is here, as a logit
======== ============================================================================================

The centres and corners follow CenterNet (Zhou et al., "Objects as Points", 2019). A corner that is
far from its centre is known roughly only; the border that it belongs to is seen where it is. So a
decoded corner moves to the border that its own neighbourhood points to, and cells that share a
border end up on the same line. Rows and columns are no local matter: ``StripContext`` shows each
position what its whole row and column of the picture hold.

Lines of text come from further maps of the same pass, where the network has the branch for them:

======== ============================================================================================
channel  meaning
======== ============================================================================================
0 to 3   whether the core of a line is here, as logits: at the four quarters of the position, row by row
4 to 7   from here to the left, upper, right and lower side of the line around it, in ``LINE_UNIT`` px
======== ============================================================================================

The core is the line's box without a margin of ``CORE`` times its shorter side, so that close lines have cores
apart (after PixelLink and DB: Deng et al., 2018; Liao et al., 2020). A side is known where it is near: above and
below along the whole line, before and behind at its ends. ``tablerec.detect.text_maps`` makes quads of the maps.
"""

from __future__ import annotations

from typing import NamedTuple

import paddle
from paddle import Tensor, nn
from paddle.nn import functional as F  # noqa: N812

STRIDE = 4
"""Pixels between two positions of the maps."""
UNIT = 32.0
"""Corners are predicted in multiples of this many pixels."""
REACH = 8.0
"""Borders are looked for within this many pixels."""
N_MAPS = 14
LINE_UNIT = 16.0
"""Sides of lines are predicted in multiples of this many pixels."""
CORE = 0.25
"""Width of the margin around the core of a line, of its shorter side."""
N_LINE_MAPS = 8
LINES = (32, 2)
"""Channels and Mixers of the branch for lines, unless others are asked for."""
MULTIPLE = 32
"""Height and width of the input are multiples of this."""
Size = int | tuple[int, int]
"""Height and width, or both at once."""


class Maps(NamedTuple):
    """The network's output by meaning, each ``(B, C, H / 4, W / 4)``."""

    heat: Tensor
    corners: Tensor
    near: Tensor
    border: Tensor
    table: Tensor


class ConvNorm(nn.Sequential):
    """Convolution and batch normalization, and a ReLU unless ``relu`` is false; kernels of even size pad nothing."""

    def __init__(
        self, n_in: int, n_out: int, kernel: Size, stride: Size = 1, groups: int = 1, *, relu: bool = True
    ) -> None:
        sides = (kernel, kernel) if isinstance(kernel, int) else kernel
        padding = [side // 2 * (side % 2) for side in sides]
        super().__init__(
            nn.Conv2D(n_in, n_out, kernel, stride, padding, groups=groups, bias_attr=False),
            nn.BatchNorm2D(n_out),
            *([nn.ReLU()] if relu else []),
        )


class Mixer(nn.Layer):
    """A residual block: a depthwise convolution mixes positions, two 1 x 1 convolutions mix channels."""

    def __init__(self, channels: int, kernel: Size = 5) -> None:
        super().__init__()
        self.mix = nn.Sequential(
            ConvNorm(channels, channels, kernel, groups=channels, relu=False),
            ConvNorm(channels, 2 * channels, 1),
            ConvNorm(2 * channels, channels, 1, relu=False),
        )

    def forward(self, x: Tensor) -> Tensor:
        """``(B, C, H, W)`` to the same."""
        return F.relu(x + self.mix(x))


class ChannelNorm(nn.Layer):
    """Layer normalization over the channels of each position.

    The strips hold maxima over hundreds of positions. Under batch normalization their running
    variance can grow without bound, and averaged weights then fail; this one keeps no statistics.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gain = self.create_parameter([1, channels, 1, 1], default_initializer=nn.initializer.Constant(1.0))
        self.bias = self.create_parameter([1, channels, 1, 1], is_bias=True)

    def forward(self, x: Tensor) -> Tensor:
        """``(B, C, H, W)`` to the same."""
        x = x - x.mean(1, keepdim=True)
        return x / paddle.sqrt((x * x).mean(1, keepdim=True) + 1e-5) * self.gain + self.bias


class StripContext(nn.Layer):
    """Adds to each position what its row and its column of the picture hold.

    Mean and maximum along a row tell whether anything crosses it, which is what separates the rows
    of a table without rulings; convolutions along the strip of these values compare neighbours.
    """

    def __init__(self, channels: int, width: int, kernel: int = 9) -> None:
        super().__init__()
        self.reduce = ConvNorm(channels, width, 1)
        self.rows = self._strip(channels, width, (kernel, 1))
        self.columns = self._strip(channels, width, (1, kernel))

    @staticmethod
    def _strip(channels: int, width: int, kernel: tuple[int, int]) -> nn.Sequential:
        padding = (kernel[0] // 2, kernel[1] // 2)
        return nn.Sequential(
            nn.Conv2D(2 * width, width, kernel, padding=padding),
            ChannelNorm(width),
            nn.ReLU(),
            nn.Conv2D(width, channels, kernel, padding=padding),
            ChannelNorm(channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        """``(B, C, H, W)`` to the same."""
        y = self.reduce(x)
        rows = paddle.concat([y.mean(3, keepdim=True), _largest(y, 3)], 1)
        columns = paddle.concat([y.mean(2, keepdim=True), _largest(y, 2)], 1)
        return F.relu(x + self.rows(rows) + self.columns(columns))


def _largest(x: Tensor, axis: int) -> Tensor:
    """Maximum along axis 2 or 3, which is kept; on the CPU, Paddle 3.3 takes seconds for the gradient of ``max``."""
    if paddle.in_dynamic_mode() and paddle.get_device() == "cpu":
        return F.max_pool2d(x, (x.shape[2], 1) if axis == 2 else (1, x.shape[3]))
    return x.max(axis, keepdim=True)


class Double(nn.Layer):
    """Twice the height and width; each value is repeated.

    Attributes:
        by_copies: The same without an interpolation, whose factors oneDNN refuses in the static
            models of Paddle 3.3. Set for their export.
    """

    by_copies = False

    def forward(self, x: Tensor) -> Tensor:
        """``(B, C, H, W)`` to ``(B, C, 2 H, 2 W)``."""
        if self.by_copies:
            return x.unsqueeze([3, 5]).expand([-1, -1, -1, 2, -1, 2]).flatten(4, 5).flatten(2, 3)
        return F.interpolate(x, scale_factor=2.0, mode="nearest")


class LineBranch(nn.Layer):
    """Maps of lines of text, from the trunk of a CellNet.

    Args:
        n_in: Channels of the trunk's two parts.
        channels: Channels within.
        depth: Mixers.
    """

    def __init__(self, n_in: tuple[int, int], channels: int, depth: int) -> None:
        super().__init__()
        self.strokes = ConvNorm(n_in[0], channels, 1, relu=False)
        self.context = ConvNorm(n_in[1], channels, 1, relu=False)
        self.mixers = nn.Sequential(*_mixers(channels, depth))
        self.maps = nn.Conv2D(channels, N_LINE_MAPS, 1)
        with paddle.no_grad():
            bias = paddle.zeros([N_LINE_MAPS])
            bias[:4] = -2.0  # most of a picture is no text
            bias[4:] = 0.5
            self.maps.bias.set_value(bias)
            self.maps.weight.set_value(0.1 * self.maps.weight)

    def features(self, x4: Tensor, y4: Tensor) -> Tensor:
        """All but the last layer, which wants full precision; see ``CellNet.trunk``."""
        return self.mixers(F.relu(self.strokes(x4) + self.context(y4)))

    def forward(self, x4: Tensor, y4: Tensor) -> Tensor:
        """``(B, 8, H / 4, W / 4)``, see the second table above."""
        return self.maps(self.features(x4, y4))


class CellNet(nn.Layer):
    """The network.

    Args:
        widths: Channels after the first convolution and at strides 4, 8, 16 and 32.
        depths: Mixers at strides 4, 8, 16 and 32.
        pyramid: Channels of the way back up, at strides 16 and 8, and at stride 4.
        lines: Channels and Mixers of the branch for lines of text; empty for a network without it.

    Attributes:
        arguments: The arguments, as JSON and YAML have them.
    """

    def __init__(
        self,
        widths: tuple[int, int, int, int, int] = (16, 32, 48, 96, 192),
        depths: tuple[int, int, int, int] = (1, 2, 3, 4),
        pyramid: tuple[int, int] = (64, 48),
        lines: tuple[int, int] | tuple[()] = (),
    ) -> None:
        super().__init__()
        self.arguments = {"widths": list(widths), "depths": list(depths), "pyramid": list(pyramid)}
        if lines:
            self.arguments["lines"] = list(lines)
        first, w4, w8, w16, w32 = widths
        wide, fine = pyramid
        self.stage4 = nn.Sequential(ConvNorm(3, first, 3, 2), ConvNorm(first, w4, 3, 2), *_mixers(w4, depths[0]))
        self.stage8 = nn.Sequential(ConvNorm(w4, w8, 3, 2), *_mixers(w8, depths[1]))
        self.stage16 = nn.Sequential(ConvNorm(w8, w16, 3, 2), *_mixers(w16, depths[2]), StripContext(w16, 48))
        self.stage32 = nn.Sequential(ConvNorm(w16, w32, 3, 2), *_mixers(w32, depths[3]), StripContext(w32, 48))
        self.side32 = ConvNorm(w32, wide, 1, relu=False)
        self.side16 = ConvNorm(w16, wide, 1, relu=False)
        self.side8 = ConvNorm(w8, wide, 1, relu=False)
        self.side4 = ConvNorm(w4, fine, 1, relu=False)
        self.up16 = Mixer(wide)
        self.up8 = nn.Sequential(Mixer(wide), StripContext(wide, 32))
        self.doubled = Double()
        self.narrow = ConvNorm(wide, fine, 1, relu=False)
        self.up4 = StripContext(fine, 24)
        self.head = nn.Sequential(ConvNorm(fine, fine, 5, groups=fine, relu=False), ConvNorm(fine, fine, 1))
        self.maps = nn.Conv2D(fine, N_MAPS, 1)
        with paddle.no_grad():
            # Rare things are unlikely at first, or their loss drowns all else.
            bias = paddle.zeros([N_MAPS])
            bias[0] = -4.0
            self.maps.bias.set_value(bias)
            self.maps.weight.set_value(0.1 * self.maps.weight)
        self.lines = LineBranch((w4, fine), *lines) if lines else None

    def trunk(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """What all maps are made of, each ``(B, C, H / 4, W / 4)``: strokes as they are, and what they belong to.

        Args:
            x: As for ``forward``.
        """
        x4 = self.stage4(paddle.scale(x, 1 / 128, -1.0))
        x8 = self.stage8(x4)
        x16 = self.stage16(x8)
        x32 = self.stage32(x16)
        y16 = self.up16(self.side16(x16) + self.doubled(self.side32(x32)))
        y8 = self.up8(self.side8(x8) + self.doubled(y16))
        return x4, self.up4(F.relu(self.side4(x4) + self.doubled(self.narrow(y8))))

    def features(self, x: Tensor) -> Tensor:
        """All but the last layer, which wants full precision: half of it is pixels.

        Args:
            x: As for ``forward``.

        Returns:
            ``(B, C, H / 4, W / 4)`` for ``maps``.
        """
        return self.head(self.trunk(x)[1])

    def forward(self, x: Tensor) -> Tensor:
        """Compute the maps.

        Args:
            x: ``(B, 3, H, W)`` float32, RGB from 0 to 255, height and width multiples of 32.

        Returns:
            ``(B, 14, H / 4, W / 4)``, see the table above.
        """
        return self.maps(self.features(x))

    def all_maps(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the maps of cells and, with a branch for them, those of lines: ``(B, 8, H / 4, W / 4)``."""
        assert self.lines is not None
        x4, y4 = self.trunk(x)
        return self.maps(self.head(y4)), self.lines(x4, y4)


class CellNetWithDecoder(nn.Layer):
    """The network and ``decode`` as one graph: what is exported.

    Args:
        net: The network.
        threshold: Least score of a cell.
    """

    def __init__(self, net: CellNet, threshold: float = 0.1) -> None:
        super().__init__()
        self.net = net
        self.threshold = threshold

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """``(B, 3, H, W)`` pictures as for CellNet to what ``decode`` returns, and the maps of lines if it has them."""
        if self.net.lines is None:
            return decode(self.net(x), self.threshold)
        maps, lines = self.net.all_maps(x)
        return *decode(maps, self.threshold), lines


def split_maps(maps: Tensor) -> Maps:
    """Name the parts of the output."""
    return Maps(maps[:, 0:1], maps[:, 1:9], maps[:, 9:11], maps[:, 11:13], maps[:, 13:14])


def decode(maps: Tensor, threshold: float = 0.1) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Detect the cells in the network's output; as many as there are.

    A cell is where the heat is highest among its eight neighbours.

    Args:
        maps: ``(B, 14, h, w)`` float32.
        threshold: Least score of a cell, 0 to 1.

    Returns:
        ``(N, 4, 2)`` float32 quads TL, TR, BR, BL in pixels of the network's input; ``(N,)`` float32
        scores, 0 to 1; ``(N,)`` int64 which picture of the batch; ``(B, h, w)`` float32 probability of a table.
    """
    heat = F.sigmoid(maps[:, 0:1])
    peaks = paddle.logical_and(heat == F.max_pool2d(heat, 3, 1, 1), heat > threshold)
    at = paddle.nonzero(peaks.squeeze(1))  # (N, 3): picture, y, x
    fields = maps.transpose([0, 2, 3, 1])
    found = paddle.gather_nd(fields, at)  # (N, 14)
    here = (paddle.concat([at[:, 2:3], at[:, 1:2]], 1).astype("float32") + 0.5) * STRIDE
    quads = here.unsqueeze(1) + found[:, 1:9].reshape([-1, 4, 2]) * UNIT
    scores = paddle.gather_nd(heat.squeeze(1), at)
    return _to_borders(quads, at[:, 0:1], fields[:, :, :, 9:13]), scores, at[:, 0], F.sigmoid(maps[:, 13])


def _to_borders(quads: Tensor, picture: Tensor, fields: Tensor) -> Tensor:
    """Move corners to the borders that the positions beside them point to.

    Args:
        quads: ``(N, 4, 2)`` pixels.
        picture: ``(N, 1)`` int64 which picture of the batch.
        fields: ``(B, h, w, 4)``, channels 9 to 12 of the maps.
    """
    # Half a position inside the cell: beyond its border, a larger neighbour may know nothing of it.
    inside = quads + paddle.clip(0.25 * (quads.mean(1, keepdim=True) - quads), -0.5 * STRIDE, 0.5 * STRIDE)
    size = paddle.shape(fields)
    last = paddle.concat([size[2:3], size[1:2]]).astype("float32") - 1.0
    x_y = paddle.minimum(paddle.clip(paddle.floor(inside / STRIDE), min=0.0), last)
    of_corner = paddle.concat([picture] * 4, 1).unsqueeze(2)
    at = paddle.concat([of_corner, x_y[:, :, 1:2].astype("int64"), x_y[:, :, 0:1].astype("int64")], 2)
    found = paddle.gather_nd(fields, at)  # (N, 4, 4)
    on_border = (x_y + 0.5) * STRIDE + found[:, :, 2:4] * REACH
    return paddle.where(found[:, :, 0:2] > 0, on_border, quads)


def _mixers(channels: int, count: int) -> list[nn.Layer]:
    return [Mixer(channels) for _ in range(count)]
