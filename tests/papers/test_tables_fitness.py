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
from tolerances import FITNESS, GAP_INTERIOR, PRINTED_RATIO, PUBLISHED

from mmopt import Attribute, Domain, Solution, Workload, solve
from mmopt.queries import Product
from mmopt.queries.factor import identity, total
from mmopt.results.shown import levels
from mmopt.testing.figures import Figure, holds
from mmopt.testing.matrices import ONE_AND_TWO_WAY, marginals

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
        s = solve(w, "weighted_l2", givens={"power": power})
        found[name] = cost(s, w) / alpha
    return found


# -- Table 2


def test_table_2_at_64_prefix_sums() -> None:
    w = Workload.from_matrix(np.tri(64), targets=1.0)
    s = solve(w, "fitness_for_use")
    assert s.gap is not None and s.bound is not None and s.gap <= GAP_INTERIOR
    assert holds(Figure("Table 2, d = 64", "exact", 4.46, PRINTED_RATIO), s.objective)
    assert s.bound <= 4.45787 * (1 + FITNESS) and s.objective >= 4.45787 * (1 - FITNESS)


# -- Table 10: all one- and two-way marginals; the printed ratios stand on an alpha above the optimum


# t, the printed columns, and the optimum where the design of the experiments has it.
TABLE_10 = [
    (2, 1.82, 1.14, 1.47731**2),
    (4, 4.55, 1.42, 1.86330**2),
    (6, 8.6, 1.66, 2.02964**2),
    (8, 14.03, 1.88, None),
    (10, 20.84, 2.08, None),
    (12, 28.76, 2.25, None),
    (14, 38.17, 2.41, None),
    (16, 48.85, 2.57, None),
]


def cubes(t: int) -> Workload:
    """All one- and two-way marginals over t x t x t cells."""
    domain = Domain(tuple(Attribute(name, tuple(map(str, range(t)))) for name in "abc"))
    factors = [[identity(t) if kept else total(t) for kept in kind] for kind in ONE_AND_TWO_WAY]
    return Workload.from_products(domain, [Product(tuple(own), target=1.0) for own in factors])


@pytest.mark.parametrize(("t", "ip", "ca", "alpha"), TABLE_10)
def test_table_10(t: int, ip: float, ca: float, alpha: float | None) -> None:
    w = cubes(t)
    s = solve(w, "fitness_for_use")
    assert s.bound is not None and s.gap is not None and s.gap <= GAP_INTERIOR
    if alpha is not None:
        assert s.bound <= alpha * (1 + FITNESS) and s.objective >= alpha * (1 - FITNESS)
    found = {"IP": t * t / s.objective, "CA": cost(solve(w, "l2_strategy"), w) / s.objective}
    assert holds(Figure("Table 10, IP: SM-II had not reached the optimum", "lower", ip, 0), found["IP"])
    assert holds(Figure("the same", "exact", ip, 0.02), found["IP"])
    # CA at its own optimum and at the true alpha: both were missed, for t = 16 by 6 %.
    assert holds(Figure("Table 10, CA", "exact", ca, 0.07), found["CA"])
    assert found["CA"] == pytest.approx(symmetric_ca(t) / s.objective, rel=GAP_INTERIOR**0.5)
    # All cells are alike: noise of least privacy cost costs everybody the same.
    profile = levels(s.profile)[0]
    np.testing.assert_allclose(profile, profile[0], rtol=GAP_INTERIOR**0.5)


def symmetric_ca(t: int) -> float:
    """Largest variance of the best strategy for total error, the symmetric root of the Gram matrix.

    The sums of J ⊗ J ⊗ I and J ⊗ I ⊗ I over their places have the eigenvalues 3 t² + 3 t, t² + 2 t and t,
    once, 3 (t - 1) and 3 (t - 1)² times.
    """
    roots = np.sqrt([3.0 * t**2 + 3.0 * t, t**2 + 2.0 * t, float(t)])
    copies = np.array([1.0, 3.0 * (t - 1), 3.0 * (t - 1) ** 2])
    # A query has the squared length t² (one way) or t (two ways) of which so much lies on each eigenspace.
    one_way = np.array([t, t * (t - 1.0), 0.0])
    two_way = np.array([1.0, 2.0 * (t - 1), (t - 1.0) ** 2]) / t
    return float(max((own / roots).sum() for own in (one_way, two_way)) * (copies * roots).sum() / t**3)


