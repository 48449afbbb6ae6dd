"""The registry: every problem can be built, and what is known of it is so.

Guards problem_registry.py.
"""

from collections.abc import Callable

import numpy as np
import pytest
from tolerances import GAP_INTERIOR

from mmopt import OptionError, Program, Workload, solve
from mmopt.testing import PROBLEMS, Problem, problem
from mmopt.testing.problem_registry import EXACT, known_figures, marginal_rows, meets, rectangles, windows

NAMES = [p.name for p in PROBLEMS]
SMALL = 16  # cells up to which a known number is solved for here


def test_problems_build_at_every_size(subtests: pytest.Subtests) -> None:
    for name in NAMES:
        with subtests.test(name):
            p = problem(name)
            for n in (p.size, 2, 3, 7, 30):
                w = p.workload(n)
                assert w.has_all_targets and w.m >= 1
                # A square or a cube has a whole side, so the number of cells is near the one asked for.
                assert (w.n == p.size) if p.fixed else (0.5 * n <= w.n <= max(8, 2 * n))
                assert p.workload(n) == w
            assert p.workload().n == p.size


def test_problems_differ_and_are_named_as_options_are() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert len({p.workload(9) for p in PROBLEMS}) == len(NAMES)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz-4") for name in NAMES)
    assert all(p.tags and p.about for p in PROBLEMS)


def test_another_seed_is_another_workload(subtests: pytest.Subtests) -> None:
    for p in [p for p in PROBLEMS if "random" in p.tags]:
        with subtests.test(p.name):
            assert p.workload(9, seed=1) != p.workload(9, seed=2)


def is_in_blocks(w: Workload) -> bool:
    touched = (w.queries != 0).astype(int)
    return not (touched.T @ touched)[0, -1]


TRUE_OF: dict[str, Callable[[Workload], object]] = {
    "rank deficient": lambda w: w.rank < min(w.n, 16),
    "duplicated cells": lambda w: len(np.unique(w.queries, axis=1).T) < w.n,
    "zero columns": lambda w: not w.queries.any(axis=0).all(),
    "equal targets": lambda w: set(w.targets) == {1.0},
    "weights": lambda w: len(set(w.weights)) > 1,
    "blocks": is_in_blocks,
}


def test_tags_are_true(subtests: pytest.Subtests) -> None:
    for tag in TRUE_OF:
        with subtests.test(tag):
            tagged = [p for p in PROBLEMS if tag in p.tags]
            assert tagged and not [p.name for p in tagged if not TRUE_OF[tag](p.workload(16))]


def test_matrices() -> None:
    assert windows(4, 2).tolist() == [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    assert marginal_rows((2, 2), [(1, 0), (0, 1)]).tolist() == [
        [1, 1, 0, 0],
        [0, 0, 1, 1],
        [1, 0, 1, 0],
        [0, 1, 0, 1],
    ]
    for row in rectangles(5, 40, np.random.default_rng(0)).reshape(-1, 5, 5):
        rows, columns = row.any(axis=1), row.any(axis=0)
        assert np.array_equal(row, np.outer(rows, columns))
        for side in (rows, columns):
            assert np.count_nonzero(np.diff(np.flatnonzero(side)) > 1) == 0


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("program", "name", "n"),
    [(*key, n) for key, (_, _, values) in EXACT.items() for n in values if n <= SMALL],
)
def test_known_optima(program: str, name: str, n: int) -> None:
    """Each number lies between bound and objective, which an interior-point method brings together."""
    w = problem(name).workload(n)
    assert w.n == n
    loaded = Program.load(program)
    figure = known_figures(loaded, name, w)[0]
    found = solve(w, program, solver="clarabel")
    assert figure.kind == "exact" and found.bound is not None
    assert meets(figure, found.bound, found.objective), (figure, found)
    if loaded.problem_class == "convex":
        assert found.gap is not None and found.gap <= GAP_INTERIOR
        assert not meets(figure, found.bound * 1.001, found.objective * 1.001)


@pytest.mark.some(4)
@pytest.mark.parametrize("program", ["l2_strategy", "fitness_for_use"])
@pytest.mark.parametrize("p", PROBLEMS, ids=lambda p: p.name)
def test_closed_forms_bound_the_optimum(program: str, p: Problem) -> None:
    w = p.workload()
    found = solve(w, program, solver="clarabel")
    lower, upper = known_figures(Program.load(program), "", w)
    assert (lower.kind, upper.kind) == ("lower", "upper")
    assert lower.value <= upper.value * (1 + 1e-12)
    assert found.bound is not None
    assert meets(lower, found.bound, found.objective) and meets(upper, found.bound, found.objective)


def test_a_formulation_has_the_numbers_of_its_program() -> None:
    w = problem("prefix").workload(8)
    for name in ("l2_strategy", "l2_strategy_dual"):
        assert known_figures(Program.load(name), "prefix", w)[0].value == 17.866177
    assert known_figures(Program.load("design_weighting"), "prefix", w) == ()
    assert [
        f.kind for f in known_figures(Program.load("l2_strategy"), "prefix", problem("prefix").workload(9))
    ] == [
        "lower",
        "upper",
    ]
    without = Workload.from_matrix(np.eye(2))
    assert known_figures(Program.load("fitness_for_use"), "", without) == ()


def test_what_is_refused() -> None:
    with pytest.raises(OptionError) as error:
        problem("prefxi")
    assert str(error.value) == "there is no problem 'prefxi'\n  did you mean 'prefix'?"
    with pytest.raises(OptionError) as error:
        problem("prefix").workload(1)
    assert str(error.value) == "problem 'prefix' has at least 2 cells, not 1"
