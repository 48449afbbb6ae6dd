"""The clock of a solve, and options of other kinds than theirs."""

import numpy as np
import pytest

from mmopt import OptionError
from mmopt.compiler import bind, lower
from mmopt.language import Program
from mmopt.solvers import SOLVERS, Clock, Options, run
from mmopt.workloads import Workload


def test_another_kind_is_refused(subtests: pytest.Subtests) -> None:
    for option, message in [
        ({"tolerance": "x"}, "'tolerance' is a number, not 'x'"),
        ({"threads": 1.5}, "'threads' is a whole number, not 1.5"),
        ({"max_iterations": 1.5}, "'max_iterations' is a whole number, not 1.5"),
        ({"starts": True}, "'starts' is a whole number, not True"),
        ({"verbose": "no"}, "'verbose' is True or False, not 'no'"),
        ({"arrays": 1}, "'arrays' is a text, not 1"),
    ]:
        with subtests.test(option=option):
            with pytest.raises(OptionError) as refused:
                Options(**option)
            assert str(refused.value) == message
            assert Options(tolerance=np.float32(0.5), threads=np.int64(2)).threads == 2  # type: ignore[arg-type]


def test_ctrl_c_while_compiling_ends_at_once_and_later_keeps_the_point() -> None:
    clock = Clock(60.0, compiling=True)
    with pytest.raises(KeyboardInterrupt):
        clock.press()
    clock.hand_over()
    clock.press()
    assert clock.interrupted and clock.is_over
    with pytest.raises(KeyboardInterrupt):
        clock.press()


def test_the_clock_knows_when_the_solver_had_the_problem(subtests: pytest.Subtests) -> None:
    for row in [row for row in SOLVERS if "psd" in row.cones]:
        with subtests.test(row.name):
            # cvxpy's part of compiling happens on the way: it must count as that, not as solving.
            lowered = lower(bind(Program.load("l2_strategy"), Workload.from_matrix(np.tri(4))))
            with Clock(60.0) as clock:
                assert clock.handed_over == 0.0
                next(run(row, lowered, Options(), clock))
                assert 0.0 < clock.handed_over < clock.elapsed
