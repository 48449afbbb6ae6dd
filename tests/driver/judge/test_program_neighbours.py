"""A program with neighbours of its own: what it is solved for is what is judged, verified and released.

Guards total_error_bound.py, compiler/bind.py, compiler/reductions/reduction_step.py,
mechanism/release_plan.py, score_and_meaning.py, proof/recheck.py.
"""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from edited_programs import edited

from mmopt import Privacy, PrivacyError, Program, Solution, Strategy, Workload, certify, plan, solve, verify
from mmopt.compiler import bind
from mmopt.driver.judge.total_error_bound import for_neighbours
from mmopt.driver.task_and_plan import plan_solve
from mmopt.errors import OptionError
from mmopt.strategies import ADD_REMOVE, Neighbours
from mmopt.workloads import Attribute, Domain, Product
from mmopt.workloads.factors_and_products import identity
from tests.numerics.test_participation import patterns

PREFIX = Workload.from_matrix(np.tri(5), targets=1.0)
STREAM = """
program stream
given
    W: matrix[r, n] = workload.root
    U: matrix[h, n]                      "what one person in one or two steps adds, of either sign"
parameter
    b: dim = 2
choose
    X: psd[n, n]
minimize
    trace(W @ inv(X) @ W.T)
subject to
    pattern: U[i, :] @ X @ U[i, :].T <= 1 for i in h
repair
    X = X / max(diag(U @ X @ U.T))
strategy
    factor(X) norm 2
neighbours
    participation separation b at most 2
"""


def person(rows: str = "k") -> Program:
    """l2_strategy for up to k rows of one person."""
    return edited(
        "l2_strategy",
        ("choose\n", "parameter\n    k: dim = 3\n\nchoose\n"),
        ("diag(X) <= 1", "diag(X) <= 1 / k**2"),
        ("X + diag(1 - diag(X))", "(X + diag(1 - diag(X))) / k**2"),
        ("**2 / sum(d)", "**2 * k**2 / sum(d)"),
        ("from strategy", f"neighbours\n    rows {rows}\n\nfrom strategy"),
        called="person",
    )


def pairs(n: int, separation: int) -> np.ndarray:
    rows = []
    for steps in patterns(n, separation, 2):
        for sign in (1.0, -1.0):
            rows.append(np.zeros(n))
            rows[-1][list(steps)] = [1.0, sign][: len(steps)]
    return np.array(rows)


@pytest.mark.quick
def test_k_rows_of_a_person_cost_k_squared_times_as_much(tmp_path: Path) -> None:
    """The shipped program's optimum: there is nothing better for a person than for each of the rows."""
    k = 5
    s, single = solve(PREFIX, person(), givens={"k": k}), solve(PREFIX, "l2_strategy")
    assert s.own_sensitivity is None and s.sensitivity <= 1.0 and s.warnings == ()
    assert s.strategy.neighbours == Neighbours.of({"rows": k})
    for name in ("objective", "bound", "error", "error_bound"):
        assert getattr(s, name) == pytest.approx(k**2 * getattr(single, name), rel=1e-5)
    assert s.rmse == pytest.approx(k * single.rmse, rel=1e-5)
    assert s.strategy.largest_column == pytest.approx(1 / k, rel=1e-12)
    assert s.bound <= s.objective and s.error_bound <= s.error
    saved = Solution.load(s.save(tmp_path / "person.npz"))
    assert saved == s and saved.strategy.neighbours == s.strategy.neighbours and verify(saved, PREFIX).holds
    assert s.summary()["neighbours"] == f"rows {k}" and "neighbours" not in single.summary()
    assert ("neighbours", s.strategy.neighbours.words) in s.rows()
    ours, theirs = (plan(PREFIX, s, Privacy(rho=0.5)), plan(PREFIX, single, Privacy(rho=0.5), {"rows": k}))
    assert ours.neighbours == theirs.neighbours and ours.rmse == pytest.approx(theirs.rmse, rel=1e-5)


