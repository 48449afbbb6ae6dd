"""Rays of problems without a solution: what is a proof, and what is none, where the truth is known."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from mmopt import export
from mmopt.errors import ResultError
from mmopt.solvers.conic_problem import Cones, ConicProblem
from tests.examples.scripts import EXAMPLES, scripts

benchmark = scripts("benchmark")
ray_of, verdict_of = benchmark.proved_rays.ray_of, benchmark.truths.verdict_of
INSTANCES = {
    each.name: each for each in benchmark.suite_table.instances_in(EXAMPLES / "benchmark" / "certificates")
}
ROOT = math.sqrt(2.0)


def compiled(name: str) -> ConicProblem:
    problem = export(INSTANCES[name].workload, INSTANCES[name].program).problem
    return replace(problem, options=replace(problem.options, tolerance=1e-6, time_limit=0.2))


def plain(a: Any, b: Any, cones: Cones) -> ConicProblem:
    matrix = np.array(a, dtype=float)
    return ConicProblem(sp.csc_array(matrix), np.array(b, dtype=float), np.zeros(matrix.shape[1]), cones)


# By hand: x >= 3 and x <= 1; x == 0 and x == 1; |x + 2| <= 1 and |x - 2| <= 1; x (1 - x) >= 4 as a matrix;
# exp(2) <= 4 as (2, 1, 4) in the cone. With a y that proves it, inside its cone but for the free one.
IMPOSSIBLE = {
    "nonnegative": (plain([[-1], [1]], [-3, 1], Cones(nonnegative=2)), (1, 1)),
    "zero": (plain([[1], [1]], [0, 1], Cones(zero=2)), (1, -1)),
    "second-order": (plain([[0], [-1], [0], [-1]], [1, 2, 1, -2], Cones(second_order=(2, 2))), (3, -2, 3, 2)),
    "psd": (plain([[-1], [0], [1]], [0, 2 * ROOT, 1], Cones(psd=(2,))), (4, -3 * ROOT, 4)),
    "exponential": (plain([[0]] * 3, [2, 1, 4], Cones(exponential=1)), (-7, 7.5, 1)),
}


@pytest.mark.parametrize("kind", IMPOSSIBLE)
def test_a_ray_with_errors_of_a_solver_is_a_proof_and_a_wrong_one_is_none(kind: str) -> None:
    problem, y = IMPOSSIBLE[kind]
    rng, ray = np.random.default_rng(5), np.array(y, dtype=float)
    for _ in range(5):
        near = ray * (1 + 1e-6 * rng.normal(size=len(ray)))
        assert ray_of(problem, "infeasible", None, near) == benchmark.proved_rays.Ray(True, math.inf)
    assert ray_of(problem, "infeasible", None, -ray) is None
    assert ray_of(problem, "infeasible", None, None) is None
    assert ray_of(problem, "infeasible", None, np.full(len(ray), math.nan)) is None
    # With the limits moved until points are feasible, no multipliers are a proof.
    feasible = replace(problem, b=problem.A @ [0.25] + {"zero": 0.0 * ray}.get(kind, _inner(kind)))
    for _ in range(20):
        found = ray_of(feasible, "infeasible", None, rng.normal(size=len(ray)))
        assert found is None or not found.is_proof


def _inner(kind: str) -> Any:
    """A point inside the cone of a case."""
    return {
        "nonnegative": np.ones(2),
        "second-order": np.array([2, 1, 2, 1]),
        "psd": np.array([1, 0, 1]),
        "exponential": np.array([0, 1, 2]),
    }.get(kind)


def test_the_stated_truths_of_the_suite(subtests: pytest.Subtests) -> None:
    """Rays of solvers prove what has a proof, and none of them proves what has none."""
    for name, instance in INSTANCES.items():
        with subtests.test(name):
            problem, claim = compiled(name), instance.truth.removeprefix("weakly ")
            worths = []
            for solver in ("clarabel", "scs"):
                answer = benchmark.called_solvers.CALLED[solver](problem)
                worths.append(ray_of(problem, claim, answer["x"], answer["y"]))
            is_proved = any(worth is not None and worth.is_proof for worth in worths)
            assert is_proved == (instance.truth == claim)
            for worth in worths:
                assert worth is None or worth.is_proof or 0 < worth.reach < math.inf


def test_what_plain_cvxpy_hands_on() -> None:
    """Its rays of infeasible problems, in our order of rows; none of unbounded ones."""
    called = benchmark.called_solvers.function_of("cvxpy:clarabel")
    for name in ("lp_infeasible-any", "soc_infeasible-any", "sdp_infeasible-any", "exp_infeasible-any"):
        answer = called(compiled(name))
        assert answer["status"] == "infeasible"
        found = ray_of(compiled(name), "infeasible", answer["x"], answer["y"])
        assert found is not None and found.is_proof
    answer = called(compiled("sdp_unbounded-any"))
    assert (answer["status"], answer["x"]) == ("unbounded", None)


def test_coefficients_that_are_no_fractions_are_refused() -> None:
    problem = plain([[math.pi], [-1]], [-1, 0], Cones(nonnegative=2))
    with pytest.raises(ResultError, match="rays are checked for such coefficients"):
        ray_of(problem, "infeasible", None, np.array([1.0, math.pi]))


@pytest.mark.quick
def test_what_a_word_claims(subtests: pytest.Subtests) -> None:
    for words, claim in (
        (("PrimalInfeasible", "AlmostPrimalInfeasible", "infeasible", "infeasible_inaccurate"), "infeasible"),
        (("infeasible (inaccurate - reached max_iters)", "pINF", "dUNBD"), "infeasible"),
        (("DualInfeasible", "unbounded", "pUNBD", "dINF"), "unbounded"),
        (("Solved", "solved", "optimal", "QOCO_SOLVED", "pdOPT"), "solved"),
        (("AlmostSolved", "solved (inaccurate - reached time_limit_secs)", "optimal_inaccurate"), ""),
        (("infeasible_or_unbounded", "MaxIterations", "pdINF", "user_limit"), ""),
    ):
        for word in words:
            with subtests.test(word):
                assert benchmark.measured_solve.claim_of(word, True) == claim
    assert benchmark.measured_solve.claim_of("", True) == "solved"  # of a function that returns x and y alone
    assert benchmark.measured_solve.claim_of("", False) == ""


@pytest.mark.quick
def test_verdicts(subtests: pytest.Subtests) -> None:
    for truth, claim, is_proof, reach, verdict in (
        ("infeasible", "infeasible", True, math.inf, "proved"),
        ("infeasible", "infeasible", False, 3e7, "said, ray up to 3e+07"),
        ("infeasible", "infeasible", None, None, "said, no ray"),
        ("infeasible", "unbounded", True, math.inf, 'WRONG: "a word"'),
        ("infeasible", "solved", None, None, 'WRONG: "a word"'),
        ("infeasible", "", None, None, "nothing"),
        ("unbounded", "unbounded", True, math.inf, "proved"),
        ("weakly infeasible", "infeasible", False, 2e3, "said, ray up to 2e+03"),
        ("weakly infeasible", "infeasible", True, math.inf, "WRONG: a proof of what has none"),
        ("weakly unbounded", "solved", None, None, 'WRONG: "a word"'),
    ):
        row = {"stop": "no result", "word": "a word", "truth": truth, "claim": claim}
        with subtests.test(f"{truth}, {claim}"):
            assert verdict_of({**row, "is_proof": is_proof, "reach": reach}) == verdict
    assert verdict_of({"stop": "does not apply", "claim": None, "truth": "infeasible"}) == "-"
