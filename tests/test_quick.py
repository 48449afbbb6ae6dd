"""What ``pytest -m quick`` promises: something of every folder, and a solve of every class of programs."""

from pathlib import Path

import numpy as np
import pytest

from mmopt import Program, Workload, solve, verify
from mmopt.language import program_names

pytestmark = pytest.mark.quick

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "mmopt"
FOLDERS = sorted({path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.glob("*/**/*.py")})
PROGRAMS = {
    "closed form": "singular_value_bound",
    "convex": "fitness_for_use",
    "procedure": "fitness_refined",
    "rank": "min_sensitivity",
    "smooth": "p_identity",
}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_has_a_quick_test(folder: str) -> None:
    files = (TESTS / folder).rglob("test_*.py")
    assert any("mark.quick" in path.read_text(encoding="utf-8") for path in files)


def test_every_class_has_a_program_here() -> None:
    assert {Program.load(name).klass for name in program_names()} == PROGRAMS.keys()
    assert all(Program.load(name).klass == klass for klass, name in PROGRAMS.items())


@pytest.mark.parametrize("klass", PROGRAMS)
def test_a_program_of_each_class_is_solved_and_judged(klass: str, rng: np.random.Generator) -> None:
    w = Workload.from_matrix(np.tri(3), targets=rng.uniform(1.0, 3.0, size=3))
    solution = solve(w, PROGRAMS[klass])
    assert solution.bound is None or solution.bound <= solution.objective
    assert verify(solution, w).holds
