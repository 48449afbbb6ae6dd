"""Nothing of a C library reaches standard output, where JSON is printed."""

import ctypes
import os

import numpy as np
import pytest

from mmopt import Workload, solve
from mmopt.language import program_names
from mmopt.solvers import SOLVERS, missing_cones
from mmopt.solvers.printed_output import quiet_output


def test_text_from_below_is_dropped_and_pythons_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    runtime = ctypes.CDLL(None)
    print("before")
    with quiet_output():
        runtime.puts(b"from C, buffered")
        os.write(1, b"from the system call\n")
    print("after", flush=True)
    runtime.fflush(None)
    assert capfd.readouterr().out == "before\nafter\n"


def test_output_comes_back_after_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="inside"), quiet_output():
        raise ValueError("inside")
    os.write(1, b"heard\n")
    assert capfd.readouterr().out == "heard\n"


def test_solvers_print_nothing(subtests: pytest.Subtests, capfd: pytest.CaptureFixture[str]) -> None:
    for row in SOLVERS:
        with subtests.test(row.name):
            from mmopt import Program
            from mmopt.compiler import bind, cones

            w = Workload.from_matrix(np.tri(5), targets=np.ones(5))
            seen = set()
            for name in program_names():
                program = Program.load("query_weighting" if name == "eigen_design" else name)
                if program.klass != "convex":
                    continue
                instance = bind(program, w)
                needed = cones(instance.checked, instance.sizes())
                kinds = frozenset(cone.kind for cone in needed)
                if kinds not in seen and not missing_cones(row, needed):
                    seen.add(kinds)
                    solve(w, name, solver=row.name)
            assert seen
            ctypes.CDLL(None).fflush(None)
            captured = capfd.readouterr()
            assert captured.out == "" and captured.err == ""
