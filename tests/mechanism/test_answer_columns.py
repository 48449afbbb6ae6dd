"""Answers as they are published: rounded far below their errors, intervals never narrower.

Guards release_writing.py.
"""

from fractions import Fraction

import numpy as np
import pytest

from mmopt.mechanism import Answers
from mmopt.mechanism.release_writing import SIMULATED, answers_frame


def answers(rng: np.random.Generator, private: bool = True) -> Answers:
    m = 200
    sizes = np.ldexp(rng.normal(size=m), rng.integers(-10, 40, size=m))
    errors = np.ldexp(rng.uniform(0.5, 1.0, size=m), rng.integers(-10, 10, size=m))
    coverage = rng.uniform(0.9, 1.0, size=m)
    names = tuple(f"q{i}" for i in range(m))
    own = (sizes, errors, sizes - 2 * errors, sizes + 2 * errors, coverage)
    return Answers(("g",) * m, names, *own, 0.9, private, {"sex": np.array(names, dtype=object)})


@pytest.mark.quick
def test_ends_are_rounded_outwards_and_nothing_by_much(rng):
    for _ in range(10):
        found = answers(rng)
        frame = answers_frame(found)
        # As decimal texts: what the CSV file states against what a double is shown as with all its digits.
        rows = [line.split(",") for line in frame.to_csv().splitlines()[1:]]
        for row, low, high, covered in zip(rows, found.low, found.high, found.coverage, strict=True):
            assert Fraction(row[5]) <= Fraction(repr(float(low)))
            assert Fraction(row[6]) >= Fraction(repr(float(high)))
            assert Fraction(row[7]) <= Fraction(covered)
        for name, meant in (("estimate", found.estimates), ("low", found.low), ("high", found.high)):
            assert (np.abs(frame[name] - meant) <= 1e-5 * found.standard_errors + 1e-14 * np.abs(meant)).all()


def test_columns_of_private_and_simulated_answers(rng):
    figures = ["estimate", "standard_error", "low", "high", "coverage"]
    real = answers_frame(answers(rng), {"guarantee": "zCDP"})
    assert list(real.names) == ["query", "label", "sex", *figures]
    assert real.metadata == {"confidence": "0.9", "private": "true", "guarantee": "zCDP"}
    simulated = answers_frame(answers(rng, private=False))
    assert list(simulated.names) == ["query", "label", "sex", *figures, "private"]
    assert simulated.metadata == {"confidence": "0.9", "private": "false", "warning": SIMULATED}
    assert not simulated["private"].any()
