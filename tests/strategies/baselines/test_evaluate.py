"""Every baseline on many workloads: support, sensitivities, errors with and without a matrix; their names.

Guards baseline_catalogue.py and attribute_baselines.py.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest
from named_workloads import EXAMPLE_4
from tolerances import FINE, ROUNDING

from mmopt import OptionError, TooLargeError, Workload, limits, solve
from mmopt.strategies import normalise, privacy_cost
from mmopt.strategies.baselines import (
    ALIASES,
    CATALOGUE,
    Evaluated,
    baseline,
    baseline_call,
    baseline_names,
    baseline_words,
    evaluate,
    is_baseline,
)
from mmopt.workloads import factors_and_products as f
from tests.strategies.asked import line, marginals_of, random_asked, with_targets


def evaluations(
    workload: Workload, norms: Sequence[int] = (1, 2), names: Sequence[str] | None = None
) -> Iterator[Evaluated]:
    return (evaluate(name, workload, norms) for name in names or baseline_names())


def costs(text: str, workload: Workload, norm: int) -> tuple[float, float]:
    (cost,) = evaluate(text, workload, (norm,)).costs
    assert cost.norm == norm
    return cost.error, cost.rmse


def exact_power(matrix: np.ndarray, norm: int) -> Fraction:
    """The largest column norm, to the power of the norm, of the floats as they are."""
    columns = ([abs(Fraction(float(x))) ** norm for x in column] for column in matrix.T)
    return max(sum(column, Fraction(0)) for column in columns)


@pytest.mark.some(1, "kind")
@pytest.mark.parametrize("time", range(4))
@pytest.mark.parametrize("kind", range(3))
def test_errors_without_a_matrix_are_those_of_the_matrix(
    kind: int, time: int, subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    """Normalised each query has a weight of its own."""
    workload = random_asked(rng, kind)
    for asked, norm in itertools.product((workload, workload.normalised()), (1, 2)):
        with subtests.test(normalised=asked is not workload, norm=norm):
            check_errors(asked, norm)


def check_errors(workload: Workload, norm: int) -> None:
    found = {one.name: one for one in evaluations(workload, (norm,))}
    for name in baseline_names():
        reason = baseline_call(name).baseline.reason_against(workload)
        assert found[name].name == name and found[name].reason == reason
        if reason is not None:
            assert found[name].costs == ()
            continue
        strategy = baseline(name, workload, norm)
        assert strategy.norm == norm and strategy.supports(workload)
        (cost,) = found[name].costs
        assert cost.rows == strategy.p
        power = exact_power(strategy.matrix, norm)
        for sensitivity in (cost.sensitivity, strategy.sensitivity, cost.sensitivity):
            assert Fraction(sensitivity) ** norm >= power
            assert sensitivity**norm <= float(power) * (1 + ROUNDING)
        assert normalise(strategy).sensitivity <= 1.0
        if name == "workload":  # the mechanism does no least squares
            noise = float(workload.weights.sum())
            assert cost.error == pytest.approx(strategy.sensitivity**2 * noise, rel=FINE)
            assert cost.error >= strategy.total_error(workload) * (1 - FINE)
            assert cost.rmse == pytest.approx(strategy.sensitivity, rel=ROUNDING)
        else:
            assert cost.error == pytest.approx(strategy.total_error(workload), rel=FINE)
            rmse = strategy.sensitivity * math.sqrt(strategy.mean_variance(workload))
            assert cost.rmse == pytest.approx(rmse, rel=FINE)


def test_only_what_says_so_depends_on_the_norm(rng: np.random.Generator) -> None:
    """Other rows are built once and judged in both norms."""
    for _ in range(2):
        workload = random_asked(rng)
        rows = {name: baseline_call(name).baseline for name in baseline_names()}
        same = [
            name for name, row in rows.items() if not (row.depends_on_norm or row.reason_against(workload))
        ]
        assert "identity" in same
        for name in same:
            one, other = (baseline(name, workload, norm).matrix for norm in (1, 2))
            np.testing.assert_array_equal(one, other, err_msg=name)


@pytest.mark.parametrize("kind", range(3))
def test_privacy_costs_without_a_matrix_are_those_of_the_matrix(kind: int, rng: np.random.Generator) -> None:
    workload = with_targets(random_asked(rng, kind), rng)
    costs = [(one, cost) for one in evaluations(workload) for cost in one.costs]
    for one, cost in costs:
        found, strategy = cost.privacy_cost, baseline(one.name, workload, cost.norm)
        assert found is not None
        if one.name == "workload":  # what is asked with a target has that noise, also without least squares
            least = float(workload.targets.min())
            assert found == pytest.approx(strategy.sensitivity / math.sqrt(least), rel=ROUNDING)
        else:
            assert found == pytest.approx(privacy_cost(strategy, workload), rel=FINE)


def test_too_many_variances_leave_the_errors(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    workload = with_targets(marginals_of((20, 20), (0, 1)), rng)
    (before,) = evaluate("identity", workload, (2,)).costs
    monkeypatch.setattr(limits, "MEMORY_LIMIT", 8 * 100)
    (cost,) = evaluate("identity", workload, (2,)).costs
    assert before.privacy_cost is not None and cost.privacy_cost is None
    assert cost.error == before.error == 800.0


def test_known_numbers() -> None:
    """Example 4 of PVLDB 2012, (ε, δ): identity 36, Haar 21, the Gaussian mechanism 40."""
    for name, value in (("identity", 36.0), ("haar", 21.0), ("workload", 40.0)):
        assert costs(name, EXAMPLE_4, 2)[0] == pytest.approx(value, rel=ROUNDING)
    assert all(cost.privacy_cost is None for one in evaluations(EXAMPLE_4) for cost in one.costs)
    # Prefix sums over 3 cells, each divided by its squared length: 1 each from cells; 1 + 1/2 + 1/3.
    workload = line(f.prefix(3)).normalised()
    assert costs("identity", workload, 2)[0] == pytest.approx(3.0, rel=ROUNDING)
    asked = costs("workload", workload, 2)
    assert asked == pytest.approx((3.0 * (1 + 1 / 2 + 1 / 3), math.sqrt(3.0)), rel=ROUNDING)


def test_attributes_without_a_matrix_of_all_cells() -> None:
    """Two attributes of 700 cells: half a million cells, a matrix of 1.7 TiB."""
    workload = marginals_of((700, 700), (0, 1), (0,), ())
    names = ("identity", "workload", "hierarchical", "wavelet", "fourier", "datacube")
    found = {one.name: one for one in evaluations(workload, (1, 2), names)}
    assert all(len(one.costs) == 2 for one in found.values())
    assert found["identity"].costs[0].error == 3 * 700**2
    assert found["workload"].costs[0].error == 9.0 * workload.m
    tree = found["hierarchical"]
    assert tree.detail == "branching 27, 27, no total" and tree.costs[0].sensitivity == 4.0
    with pytest.raises(TooLargeError):
        baseline("identity", workload)


def test_too_large_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = line(f.prefix(64))
    monkeypatch.setattr(limits, "MEMORY_LIMIT", 8 * 64 * 64)
    one = evaluate("hierarchy", workload)
    assert one.costs == () and one.reason is not None
    assert one.reason.endswith("has 127 × 64 entries, 0.0 GiB; the limit is 3.05176e-05 GiB")
    with pytest.raises(TooLargeError):
        baseline("hierarchy", workload)


def test_refused() -> None:
    two = marginals_of((2, 2), (0,))
    with pytest.raises(OptionError) as caught:
        baseline("greedy_h", two)
    assert str(caught.value) == (
        "the baseline 'greedy_h' does not apply: it splits one attribute, the workload has 2"
    )
    assert evaluate("fourier", EXAMPLE_4) == Evaluated(
        "fourier",
        "Fourier basis of the asked marginals",
        "",
        (),
        "the queries are not marginals: products of identities and totals",
    )
    with pytest.raises(OptionError, match=r"^there is no baseline 'none'"):
        baseline("none", two)
    with pytest.raises(OptionError, match=r"^the norm of columns is 3, expected 1 \(Laplace\) or 2"):
        evaluate("identity", two, (3,))


@pytest.mark.slow
def test_no_baseline_is_below_the_proved_bounds(rng: np.random.Generator) -> None:
    """The bounds are of 10 random workloads and targets; they hold under either norm, as ‖A‖₁ >= ‖A‖₂."""
    compared = 0
    for _ in range(10):
        workload = with_targets(random_asked(rng), rng)
        least, fitness = (solve(workload, own).bound for own in ("l2_strategy", "fitness_for_use"))
        assert least and fitness and least > 0 < fitness
        for one in evaluations(workload):
            for cost in one.costs:
                assert cost.error >= least * (1 - FINE), (one.name, cost, least)
                assert cost.privacy_cost is not None
                assert cost.privacy_cost**2 >= fitness * (1 - FINE), (one.name, cost, fitness)
                compared += 1
    assert compared > 10 * 5 * 2


def test_the_table_is_consistent() -> None:
    names = [row.name for row in CATALOGUE]
    assert len({*names}) == len(names) and not {*names} & {*ALIASES}
    assert {*baseline_words()} == {*names, *ALIASES}
    for text in (*baseline_names(), *ALIASES.values()):
        assert str(baseline_call(text)) == text
    for row in CATALOGUE:
        assert row.title and row.source and set(row.norms) <= {1, 2}
        assert len({parameter.name for parameter in row.parameters}) == len(row.parameters)
        # Every default may be written out.
        given = ", ".join(map(str, row.parameters))
        assert baseline_call(f"{row.name}({given})").given == tuple(
            (p.name, p.default) for p in row.parameters
        )


def test_read() -> None:
    call = baseline_call(" hierarchical( branching = 16, root=False )")
    assert call.baseline.name == "hierarchical" and dict(call.given) == {"branching": 16, "root": False}
    assert str(call) == "hierarchical(branching=16, root=False)"
    assert (
        str(baseline_call("haar")) == "wavelet"
        and str(baseline_call("hierarchy")) == "hierarchical(branching=2)"
    )
    assert baseline_call("wavelet()") == baseline_call("wavelet")


def test_what_counts_as_a_name() -> None:
    assert all(
        is_baseline(text) for text in ("haar", "hierarchical(branching=3)", "nothing(x=1)", " identity")
    )
    assert not any(is_baseline(text) for text in ("0.5", "har", "rows.npy", "rows(1).npy", "a/b(c)", ""))


def test_refusals(subtests: pytest.Subtests) -> None:
    branching = "expected an integer of 2 or more\n  branching: parts of each block; None: that of HB"
    cases = {
        "wavlet": "there is no baseline 'wavlet'\n  did you mean 'wavelet'?",
        "hierarchical(branch=2)": (
            "'hierarchical' has no parameter 'branch', it takes branching, root\n  did you mean 'branching'?"
        ),
        "wavelet(levels=2)": "'wavelet' has no parameter 'levels', it takes no parameters",
        "haar(branching=2)": (
            "'haar' is short for 'wavelet' and takes no parameters\n  write 'wavelet' with the parameters"
        ),
        "hierarchical(root=1)": "root of 'hierarchical' is 1, expected True or False\n",
        "quadtree(branching=None)": "branching of 'quadtree' is None, expected an integer of 2 or more\n",
    }
    for value in ("1", "-2", "2.0", "'2'", "True"):
        cases[f"hierarchical(branching={value})"] = f"branching of 'hierarchical' is {value}, {branching}"
    for text in (
        "",
        "hierarchical(2)",
        "hierarchical(branching=2",
        "hierarchical(branching=2, branching=3)",
        "hierarchical(**{'branching': 2})",
        "hierarchical(branching=max(2, 3))",
        "hierarchical(branching=-x)",
        "a.b(c=1)",
        "2",
        "x\0",
    ):
        cases[text] = (
            f"the baseline is '{text}', expected a name, or a name with parameters\n"
            "  for example hierarchical(branching=16)"
        )
    for text, message in cases.items():
        with subtests.test(text):
            with pytest.raises(OptionError) as caught:
                baseline_call(text)
            assert (str(caught.value) + "\n").startswith(message)
