from __future__ import annotations

import dataclasses
import inspect
import math
from typing import get_type_hints

import pytest

from tablerec import Settings, TablerecError, recognize
from tablerec.config import RecognizeOptions
from tablerec.errors import SettingsError


def test_defaults_need_no_model_and_no_network() -> None:
    settings = Settings()
    assert (settings.detector, settings.ocr, settings.device) == ("auto", "auto", "cpu")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("layout", "document"),
        ("layout", ""),
        ("turn", 45),
        ("turn", "90"),
        ("turn", "left"),
        ("seals", "drop"),
        ("min_ocr_score", -0.1),
        ("min_ocr_score", 1.1),
        ("min_ocr_score", math.nan),
        ("pdf_dpi", 0),
        ("pdf_dpi", 35),
        ("pdf_dpi", 5000),
        ("max_megapixels", 0),
        ("max_megapixels", -1),
        ("max_megapixels", math.nan),
    ],
)
def test_value_out_of_range_is_refused_with_name_and_value(name: str, value: object) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings(**{name: value})
    message = str(caught.value)
    assert name in message
    assert (repr(value) if isinstance(value, str) else str(value)) in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("layout", ["page", "table"]),
        ("turn", ["auto", 0, 90, 180, 270]),
        ("seals", ["separate", "keep"]),
        ("min_ocr_score", [0, 1]),
        ("pdf_dpi", [36, 1200]),
        ("max_megapixels", [0.001]),
    ],
)
def test_the_ends_of_the_ranges_are_allowed(name: str, values: list[object]) -> None:
    assert [getattr(Settings(**{name: value}), name) for value in values] == values


def test_refusal_is_ours_and_a_value_error() -> None:
    assert issubclass(SettingsError, TablerecError) and issubclass(SettingsError, ValueError)


def test_settings_are_values() -> None:
    settings = Settings()
    assert settings == Settings() and hash(settings) == hash(Settings())
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.device = "gpu"
    assert dataclasses.replace(settings, device="gpu:0").device == "gpu:0"


def test_every_field_is_documented() -> None:
    documentation = inspect.getdoc(Settings) or ""
    assert [field.name for field in dataclasses.fields(Settings) if f"{field.name}:" not in documentation] == []


def test_the_options_of_recognize_are_the_fields_of_the_settings() -> None:
    """So that editors and type checkers know them."""
    known = get_type_hints(Settings)
    assert get_type_hints(RecognizeOptions) == {each.name: known[each.name] for each in dataclasses.fields(Settings)}
    assert not RecognizeOptions.__required_keys__
    assert "Unpack[RecognizeOptions]" in str(inspect.signature(recognize))
