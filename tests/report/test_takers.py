"""Which solver takes which program, against what happens when it is asked to."""

import pytest
from dense_row_space import ways
from named_workloads import named

from mmopt import SolverError
from mmopt.compiler import bind
from mmopt.compiler.reductions.symmetry_and_row_space import by_sectors
from mmopt.language import Program, program_names, shipped
from mmopt.report import takers, takers_table
from mmopt.solvers import SOLVERS, claims, conic_solver

WORKLOAD = named("prefix")
MANY_CELLS = ways((6,) * 6, target=1.0)
CONIC = [name for name in program_names() if Program.load(name).problem_class in ("convex", "rank")]


def test_solvers_and_kernels_take_exactly_what_is_said(subtests: pytest.Subtests) -> None:
    for name in CONIC:
        with subtests.test(name):
            instance, said = bind(Program.load(name), WORKLOAD), takers(shipped(name))
            for row in SOLVERS:
                missing = said.lacking(row)
                assert missing is not None
                if not missing:
                    assert conic_solver(instance, row.name) is row
                    continue
                with pytest.raises(SolverError) as refused:
                    conic_solver(instance, row.name)
                assert all(cone in str(refused.value) for cone in missing)
            claimed = {claim.name for claim in claims(instance)}
            over_many = by_sectors(shipped(name), MANY_CELLS, {})
            if not isinstance(over_many, str):
                claimed |= {claim.name for claim in claims(over_many[0])}
            assert set(said.kernels) == claimed


def test_a_procedure_needs_what_its_steps_need() -> None:
    qoco = next(row for row in SOLVERS if row.name == "qoco")
    lacking = {name: takers(shipped(name)).lacking(qoco) for name in program_names()}
    assert lacking["eigen_design"] == lacking["query_weighting"] == []
    assert lacking["fitness_refined"] == ["psd"]
    assert lacking["fitness_softmax"] is None and lacking["augment"] is None


def test_the_table_has_every_program() -> None:
    table = takers_table({name: takers(shipped(name)) for name in program_names()})
    names, kernels, conic = zip(*table.rows, strict=True)
    assert list(map(str, names)) == program_names()
    at = program_names().index("l2_strategy")
    assert (kernels[at], conic[at]) == ("nuclear, sectors", "all but qoco (psd)")
