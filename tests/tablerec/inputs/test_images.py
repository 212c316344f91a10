from __future__ import annotations

import io
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from tablerec.config import Settings
from tablerec.errors import InputError, TablerecError
from tablerec.inputs.images import display_name, expand_inputs, load_pages, source_name
from tablerec.result import PageImage


def one(source, **settings):
    (page,) = load_pages(source, Settings(**settings))
    return page


def encode(picture, suffix="PNG", **options):
    buffer = io.BytesIO()
    picture.save(buffer, suffix, **options)
    return buffer.getvalue()


def gradient(mode="RGB", size=(40, 30)):
    ramp = np.linspace(0, 255, size[0]).astype(np.uint8)
    picture = PIL.Image.fromarray(np.tile(ramp, (size[1], 1)))
    return picture.convert(mode)


def png_of_size(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


# arrays


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0, 3)])
def test_empty_array_is_refused(shape):
    with pytest.raises(InputError, match="array: the picture is empty"):
        one(np.zeros(shape, np.uint8))


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.full((2, 3), 7, np.uint8), 7),
        (np.full((2, 3, 1), 7, np.uint8), 7),
        (np.full((2, 3), 65535, np.uint16), 255),
        (np.array([[7 * 257] * 3, [65535] * 3], np.uint16), [[[7] * 3] * 3, [[255] * 3] * 3]),
        (np.full((2, 3), 1.0, np.float64), 255),
        (np.full((2, 3), 0.5, np.float16), 128),
        (np.ones((2, 3), bool), 255),
    ],
)
def test_array_types(array, expected):
    page = one(array)
    assert page.image.shape == (2, 3, 3) and page.image.dtype == np.uint8
    assert page.image.flags.c_contiguous
    assert (page.image == expected).all()


def test_bgr_order_is_kept_and_alpha_is_white():
    blue = np.zeros((2, 2, 4), np.uint8)
    blue[..., 0], blue[..., 3] = 255, 255
    blue[1, 1, 3] = 0
    image = one(blue).image
    assert image[0, 0].tolist() == [255, 0, 0]
    assert image[1, 1].tolist() == [255, 255, 255]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(5, np.uint8), "shape"),
        (np.zeros((3, 40, 50), np.uint8), "shape"),
        (np.zeros((4, 5, 2), np.uint8), "shape"),
        (np.zeros((4, 5), np.int64), "convert the array to uint8"),
        (np.full((4, 5), 255.0), "between 0 and 1"),
        (np.full((4, 5), np.nan), "between 0 and 1"),
        (np.full((4, 5), None), "convert the array to uint8"),
    ],
)
def test_array_that_is_no_picture(array, message):
    with pytest.raises(InputError, match=message):
        one(array)


@given(
    st_numpy.arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3)), elements=st.integers(0, 255))
)
def test_every_way_in_gives_the_same_picture(array):
    picture = PIL.Image.fromarray(np.ascontiguousarray(array[..., ::-1]))
    data = encode(picture)
    sources = [array, array / 255, picture, data, bytearray(data), io.BytesIO(data)]
    if array.max() >= 64:  # else fewer than 16 bits would be used
        sources.append(array.astype(np.uint16) * 257)
    for source in [*sources, PageImage("x", 3, array)]:
        np.testing.assert_array_equal(one(source).image, array)


def test_page_image_keeps_name_number_and_words():
    page = PageImage("x", 3, np.zeros((4, 4, 3), np.uint8), ())
    assert one(page).number == 3 and one(page).source == "x" and one(page).words == ()


# picture files


@pytest.mark.parametrize("suffix", ["PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF"])
def test_formats(suffix, tmp_path):
    path = tmp_path / "named.wrongly"
    path.write_bytes(encode(gradient(), suffix, **({"lossless": True} if suffix == "WEBP" else {})))
    page = one(path)
    assert page.source == str(path)
    np.testing.assert_allclose(page.image[..., 0], np.asarray(gradient("L")), atol=4)


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK", "YCbCr", "I;16", "I", "F", "LA", "RGBA", "PA"])
def test_modes(mode):
    grey = np.asarray(gradient("L"))
    if mode == "I;16":
        picture = PIL.Image.fromarray(grey.astype(np.uint16) * 257)
    elif mode == "I":
        picture = PIL.Image.fromarray(grey.astype(np.int32) * 257)
    elif mode == "F":
        picture = PIL.Image.fromarray(grey.astype(np.float32) / 255)
    else:
        picture = gradient("P").convert(mode) if mode == "PA" else gradient("L" if mode == "P" else "RGB").convert(mode)
    assert picture.mode == mode
    image = one(picture).image
    if mode == "1":
        assert set(np.unique(image)) == {0, 255}
    else:
        np.testing.assert_allclose(image, np.repeat(grey[..., np.newaxis], 3, axis=2), atol=4)


