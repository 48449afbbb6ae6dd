"""Which solver takes which program, against what happens when it is asked to."""

from __future__ import annotations

import numpy as np
import pytest
from cases import named

from mmopt import SolverError
from mmopt.compiler import bind
from mmopt.language import Program, program_names
from mmopt.pipeline.choice import pick_solver
from mmopt.report import lacking, taken, takers_table
from mmopt.solvers import KERNELS, SOLVERS, claims

WORKLOAD = named("prefix")
CONIC = [name for name in program_names() if Program.load(name).klass in ("convex", "rank")]


@pytest.mark.parametrize("name", CONIC)
def test_a_solver_is_refused_exactly_for_what_it_lacks(name: str) -> None:
    program = Program.load(name)
    instance = bind(program, WORKLOAD)
    for row in SOLVERS:
        missing = lacking(program, row)
        assert missing is not None
        if not missing:
            assert pick_solver(instance, row.name) is row
            continue
        with pytest.raises(SolverError) as refused:
            pick_solver(instance, row.name)
        assert all(cone in str(refused.value) for cone in missing)


@pytest.mark.parametrize("name", CONIC)
def test_a_kernel_is_said_to_take_exactly_what_it_claims(name: str) -> None:
    program = Program.load(name)
    claimed = {claim.name for claim in claims(bind(program, WORKLOAD))}
    assert {kernel.name for kernel in KERNELS if taken(program, kernel)} == claimed


def test_a_procedure_needs_what_its_steps_need() -> None:
    qoco = next(row for row in SOLVERS if row.name == "qoco")
    assert lacking(Program.load("eigen_design"), qoco) == lacking(Program.load("query_weighting"), qoco) == []
    assert lacking(Program.load("fitness_refined"), qoco) == ["psd"]
    assert lacking(Program.load("fitness_softmax"), qoco) is None
    assert lacking(Program.load("augment"), qoco) is None


@pytest.mark.slow
def test_the_table_has_every_program() -> None:
    table = takers_table([Program.load(name) for name in program_names()])
    assert table.row_count == len(program_names())
    assert np.size(table.columns) == len(KERNELS) + len(SOLVERS) + 1
