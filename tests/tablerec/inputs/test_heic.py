"""HEIC photos, by the extra ``heic``."""

from __future__ import annotations

import io
import sys

import numpy as np
import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablerec.config import Settings
from tablerec.errors import InputError, TablerecError
from tablerec.inputs.images import expand_inputs, load_pages

pillow_heif = pytest.importorskip("pillow_heif", reason="needs the extra heic")

RAMP = np.tile(np.linspace(0, 255, 96).astype(np.uint8), (64, 1))


def encode(picture, **options):
    buffer = io.BytesIO()
    pillow_heif.from_pillow(picture).save(buffer, **options)
    return buffer.getvalue()


PHOTO = encode(PIL.Image.fromarray(RAMP).convert("RGB"), quality=95)


def load(source, **settings):
    (page,) = load_pages(source, Settings(**settings))
    return page.image


def test_photo_is_read_from_file_bytes_and_stream(tmp_path):
    path = tmp_path / "IMG_0001.HEIC"
    path.write_bytes(PHOTO)
    assert expand_inputs([str(tmp_path)]) == [str(path)]
    for source in (path, PHOTO, io.BytesIO(PHOTO)):
        np.testing.assert_allclose(load(source)[..., 1], RAMP, atol=6)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_photo_stands_up(orientation):
    upright = PIL.Image.new("RGB", (160, 80), "white")
    upright.paste("black", (0, 0, 50, 30))
    undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # PIL.Image.Transpose values
    lying = upright.transpose(PIL.Image.Transpose(undo[orientation])) if orientation > 1 else upright
    exif = PIL.Image.Exif()
    exif[0x0112] = orientation
    image = load(encode(lying, exif=exif.tobytes()))
    assert image.shape == (80, 160, 3)
    assert image[3, 5].max() < 60 and image[3, 155].min() > 200 and image[75, 5].min() > 200


def test_transparent_photo_is_laid_on_a_ground():
    pixels = np.zeros((64, 96, 4), np.uint8)
    pixels[20:40:8, 20:80] = 255
    image = load(encode(PIL.Image.fromarray(pixels), quality=95))
    assert image[0, 0].max() < 40 and image[20, 40].min() > 200


def test_of_several_pictures_the_first_one_counts():
    several = pillow_heif.from_pillow(PIL.Image.fromarray(RAMP).convert("RGB"))
    several.add_from_pillow(PIL.Image.new("RGB", (32, 32)))
    buffer = io.BytesIO()
    several.save(buffer, quality=95)
    np.testing.assert_allclose(load(buffer.getvalue())[..., 1], RAMP, atol=6)


def test_large_photo_is_refused_before_it_is_decoded(monkeypatch):
    monkeypatch.setattr(pillow_heif.HeifImageFile, "load", lambda self: pytest.fail("was decoded"))
    with pytest.raises(InputError, match="96 x 64 pixels, more than max_megapixels"):
        load(PHOTO, max_megapixels=0.001)


def test_without_the_extra_the_command_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(InputError, match=r'^bytes: a HEIC photo .*pip install "tablerec\[heic\]"$'):
        load(PHOTO)


def test_nothing_changes_for_others_who_use_pillow():
    load(PHOTO)
    assert "HEIF" not in PIL.Image.OPEN


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9, 0.999])
def test_cut_photo_is_refused(share):
    with pytest.raises(InputError, match=r"^bytes: .*(broken|incomplete|not a picture)"):
        load(PHOTO[: int(len(PHOTO) * share)])


@given(st.lists(st.tuples(st.integers(0, len(PHOTO) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_damaged_photo_raises_nothing_but_our_own_errors(changes):
    content = bytearray(PHOTO)
    for place, value in changes:
        content[place] = value
    try:
        message = str(len(list(load_pages(bytes(content), Settings(max_megapixels=1)))))
    except TablerecError as error:
        message = str(error)
    assert "\n" not in message
