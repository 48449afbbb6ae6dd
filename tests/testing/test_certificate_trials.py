"""The check of certificates: right ones hold, wrong ones are found, with the numbers."""

import numpy as np
import pytest
from edited_programs import without_reach

from mmopt import OptionError, Program, ProgramError, Workload
from mmopt.compiler import bind
from mmopt.driver.judge.score_and_meaning import candidate
from mmopt.language import program_names
from mmopt.testing import WeakDualityReport, check_program

L2 = Program.load("l2_strategy").text
RIGHT = "nuclear(W @ diag(sqrt(d)))**2 / sum(d)"
OWN = [name for name in program_names() if Program.load(name).certificate is not None]


def seed_of(rng: np.random.Generator) -> int:
    return int(rng.integers(2**32))


def changed(old: str, new: str, text: str = L2) -> Program:
    assert text.count(old) == 1
    return Program.parse(text.replace(old, new))


@pytest.mark.some(3, rest="slow")
@pytest.mark.parametrize("name", OWN)
def test_shipped_certificates_hold(name: str, rng: np.random.Generator) -> None:
    report = check_program(name, seed_of(rng), instances=4)
    assert report.holds and report.has_certificate and report.notes == (), str(report)
    # A procedure has one result, not points to compare with.
    problem_class = Program.load(name).problem_class
    assert report.instances == 4 and report.pairs > (50 if problem_class == "procedure" else 500)
    # The solver's multipliers meet the solver's point: there is nothing between the two.
    assert report.smallest_slack >= -1e-9
    # fitness_barrier ends within its own precision.
    near = 1e-4 if name == "fitness_barrier" else 1e-5
    assert report.smallest_slack <= near or problem_class in ("closed form", "rank", "smooth")


def test_the_report_in_words(rng: np.random.Generator) -> None:
    seed = seed_of(rng)
    report = check_program("l2_strategy", seed, instances=2)
    assert str(report) == (
        f"weak duality of 'l2_strategy' holds ({report.pairs} pairs on 2 random workloads of "
        f"{min(report.cells)} to {max(report.cells)} cells, "
        f"smallest slack {report.smallest_slack:.1e}; seed {seed})"
    )


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "wrong",
    [
        "2 * nuclear(W @ diag(sqrt(d)))**2 / sum(d)",
        "1.000001 * nuclear(W @ diag(sqrt(d)))**2 / sum(d)",
        "nuclear(W @ diag(sqrt(d)))**2",
        "nuclear(W @ diag(d))**2 / sum(d)",
        "nuclear(W @ diag(sqrt(d)))**2 / max(d)",
        "nuclear(W @ diag(sqrt(d))) / sum(d)",
        "sum(d)",
    ],
)
def test_wrong_certificates_are_found(wrong: str, rng: np.random.Generator) -> None:
    report = check_program(changed(RIGHT, wrong), seed_of(rng), instances=2)
    assert not report.holds, str(report)
    assert report.smallest_slack < 0
    assert str(report).startswith("the certificate of 'l2_strategy' is not a lower bound (")


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("l2_strategy", "diag(X) <= 1", "diag(X) <= 2"),
        ("fitness_for_use", "<= alpha", "<= 2 * alpha"),
        pytest.param("l2_strategy", RIGHT, f"(1 / 2 + n / 16) * {RIGHT}", marks=pytest.mark.slow),
        ("fitness_budget", "(budget * sum(p) * sum(q))", "(sum(p) * sum(q))"),
        # Taking all targets for the largest one is right when they are equal.
        ("fitness_for_use", "(sum(p) * (c @ q))", "(sum(p) * min(c) * sum(q))"),
        ("fitness_hybrid", "+ total / sum(c))) @", "+ 2 * total / sum(c))) @"),
    ],
)
def test_wrong_for_points_that_the_repair_hides_or_for_many_cells(
    name: str, old: str, new: str, rng: np.random.Generator
) -> None:
    program = changed(old, new, Program.load(name).text)
    report = check_program(program, seed_of(rng), instances=2 if name == "fitness_hybrid" else 5)
    assert not report.holds, str(report)


def test_a_finding_can_be_recomputed(rng: np.random.Generator) -> None:
    program = changed(RIGHT, f"2 * {RIGHT}")
    report = check_program(program, seed_of(rng), instances=3)
    assert len(report.findings) == 3
    for finding in report.findings:
        assert finding.bound > finding.objective
        w = Workload.from_matrix(finding.queries)
        point = candidate(bind(program, w), finding.variables)
        assert point.is_feasible
        assert point.objective == pytest.approx(finding.objective, rel=1e-9)
        d = finding.multipliers["d"]
        assert (d >= 0).all()
        bound = 2 * np.linalg.svd(finding.queries * np.sqrt(d), compute_uv=False).sum() ** 2 / d.sum()
        assert bound == pytest.approx(finding.bound, rel=1e-9)
        m, n = finding.queries.shape
        assert str(finding) == (
            f"instance {finding.instance} ({m} queries over {n} cells): a feasible point has objective "
            f"{finding.objective:.10g}, the certificate claims a bound of {finding.bound:.10g}"
        )
        assert f"  {finding}" in str(report).splitlines()


