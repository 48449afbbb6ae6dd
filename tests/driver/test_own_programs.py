"""Programs that a user writes: solved from a string, with or without repair, certificate and units."""

import numpy as np
import pytest
from tolerances import GAP, GAP_INTERIOR, PUBLISHED

from mmopt import OptionError, Program, ProgramError, SolverError, Workload, baseline, certify, solve

OWN = """\
program own
title  "Mine"
source "A notebook"
class  convex
given
    W: matrix[r, n] = workload.root
choose
    X: psd[n, n]
minimize
    trace(W @ inv(X) @ W.T)
subject to
    sensitivity: diag(X) <= 1
repair
    X = X / max(diag(X))
strategy
    factor(X) norm 2
"""
PREFIX = Workload.from_matrix(np.tri(5))
BEST = solve(PREFIX, "l2_strategy")


def own(*changes: tuple[str, str]) -> Program:
    text = OWN
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return Program.parse(text)


NO_REPAIR = ("repair\n    X = X / max(diag(X))\n", "")
CERTIFICATE = (
    "norm 2\n",
    "norm 2\ncertificate d: vector[n] >= 0 from dual(sensitivity)\n"
    "    nuclear(W @ diag(sqrt(d)))**2 / sum(d)\n",
)
BOUND = ("norm 2\n", "norm 2\nbound\n    l2_strategy\n")


def test_without_a_certificate_and_without_deriving_there_is_no_bound() -> None:
    s = solve(PREFIX, own(), derive=False)
    assert s.objective == pytest.approx(BEST.objective, rel=GAP_INTERIOR)
    assert (s.bound, s.gap, s.status.bound_valid) == (None, None, False)
    assert s.status.stop == "solver finished"
    assert s.error_bound <= s.error  # total error has a bound of its own
    assert "no bound" in repr(s) and "no bound" in str(s)
    assert s.summary()["bound"] is None and s.summary()["gap"] is None


def test_with_a_certificate() -> None:
    s = solve(PREFIX, own(CERTIFICATE))
    assert s.gap is not None and s.gap <= GAP_INTERIOR
    assert s.status.stop == "gap reached"


def test_with_the_bound_of_another_program() -> None:
    s = solve(PREFIX, own(BOUND))
    assert s.bound == s.error_bound and (s.bound_grade, s.error_bound_grade) == ("claimed", "proved")


def test_without_a_repair() -> None:
    """The point of an interior-point method keeps the constraint; that of SCS may miss it, which is said."""
    s = solve(PREFIX, own(NO_REPAIR))
    assert s.objective == pytest.approx(BEST.objective, rel=GAP)
    with pytest.raises(SolverError) as refused:
        solve(PREFIX, own(NO_REPAIR), solver="scs", max_iterations=30)
    lines = str(refused.value).splitlines()
    assert lines[0].startswith("the point of scs for 'own' misses constraint 'sensitivity' (cell ")
    assert lines[0].endswith(", relatively (solved (inaccurate - reached max_iters))")
    assert lines[1] == (
        "  give the program a 'repair' that restores 'sensitivity', for example: X = X / max(diag(X)), or "
        "allow more time or iterations, or try another solver"
    )


def test_maximize_keeps_the_largest() -> None:
    s = solve(PREFIX, own(("minimize\n    trace", "maximize\n    -trace")))
    assert s.objective == pytest.approx(-BEST.objective, rel=GAP_INTERIOR)
    assert s.objective <= -BEST.error_bound
    less = solve(
        PREFIX, own(("minimize\n    trace", "maximize\n    -trace")), solver="scs", max_iterations=20
    )
    assert less.objective < s.objective


def test_maximize_has_no_lower_bound() -> None:
    with pytest.raises(ProgramError) as refused:
        solve(PREFIX, own(("minimize\n    trace", "maximize\n    -trace"), BOUND))
    lines = str(refused.value).splitlines()
    message = "section 'bound' states a lower bound, and this program maximizes"
    assert lines[0] == f"<program>:17:1: {message}"
    assert lines[-1] == "  minimize the negative, or state an upper bound with 'certificate'"


def test_lines_that_agree_on_no_units_are_solved_as_given() -> None:
    plus = ("trace(W @ inv(X) @ W.T)", "trace((W + 1) @ inv(X) @ (W + 1).T)")
    s = solve(PREFIX, own(plus))
    assert s.warnings == () and s.scaling == {}
    root = PREFIX.root + 1
    equal = solve(Workload.from_matrix(root), "l2_strategy")
    assert s.objective == pytest.approx(equal.objective, rel=GAP)


def test_where_the_gap_is_not_reached_it_is_said_that_lines_agree_on_no_units() -> None:
    plus = ("trace(W @ inv(X) @ W.T)", "trace((W + 1) @ inv(X) @ (W + 1).T)")
    s = solve(PREFIX, own(plus), solver="clarabel", max_iterations=8, derive=False)
    assert s.warnings[0] == (
        "the lines of the program agree on no units, so it was not scaled: the objective is the first that "
        "does not scale with those before it (numbers added to givens, or powers that do not match)"
    )
    assert s.scaling == {} and ("warning", s.warnings[0]) in s.rows()


def test_matching_units_give_no_warning() -> None:
    assert solve(PREFIX, own()).warnings == ()


