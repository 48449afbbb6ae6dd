"""Which solver takes which program, against what happens when it is asked to."""

from __future__ import annotations

import pytest
from cases import named
from dense_sectors import ways

from mmopt import SolverError
from mmopt.compiler import bind
from mmopt.compiler.reductions.split_by_sectors import by_sectors
from mmopt.language import Program, program_names, shipped
from mmopt.report import takers, takers_table
from mmopt.solvers import SOLVERS, claims, conic_solver

WORKLOAD = named("prefix")
MANY_CELLS = ways((6,) * 6, target=1.0)
CONIC = [name for name in program_names() if Program.load(name).klass in ("convex", "rank")]


@pytest.mark.parametrize("name", CONIC)
def test_a_solver_is_refused_exactly_for_what_it_lacks(name: str) -> None:
    program = Program.load(name)
    instance = bind(program, WORKLOAD)
    for row in SOLVERS:
        missing = takers(shipped(name)).lacking(row)
        assert missing is not None
        if not missing:
            assert conic_solver(instance, row.name) is row
            continue
        with pytest.raises(SolverError) as refused:
            conic_solver(instance, row.name)
        assert all(cone in str(refused.value) for cone in missing)


@pytest.mark.parametrize("name", CONIC)
def test_a_kernel_is_said_to_take_exactly_what_it_claims(name: str) -> None:
    claimed = {claim.name for claim in claims(bind(Program.load(name), WORKLOAD))}
    over_many = by_sectors(shipped(name), MANY_CELLS, {})
    if not isinstance(over_many, str):
        claimed |= {claim.name for claim in claims(over_many[0])}
    assert set(takers(shipped(name)).kernels) == claimed


def test_a_procedure_needs_what_its_steps_need() -> None:
    qoco = next(row for row in SOLVERS if row.name == "qoco")
    lacking = {name: takers(shipped(name)).lacking(qoco) for name in program_names()}
    assert lacking["eigen_design"] == lacking["query_weighting"] == []
    assert lacking["fitness_refined"] == ["psd"]
    assert lacking["fitness_softmax"] is None and lacking["augment"] is None


def test_the_table_has_every_program() -> None:
    table = takers_table({name: takers(shipped(name)) for name in program_names()})
    names, kernels, conic = ([str(entry) for entry in column.cells] for column in table.columns)
    assert names == program_names()
    at = names.index("l2_strategy")
    assert (kernels[at], conic[at]) == ("nuclear, sectors", "all but qoco (psd)")