@pytest.mark.parametrize("suffix", ["PNG", "TIFF"])
def test_16_bit_file_is_scaled_not_cut(suffix):
    values = np.array([[0, 257, 32768, 65535]], np.uint16)
    image = one(encode(PIL.Image.fromarray(values), suffix)).image
    assert image[0, :, 0].tolist() == [0, 1, 128, 255]


def test_big_endian_16_bit_tiff():
    picture = PIL.Image.frombytes("I;16B", (2, 1), np.array([0, 65535], ">u2").tobytes())
    assert one(encode(picture, "TIFF")).image[0, :, 0].tolist() == [0, 255]


def test_transparent_palette_is_white():
    picture = PIL.Image.new("P", (2, 1), 0)
    picture.putpalette([0, 0, 0, 255, 0, 0])
    picture.putpixel((1, 0), 1)
    image = one(encode(picture, "PNG", transparency=0)).image
    assert image[0].tolist() == [[255, 255, 255], [0, 0, 255]]


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_exif_orientation_stands_the_picture_up(orientation, suffix):
    upright = PIL.Image.new("L", (60, 30), 255)
    upright.paste(0, (0, 0, 20, 10))
    undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # PIL.Image.Transpose values
    lying = upright.transpose(PIL.Image.Transpose(undo[orientation])) if orientation > 1 else upright
    exif = PIL.Image.Exif()
    exif[0x0112] = orientation
    image = one(encode(lying.convert("RGB"), suffix, exif=exif)).image
    assert image.shape == (30, 60, 3)
    assert image[3, 5].max() < 60 and image[3, 55].min() > 200 and image[25, 5].min() > 200


def test_broken_exif_does_not_cost_the_picture():
    data = encode(gradient(), "JPEG", exif=b"Exif\0\0MM\0*\xff\xff\xff\xff" + bytes(40))
    assert one(data).image.shape == (30, 40, 3)


def test_pages_of_a_tiff_without_thumbnails():
    pages = [PIL.Image.new("L", (20 + n, 10), 40 * n) for n in range(4)]
    thumbnail = PIL.Image.new("L", (5, 5), 255)
    thumbnail.encoderinfo = {"tiffinfo": {254: 1}}
    buffer = io.BytesIO()
    pages[0].save(buffer, "TIFF", save_all=True, append_images=[*pages[1:3], thumbnail, pages[3]])
    loaded = list(load_pages(buffer.getvalue()))
    assert [page.number for page in loaded] == [1, 2, 3, 4]
    assert [page.image.shape[1] for page in loaded] == [20, 21, 22, 23]
    assert [page.image[0, 0, 0] for page in loaded] == [0, 40, 80, 120]


def test_tiff_pages_come_one_by_one():
    page = PIL.Image.new("1", (8, 8))
    buffer = io.BytesIO()
    page.save(buffer, "TIFF", save_all=True, append_images=[page] * 199)
    pages = load_pages(buffer.getvalue())
    assert [next(pages).number for _ in range(3)] == [1, 2, 3]
    pages.close()


def test_tiff_whose_pages_run_in_a_circle_ends():
    buffer = io.BytesIO()
    PIL.Image.new("L", (8, 8)).save(buffer, "TIFF")
    data = bytearray(buffer.getvalue())
    (offset,) = struct.unpack_from("<I", data, 4)
    (n_tags,) = struct.unpack_from("<H", data, offset)
    struct.pack_into("<I", data, offset + 2 + 12 * n_tags, offset)
    assert len(list(load_pages(bytes(data)))) == 1


def test_animation_is_its_first_frame():
    frames = [PIL.Image.new("P", (4, 4), n) for n in range(3)]
    assert len(list(load_pages(encode(frames[0], "GIF", save_all=True, append_images=frames[1:])))) == 1


def test_a_page_is_not_changed_by_the_next_one():
    pages = [PIL.Image.new("L", (9, 9), value) for value in (10, 200)]
    first, second = load_pages(encode(pages[0], "TIFF", save_all=True, append_images=pages[1:]))
    assert (first.image == 10).all() and (second.image == 200).all()


# what cannot be read


