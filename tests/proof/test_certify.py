"""A strategy that came from anywhere: adopted, repaired, charged, bounded.

Guards certify.py, driver/judge/assemble_solution.py.
"""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from named_workloads import EXAMPLE_4, named
from tolerances import GAP_INTERIOR, PRINTED, RECOMPUTED

from mmopt import OptionError, Program, ProgramError, SolverError, Strategy, Workload, certify, solve
from mmopt.driver.judge.assemble_solution import adopting_programs
from mmopt.strategies.baselines import baseline_words


def rotated(matrix: np.ndarray, rng: np.random.Generator, rows: int) -> np.ndarray:
    """Another strategy with a multiple of the same Gram matrix, of more rows."""
    q, _ = np.linalg.qr(rng.normal(size=(rows, rows)))
    return 3.0 * q[:, : len(matrix)] @ matrix


def test_example_4(subtests: pytest.Subtests) -> None:
    for strategy, objective in [("identity", 36.0), ("haar", 21.0)]:
        with subtests.test(strategy):
            s = certify(EXAMPLE_4, strategy)
            assert (s.program, s.solver, s.status.stop) == ("l2_strategy", "given", "certified")
            assert s.objective == pytest.approx(objective, rel=RECOMPUTED)
            assert s.error == pytest.approx(objective, rel=RECOMPUTED)
            assert s.bound == pytest.approx(15.01802, rel=PRINTED)
            assert s.sensitivity <= 1.0


def test_haar_is_kept_as_it_is_but_for_its_scale() -> None:
    s = certify(EXAMPLE_4, "haar", solve=False)
    assert np.array_equal(np.unique(np.abs(s.strategy.matrix)), [0.0, 0.5])
    assert s.warnings[0] == "the strategy was scaled by 0.5; its sensitivity was 2"


@pytest.mark.some(3)
@pytest.mark.parametrize("program", adopting_programs(2))
@pytest.mark.parametrize("name", ["prefix", "rank deficient", "zero columns", "single cell", "signed"])
def test_the_certificate_of_a_solve_comes_back(name: str, program: str, rng: np.random.Generator) -> None:
    """Its own strategy, the same rotated and scaled, with permuted rows, sparse, and as a covariance."""
    w = named(name)
    s = solve(w, program)
    a = s.strategy.matrix
    spread = w.basis @ np.linalg.pinv(a, rcond=1e-12)
    same = [
        certify(w, s, program, multipliers=s.multipliers, solve=False),
        certify(w, rotated(a, rng, s.strategy.p + 1), program, multipliers=s.multipliers, solve=False),
        certify(w, a[::-1], program, multipliers=s.multipliers, solve=False),
        certify(w, scipy.sparse.csr_array(a), program, multipliers=s.multipliers, solve=False),
        certify(w, program=program, covariance=spread @ spread.T, multipliers=s.multipliers, solve=False),
    ]
    for found in same:
        assert found.objective <= s.objective * (1 + RECOMPUTED)
        assert found.objective == pytest.approx(s.objective, rel=1e-7)  # the null space is completed
        assert s.bound is not None and found.bound is not None
        assert s.bound * (1 - RECOMPUTED) <= found.bound <= found.objective
    for found in same[:1]:
        assert found.objective == pytest.approx(s.objective, rel=RECOMPUTED)
        assert found.gap == pytest.approx(s.gap, abs=GAP_INTERIOR)