def test_a_figure_for_other_neighbours_is_found() -> None:
    s, single = solve(PREFIX, person()), solve(PREFIX, "l2_strategy")
    forged = dataclasses.replace(s, strategy=dataclasses.replace(s.strategy, neighbours=ADD_REMOVE))
    assert "strategy" in [row.what for row in verify(forged, PREFIX).failures]
    for name in ("error_bound", "error", "rmse"):
        other = dataclasses.replace(s, **{name: getattr(single, name)})
        assert not verify(other, PREFIX).holds
    text = s.program_text.replace("rows k", "rows 2")
    assert "own sensitivity" in [
        row.what for row in verify(dataclasses.replace(s, program_text=text), PREFIX).failures
    ]


def test_a_participation_is_solved_for_judged_and_released() -> None:
    s = solve(PREFIX, Program.parse(STREAM), givens={"U": pairs(5, 2)})
    apart = Neighbours.of("participation separation 2 at most 2")
    assert s.own_sensitivity is None and s.warnings == ()
    assert s.strategy.neighbours == apart
    x = np.abs(s.strategy.matrix.T @ s.strategy.matrix)
    largest = max(x[np.ix_(steps, steps)].sum() for steps in patterns(5, 2, 2))
    assert largest == pytest.approx(1.0, rel=1e-9)
    assert verify(s, PREFIX).holds
    plain = solve(PREFIX, "l2_strategy").strategy
    scaled = Strategy(plain.matrix, 2, apart)
    assert s.error_bound <= s.error < scaled.total_error(PREFIX) * (1 - 1e-4)
    planned = plan(PREFIX, s, Privacy(rho=0.5))
    assert str(planned.neighbours) == str(apart) and planned.scaled_from == ""
    assert planned.rmse == pytest.approx(s.rmse, rel=1e-4)
    other = plan(PREFIX, plain, Privacy(rho=0.5), str(apart))
    assert planned.rmse < other.rmse
    assert other.scaled_from == (
        "the strategy was chosen for add-remove; its sensitivity to participation separation 2 at most 2 "
        "sets the noise"
    )
    one = Strategy(plain.matrix, 2, Neighbours.of("rows 1"))  # the set of add-remove by another name
    assert plan(PREFIX, one, Privacy(rho=0.5)).scaled_from == ""
    assert plan(PREFIX, one, Privacy(rho=0.5), "add-remove").scaled_from == ""
    # Fewer steps that are further apart are covered, and need less noise.
    further = plan(PREFIX, s, Privacy(rho=0.5), {"participation": {"separation": 3, "at_most": 2}})
    assert further.rmse <= planned.rmse * (1 + 1e-9)


def test_separation_and_number_are_not_exchanged() -> None:
    stream = Program.parse(STREAM.replace("at most 2", "at most 3"))
    bound = bind(stream, PREFIX, {"U": pairs(5, 2)})
    assert bound.neighbours == Neighbours.of("participation separation 2 at most 3")


def test_lines_for_fewer_changes_than_its_neighbours_are_said_and_not_released() -> None:
    """Larger figures are not hidden: the strategy is scaled to what its neighbours change."""
    s = solve(PREFIX, Program.parse(STREAM), givens={"U": np.eye(5)})
    assert s.own_sensitivity > 1.1
    (warning,) = s.warnings
    apart = "participation separation 2 at most 2"
    found = f"{s.own_sensitivity:.10g}"
    assert warning == (
        f"the strategy of 'stream' has sensitivity {found} to '{apart}', not 1, so its constraints bound "
        "something other than what neighbours differ by: total error, rmse and sensitivity are those of "
        "the strategy scaled to 1, and it cannot be released"
    )
    with pytest.raises(PrivacyError) as refused:
        plan(PREFIX, s, Privacy(rho=1.0))
    assert refused.value.message == warning
    assert s.error == pytest.approx(s.own_sensitivity**2 * s.objective, rel=1e-6)
    assert verify(s, PREFIX).holds
    wide = solve(PREFIX, edited("l2_strategy", ("from strategy", "neighbours\n    rows 2\nfrom strategy")))
    assert wide.own_sensitivity == pytest.approx(2.0, rel=1e-6)
    assert wide.error == pytest.approx(4 * wide.objective, rel=1e-6)