WRONG_FILES = {
    "empty.png": (b"", "the file is empty"),
    "letter.docx": (b"PK\x03\x04" + bytes(40), "Office document"),
    "old.xls": (b"\xd0\xcf\x11\xe0" + bytes(40), "Office document"),
    "notes.txt": ("价格 price\n".encode(), "a text file"),
    "page.html": (b"<!DOCTYPE html><html></html>", "HTML, XML or SVG"),
    "drawing.svg": (b"<?xml version='1.0'?><svg/>", "HTML, XML or SVG"),
    "photo.heic": (b"\0\0\0\x18ftypheic" + bytes(40), "HEIC"),
    "print.ps": (b"%!PS-Adobe", "PostScript"),
    "noise.png": (bytes(range(256)), "not a picture or PDF"),
    "head.png": (b"\x89PNG\r\n\x1a\n", "broken or incomplete PNG"),
    "head.jpg": (b"\xff\xd8\xff\xe0", "broken or incomplete JPEG"),
    "head.tif": (b"II*\0\xff\xff\xff\xff", "broken"),
    "page.pdf": (b"%PDF-1.4\n", "broken or incomplete PDF"),
}


@pytest.mark.parametrize("name", WRONG_FILES)
def test_wrong_file_is_one_line_with_name_cause_and_step(name, tmp_path):
    data, cause = WRONG_FILES[name]
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        list(load_pages(path))
    message = str(caught.value)
    assert message.startswith(str(path)) and cause in message and "; " in message and "\n" not in message


@pytest.mark.parametrize("suffix", ["PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF"])
def test_truncated_picture_is_refused_not_half_read(suffix):
    noise = np.random.default_rng(0).integers(0, 255, (60, 60, 3), np.uint8)
    data = encode(PIL.Image.fromarray(noise), suffix)
    for share in (0.3, 0.6, 0.9):
        with pytest.raises(InputError, match=r"^bytes: .*(broken|incomplete)"):
            list(load_pages(data[: int(len(data) * share)]))


@given(st.data())
def test_damaged_files_raise_nothing_but_our_own_errors(data):
    suffix = data.draw(st.sampled_from(["PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF"]))
    content = bytearray(encode(gradient(), suffix))
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        message, pages = "", list(load_pages(bytes(content), Settings(max_megapixels=1)))
    except TablerecError as error:
        message, pages = str(error), []
    assert message.startswith("bytes: ") or pages
    assert "\n" not in message


def test_missing_file():
    with pytest.raises(InputError, match=r"no/such.png: no such file; check"):
        one("no/such.png")


def test_folder_is_not_a_picture(tmp_path):
    with pytest.raises(InputError, match="a folder, not a picture"):
        one(tmp_path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no device files here")
def test_device_is_not_a_picture():
    with pytest.raises(InputError, match="a device, not a file"):
        one("/dev/zero")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path):
    path = tmp_path / "secret.png"
    path.write_bytes(encode(gradient()))
    path.chmod(0)
    with pytest.raises(InputError, match="no permission to read"):
        one(path)


@pytest.mark.parametrize("name", ["a\0b.png", "x" * 5000])
def test_impossible_name(name):
    with pytest.raises(InputError, match="cannot be opened") as caught:
        one(name)
    assert "\0" not in str(caught.value)


@pytest.mark.parametrize("url", ["https://example.org/a.png", "s3://bucket/a.png", "file:///a.png"])
def test_url_says_to_download_first(url):
    for reading in (lambda: one(url), lambda: one(Path(url)), lambda: expand_inputs([url])):
        with pytest.raises(InputError, match="download it first"):
            reading()


@pytest.mark.parametrize("size", [(20_000, 20_000), (100_000, 100_000), (2**31 - 1, 2**31 - 1)])
def test_decompression_bomb_is_refused_before_decoding(size):
    with pytest.raises(InputError, match=r"bytes: .*(max_megapixels = 100|bomb|pixels)"):
        one(png_of_size(*size))


def test_max_megapixels_counts_for_every_source():
    picture = PIL.Image.new("L", (1100, 1000))
    for source in (
        picture,
        encode(picture),
        np.zeros((1000, 1100), np.uint8),
        PageImage("x", 1, np.zeros((1100, 1000, 3), np.uint8)),
    ):
        with pytest.raises(InputError, match="more than max_megapixels = 1;"):
            one(source, max_megapixels=1)


def test_second_page_of_a_tiff_is_checked_too():
    small, large = PIL.Image.new("1", (9, 9)), PIL.Image.new("1", (2000, 1000))
    pages = load_pages(encode(small, "TIFF", save_all=True, append_images=[large]), Settings(max_megapixels=1))
    assert next(pages).number == 1
    with pytest.raises(InputError, match="2000 x 1000 pixels"):
        next(pages)


