"""One small table in every form that pictures have: depth, colour space, transparency, negative."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import PIL.features
import PIL.Image
import PIL.ImageCms
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from tablerec.inputs.images import load_pages
from tablerec.inputs.pixels import deep_to_uint8, full_scale, lay_on_ground


def draw_table():
    """Grey levels of a ruled table of 2 x 2 with a fill and a text, 64 x 96."""
    grey = np.full((64, 96), 255, np.uint8)
    for x in (8, 48, 86):
        grey[8:57, x : x + 2] = 0
    for y in (8, 32, 55):
        grey[y : y + 2, 8:88] = 0
    grey[10:32, 10:48] = 200
    grey[18:24, 16:40:4] = 30
    grey[40:46, 56:80:4] = 90
    return grey


TABLE = draw_table()


def load(source):
    (page,) = load_pages(source)
    return page.image


def encode(picture, suffix, **options):
    buffer = io.BytesIO()
    picture.save(buffer, suffix, **options)
    return buffer.getvalue()


def assert_shows(image, grey=TABLE, within=3):
    np.testing.assert_allclose(image.astype(int), np.repeat(grey[..., np.newaxis].astype(int), 3, axis=2), atol=within)


# 1 bit


@pytest.mark.parametrize(
    ("suffix", "options"),
    [
        ("PNG", {}),
        ("BMP", {}),
        ("TIFF", {"compression": "group4"}),
        ("TIFF", {"compression": "group3"}),
        ("TIFF", {"compression": "group4", "tiffinfo": {262: 0}}),
        ("TIFF", {"tiffinfo": {262: 0}}),
        ("TIFF", {"tiffinfo": {262: 1}}),
    ],
)
def test_one_bit(suffix, options):
    picture = PIL.Image.fromarray(TABLE).point(lambda value: 255 * (value > 100), "1")
    assert_shows(load(encode(picture, suffix, **options)), np.where(TABLE > 100, 255, 0), 0)


# more than 8 bits


def make_tiff(values, photometric=1):
    """Write a TIFF of one strip: grey values of any type, or RGB."""
    height, width = values.shape[:2]
    n_channels, bits = values[0, 0].size, values.dtype.itemsize * 8
    kind = {"u": 1, "i": 2, "f": 3}[values.dtype.kind]
    tags = [
        *((256, width), (257, height), (258, bits), (259, 1), (262, 2 if n_channels == 3 else photometric)),
        *((273, None), (277, n_channels), (278, height), (279, values.nbytes), (339, kind)),
    ]
    extra = struct.pack("<6H", *[bits] * 3, *[kind] * 3)
    start = 8 + 2 + 12 * len(tags) + 4
    entries = b""
    for tag, value in tags:
        if tag in (258, 339) and n_channels == 3:
            entries += struct.pack("<HHII", tag, 3, 3, start + 6 * (tag == 339))
        else:
            entries += struct.pack(
                "<HHII", tag, 4 if tag in (273, 279) else 3, 1, start + len(extra) if value is None else value
            )
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + entries + bytes(4) + extra + values.tobytes()


def make_png_16(values):
    """Write RGB with 16 bits, which Pillow reads but does not write."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = values.shape
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def deep(bits):
    return (TABLE.astype(np.uint32) * (2**bits - 1) // 255).astype(np.uint16)


@pytest.mark.parametrize("bits", [8, 10, 12, 14, 16])
@pytest.mark.parametrize("form", ["array", "colour array", "PNG", "TIFF", "picture"])
def test_what_is_used_of_16_bits_is_seen(bits, form):
    values = deep(bits)
    source = {
        "array": lambda: values,
        "colour array": lambda: np.repeat(values[..., np.newaxis], 3, axis=2),
        "PNG": lambda: encode(PIL.Image.fromarray(values), "PNG"),
        "TIFF": lambda: make_tiff(values),
        "picture": lambda: PIL.Image.fromarray(values),
    }[form]()
    assert_shows(load(source), within=1)


@pytest.mark.parametrize("bits", [12, 14, 16])
@pytest.mark.parametrize("make", [make_png_16, make_tiff])
def test_what_is_used_of_16_bits_is_seen_in_colour_files(bits, make):
    # Pillow keeps the upper 8 bits of 16, which are the upper 4 of 12.
    image = load(make(np.repeat(deep(bits)[..., np.newaxis], 3, axis=2)))
    assert_shows(image, within={12: 16, 14: 5, 16: 1}[bits])
    assert image.max() == 255


def test_a_black_deep_picture_is_black():
    for source in (np.zeros((4, 5), np.uint16), make_png_16(np.zeros((4, 5, 3), np.uint16))):
        assert not load(source).any()


@pytest.mark.parametrize(
    "values",
    [
        TABLE.astype(np.float32) / 255,
        TABLE.astype(np.float32),
        TABLE.astype(np.float32) * 257,
        TABLE.astype(np.float32) * 1e6,
        TABLE.astype(np.int32) * 257,
        TABLE.astype(np.int32) * 8_000_000,
        deep(12).astype(np.int32),
    ],
)
def test_floats_and_long_integers_of_any_range(values):
    assert_shows(load(make_tiff(values)), within=1)
    assert_shows(load(PIL.Image.fromarray(values)), within=1)


def test_values_that_are_no_numbers_are_no_light():
    values = TABLE.astype(np.float32) / 255
    values[0, :3] = [np.nan, np.inf, -np.inf]
    image = load(make_tiff(values))
    assert image[0, :4, 0].tolist() == [0, 255, 0, 255]
    assert_shows(image[1:], TABLE[1:], 1)


@pytest.mark.parametrize("values", [255 - TABLE, deep(16)[...] ^ 0xFFFF, deep(12) ^ 0x0FFF])
def test_negative_tiffs_are_turned_round(values):
    assert_shows(load(make_tiff(values, photometric=0)), within=1)


@given(st.integers(0, 2**16 - 1))
def test_full_scale_is_the_least_that_holds_the_value(top):
    full = full_scale(top)
    assert top <= full and (full == 255 or top > full // 4)


@given(st_numpy.arrays(np.uint16, st_numpy.array_shapes(min_dims=2, max_dims=2), elements=st.integers(0, 65535)))
def test_order_of_deep_values_is_kept(values):
    levels, order = deep_to_uint8(values), np.argsort(values, axis=None, kind="stable")
    assert (np.diff(levels.ravel()[order].astype(int)) >= 0).all()
    assert deep_to_uint8(np.zeros((0, 3), np.uint16)).shape == (0, 3)


# colour spaces


def test_cmyk_tiff_and_jpeg():
    picture = PIL.Image.fromarray(TABLE).convert("RGB").convert("CMYK")
    assert_shows(load(encode(picture, "TIFF")), within=1)
    jpeg = encode(picture, "JPEG", quality=95, subsampling=0)
    assert b"Adobe" in jpeg
    assert_shows(load(jpeg), within=25)


def test_ycck_jpeg():
    # YCCK is CMYK whose first three channels, as RGB, went to YCbCr; here the ink is in black alone.
    plain = np.zeros((*TABLE.shape, 4), np.uint8)
    plain[..., :3] = [255, 127, 127]  # Pillow stores negatives, and YCCK is the negative of RGB
    plain[..., 3] = 255 - TABLE
    jpeg = bytearray(
        encode(PIL.Image.frombytes("CMYK", TABLE.shape[::-1], plain.tobytes()), "JPEG", quality=95, subsampling=0)
    )
    transform = jpeg.index(b"Adobe") + 11
    assert jpeg[transform] == 0
    jpeg[transform] = 2
    assert_shows(load(bytes(jpeg)), within=25)


def test_lab_tiff():
    lab = PIL.ImageCms.profileToProfile(
        PIL.Image.fromarray(TABLE).convert("RGB"),
        PIL.ImageCms.createProfile("sRGB"),
        PIL.ImageCms.createProfile("LAB"),
        outputMode="LAB",
    )
    assert_shows(load(lab))
    assert_shows(load(encode(lab, "TIFF")))


@pytest.mark.parametrize("suffix", ["PNG", "JPEG", "TIFF", "WEBP"])
def test_colour_profiles_change_nothing(suffix):
    profile = PIL.ImageCms.ImageCmsProfile(PIL.ImageCms.createProfile("XYZ")).tobytes()
    picture = PIL.Image.fromarray(TABLE).convert("RGB")
    options = {"lossless": True} if suffix == "WEBP" else {}
    np.testing.assert_array_equal(
        load(encode(picture, suffix, icc_profile=profile, **options)), load(encode(picture, suffix, **options))
    )


@pytest.mark.parametrize("mode", ["YCbCr", "HSV", "L", "RGB", "RGBX"])
def test_other_modes(mode):
    assert_shows(load(PIL.Image.fromarray(TABLE).convert("RGB").convert(mode)), within=2)


@pytest.mark.skipif(not PIL.features.check("avif"), reason="this Pillow has no AVIF")
def test_avif():
    picture = PIL.Image.fromarray(TABLE).convert("RGB")
    assert_shows(load(encode(picture, "AVIF", quality=100)), within=12)


# transparency


def draw_print(value, ground=None):
    """BGRA: the dark parts of the table in one grey level on nothing, softened at one edge; a ground where given."""
    pixels = np.zeros((*TABLE.shape, 4), np.uint8)
    pixels[TABLE < 150] = [value, value, value, 255]
    pixels[18:24, 40, :] = [value, value, value, 100]
    if ground is not None:
        pixels[pixels[..., 3] == 0] = [ground, ground, ground, 255]
    return pixels


def to_pa(picture):
    made = picture.convert("L").convert("PA")
    made.putalpha(picture.getchannel("A"))
    return made


def contrast(image):
    """Grey levels between the text of the first cell and what is around it."""
    return abs(int(image[20, 16, 0]) - int(image[20, 18, 0]))


PRINTS = [0, 60, 128, 200, 255]


@pytest.mark.parametrize("value", PRINTS)
@pytest.mark.parametrize("form", ["array", "PNG", "LA", "palette", "WEBP", "TIFF", "PA", "premultiplied"])
def test_print_on_nothing_is_seen_whatever_its_colour(value, form):
    pixels = draw_print(value)
    picture = PIL.Image.fromarray(np.ascontiguousarray(pixels[..., [2, 1, 0, 3]]))
    if form == "palette":
        grey = PIL.Image.frombytes("P", TABLE.shape[::-1], (pixels[..., 3] > 150).astype(np.uint8).tobytes())
        grey.putpalette([0, 0, 0, value, value, value])
        source = encode(grey, "PNG", transparency=0)
    else:
        source = {
            "array": lambda: pixels,
            "PNG": lambda: encode(picture, "PNG"),
            "LA": lambda: encode(picture.convert("LA"), "PNG"),
            "WEBP": lambda: encode(picture, "WEBP", lossless=True),
            "TIFF": lambda: encode(picture, "TIFF"),
            "PA": lambda: to_pa(picture),
            "premultiplied": lambda: picture.convert("RGBa"),
        }[form]()
    image = load(source)
    assert contrast(image) >= 50
    np.testing.assert_allclose(image[20, 16], value, atol=1)


def test_white_print_on_nothing_is_laid_on_black():
    # An invoice was exported with white print on transparency, and nothing was found: all of it was white.
    image = load(draw_print(255))
    assert image[0, 0].tolist() == [0, 0, 0] and image[20, 16].tolist() == [255, 255, 255]


@pytest.mark.parametrize(("value", "ground"), [(0, 255), (255, 0), (255, 40), (60, 200), (0, None), (60, None)])
def test_what_can_be_seen_on_white_stays_on_white(value, ground):
    pixels = draw_print(value, ground)
    pixels[:3, :3, 3] = pixels[-2:, -4:, 3] = 0  # round corners of a window
    image = load(pixels)
    assert image[0, 0].tolist() == [255, 255, 255]
    assert contrast(image) >= 100


def test_dark_and_light_print_together_are_laid_on_grey():
    pixels = draw_print(255)
    pixels[36:50, 50:86][pixels[36:50, 50:86, 3] > 0] = [0, 0, 0, 255]
    image = load(pixels)
    assert contrast(image) >= 100 and abs(int(image[42, 56, 0]) - int(image[42, 58, 0])) >= 100


def test_light_print_in_a_dark_fill_does_not_decide_for_print_on_nothing():
    pixels = np.zeros((200, 300, 4), np.uint8)
    pixels[10:40, 10:290] = [60, 60, 60, 255]
    pixels[20:30, 20:280:6] = 255
    pixels[60:180:20, 20:280:6] = [0, 0, 0, 255]
    image = load(pixels)
    assert image[0, 0].tolist() == [255, 255, 255]
    pixels[60:180:20, 20:280:6] = 255
    assert load(pixels)[0, 0].tolist() == [0, 0, 0]


def test_pale_rulings_do_not_take_dark_print_off_white():
    pixels = np.zeros((200, 300, 4), np.uint8)
    for y in range(10, 200, 20):
        pixels[y : y + 2, 10:290] = [245, 245, 245, 255]
    pixels[16:200:20, 20:280:6] = [0, 0, 0, 255]
    assert load(pixels)[0, 0].tolist() == [255, 255, 255]


def test_shadow_of_a_window_changes_nothing():
    pixels = np.zeros((200, 300, 4), np.uint8)
    for width in range(20):  # black and fainter towards its rim
        pixels[width : 200 - width, width : 300 - width, 3] = 6 * width
    pixels[20:180, 20:280] = 255
    pixels[40:160:20, 40:260:6] = [0, 0, 0, 255]
    image = load(pixels)
    assert image[0, 0].tolist() == [255, 255, 255] and (image[20:180, 20:280] == pixels[20:180, 20:280, :3]).all()


def test_light_print_with_a_dark_shadow_is_seen():
    pixels = np.zeros((100, 200, 4), np.uint8)
    pixels[22:82:12, 22:180:8] = pixels[23:83:12, 22:180:8] = [0, 0, 0, 110]
    pixels[20:80:12, 20:180:8] = pixels[21:81:12, 20:180:8] = 255
    image = load(pixels)
    assert abs(int(image[20, 20, 0]) - int(image[17, 20, 0])) >= 100


def test_dark_print_with_a_light_glow_stays_on_white():
    pixels = np.full((100, 200, 4), [255, 255, 255, 0], np.uint8)
    for y in range(20, 80, 12):
        pixels[y - 2 : y + 4, 17:183, 3] = 80
        pixels[y : y + 2, 20:180:8] = [0, 0, 0, 255]
    assert load(pixels)[0, 0].tolist() == [255, 255, 255]


def test_the_rim_of_a_sheet_is_no_print():
    pixels = np.full((100, 200, 4), 255, np.uint8)
    pixels[..., 3] = 0
    pixels[6:94, 6:194, 3] = 255
    pixels[[5, 94], 6:194:3, 3] = 255  # torn
    pixels[40:60:6, 60:140:6, :3] = 0
    assert load(pixels)[0, 0].tolist() == [255, 255, 255]


def test_nothing_at_all_is_white():
    assert (load(np.zeros((9, 9, 4), np.uint8)) == 255).all()
    assert lay_on_ground(np.zeros((0, 5, 4), np.uint8)).shape == (0, 5, 3)


@given(
    st_numpy.arrays(
        np.uint8, st.tuples(st.integers(1, 12), st.integers(1, 12), st.just(4)), elements=st.integers(0, 255)
    )
)
def test_opaque_pixels_keep_their_colour(pixels):
    laid = lay_on_ground(pixels)
    opaque = pixels[..., 3] == 255
    assert laid.dtype == np.uint8 and laid.shape == (*pixels.shape[:2], 3)
    np.testing.assert_array_equal(laid[opaque], pixels[opaque][:, :3])
    grounds = laid[pixels[..., 3] == 0]
    assert set(np.unique(grounds)) in [set(), {0}, {128}, {255}]
