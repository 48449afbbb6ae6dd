from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from mmopt.errors import WorkloadError
from mmopt.request.yaml_tree import resolve


@pytest.mark.parametrize(
    "word",
    [
        "NO",
        "no",
        "yes",
        "on",
        "Off",
        "y",
        "12:30",
        "2001-01-01",
        "1_000",
        "18-64",
        "0b11",
        "1,5",
        "+",
        "-",
        ".",
        "e5",
        "nan",
        "inf",
        "<<",
        "=",
        "TrUe",
        "1e",
        "0o8",
    ],
)
def test_texts(word: str) -> None:
    assert resolve(word) == word


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("NULL", None),
        ("true", True),
        ("False", False),
        ("0", 0),
        ("-7", -7),
        ("+12", 12),
        ("0x1F", 31),
        ("0o17", 15),
        ("1.0", 1.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e5", 1e5),
        ("1e-6", 1e-6),
        ("1.0E-6", 1e-6),
        (".inf", math.inf),
        ("-.Inf", -math.inf),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_values(word: str, value: object) -> None:
    found = resolve(word)
    assert found == value
    assert type(found) is type(value)


def test_nan() -> None:
    found = resolve(".nan")
    assert isinstance(found, float)
    assert math.isnan(found)


@pytest.mark.parametrize(
    "word", ["01", "-007", "00", "9223372036854775808", "0x8000000000000000", "9" * 5000, "1e999"]
)
def test_surprises(word: str) -> None:
    with pytest.raises(WorkloadError):
        resolve(word)


@given(st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_read_exactly(value: float) -> None:
    found = resolve(repr(value))
    assert found == value
    assert type(found) is type(value)


@given(st.text(max_size=12))
def test_every_word_has_one_meaning(word: str) -> None:
    try:
        found = resolve(word)
    except WorkloadError:
        return
    assert found is None or isinstance(found, bool | int | float) or found == word