@pytest.mark.parametrize("source", [None, 5, ["a.png"], io.StringIO("text")])
def test_unknown_source(source):
    with pytest.raises(InputError):
        list(load_pages(source))


# names


def test_source_names(tmp_path):
    path = tmp_path / "a.png"
    gradient().save(path)
    with PIL.Image.open(path) as opened, open(path, "rb") as file:
        assert source_name(opened) == source_name(file) == source_name(path) == str(path)
    assert source_name(gradient()) == "picture"
    assert source_name(io.BytesIO()) == "stream"
    with open(os.dup(0), "rb") as numbered:
        assert source_name(numbered) == "stream"


@given(st.text())
def test_display_name_is_one_printable_line(name):
    assert display_name(name).isprintable()


def test_display_name_keeps_what_can_be_read():
    assert display_name("报表 2024/ä.png") == "报表 2024/ä.png"
    assert display_name("a\nb\x1b[31m\u202e\udc80") == r"a\nb\x1b[31m\u202e\udc80"


# arguments


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inner = tmp_path / "scans" / "inner"
    inner.mkdir(parents=True)
    for name in [
        "p10.png",
        "p2.PNG",
        "p1.pdf",
        "notes.txt",
        ".hidden.png",
        "._p1.png",
        "p1.overlay.png",
        "inner/q.tif",
    ]:
        (tmp_path / "scans" / name).touch()
    (tmp_path / "-dash [1].png").touch()
    return tmp_path


def test_no_arguments():
    assert expand_inputs([]) == []


def join(*names):
    return [os.path.join("scans", *name.split("/")) for name in names]


def test_folder_is_sorted_naturally_without_our_own_pictures(folder):
    assert expand_inputs(["scans"]) == join("p1.pdf", "p2.PNG", "p10.png")


def test_recursive(folder):
    assert expand_inputs(["scans"], recursive=True) == join("inner/q.tif", "p1.pdf", "p2.PNG", "p10.png")


def test_glob(folder):
    assert expand_inputs([os.path.join("scans", "p*")]) == join("p1.pdf", "p2.PNG", "p10.png")
    assert expand_inputs([os.path.join("scans", "**", "*.tif")]) == join("inner/q.tif")


def test_file_with_glob_characters_is_a_file(folder):
    assert expand_inputs(["-dash [1].png"]) == ["-dash [1].png"]


def test_each_input_comes_once(folder):
    assert expand_inputs(["scans", os.path.join("scans", "p1.pdf"), os.path.abspath("scans")]) == join(
        "p1.pdf", "p2.PNG", "p10.png"
    )


def test_missing_files_are_left_to_the_reader(folder):
    assert expand_inputs(["missing.png", "scans/notes.txt"]) == ["missing.png", "scans/notes.txt"]


def test_arguments_that_name_nothing_do_not_stop_the_others(folder):
    (folder / "empty").mkdir()
    errors = []
    found = expand_inputs(["empty", "*.nothing", "http://x/y.png", "scans"], on_error=errors.append)
    assert found == join("p1.pdf", "p2.PNG", "p10.png")
    assert [str(error).split(":")[0] for error in errors] == ["empty", "*.nothing", "http"]
    with pytest.raises(InputError, match="--recursive"):
        expand_inputs(["empty"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_links_and_pipes_in_folders(folder):
    os.mkfifo(folder / "scans" / "pipe.png")
    os.symlink("gone.png", folder / "scans" / "dangling.png")
    os.symlink(folder / "scans", folder / "scans" / "inner" / "circle")
    os.symlink(folder / "scans" / "p1.pdf", folder / "scans" / "same.pdf")
    found = expand_inputs(["scans"], recursive=True)
    assert found == join("dangling.png", "inner/q.tif", "p1.pdf", "p2.PNG", "p10.png")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_named_pipe_is_read(tmp_path):
    import threading

    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(encode(gradient()),))
    writer.start()
    assert one(path).image.shape == (30, 40, 3)
    writer.join()


@pytest.mark.parametrize("suffix", ["TIFF", "PDF"])
def test_a_document_may_be_read_from_a_page_on(suffix):
    pages = [PIL.Image.new("L", (20, 20), value) for value in (0, 90, 200)]
    document = encode(pages[0], suffix, save_all=True, append_images=pages[1:])
    found = [(page.number, int(page.image.mean())) for page in load_pages(document, first=2)]
    assert [number for number, _ in found] == [2, 3]
    assert [value for _, value in found] == pytest.approx([90, 200], abs=3)
    assert list(load_pages(document, first=4)) == []