def test_problems_without_a_solution(subtests: pytest.Subtests) -> None:
    """The same message whatever the solver's word for it."""
    for solver in ["clarabel", "scs", "cvxopt", "sdpa"]:
        for change, start in [
            (
                [("diag(X) <= 1", "diag(X) <= 1\n    large: diag(X) >= 2")],
                "'own' has no feasible point: 'sensitivity' (cell 0) and 'large' (cell 0) cannot hold together",
            ),
            (
                [("trace(W @ inv(X) @ W.T)", "-trace(X)"), ("diag(X) <= 1", "diag(X) >= 1")],
                "'own' seems unbounded: nothing keeps 'X' from growing; ",
            ),
        ]:
            with subtests.test(solver=solver, start=start):
                with pytest.raises(SolverError) as refused:
                    solve(PREFIX, own(*change), solver=solver)
                assert str(refused.value).startswith(start)


def test_a_value_on_another_scale() -> None:
    s = solve(
        PREFIX,
        own(
            ("minimize\n    trace(W", "minimize\n    2 * trace(W"),
            ("strategy\n", "value objective / 2\nstrategy\n"),
        ),
    )
    assert s.objective == pytest.approx(2 * BEST.objective, rel=GAP_INTERIOR)
    assert s.value == pytest.approx(BEST.objective, rel=GAP_INTERIOR)


def test_givens_of_the_caller() -> None:
    """A given without a source, in the shape of its declaration; it stands as it is, unscaled."""
    program = own(("= workload.root", '"what is asked"'))
    rows = np.tri(5) * 1e3
    s = solve(PREFIX, program, givens={"W": rows})
    assert s.objective == pytest.approx(1e6 * BEST.objective, rel=GAP)
    assert s.givens["W"] == pytest.approx(rows)
    with pytest.raises(OptionError) as refused:
        solve(PREFIX, program)
    assert str(refused.value).splitlines()[0] == "<program>:6:5: 'own' needs the given 'W' (what is asked)"
    assert str(refused.value).splitlines()[-1] == "  pass it: givens={'W': …} or --given W=FILE"


def test_design_queries_of_the_caller() -> None:
    from constructed import haar

    w = Workload.from_matrix(np.tri(8))
    rows = haar(8)
    s = solve(w, "query_weighting", givens={"Q": rows})
    assert s.gap is not None and s.gap <= GAP_INTERIOR
    own_length = solve(w, "query_weighting", givens={"Q": 3.0 * rows})
    assert own_length.objective == pytest.approx(s.objective, rel=PUBLISHED)
    assert s.objective < 8 * 9 / 2  # the identity's
    by_name = solve(w, "query_weighting", givens={"Q": "wavelet"})
    np.testing.assert_array_equal(by_name.givens["Q"], rows)
    assert by_name.objective == s.objective
    with pytest.raises(OptionError) as refused:
        solve(w, "query_weighting", givens={"Q": "wavlet"})
    assert str(refused.value) == "there is no baseline 'wavlet'\n  did you mean 'wavelet'?"
    with pytest.raises(OptionError) as refused:
        solve(w, "query_weighting", givens={"Q": "hierarchy"})  # dependent rows
    assert "'query_weighting' requires 'independent' of what is given" in str(refused.value)
    tree = solve(w, "design_weighting", givens={"D": "hierarchy"})
    assert tree.error is not None and tree.error < baseline("hierarchy", w).total_error(w)
    identity = solve(w, "query_weighting", givens={"Q": np.eye(8)})
    assert identity.objective == pytest.approx(8 * 9 / 2, rel=PUBLISHED)


def test_design_queries_that_do_not_do(subtests: pytest.Subtests) -> None:
    for given, constraint in [(np.ones((2, 5)), "independent"), (np.eye(5)[:4], "supports")]:
        with subtests.test(constraint):
            with pytest.raises(OptionError) as refused:
                solve(PREFIX, "query_weighting", givens={"Q": given})
            text = str(refused.value)
            assert f"'query_weighting' requires '{constraint}' of what is given, and it is off by " in text
            assert text.endswith(
                "give other design queries: independent rows from which every query can be derived"
            )


def test_a_scalar_program() -> None:
    """Lines on one number and a vector: no matrix at all, solved by a solver without a psd cone."""
    text = """\
program counts
title "weights"
source "none"
class convex
given
    W: matrix[m, n] = workload.matrix
choose
    t: scalar
    u: vector[n] >= 0
minimize
    t
subject to
    rows: W @ u >= 1
    each: u <= t
repair
    u = u / min(W @ u)
    t = max(u)
strategy
    diag(sqrt(u)) norm 2
"""
    w = Workload.from_matrix(np.tri(4) + np.eye(4))
    for solver in ("clarabel", "qoco", "scs"):
        s = solve(w, Program.parse(text), solver=solver)
        assert s.objective == pytest.approx(0.5, rel=GAP)


def test_a_let_beyond_the_range_of_numbers_is_a_named_error(subtests: pytest.Subtests) -> None:
    """It is evaluated before any solver runs: a row basis of infinities."""
    for judged in [solve, certify]:
        with subtests.test(judged=judged):
            let = ("choose\n", "let\n    S = row_basis(1e299 * W * 1e299)\nchoose\n")
            adopted = (
                "factor(X) norm 2\n",
                "factor(X) norm 2\nfrom strategy A: matrix[p, n]\n    X = A.T @ A\n",
            )
            asked = (PREFIX,) if judged is solve else (PREFIX, "identity")
            with pytest.raises(SolverError, match="leave the range of floating point"):
                judged(*asked, program=own(let, adopted))