def test_the_seed_repeats_a_report(rng: np.random.Generator) -> None:
    seed = seed_of(rng)
    one, other = (check_program("query_weighting", seed, instances=1) for _ in range(2))
    assert one == other
    assert check_program("eigen_design", instances=1).seed != check_program("eigen_design", instances=1).seed


def test_a_program_without_a_certificate(subtests: pytest.Subtests) -> None:
    for text in [L2[: L2.index("certificate")], Program.load("eigen_design").text]:
        with subtests.test(text[:40]):
            program = Program.parse(text)
            report = check_program(program, seed=1)
            is_derived = program.problem_class == "convex"
            assert report == WeakDualityReport(program.name, 1, has_certificate=False, is_derived=is_derived)
            assert report.holds
            read = ": a solve derives its bound from its constraints" if is_derived else ""
            assert str(report) == f"'{program.name}' has no certificate of its own{read}"


def test_multipliers_that_start_from_no_dual(rng: np.random.Generator) -> None:
    """Then only random ones are tried: a coarse mistake is found, the right one holds."""
    free = "certificate d: vector[n] >= 0\n"
    text = L2.replace("certificate d: vector[n] >= 0 from dual(sensitivity)\n", free)
    assert free in text
    assert check_program(Program.parse(text), seed_of(rng), instances=2).holds
    assert not check_program(changed(RIGHT, f"100 * {RIGHT}", text), seed_of(rng), instances=2).holds


def test_givens_without_a_source_are_drawn(rng: np.random.Generator) -> None:
    text = """\
program lean
title "cheapest weights for drawn costs"
source "none"
class convex
given
    W: matrix[m, n] = workload.matrix
    K: psd[k, k]
    S: symmetric[k, k]
    Q: matrix[k, n]
    c: vector[k] > 0
    t: scalar
choose
    X: psd[k, k]
minimize
    trace(K @ inv(X)) + trace(inv(X))
subject to
    size: trace(X) <= 1
repair
    X = X / trace(X)
strategy
    factor(X) @ Q norm 2
certificate mu: scalar >= 0 from dual(size)
    CERTIFICATE
"""
    right = "2 * sqrt(mu) * nuclear(root(K + eye(k))) - mu"
    report = check_program(Program.parse(text.replace("CERTIFICATE", right)), seed_of(rng), instances=2)
    # Total error needs a strategy that supports the workload, which these rows need not do.
    assert report.holds and report.pairs, str(report)
    wrong = "3 * sqrt(mu) * nuclear(root(K + eye(k))) - mu"
    assert not check_program(Program.parse(text.replace("CERTIFICATE", wrong)), seed_of(rng)).holds


def test_requirements_that_no_draw_keeps() -> None:
    text = L2.replace("choose\n", "require\n    never: sum(W * W) == 0\nchoose\n")
    report = check_program(Program.parse(text), seed=3, instances=2)
    assert report.holds and (report.instances, report.pairs) == (0, 0)
    first, *notes = str(report).splitlines()
    assert first == (
        "weak duality of 'l2_strategy' could not be tested (0 pairs on 0 random workloads; seed 3)"
    )
    assert len(notes) == 2
    assert notes[0].startswith(
        "  instance 0: the program took none of 20 random workloads ('l2_strategy' requires 'never' of"
    )


def test_a_program_without_a_solution_is_noted() -> None:
    text = L2.replace("diag(X) <= 1", "diag(X) <= 1\n    large: diag(X) >= 2")
    report = check_program(Program.parse(text), seed=4, instances=1)
    assert report.holds and report.pairs == 0
    assert tuple(map(without_reach, report.notes)) == (
        "instance 0: not solved, only random points ('l2_strategy' has no feasible point: 'sensitivity' "
        "and 'large' cannot hold together with 'X' psd)",
        "instance 0: none of 6 points is feasible after the repair",
    )


def test_what_is_refused() -> None:
    with pytest.raises(OptionError) as option:
        check_program("l2_strategy", instances=0)
    assert str(option.value) == "'instances' is at least 1, not 0"
    with pytest.raises(OptionError):
        check_program("l2_stratgy")
    with pytest.raises(ProgramError):
        check_program(changed("    trace(W @ inv(X) @ W.T)\n\n", "    sum(W @ sqrt(X))\n\n"))