# -- Table 4: PL94


def test_table_4_with_three_races() -> None:
    """2 x 2 x 7 cells in place of 2 x 2 x 63; the order of the columns is that of the table."""
    w = Workload.from_matrix(marginals((2, 2, 7), PL94), targets=1.0)
    s = solve(w, "fitness_for_use")
    found = columns(w, s.objective, {"CA": 0.0})
    assert 1.0 < found["CA"] < found["IP"]
    ca = solve(w, "l2_strategy")
    assert cost(ca, w) / s.objective == pytest.approx(found["CA"], rel=1e-2)
    assert 1.0 < s.error / ca.error < 2.07


def test_table_4() -> None:
    """252 cells, 319 queries. SM-II stopped 14 % above the optimum, so the printed ratios are too small."""
    w = Workload.from_matrix(marginals((2, 2, 63), PL94), targets=1.0)
    assert w.queries.shape == (319, 252)
    s = solve(w, "fitness_for_use")
    assert s.bound is not None and s.gap is not None and s.gap <= GAP_INTERIOR
    assert s.bound <= 3.0134322 * (1 + PUBLISHED) and s.objective >= 3.0134322 * (1 - PUBLISHED)
    assert s.objective <= 126 / 36.56  # alpha as column IP has it
    found = columns(w, s.objective, {"CA": 0.0})
    assert holds(Figure("Table 4, IP", "lower", 36.56, 0), found["IP"])
    assert holds(Figure("Table 4, CA", "lower", 3.99, 0), found["CA"])
    # Their quotient is free of alpha.
    assert holds(Figure("Table 4, IP / CA", "exact", 36.56 / 3.99, 2e-3), found["IP"] / found["CA"])
    ca = solve(w, "l2_strategy")
    assert holds(Figure("section 7.3, total error of SM-II over CA", "upper", 2.07, 0), s.error / ca.error)


# -- Table 9: age pyramids


def test_table_9() -> None:
    """232 cells, 351 queries: for men, women and all, everyone up to each age, and those of 18 and more."""
    ages = np.vstack([np.tri(116), np.arange(116) >= 18])
    w = Workload.from_matrix(
        np.vstack([np.kron([who], ages) for who in ((1, 0), (0, 1), (1, 1))]), targets=1.0
    )
    assert w.shape == (351, 232)
    s = solve(w, "fitness_for_use")
    assert s.gap is not None and s.gap <= GAP_INTERIOR
    found = columns(w, s.objective)
    assert holds(Figure("Table 9, IP: SM-II had not reached the optimum", "lower", 32.49, 0), found["IP"])
    assert holds(Figure("the same", "exact", 32.49, 0.005), found["IP"])
    # With equal targets the weights are all the same.
    assert found["CA"] == found["wCA-I"] == found["wCA-II"] == pytest.approx(1.7656, rel=GAP_INTERIOR**0.5)
    ca = solve(w, "l2_strategy")
    assert s.error / ca.error == pytest.approx(1.0906, rel=GAP_INTERIOR**0.5)


# -- Tables 5 to 8 and 11


def ranges(rng: np.random.Generator, d: int) -> Matrix:
    """2 d ranges between two uniform ends."""
    ends, cells = np.sort(rng.integers(0, d, size=(2 * d, 2)), axis=1), np.arange(d)
    return np.asarray((cells >= ends[:, :1]) & (cells <= ends[:, 1:]), dtype=float)


def coins(rng: np.random.Generator, d: int) -> Matrix:
    """2 d queries of fair coins, +1 or -1 (the text has +1 with probability 0.2)."""
    return np.where(rng.random((2 * d, d)) < 0.5, 1.0, -1.0)


