"""show, explain, check, solve --dry-run: each shipped program is printed whole, within 80 columns."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmopt.language import Program, program_names

# Those that are found by descent, whose solver has the name of the program or is this.
DESCENDED = {"p_identity": "p_identity", "l1_strategy": "signed_rows", "softmax_step": "softmax"}


@pytest.fixture
def printed(run: Any, files: Path, file_for: Any, subtests: pytest.Subtests) -> Any:
    def check(names: Iterable[str]) -> None:
        for name in names:
            with subtests.test(name):
                check_program(run, Program.load(name), file_for(name))

    return check


def check_program(run: Any, program: Program, workload: str) -> None:
    name = program.name
    assert run("show", name).err == f"error: '{name}' is a program\n  write: mmopt explain {name}\n"
    assert run("explain", name, "--formulas").out.startswith("\\begin{aligned}\n")

    done = run("explain", name)
    assert (done.status, done.err) == (0, "")
    text = program.text.rstrip()
    assert text in done.out, "the text can be copied into a file"
    assert max(map(len, done.out.replace(text, "").splitlines())) <= 80
    assert all(d.source in done.out for d in program.givens)
    assert program.title in " ".join(done.out.split()) and "What is proved" in done.out

    done = run("explain", name, workload)
    assert (done.status, done.err) == (0, "") and "With the workload: " in done.out
    numbers = done.out.split("With the workload: ")[1]
    if program.problem_class != "procedure":  # of which the steps are shown
        assert "n = 6" in numbers
    if program.problem_class == "smooth":
        solver = DESCENDED.get(name, "lbfgs")
        assert f": {solver} " in numbers and "lacks" not in numbers

    done = run("solve", workload, "--program", name, "--dry-run")
    assert (done.status, done.err) == (0, "")
    queries = 8 if workload == "targets.yaml" else 6
    assert done.out.startswith(f"{queries} queries over 6 cells; nothing is solved\n")
    found = json.loads(run("solve", workload, "--program", name, "--dry-run", "--json").out)
    assert found["program"] == name
    # The sizes of a procedure are those of its steps, as far as they are known before the first is solved.
    assert len(found["problems"]) == 1 or program.problem_class == "procedure"
    for problem in found["problems"]:
        assert problem["refusal"] is None and problem["dims"]["n"] == 6
        solvers = {s["name"] for s in problem["solvers"]}
        descended = [("lbfgs", set()), *((solver, {solver}) for solver in DESCENDED.values())]
        assert solvers >= {"clarabel", "scs", problem["solver"]} or (problem["solver"], solvers) in descended
        assert all(c["size"] > 0 and c["count"] > 0 for c in problem["cones"])


def test_some_programs(printed: Any, rng: np.random.Generator) -> None:
    printed(rng.choice(program_names(), 8, replace=False).tolist())


@pytest.mark.slow
def test_all_programs(printed: Any) -> None:
    printed(program_names())


@pytest.mark.some(1)
@pytest.mark.parametrize("part", range(10))
def test_certificates_are_checked(run: Any, part: int, subtests: pytest.Subtests) -> None:
    """A tenth of the programs is tried."""
    for name in program_names()[part::10]:
        with subtests.test(name):
            done = run("check", name, "--instances", "1")
            assert (done.status, done.err) == (0, ""), done
            if Program.load(name).certificate is None:
                assert f"'{name}' has no certificate of its own" in done.out
            else:
                assert f"weak duality of '{name}' holds" in done.out and "seed" in done.out