def test_no_direction_of_a_strategy_is_cut_off(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    """A rest that a solver leaves in the kernel of the queries, 1e-5 of the rest, is part of the strategy."""
    for program in ["gamma_2", "gamma_f", "minimax_variance"]:
        with subtests.test(program):
            w = named("rank deficient")
            s = solve(w, program)
            for _ in range(10):
                found = certify(w, rotated(s.strategy.matrix, rng, s.strategy.p + 1), program, solve=False)
                assert found.objective <= s.objective * (1 + RECOMPUTED)


def test_multipliers_of_lines_that_the_certificate_leaves_out() -> None:
    """A solution keeps them; they say nothing, and a name that is no line is refused still."""
    w = Workload.from_matrix(np.tri(4))
    s = solve(w, "lp_strategy")
    assert {"accuracy", "sensitivity"} <= s.multipliers.keys()
    again = certify(w, s, "lp_strategy", multipliers=s.multipliers, solve=False)
    assert again.bound == pytest.approx(s.bound, rel=RECOMPUTED)
    assert refusal(w, s, "lp_strategy", multipliers={"accurac": np.ones(4)}) == (
        "the bound of 'lp_strategy' has no multiplier 'accurac'\n  known: d, sensitivity, v"
    )


def test_a_covariance_on_a_basis_of_ones_own(rng: np.random.Generator) -> None:
    w = named("prefix")
    basis = rng.normal(size=(8, 8))
    spread = basis @ np.linalg.inv(np.tri(8))
    one = certify(w, program="fitness_for_use", covariance=spread @ spread.T, basis=basis, solve=False)
    other = certify(w, np.tri(8), "fitness_for_use", solve=False)
    assert one.objective == pytest.approx(other.objective, rel=1e-7)


def test_a_rank_deficient_strategy_that_supports_the_queries() -> None:
    w = named("zero columns")
    strategy = Strategy(w.matrix)
    s = certify(w, strategy, "l2_strategy", solve=False)
    assert s.error == pytest.approx(
        strategy.total_error(w), rel=RECOMPUTED
    ) or s.error < strategy.total_error(w)
    assert s.bound is not None and s.bound <= s.objective


def test_figures_are_of_the_strategy_as_given_and_what_completing_would_give_is_said() -> None:
    w = Workload.from_matrix(np.tri(4))
    a = np.diag([1.0, 1.0, 1.0, 0.5])
    s = certify(w, a, "l2_strategy", solve=False)
    assert s.objective == pytest.approx(Strategy(a).total_error(w), rel=RECOMPUTED)
    assert s.error == pytest.approx(s.objective, rel=RECOMPUTED)
    assert np.array_equal(s.strategy.matrix, a)
    assert s.warnings[0] == "completed by the program's repair its objective would be 10"


def test_the_noise_of_a_covariance_program_is_scaled_to_its_targets() -> None:
    w = Workload.from_matrix(np.eye(3), targets=4.0)
    s = certify(w, np.eye(3), solve=False)
    assert s.program == "fitness_for_use"
    assert s.objective == pytest.approx(0.25, rel=RECOMPUTED)
    assert s.strategy.variances(w) == pytest.approx(np.full(3, 4.0), rel=RECOMPUTED)
    assert s.warnings[0] == "the noise was scaled: variances by 4"


def test_where_multipliers_come_from() -> None:
    w = named("prefix")
    best = solve(w, "fitness_for_use")
    assert certify(w, np.eye(8), solve=False).bound is None
    assert "bound's multipliers" not in " ".join(certify(w, np.eye(8), solve=False).warnings)
    passed = certify(w, np.eye(8), multipliers=best.multipliers, solve=False)
    assert passed.warnings[-1] == "the bound's multipliers come from the caller"
    assert passed.bound == pytest.approx(best.bound, rel=RECOMPUTED)
    solved = certify(w, np.eye(8), solver="clarabel")
    assert solved.warnings[-1].startswith(
        "the bound's multipliers come from a solve of 'fitness_for_use' (clarabel "
    )
    assert solved.bound == pytest.approx(best.bound, rel=GAP_INTERIOR)
    named_by_the_certificate = {
        "p": best.multipliers["privacy"],
        "q": best.multipliers["accuracy"],
    }
    again = certify(w, np.eye(8), multipliers=named_by_the_certificate, solve=False)
    assert again.bound == passed.bound


def test_poor_multipliers_do_not_replace_better_ones() -> None:
    s = certify(EXAMPLE_4, "identity", multipliers={"sensitivity": np.eye(8)[0]}, solve=False)
    assert s.bound == pytest.approx(15.01802, rel=PRINTED)
    assert s.warnings[-1] == (
        "the bound's multipliers come from steps that start at the strategy; the bound still holds for "
        "every strategy"
    )


def test_a_solver_is_asked_only_when_the_gap_is_large() -> None:
    best = solve(EXAMPLE_4, "l2_strategy")
    s = certify(EXAMPLE_4, best, multipliers=best.multipliers)
    assert not any("a solve of" in warning for warning in s.warnings)
    with pytest.raises(SolverError):
        certify(EXAMPLE_4, "identity", solver="qoco")


def test_laplace_noise_is_bounded_by_the_best_gaussian_strategy() -> None:
    """‖A‖₁ >= ‖A‖₂; the number of rows is the strategy's own."""
    w = Workload.from_matrix(np.tri(4))
    best = solve(w, "l2_strategy")
    for a in (np.eye(4), np.vstack([np.ones((1, 4)), np.eye(4)]), 5 * np.tri(4)):
        s = certify(w, a, "min_error")
        assert s.strategy.norm == 1 and s.sensitivity <= 1.0
        assert s.objective == pytest.approx(Strategy(a, 1).total_error(w), rel=RECOMPUTED)
        assert s.bound == pytest.approx(best.objective, rel=GAP_INTERIOR)
        assert s.bound == s.error_bound
    assert certify(w, Strategy(np.eye(4), 1)).program == adopting_programs(1)[0] == "min_error"
    assert certify(w, Strategy(np.eye(4), 1), "min_error").objective == pytest.approx(10.0, rel=RECOMPUTED)


def test_paths(tmp_path: Path) -> None:
    a = np.tri(8)
    np.save(tmp_path / "a.npy", a)
    np.savetxt(tmp_path / "a.csv", a, delimiter=",")
    saved = certify(EXAMPLE_4, a, solve=False).save(tmp_path / "a.npz")
    wanted = certify(EXAMPLE_4, a, solve=False).objective
    for path in (tmp_path / "a.npy", str(tmp_path / "a.csv"), saved):
        assert certify(EXAMPLE_4, path, solve=False).objective == pytest.approx(wanted, rel=RECOMPUTED)


def refusal(*arguments: object, **options: object) -> str:
    with pytest.raises(OptionError) as error:
        certify(*arguments, **options)  # type: ignore[arg-type]
    return str(error.value)


def test_what_is_refused() -> None:
    w = Workload.from_matrix(np.tri(4))
    assert refusal(w, np.eye(3)) == "the strategy has 3 cells, the workload has 4"
    assert refusal(w) == "neither a strategy nor a covariance given, expected one of them"
    assert (
        refusal(w, np.eye(4), covariance=np.eye(4))
        == "both a strategy and a covariance given, expected one of them"
    )
    assert (
        refusal(w, np.eye(4), basis=np.eye(4)) == "a basis is given without the covariance of the noise on it"
    )
    assert refusal(w, np.ma.masked_less(np.eye(4), 0.5)) == (
        "the strategy is a masked array\n  fill it: numpy.ma.filled"
    )
    assert refusal(w, [[1], [1, 2]]) == ("the strategy is neither a number nor an array of numbers")
    assert refusal(w, np.eye(4) * 1e-200) == (
        "the strategy's largest entry is 1e-200, expected 1e-100 to 1e+100\n"
        "  divide it by 1e-200: a multiple of a strategy is the same strategy"
    )
    assert refusal(w, "nowhere") == (
        "the strategy 'nowhere' is not a baseline or a .npy, .csv or .npz file\n"
        f"  known: {', '.join(sorted(baseline_words()))}"
    )
    assert refusal(w, "fourier") == (
        "the baseline 'fourier' does not apply: "
        "the queries are not marginals: products of identities and totals"
    )
    assert refusal(w, np.eye(4), "eigen_design") == (
        "'eigen_design' has no section 'from strategy', which says how a strategy becomes its point\n"
        f"  these have one: {', '.join(adopting_programs())}"
    )
    assert refusal(w, Strategy(np.eye(4), 1), "l2_strategy") == (
        "'l2_strategy' is about strategies of norm 2, this one has norm 1\n"
        f"  for norm 1: {', '.join(adopting_programs(1)) or 'none that is shipped'}"
    )
    assert refusal(w, Strategy(np.eye(4), 1), norm=2) == (
        "the strategy has norm 1, and norm 2 was requested\n  pass its matrix alone"
    )
    assert refusal(w, np.eye(4), multipliers={"sensitvity": np.ones(4)}) == (
        "the bound of 'l2_strategy' has no multiplier 'sensitvity'\n  did you mean 'sensitivity'?"
    )
    assert refusal(w, np.eye(4), multipliers={"sensitivity": np.ones(3)}) == (
        "the multiplier 'sensitivity' has shape (3,), expected finite numbers of shape (4,)"
    )
    assert (
        refusal(w, np.eye(4), "min_error", givens={"p": 3})
        == "the strategy has 4 rows; p is 3 in 'min_error'"
    )


def test_an_unsupported_query_is_named() -> None:
    w = Workload.from_matrix([[1, 1, 0], [0, 0, 2], [1, 0, 0]])
    assert refusal(w, [[1, 1, 0], [0, 0, 1]]) == (
        "the strategy does not support the workload: W A⁺ A differs from W for 1 of 3 queries, most for "
        "'query 2' (query 2), by 7.1e-01 of its size\n"
        "  add queries to the strategy until every query of the workload is a combination of them"
    )


def test_a_point_that_stays_infeasible_names_its_constraint() -> None:
    text = Program.load("l2_strategy").text
    start, end = text.index("repair"), text.index("\nstrategy\n")
    program = Program.parse(text[:start] + text[end:])
    w = Workload.from_matrix(np.tri(4))
    narrow = Program.parse(program.text.replace("diag(X) <= 1", "diag(X) <= 0.5"))
    assert refusal(w, 2 * np.eye(4), narrow) == (
        "the strategy gives no feasible point of 'l2_strategy': after its repair it violates constraint "
        "'sensitivity' (cell 0) by 3.4e-01, relatively\n"
        "  give the program a 'repair' that makes any strategy feasible"
    )
    assert certify(w, np.eye(4), program, solve=False).objective == pytest.approx(10.0, rel=RECOMPUTED)


def test_every_chosen_variable_gets_a_value(subtests: pytest.Subtests) -> None:
    """Also one that a repair sets, but from itself."""
    for line, name in [("u = diag(W @ inv(X) @ W.T)", "u"), ("X = A.T @ A", "X")]:
        with subtests.test(name):
            text = Program.load("l2_strategy_lmi").text.replace(f"    {line}\n", "")
            with pytest.raises(ProgramError) as error:
                certify(Workload.from_matrix(np.tri(3)), np.eye(3), Program.parse(text))
            assert f"'{name}' is left without a value by 'from strategy', and no repair sets it" in str(
                error.value
            )
