"""Pixels of any kind become 8 bits in BGR order.

Deep ones are brought to what is used of their range; transparent ones are laid on a ground on which print can be seen.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Image
from tablerec.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

_DEPTHS = (8, 10, 12, 14, 16)
"""Bits that cameras and scanners give."""
_WHITE, _BLACK, _GREY = 255, 0, 128
_LUMINANCE = np.array([0.114, 0.587, 0.299])
"""Shares of blue, green and red, after ITU-R BT.601."""
_THICK = 0.05
"""What is opaque over more than this share of the smaller side is a fill or a sheet, and longer lines are rulings."""
_LEAST_THICK = 9
_LEAST_PRINT = 0.02
"""A smaller share of the opaque pixels that is no fill is the rim of a sheet."""
_CONTRAST = 24
"""Grey levels, of 255, with which print can be read."""
_TOLERATED = 0.1
"""Share of the print that may be lost on white before another ground is better."""

_MIN_IS_WHITE, _PHOTOMETRIC = 0, 262
"""A TIFF that stores negatives, and the tag that says so."""


def picture_to_pixels(picture: Picture) -> Image:
    """Decode a picture of Pillow.

    Returns:
        ``(H, W)``, ``(H, W, 3)`` BGR or ``(H, W, 4)`` BGRA uint8, upright.
    """
    is_cut_to_8_bits = ";16" in _raw_mode(picture)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        picture.load()
    is_negative = getattr(picture, "tag_v2", {}).get(_PHOTOMETRIC) == _MIN_IS_WHITE
    picture = _upright(picture)
    if picture.mode.startswith("I") or picture.mode == "F":
        grey = _deep_to_grey(np.asarray(picture))
        # Pillow turns negatives of 1 and 8 bits round, not the deeper ones.
        return 255 - grey if is_negative else grey
    pixels = _to_bgr(picture)
    return _stretch(pixels) if is_cut_to_8_bits else pixels


def _raw_mode(picture: Picture) -> str:
    """How a file that was not decoded yet stores its pixels, such as ``RGB;16B``; of 16 bits Pillow keeps 8."""
    tiles = getattr(picture, "tile", None)
    arguments = tiles[0][3] if tiles else ""
    raw = arguments[0] if isinstance(arguments, tuple) and arguments else arguments
    return raw if isinstance(raw, str) and not raw.startswith(("I", "F")) else ""


def _upright(picture: Picture) -> Picture:
    import PIL.ImageOps

    try:
        return PIL.ImageOps.exif_transpose(picture)
    except Exception:  # the picture is sound, its EXIF block is not: take it as it lies
        return picture


def _to_bgr(picture: Picture) -> Image:
    import cv2

    if picture.mode == "LAB":
        picture = _lab_to_rgb(picture)
    if not picture.has_transparency_data:
        return np.asarray(cv2.cvtColor(np.asarray(_as_mode(picture, "RGB")), cv2.COLOR_RGB2BGR), np.uint8)
    if picture.mode == "La":
        picture = picture.convert("LA")
    return np.asarray(cv2.cvtColor(np.asarray(_as_mode(picture, "RGBA")), cv2.COLOR_RGBA2BGRA), np.uint8)


def _as_mode(picture: Picture, mode: str) -> Picture:
    return picture if picture.mode == mode else picture.convert(mode)


def _lab_to_rgb(picture: Picture) -> Picture:
    from PIL import ImageCms

    lab, rgb = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
    return cast("Picture", ImageCms.profileToProfile(picture, lab, rgb, outputMode="RGB"))


def _deep_to_grey(values: NDArray[np.generic]) -> Image:
    """Bring grey values of more than 8 bits, integers or floats of any range, to 8."""
    if values.dtype.itemsize == 2:
        return deep_to_uint8(values.astype(np.uint16))
    grey = values.astype(np.float32)
    top = float(grey[np.isfinite(grey)].max(initial=0))
    full = 1.0 if top <= 1 and values.dtype.kind == "f" else float(max(full_scale(top), top))
    return (np.nan_to_num(grey, nan=0, posinf=top).clip(0, top) / full * 255 + 0.5).astype(np.uint8)


def full_scale(top: float) -> int:
    """Return what white is in a container that does not say how many of its bits are used.

    A picture that is really dark becomes brighter by this, which costs nothing where it is read.

    Args:
        top: The greatest value.

    >>> full_scale(200), full_scale(4000), full_scale(65000)
    (255, 4095, 65535)
    """
    return int(next((2**bits - 1 for bits in _DEPTHS if top < 2**bits), 2**16 - 1))


def deep_to_uint8(values: NDArray[np.uint16]) -> Image:
    """Bring values of 8 to 16 bits to 8; the greatest one says how many there are.

    >>> deep_to_uint8(np.array([0, 1024, 4095], np.uint16)).tolist()
    [0, 64, 255]
    """
    full = full_scale(int(values.max(initial=0)))
    levels = (np.arange(full + 1, dtype=np.uint32) * 255 + full // 2) // full
    return levels.astype(np.uint8)[values]


def _stretch(pixels: Image) -> Image:
    """The upper 8 of 16 bits, of which fewer than 16 may be used."""
    used = max(full_scale(int(pixels.max(initial=0)) * 256 + 255) >> 8, 1)
    return (pixels.astype(np.uint16) * 255 // used).astype(np.uint8)


def array_to_uint8(array: NDArray[np.generic], name: str) -> Image:
    """Bring an array of bool, uint8, uint16, or float from 0 to 1, to 8 bits.

    Raises:
        InputError: It holds something else.
    """
    if array.dtype == np.uint8:
        return array.astype(np.uint8, copy=False)
    if array.dtype == np.bool_:
        return array.astype(np.uint8) * np.uint8(255)
    if array.dtype == np.uint16:
        return deep_to_uint8(array.astype(np.uint16, copy=False))
    if array.dtype.kind == "f":
        values = array.astype(np.float32, copy=False)
        if not (values.min() >= 0 and values.max() <= 1):
            raise InputError(f"{name}: float values must lie between 0 and 1; divide them, or convert to uint8")
        return (values * 255 + 0.5).astype(np.uint8)
    raise InputError(f"{name}: values of type {array.dtype} are not read; convert the array to uint8")


def lay_on_ground(pixels: Image) -> Image:
    """Lay a transparent picture on white or, where its print would be lost on that, on black or grey.

    Args:
        pixels: ``(H, W, 4)`` uint8 BGRA, colours not multiplied by the opacity.

    Returns:
        ``(H, W, 3)`` uint8 BGR.

    >>> lay_on_ground(np.array([[[0, 0, 0, 255], [0, 0, 0, 0]]], np.uint8)).tolist()
    [[[0, 0, 0], [255, 255, 255]]]
    >>> lay_on_ground(np.array([[[255, 255, 255, 255], [0, 0, 0, 0]]], np.uint8)).tolist()
    [[[255, 255, 255], [0, 0, 0]]]
    """
    alpha = pixels[..., 3:].astype(np.uint16)
    if alpha.min(initial=255) == 255:
        return pixels[..., :3]
    blend = pixels[..., :3] * alpha + np.uint16(_choose_ground(pixels)) * (255 - alpha)
    return ((blend + 127) // 255).astype(np.uint8)


def _choose_ground(pixels: Image) -> int:
    """Grey level of the ground: the first of white, black and grey on which hardly any print is lost."""
    alpha = pixels[..., 3].astype(np.float32) / max(int(pixels[..., 3].max()), 1)
    seen = alpha >= 0.5  # shadows and glows are fainter than what throws them
    print_ = _find_print(seen)
    if not print_.sum() > _LEAST_PRINT * seen.sum():
        return _WHITE
    luminance, strength = pixels[print_][:, :3] @ _LUMINANCE, alpha[print_]
    lost = {
        ground: float(np.mean(strength * np.abs(luminance - ground) < _CONTRAST)) for ground in (_WHITE, _BLACK, _GREY)
    }
    return next(ground for ground, share in lost.items() if share <= min(lost.values()) + _TOLERATED)


def _find_print(seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Opaque pixels that are neither fills nor rulings; with the rulings where nothing else is there."""
    size = max(_LEAST_THICK, round(_THICK * min(seen.shape))) | 1  # even ones would move what they open
    thin = seen & ~_open(seen, size, size)
    letters = thin & ~_open(thin, 1, size) & ~_open(thin, size, 1)
    return letters if letters.any() else thin


def _open(mask: NDArray[np.bool_], height: int, width: int) -> NDArray[np.bool_]:
    """What of a mask is in a rectangle of that size which is full."""
    import cv2

    # A small mask is smaller than the rectangle: beyond its border nothing is opaque.
    opened = cv2.morphologyEx(
        mask.astype(np.uint8), cv2.MORPH_OPEN, np.ones((height, width), np.uint8), borderType=cv2.BORDER_CONSTANT,
        borderValue=0,
    )  # fmt: skip
    return np.asarray(opened, np.bool_)
