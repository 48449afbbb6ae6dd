"""Tables of PVLDB 2021: how much more private the optimum is than what one would do without it.

A column is a method's privacy cost, scaled until every target holds, over the optimum's: the largest
variance relative to its target, times the squared sensitivity, over alpha. IP is independent noise on the
cells, CA the least total error, wCA-I and wCA-II the weighted ones (section 7). Where the text and the tables
differ, programs/ERRATA.md says what fits.

Tables 5 to 8 and 11 print one random draw each, of a seed that is not known. Ours are other draws of the
same kind, so the tolerance of those figures is the spread of a few draws, not an accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from tolerances import FITNESS, GAP, PRINTED_RATIO, PUBLISHED

from mmopt import Solution, Workload, solve
from mmopt.testing.figures import Figure, holds
from mmopt.testing.matrices import ONE_AND_TWO_WAY, marginals

slow = pytest.mark.slow
Matrix = np.ndarray
PL94 = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)]
POWERS = {"CA": 0.0, "wCA-I": 1.0, "wCA-II": 0.5}


def cost(s: Solution, w: Workload) -> float:
    """Privacy cost when the noise is scaled until every query meets its target."""
    return float(s.strategy.sensitivity**2 * (s.strategy.variances(w) / w.targets).max())


def input_perturbation(w: Workload) -> float:
    return float(((w.queries**2).sum(axis=1) / w.targets).max())


def columns(w: Workload, alpha: float, names: Mapping[str, float] = POWERS) -> dict[str, float]:
    found = {"IP": input_perturbation(w) / alpha}
    for name, power in names.items():
        s = solve(w, "weighted_l2", givens={"power": power}, solver="scs", tolerance=GAP)
        found[name] = cost(s, w) / alpha
    return found


# -- Table 2


def test_table_2_at_64_prefix_sums() -> None:
    w = Workload.from_matrix(np.tri(64), targets=1.0)
    s = solve(w, "fitness_for_use", solver="scs", tolerance=5e-4)
    assert s.gap is not None and s.bound is not None and s.gap <= 5e-4
    assert holds(Figure("Table 2, d = 64", "exact", 4.46, PRINTED_RATIO), s.objective)
    assert s.bound <= 4.45787 * (1 + FITNESS) and s.objective >= 4.45787 * (1 - FITNESS)


# -- Table 10: all one- and two-way marginals; the printed ratios stand on an alpha above the optimum


@pytest.mark.parametrize(
    ("t", "alpha", "printed"),
    [
        (2, 1.47731**2, {"IP": 1.82, "CA": 1.14}),
        (4, 1.86330**2, {"IP": 4.55, "CA": 1.42}),
        pytest.param(6, 2.02964**2, {"IP": 8.6, "CA": 1.66}, marks=slow),
    ],
)
def test_table_10(t: int, alpha: float, printed: dict[str, float]) -> None:
    w = Workload.from_matrix(marginals((t,) * 3, ONE_AND_TWO_WAY), targets=1.0)
    s = solve(w, "fitness_for_use", solver="scs", tolerance=GAP)
    assert s.bound is not None and s.gap is not None and s.gap <= GAP
    assert s.bound <= alpha * (1 + FITNESS) and s.objective >= alpha * (1 - FITNESS)
    found = columns(w, s.objective, {"CA": 0.0})
    assert holds(
        Figure("Table 10, IP: SM-II had not reached the optimum", "lower", printed["IP"], 0), found["IP"]
    )
    assert holds(Figure("the same", "exact", printed["IP"], 0.02), found["IP"])
    # CA at its own optimum and at the true alpha: both were missed a little.
    assert holds(Figure("Table 10, CA", "exact", printed["CA"], 0.04), found["CA"])
    assert found["CA"] == pytest.approx(symmetric_ca(t) / s.objective, rel=1e-3)
    # All cells are alike: noise of least privacy cost costs everybody the same.
    profile = np.square(s.strategy.matrix).sum(axis=0)
    np.testing.assert_allclose(profile, profile[0], rtol=2e-2)


def symmetric_ca(t: int) -> float:
    """Largest variance of the best strategy for total error, the symmetric root of the Gram matrix."""
    rows = marginals((t,) * 3, ONE_AND_TWO_WAY)
    values, vectors = np.linalg.eigh(rows.T @ rows)
    kept = values > 1e-9 * values[-1]
    half = rows @ vectors[:, kept] / values[kept] ** 0.25
    return float(np.square(half).sum(axis=1).max() * np.sqrt(values[kept]).sum() / len(values))


# -- Table 4: PL94


def test_table_4_with_three_races() -> None:
    """2 x 2 x 7 cells in place of 2 x 2 x 63; the order of the columns is that of the table."""
    w = Workload.from_matrix(marginals((2, 2, 7), PL94), targets=1.0)
    s = solve(w, "fitness_for_use", solver="scs", tolerance=GAP)
    found = columns(w, s.objective, {"CA": 0.0})
    assert 1.0 < found["CA"] < found["IP"]
    ca = solve(w, "l2_strategy", solver="scs")
    assert cost(ca, w) / s.objective == pytest.approx(found["CA"], rel=1e-2)
    assert 1.0 < s.error / ca.error < 2.07


@pytest.mark.slow
def test_table_4() -> None:
    """252 cells, 319 queries. SM-II stopped 14 % above the optimum, so the printed ratios are too small."""
    w = Workload.from_matrix(marginals((2, 2, 63), PL94), targets=1.0)
    assert w.queries.shape == (319, 252)
    s = solve(w, "fitness_for_use", solver="scs", tolerance=1e-3)
    assert s.bound is not None and s.gap is not None and s.gap <= 1e-3
    assert s.bound <= 3.0134322 * (1 + PUBLISHED) and s.objective >= 3.0134322 * (1 - PUBLISHED)
    assert s.objective <= 126 / 36.56  # alpha as column IP has it
    found = columns(w, s.objective, {"CA": 0.0})
    assert holds(Figure("Table 4, IP", "lower", 36.56, 0), found["IP"])
    assert holds(Figure("Table 4, CA", "lower", 3.99, 0), found["CA"])
    # Their quotient is free of alpha.
    assert holds(Figure("Table 4, IP / CA", "exact", 36.56 / 3.99, 2e-3), found["IP"] / found["CA"])
    ca = solve(w, "l2_strategy", solver="scs")
    assert holds(Figure("section 7.3, total error of SM-II over CA", "upper", 2.07, 0), s.error / ca.error)


# -- Tables 5 to 8 and 11 at d = 64

D = 64


def ranges(rng: np.random.Generator) -> Matrix:
    """2 d ranges between two uniform ends."""
    ends, cells = np.sort(rng.integers(0, D, size=(2 * D, 2)), axis=1), np.arange(D)
    return np.asarray((cells >= ends[:, :1]) & (cells <= ends[:, 1:]), dtype=float)


def coins(rng: np.random.Generator) -> Matrix:
    """2 d queries of fair coins, +1 or -1 (the text has +1 with probability 0.2)."""
    return np.where(rng.random((2 * D, D)) < 0.5, 1.0, -1.0)


def related(rng: np.random.Generator) -> Matrix:
    """d / 2 combinations of d / 2 Gaussian queries."""
    return np.asarray(rng.normal(size=(D // 2, D // 2)) @ rng.normal(size=(D // 2, D)))


def equal(rng: np.random.Generator, m: int) -> Matrix:
    return np.ones(m)


def uniform(rng: np.random.Generator, m: int) -> Matrix:
    return rng.uniform(1, 10, size=m)


def integers(rng: np.random.Generator, m: int) -> Matrix:
    """1 to 9 (the text has uniform(1, 10) here too)."""
    return rng.integers(1, 10, size=m).astype(float)


Draw = Callable[[np.random.Generator], Matrix]
Targets = Callable[[np.random.Generator, int], Matrix]
# What is printed, and the spread of draws around it. Eight to ten draws gave
#   Table 5: IP 10.1 to 11.3, CA 1.25 to 1.38; Table 7: 1.14, 1.09 to 1.14;
#   Table 8: IP 2.4 to 3.0, CA 2.3 to 2.7, wCA-I 1.15 to 1.19, wCA-II 1.56 to 1.81;
#   Table 11: IP 3.7 to 5.1 (the printed 3.51 is below all of them), CA 1.25 to 1.53;
# and four of Table 6: IP 9.5 to 16.9, CA 2.0 to 2.4, wCA-I 1.5 to 1.65, wCA-II 1.66 to 2.01.
TABLES: dict[str, tuple[Draw, Targets, dict[str, tuple[float, float]]]] = {
    "Table 5": (ranges, equal, {"IP": (10.63, 0.15), "CA": (1.27, 0.12)}),
    "Table 6": (
        ranges,
        uniform,
        {"IP": (16.04, 0.45), "CA": (2.53, 0.3), "wCA-I": (1.62, 0.12), "wCA-II": (1.98, 0.2)},
    ),
    "Table 7": (coins, equal, {"IP": (1.14, 0.01), "CA": (1.14, 0.05)}),
    "Table 8": (
        coins,
        integers,
        {"IP": (2.58, 0.2), "CA": (2.43, 0.15), "wCA-I": (1.15, 0.05), "wCA-II": (1.61, 0.15)},
    ),
    "Table 11": (related, equal, {"IP": (3.51, 0.5), "CA": (1.31, 0.2)}),
}
# Text of sections 7.4, 7.5 and 7.8: total error of the optimum over that of CA, for any d.
TOTAL = {"Table 5": 1.09, "Table 7": 1.005, "Table 11": 1.08}


DRAWS = [
    pytest.param(table, seed, marks=[slow] if seed or table == "Table 6" else [])
    for table in TABLES
    for seed in (0, 1)
]


@pytest.mark.parametrize(("table", "seed"), DRAWS)
def test_tables_of_random_queries(table: str, seed: int) -> None:
    draw, targets, printed = TABLES[table]
    rng = np.random.default_rng(seed)
    rows = draw(rng)
    w = Workload.from_matrix(rows, targets=targets(rng, len(rows)))
    s = solve(w, "fitness_for_use", solver="scs", tolerance=2e-3)
    assert s.gap is not None and s.gap <= 2e-3
    found = columns(w, s.objective, {name: POWERS[name] for name in printed if name in POWERS})
    for name, (value, spread) in printed.items():
        assert holds(Figure(f"{table}, {name}", "exact", value, spread), found[name]), (name, found)
        assert found[name] >= 1 - 2e-3
    if table in TOTAL:
        ca = solve(w, "l2_strategy", solver="scs")
        assert holds(Figure(f"{table}, total error", "upper", TOTAL[table], 0.03), s.error / ca.error)


# -- Figure 2


@pytest.mark.parametrize("d", [8, 16, 24])
def test_figure_2_weights_do_worse_than_none_for_a_loose_total(d: int) -> None:
    """Identity with targets 1 and a total with target 4: wCA-I and wCA-II are worse than CA."""
    w = Workload.from_matrix(np.vstack([np.eye(d), np.ones(d)]), targets=np.r_[np.ones(d), 4.0])
    s = solve(w, "fitness_for_use")
    found = columns(w, s.objective)
    assert 1 - GAP <= found["CA"] < found["wCA-II"] < found["wCA-I"]
    assert found["wCA-I"] > 1.4 * found["CA"]
