from __future__ import annotations

import io
import logging
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image as Pillow

from tablerec.config import Settings
from tablerec.errors import InputError
from tablerec.inputs.images import load_pages
from tests.helpers.pdf import make_pdf, text

SETTINGS = Settings(pdf_dpi=144)
"""Two pixels per point, so that expected positions are easy to read."""


def picture_object(width=30, height=20, darkest=0):
    pixels = np.random.default_rng(0).integers(darkest, 255, (height, width), np.uint8).tobytes()
    head = f"<< /Type /XObject /Subtype /Image /Width {width} /Height {height} /ColorSpace /DeviceGray"
    return f"{head} /BitsPerComponent 8 /Length {len(pixels)} >>\nstream\n".encode() + pixels + b"\nendstream"


FULL_PAGE_PICTURE = "q 300 0 0 200 0 0 cm /X1 Do Q\n"


def read(data, settings=SETTINGS):
    return list(load_pages(data, settings))


def box(word):
    corners = np.array(word.quad)
    return [*corners.min(axis=0), *corners.max(axis=0)]


def ink_box(image):
    rows, cols = np.nonzero(image.min(axis=2) < 200)
    return [cols.min(), rows.min(), cols.max() + 1, rows.max() + 1]


def test_blank_page_needs_a_reader():
    (page,) = read(make_pdf(""))
    assert page.words is None
    assert page.image.shape == (400, 600, 3) and page.image.min() == 255


def test_text_layer_becomes_words_in_pixels():
    (page,) = read(make_pdf(text(50, 100, "Hello")))
    (word,) = page.words
    left, top, right, bottom = box(word)
    ink = ink_box(page.image)
    assert word.text == "Hello"
    assert left == pytest.approx(100, abs=0.1) and right == pytest.approx(ink[2], abs=2)
    assert top <= ink[1] and bottom >= ink[3]
    assert bottom - top == pytest.approx(1.1 * 20, abs=0.2)


def test_character_spans_follow_the_glyphs():
    (page,) = read(make_pdf(text(50, 100, "iiW")))
    (word,) = page.words
    assert len(word.char_spans) == 3
    assert word.char_spans[0][0] == pytest.approx(0) and word.char_spans[2][1] == pytest.approx(1)
    widths = [end - start for start, end in word.char_spans]
    assert widths[2] > 3 * widths[0]
    assert widths[0] == pytest.approx(222 / (222 + 222 + 944), abs=0.01)  # Helvetica's own widths


def test_letters_of_a_ligature_share_its_glyph():
    cmap = (
        b"/CIDInit /ProcSet findresource begin begincmap /CMapName /X def /CMapType 2 def\n"
        b"1 begincodespacerange <00> <FF> endcodespacerange\n"
        b"2 beginbfchar <57> <006600660069> <65> <0065> endbfchar\nendcmap end"
    )
    stream = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(cmap), cmap)
    data = make_pdf(text(50, 100, "eWe"), objects=[stream])
    (page,) = read(data.replace(b"/WinAnsiEncoding >>", b"/WinAnsiEncoding /ToUnicode 4 0 R >>"))
    (word,) = page.words
    assert word.text == "effie"
    starts = [start for start, _ in word.char_spans]
    assert starts == sorted(set(starts))


def test_words_of_one_line_stay_together_and_columns_apart():
    content = text(20, 100, "two words") + text(150, 100, "next") + text(20, 80, "below")
    (page,) = read(make_pdf(content))
    assert [word.text for word in page.words] == ["two words", "next", "below"]


def test_columns_drawn_as_one_string_with_spaces_are_split():
    (page,) = read(make_pdf(text(20, 100, "12      34")))
    assert [word.text for word in page.words] == ["12", "34"]


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
def test_rotated_pages_are_upright_and_words_lie_on_their_ink(rotate):
    (page,) = read(make_pdf(text(50, 100, "Hp"), rotate=rotate))
    assert page.image.shape == ((600, 400, 3) if rotate in (90, 270) else (400, 600, 3))
    (word,) = page.words
    left, top, right, bottom = box(word)
    ink = ink_box(page.image)
    assert left - 1 <= ink[0] and top - 1 <= ink[1] and right + 1 >= ink[2] and bottom + 1 >= ink[3]
    assert (right - left) * (bottom - top) < 4 * (ink[2] - ink[0]) * (ink[3] - ink[1])


def test_text_that_runs_upwards_has_its_quad_in_reading_direction():
    (page,) = read(make_pdf("BT /F1 10 Tf 0 1 -1 0 100 50 Tm (Height) Tj ET"))
    (word,) = page.words
    (tl, tr, _, bl) = np.array(word.quad)
    assert word.text == "Height"
    assert tr[1] < tl[1] and tr[0] == pytest.approx(tl[0])  # reading goes up the page
    assert bl[0] > tl[0] and bl[1] == pytest.approx(tl[1])


def test_slanted_text_is_one_word():
    (page,) = read(make_pdf("BT /F1 20 Tf 0.7071 0.7071 -0.7071 0.7071 50 50 Tm (DRAFT) Tj ET"))
    assert [word.text for word in page.words] == ["DRAFT"]


