"""Tests of a value, or of an interval that holds it, against a known number.

Guards problem_registry.py.
"""

import pytest

from mmopt.testing.problem_registry import Figure, holds, meets, starred


def test_intervals(subtests: pytest.Subtests) -> None:
    for kind, low, high, agrees in [
        ("exact", 0.9, 1.1, True),
        ("exact", 1.05, 1.1, False),
        ("exact", 0.9, 0.95, False),
        ("upper", 0.2, 0.3, True),
        ("upper", 0.9, 1.1, True),  # the value may be below 1
        ("upper", 1.05, 1.1, False),
        ("lower", 2.0, 3.0, True),
        ("lower", 0.9, 1.1, True),
        ("lower", 0.9, 0.95, False),
    ]:
        with subtests.test(f"{kind}, {low}, {high}"):
            assert meets(Figure("source", kind, 1.0, 1e-3), low, high) is agrees


def test_a_number_is_an_interval_without_length(subtests: pytest.Subtests) -> None:
    for kind in ["exact", "upper", "lower"]:
        with subtests.test(kind):
            figure = Figure("source", kind, 2.0, 1e-3)
            assert holds(figure, 2.0)
            assert holds(figure, 2.001) and holds(figure, 1.999)
            assert [holds(figure, 1.9), holds(figure, 2.1)] == [kind == "upper", kind == "lower"]


def test_a_printed_figure_outside_of_the_draws_has_a_star() -> None:
    draws = (10.0, 10.9, 10.5)
    assert starred(draws, 10.63) == "0.988 " and starred(draws, 9.81) == "1.070 "
    assert starred(draws, 9.79) == "1.073*" and starred(draws, 11.13) == "0.943*"