def test_the_bound_on_every_strategy_holds_for_the_set(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    for said in [
        "rows 2",
        "replace-one",
        "participation separation 2 at most 2",
        "participation separation 1 at most 3",
    ]:
        with subtests.test(said):
            w = Workload.from_matrix(rng.normal(size=(6, 4)))
            neighbours = Neighbours.of(said).over(w)
            optimum = solve(w, "l2_strategy")
            d = rng.uniform(0, 1, 4)
            for multipliers in (d, np.asarray(optimum.error_multipliers), np.ones(4)):
                kernel = np.linalg.svd(w.matrix * np.sqrt(multipliers), compute_uv=False).sum() ** 2
                bound = for_neighbours(kernel / multipliers.sum(), multipliers, neighbours)
                for matrix in (rng.normal(size=(5, 4)), np.eye(4), optimum.strategy.matrix):
                    assert bound <= Strategy(matrix, 2, neighbours).total_error(w) * (1 + 1e-9)


def test_a_covariance_pays_for_the_rows_of_a_person() -> None:
    program = edited(
        "fitness_for_use",
        ("B[:, i].T @ inv(Sigma) @ B[:, i] <=", "4 * (B[:, i].T @ inv(Sigma) @ B[:, i]) <="),
        ("alpha = max(diag", "alpha = 4 * max(diag"),
        ("    Sigma on B", "    Sigma on B\n\nneighbours\n    rows 2"),
        ("    nuclear(", "    4 * nuclear("),
        called="person",
    )
    s, single = solve(PREFIX, program), solve(PREFIX, "fitness_for_use")
    assert s.own_sensitivity is None and s.objective == pytest.approx(4 * single.objective, rel=1e-5)
    ours, one = (plan(PREFIX, each, None, absolute=True) for each in (s, single))
    assert str(ours.neighbours) == "rows 2" and ours.rho == pytest.approx(4 * one.rho, rel=1e-5)
    assert verify(s, PREFIX).holds


def test_a_strategy_that_is_given_is_scaled_to_the_set() -> None:
    s = certify(PREFIX, np.eye(5), person())
    assert s.sensitivity == pytest.approx(1.0, rel=1e-12) and s.strategy.neighbours == Neighbours.of("rows 3")
    assert s.error == pytest.approx(9 * 15.0, rel=1e-9) and verify(s, PREFIX).holds


def test_nothing_is_reduced_by_columns_where_they_do_not_decide() -> None:
    """Blocks and products are put together by their largest columns."""
    w = Workload.from_matrix(np.kron(np.eye(2), np.tri(3)))
    assert plan_solve(Program.load("l2_strategy"), w).step is not None
    wide = edited("l2_strategy", ("from strategy", "neighbours\n    rows 2\n\nfrom strategy"))
    assert plan_solve(wide, w).step is None
    s = solve(w, person())
    assert s.error == pytest.approx(9 * solve(w, "l2_strategy").error, rel=1e-5)


def test_what_the_numbers_or_the_workload_cannot_be_is_refused_with_the_place() -> None:
    with pytest.raises(OptionError) as error:
        bind(person("k - 3"), PREFIX)
    where = error.value.where
    assert error.value.message == "'rows' of neighbours is 0, expected 1 to 1,048,576"
    assert where.text.strip() == "rows k - 3"
    two = Domain((Attribute("step", ("0", "1")), Attribute("sex", ("F", "M"))))
    workload = Workload.from_products(two, [Product((identity(2), identity(2)))])
    with pytest.raises(PrivacyError) as refused:
        solve(workload, Program.parse(STREAM), givens={"U": np.eye(4)})
    assert refused.value.message == (
        "a participation is one in steps, the cells of one attribute; there are 2 attributes (step, sex)"
    )
    assert refused.value.where is not None and "participation" in refused.value.where.text