def related(rng: np.random.Generator, d: int) -> Matrix:
    """d / 2 combinations of d / 2 Gaussian queries."""
    return np.asarray(rng.normal(size=(d // 2, d // 2)) @ rng.normal(size=(d // 2, d)))


def equal(rng: np.random.Generator, m: int) -> Matrix:
    return np.ones(m)


def uniform(rng: np.random.Generator, m: int) -> Matrix:
    return rng.uniform(1, 10, size=m)


def integers(rng: np.random.Generator, m: int) -> Matrix:
    """1 to 9 (the text has uniform(1, 10) here too)."""
    return rng.integers(1, 10, size=m).astype(float)


Printed = dict[str, tuple[float, float]]
# How the queries and the targets are drawn.
KINDS: dict[str, tuple[Callable[..., Matrix], Callable[..., Matrix]]] = {
    "Table 5": (ranges, equal),
    "Table 6": (ranges, uniform),
    "Table 7": (coins, equal),
    "Table 8": (coins, integers),
    "Table 11": (related, equal),
}
# What is printed, and the spread of draws around it. At d = 64 eight to ten draws gave
#   Table 5: IP 10.1 to 11.3, CA 1.25 to 1.38; Table 7: 1.14, 1.09 to 1.14;
#   Table 8: IP 2.4 to 3.0, CA 2.3 to 2.7, wCA-I 1.15 to 1.19, wCA-II 1.56 to 1.81;
#   Table 11: IP 3.7 to 5.1 (the printed 3.51 is below all of them), CA 1.25 to 1.53;
# and four of Table 6: IP 9.5 to 16.9, CA 2.0 to 2.4, wCA-I 1.5 to 1.65, wCA-II 1.66 to 2.01.
# At d = 256 the columns of Table 6 but IP are below both draws (wCA-I 1.45, drawn 1.77 and 1.82).
TABLES: list[tuple[str, int, Printed]] = [
    ("Table 5", 64, {"IP": (10.63, 0.15), "CA": (1.27, 0.12)}),
    (
        "Table 6",
        64,
        {"IP": (16.04, 0.45), "CA": (2.53, 0.3), "wCA-I": (1.62, 0.12), "wCA-II": (1.98, 0.2)},
    ),
    ("Table 7", 64, {"IP": (1.14, 0.01), "CA": (1.14, 0.05)}),
    ("Table 8", 64, {"IP": (2.58, 0.2), "CA": (2.43, 0.15), "wCA-I": (1.15, 0.05), "wCA-II": (1.61, 0.15)}),
    ("Table 11", 64, {"IP": (3.51, 0.5), "CA": (1.31, 0.2)}),
    ("Table 5", 256, {"IP": (28.43, 0.05), "CA": (1.29, 0.06)}),
    ("Table 6", 256, {"IP": (41.76, 0.3)}),
    ("Table 7", 256, {"IP": (1.14, 0.01), "CA": (1.06, 0.02)}),
    ("Table 8", 256, {"IP": (2.82, 0.07), "CA": (2.58, 0.05), "wCA-I": (1.17, 0.02), "wCA-II": (1.70, 0.03)}),
    ("Table 11", 256, {"IP": (4.28, 0.15), "CA": (1.19, 0.15)}),
]
# Text of sections 7.4, 7.5 and 7.8: total error of the optimum over that of CA, for any d.
TOTAL = {"Table 5": 1.09, "Table 7": 1.005, "Table 11": 1.08}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("table", "d", "printed"), [pytest.param(*row, id=f"{row[0]}, d = {row[1]}") for row in TABLES]
)
def test_tables_of_random_queries(table: str, d: int, printed: Printed, seed: int) -> None:
    draw, targets = KINDS[table]
    rng = np.random.default_rng(seed)
    rows = draw(rng, d)
    w = Workload.from_matrix(rows, targets=targets(rng, len(rows)))
    s = solve(w, "fitness_for_use")
    assert s.gap is not None and s.gap <= GAP_INTERIOR
    found = columns(w, s.objective, {name: POWERS[name] for name in printed if name in POWERS})
    for name, (value, spread) in printed.items():
        assert holds(Figure(f"{table}, {name}", "exact", value, spread), found[name]), (name, found)
        assert found[name] >= 1 - GAP_INTERIOR
    if table in TOTAL:
        ca = solve(w, "l2_strategy")
        assert holds(Figure(f"{table}, total error", "upper", TOTAL[table], 0.03), s.error / ca.error)


# -- Figure 2


@pytest.mark.parametrize("d", [8, 16, 24])
def test_figure_2_weights_do_worse_than_none_for_a_loose_total(d: int) -> None:
    """Identity with targets 1 and a total with target 4: wCA-I and wCA-II are worse than CA."""
    w = Workload.from_matrix(np.vstack([np.eye(d), np.ones(d)]), targets=np.r_[np.ones(d), 4.0])
    s = solve(w, "fitness_for_use")
    found = columns(w, s.objective)
    assert 1 - GAP_INTERIOR <= found["CA"] < found["wCA-II"] < found["wCA-I"]
    assert found["wCA-I"] > 1.4 * found["CA"]
