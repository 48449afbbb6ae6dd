"""The promise of ``pytest -m quick``: something of every folder, and a solve of every class of programs."""

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


def test_every_folder_has_a_quick_test(subtests: pytest.Subtests) -> None:
    for folder in FOLDERS:
        with subtests.test(folder):
            files = (TESTS / folder).rglob("test_*.py")
            assert any("mark.quick" in path.read_text(encoding="utf-8") for path in files)


def test_a_program_of_each_class_is_solved_and_judged(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    assert {Program.load(name).problem_class for name in program_names()} == PROGRAMS.keys()
    w = Workload.from_matrix(np.tri(3), targets=rng.uniform(1.0, 3.0, size=3))
    for problem_class, name in PROGRAMS.items():
        with subtests.test(problem_class):
            assert Program.load(name).problem_class == problem_class
            solution = solve(w, name)
            assert solution.bound is None or solution.bound <= solution.objective
            assert verify(solution, w).holds
