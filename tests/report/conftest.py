"""One of everything that a notebook's last line may be, its labels as bad as labels can be."""

import dataclasses
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow
import pytest

import mmopt
from mmopt import Comparison, ComponentStrategy, Domain, Factors, Privacy, Program, Request, Workload
from mmopt.comparison import Baselines, Outcome
from mmopt.driver.templates import templates
from mmopt.ledger import Account, Entry, Ledger, Terms
from mmopt.numerics.component_arrays import Split
from mmopt.strategies.baselines import Cost
from mmopt.symmetry import symmetry
from mmopt.testing.problem_registry import marginals

EVIL = "<script>alert('&')</script>"


@pytest.fixture(scope="session")
def evil() -> str:
    return EVIL


@pytest.fixture(scope="session")
def asked() -> Workload:
    domain = Domain.of({EVIL: [f"{EVIL}a", "b"], "age": {"bins": [0, 18, 65, 115]}})
    return domain.marginal(EVIL, name=EVIL, subworkload=EVIL) + domain.marginal("age")


@pytest.fixture(scope="session")
def shown(asked: Workload) -> dict[str, object]:
    """By the name of its class."""
    solution = dataclasses.replace(mmopt.solve(asked, "l2_strategy"), title=EVIL, warnings=(EVIL,))
    program = Program.parse("program own\n" + Program.load("l2_strategy").text.split("\n", 1)[1])
    table = pyarrow.table({EVIL: [f"{EVIL}a", "b"], "age": [3, 70]})
    wished = Workload.from_matrix(np.tri(3), targets=9.0)
    found = symmetry(marginals([10] * 30, [1]), False)
    assert found is not None
    cells = found.cells
    eyes = tuple(np.eye(d) for d in cells.dims)
    compared = Comparison(
        [Outcome(EVIL, "", solution, seconds=1.5), Outcome(EVIL, "", None, EVIL, EVIL)], asked
    )
    cost = Cost(2, 3, 1.0, 4.0, 1.0)
    factors = Factors(EVIL, "", cost=cost, against=compared[0], bound=3.0, error=1.5, rmse=2.0)
    plan = mmopt.plan(asked, solution.strategy, Privacy(rho=0.1))
    spent = Entry(1, "2026-01-01T00:00:00+00:00", Fraction(1, 8), EVIL, "ab" * 32, EVIL)
    terms = Terms(EVIL, "rho", Fraction(1), "add-remove", EVIL, Fraction(1), "2026-01-01T00:00:00+00:00")
    values = [
        asked,
        asked.domain,
        asked.domain.attributes[0],
        solution,
        solution.strategy,
        compared,
        compared[0],
        factors,
        Baselines([factors, Factors(EVIL, "", reason=EVIL)]),
        plan,
        ComponentStrategy(Split(cells.abstract(cells.dims), cells, eyes)),
        Privacy(epsilon=50),
        Request(asked, Privacy(rho=0.1), None, EVIL, ""),
        dataclasses.replace(program, title=EVIL, cite=EVIL),
        mmopt.accuracy(asked, {"rho": 0.1}, strategy=solution),
        mmopt.budget(wished),
        mmopt.explain(dataclasses.replace(program, title=EVIL)),
        mmopt.measure(plan, np.ones(6, dtype=np.int64), simulate=1),
        mmopt.release(table, asked, {"rho": 0.1}, strategy=solution, simulate=1),
        mmopt.verify(solution, asked),
        Ledger(Path(EVIL), Account(terms, (spent,))),
        next(mmopt.tune(asked, EVIL)),
    ]
    template = templates(asked, 2, ["product"]).solution(asked)
    return {**{type(value).__name__: value for value in values}, "Template": template}