def test_crop_box_moves_words_with_the_picture():
    (page,) = read(make_pdf(text(50, 100, "Hello"), page_extra="/CropBox [40 60 240 160]"))
    assert page.image.shape == (200, 400, 3)
    assert box(page.words[0])[0] == pytest.approx(20, abs=0.1)


def test_scan_without_text_needs_a_reader():
    (page,) = read(make_pdf(FULL_PAGE_PICTURE, objects=[picture_object()]))
    assert page.words is None and page.image.std() > 10


def test_invisible_text_behind_a_scan_is_not_used():
    content = FULL_PAGE_PICTURE + text(20, 100, "old recognition, long enough to count", setup="3 Tr")
    (page,) = read(make_pdf(content, objects=[picture_object()]))
    assert page.words is None


def test_a_scan_under_a_stamp_is_an_area_to_be_read():
    content = FULL_PAGE_PICTURE + text(20, 10, "p. 7", size=8)
    (page,) = read(make_pdf(content, objects=[picture_object()]))
    assert [word.text for word in page.words] == ["p. 7"]
    assert page.layer.areas.round().tolist() == [[0, 0, 600, 400]] and page.layer.rest.shape == page.image.shape


def test_text_over_a_background_picture_is_used():
    lines = "".join(text(20, y, "many words on a picture as ground") for y in range(20, 180, 12))
    (page,) = read(make_pdf(FULL_PAGE_PICTURE + lines, objects=[picture_object(darkest=60)]))
    assert len(page.words) == 14


def test_text_that_nobody_sees_is_left_out():
    content = text(20, 100, "seen") + "1 g\n" + text(20, 50, "white") + "0 g\n" + text(500, 50, "outside")
    (page,) = read(make_pdf(content))
    assert [word.text for word in page.words] == ["seen"]


def test_characters_without_a_meaning_make_the_layer_useless():
    cmap = (
        b"/CIDInit /ProcSet findresource begin begincmap /CMapName /X def /CMapType 2 def\n"
        b"1 begincodespacerange <00> <FF> endcodespacerange\n"
        b"1 beginbfrange <41> <5A> <E041> endbfrange\nendcmap end"
    )
    stream = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(cmap), cmap)
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /ToUnicode 4 0 R >>"
    good = make_pdf(text(20, 100, "HELLO"), objects=[stream])
    plain = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    bad = good.replace(plain, font)
    assert read(good)[0].words[0].text == "HELLO"
    assert read(bad)[0].words is None


def test_filled_in_form_fields_are_read():
    appearance = text(2, 4, "42.50").encode()
    form = (
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 100 20] /Resources << /Font << /F1 3 0 R >> >> "
        b"/Length %d >>\nstream\n%s\nendstream" % (len(appearance), appearance)
    )
    field = (
        b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (sum) /V (42.50) /F 4 /Rect [100 50 200 70] /AP << /N 4 0 R >> >>"
    )
    (page,) = read(make_pdf(text(20, 54, "Sum"), objects=[form, field], page_extra="/Annots [5 0 R]"))
    assert [word.text for word in page.words] == ["Sum", "42.50"]


def test_pages_come_one_by_one():
    pages = load_pages(make_pdf(*[text(20, 100, f"page {n}") for n in range(1, 501)]), SETTINGS)
    first, second = next(pages), next(pages)
    assert (first.number, second.number) == (1, 2)
    assert second.words[0].text == "page 2"
    pages.close()


def test_huge_page_is_drawn_smaller_and_says_so(caplog):
    with caplog.at_level(logging.WARNING):
        (page,) = read(make_pdf("", media="0 0 3000 2000"), replace(SETTINGS, max_megapixels=4))
    height, width = page.image.shape[:2]
    assert height * width == pytest.approx(4e6, rel=0.01)
    assert "page 1 is large: drawn at 59 dpi instead of 144" in caplog.text


def test_absurd_page_is_refused():
    with pytest.raises(InputError, match=r"bytes: page 1 measures .* inches, too much for max_megapixels"):
        read(make_pdf("", media="0 0 300000 300000"))


def test_encrypted_pdf_names_the_password():
    key = "/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{0}> /U <{0}> >> /ID [<00> <00>]".format("ab" * 32)
    with pytest.raises(InputError, match="needs a password"):
        read(make_pdf("", trailer_extra=key))


@pytest.mark.parametrize("data", [b"%PDF-1.7\n", b"%PDF-1.7\n" + bytes(5000), make_pdf("")[:300]])
def test_broken_pdf_is_one_clear_line(data):
    with pytest.raises(InputError, match=r"^bytes: .*PDF.*; ") as caught:
        read(data)
    assert "\n" not in str(caught.value)


def test_pdf_of_pillow_is_a_scan():
    buffer = io.BytesIO()
    pages = [Pillow.new("RGB", (200, 100), color) for color in ("red", "blue")]
    pages[0].save(buffer, "PDF", save_all=True, append_images=pages[1:], resolution=100)
    first, second = read(buffer.getvalue(), Settings(pdf_dpi=100))
    assert first.image.shape == (100, 200, 3) and first.words is None
    assert first.image[50, 50, 2] > 240 > 20 > first.image[50, 50, 0]  # red, in BGR
    assert second.number == 2 and second.image[50, 50, 0] > 240
