"""Programs that people asked about in public get the optimum that plain cvxpy has, or a true reason why not.

Guards compiler/scale_numbers.py and solvers/conic_solvers.py, where numbers are far from one.
"""

import numpy as np
import pytest

from mmopt import Error, Program, solve
from tests.driver import public_optima
from tests.driver.public_programs import ROWS, Row

NEAR = 1e-5  # of the optimum
EXCLUDED = 1e-8  # of the optimum, which is known to some ten digits
FACTORS = (1e-6, 1e-3, 1e3, 1e6)
SOLVED = {name: row for name, row in ROWS.items() if "optimum" in row.fields}


def check(row: Row, *, factor: float = 1.0, unit: float = 1.0) -> None:
    """Compare the answer, for data times powers of a factor and an objective in a unit.

    No bound excludes the optimum.
    """
    text, givens = row.text(has_unit=unit != 1), row.givens(factor) | ({"unit": unit} if unit != 1 else {})
    if "refused" in row.fields:
        with pytest.raises(Error) as error:
            solve([[1.0]], Program.parse(text), givens=givens)
        assert row.fields["refused"] in str(error.value)
        return
    s = solve([[1.0]], Program.parse(text), givens=givens)
    times = unit * factor ** row.powers.get("optimum", 0.0)
    optimum, size = row.optimum * times, float(row.fields.get("size", abs(row.optimum))) * times
    assert abs(s.objective - optimum) <= NEAR * size
    if s.bound is not None:
        over = s.bound - optimum if row.sense == "minimize" else optimum - s.bound
        assert over <= EXCLUDED * size
    if times == 1 and "unproved" not in row.fields:
        assert s.bound_grade == "proved" and s.gap is not None and s.gap <= NEAR


@pytest.mark.some(8, rest="slow")
@pytest.mark.parametrize("name", ROWS)
def test_it_is_solved_or_refused(name: str) -> None:
    check(ROWS[name])


@pytest.mark.some(2, rest="slow")
@pytest.mark.parametrize("name", SOLVED)
def test_it_is_solved_in_other_units(name: str, rng: np.random.Generator) -> None:
    row, factor = ROWS[name], rng.choice(FACTORS)
    # A gap of a logarithm is absolute: where its unit is small a solve ends early.
    check(row, unit=max(1.0, factor) if "logdet" in row.text() else factor)
    if row.powers:
        check(row, factor=rng.choice(FACTORS))


@pytest.mark.slow
def test_the_optima_are_those_of_formulas_and_of_plain_cvxpy(subtests: pytest.Subtests) -> None:
    names = [*public_optima.MODELS, *public_optima.FORMULAS]
    assert set(names) <= set(SOLVED)
    for name in names:
        with subtests.test(name):
            row = ROWS[name]
            assert public_optima.optimum(name, row.givens()) == pytest.approx(row.optimum, rel=1e-7)


def test_every_row_says_where_it_was_asked_and_what_is_true(subtests: pytest.Subtests) -> None:
    assert len(ROWS) == 60
    for name, row in ROWS.items():
        with subtests.test(name):
            assert row.fields["asked"].startswith("https://")
            assert ("optimum" in row.fields) != ("refused" in row.fields)
            assert row.optimum or "size" in row.fields if name in SOLVED else row.fields["refused"]
