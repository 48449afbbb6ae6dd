"""Tables of PVLDB 2021: how much more private the optimum is than what one would do without it.

A column is a method's privacy cost, scaled until every target holds, over the optimum's: the largest
variance relative to its target, times the squared sensitivity, over alpha. IP is independent noise on the
cells, CA the least total error, wCA-I and wCA-II the weighted ones (section 7). Where the text and the tables
differ, programs/ERRATA.md says what fits.

Tables 5 to 8 and 11 print one random draw each, of a seed that is not known. Ours are other draws of the
same kind, so the tolerance of those figures is the spread of a few draws, not an accuracy.
"""

import numpy as np
import pytest
from tolerances import FITNESS, GAP_INTERIOR, PRINTED_RATIO, PUBLISHED

from mmopt import Strategy, Workload, solve
from mmopt.results.rows_and_json import levels
from mmopt.testing.known_optima import Figure, holds
from mmopt.testing.query_matrices import random_ranges
from tests.examples.scripts import scripts

study, tables, own = (vars(scripts("fitness-tables"))[name] for name in ("study", "printed", "workloads"))
cost, costs, printed, PRINTED = study.cost, study.costs, tables.printed, tables.PRINTED
OPTIMA_OF_CUBES, TOTAL_ERROR = tables.OPTIMA_OF_CUBES, tables.TOTAL_ERROR
age_pyramids, cubes, draw, pl94 = own.age_pyramids, own.cubes, own.draw, own.pl94

COLUMNS = ("IP", "CA", "wCA-I", "wCA-II")  # HM: tests/examples/test_fitness_study.py


def columns(w: Workload, alpha: float, names: tuple[str, ...] = COLUMNS) -> dict[str, float]:
    return {name: value / alpha for name, value in costs(w, names).items()}


# -- Table 2


def test_table_2_at_64_prefix_sums() -> None:
    w = Workload.from_matrix(np.tri(64), targets=1.0)
    s = solve(w, "fitness_for_use")
    assert s.gap is not None and s.bound is not None and s.gap <= GAP_INTERIOR
    assert holds(Figure("Table 2, d = 64", "exact", 4.46, PRINTED_RATIO), s.objective)
    assert s.bound <= 4.45787 * (1 + FITNESS) and s.objective >= 4.45787 * (1 - FITNESS)


# -- Table 10: all one- and two-way marginals; the printed ratios stand on an alpha above the optimum


@pytest.mark.some(2)
@pytest.mark.parametrize("t", PRINTED[10])
def test_table_10(t: int) -> None:
    ip, ca, alpha = printed(10, t)["IP"], printed(10, t)["CA"], OPTIMA_OF_CUBES.get(t)
    w = cubes(t)
    s = solve(w, "fitness_for_use")
    assert s.bound is not None and s.gap is not None and s.gap <= GAP_INTERIOR
    if alpha is not None:
        assert s.bound <= alpha * (1 + FITNESS) and s.objective >= alpha * (1 - FITNESS)
    found = {"IP": t * t / s.objective, "CA": cost(solve(w, "l2_strategy").strategy, w) / s.objective}
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
    w = pl94(7)
    s = solve(w, "fitness_for_use")
    found = columns(w, s.objective, ("IP", "CA"))
    assert 1.0 < found["CA"] < found["IP"]
    ca = solve(w, "l2_strategy")
    assert cost(ca.strategy, w) / s.objective == pytest.approx(found["CA"], rel=1e-2)
    assert 1.0 < s.error / ca.error < 2.07


@pytest.mark.slow
def test_table_4() -> None:
    """252 cells, 319 queries. SM-II stopped 14 % above the optimum, so the printed ratios are too small."""
    w, paper = pl94(), printed(4)
    assert w.queries.shape == (319, 252)
    s = solve(w, "fitness_for_use")
    assert s.bound is not None and s.gap is not None and s.gap <= GAP_INTERIOR
    assert s.bound <= 3.0134322 * (1 + PUBLISHED) and s.objective >= 3.0134322 * (1 - PUBLISHED)
    assert s.objective <= 126 / paper["IP"]  # alpha as column IP has it
    found = columns(w, s.objective, ("IP", "CA"))
    assert holds(Figure("Table 4, IP", "lower", paper["IP"], 0), found["IP"])
    assert holds(Figure("Table 4, CA", "lower", paper["CA"], 0), found["CA"])
    # Their quotient is free of alpha.
    quotient = paper["IP"] / paper["CA"]
    assert holds(Figure("Table 4, IP / CA", "exact", quotient, 2e-3), found["IP"] / found["CA"])
    ca = solve(w, "l2_strategy")
    figure = Figure("section 7.3, total error of SM-II over CA", "upper", TOTAL_ERROR[4], 0)
    assert holds(figure, s.error / ca.error)
    # As much of it again as alpha is above the optimum: CA's error falls with alpha, the targets do not.
    total = s.error / ca.error * 126 / paper["IP"] / s.objective
    assert holds(Figure("the same, at the printed alpha", "exact", TOTAL_ERROR[4], 0.01), total)


# -- Table 9: age pyramids


@pytest.mark.slow
def test_table_9() -> None:
    """232 cells, 351 queries: for men, women and all, everyone up to each age, and those of 18 and more."""
    w, ip = age_pyramids(), printed(9)["IP"]
    assert w.shape == (351, 232)
    s = solve(w, "fitness_for_use")
    assert s.gap is not None and s.gap <= GAP_INTERIOR
    found = columns(w, s.objective)
    assert holds(Figure("Table 9, IP: SM-II had not reached the optimum", "lower", ip, 0), found["IP"])
    assert holds(Figure("the same", "exact", ip, 0.005), found["IP"])
    # With equal targets the weights are all the same.
    assert found["CA"] == found["wCA-I"] == found["wCA-II"] == pytest.approx(1.7656, rel=GAP_INTERIOR**0.5)
    ca = solve(w, "l2_strategy")
    assert s.error / ca.error == pytest.approx(1.0906, rel=GAP_INTERIOR**0.5)


# -- Tables 5 to 8 and 11


# The spread of draws around what is printed. At d = 64 eight to ten draws gave
#   Table 5: IP 10.1 to 11.3, CA 1.25 to 1.38; Table 7: 1.14, 1.09 to 1.14;
#   Table 8: IP 2.4 to 3.0, CA 2.3 to 2.7, wCA-I 1.15 to 1.19, wCA-II 1.56 to 1.81;
#   Table 11: IP 3.7 to 5.1 (the printed 3.51 is below all of them), CA 1.25 to 1.53;
# and four of Table 6: IP 11.7 to 18.5, CA 2.0 to 2.2, wCA-I 1.4 to 1.6, wCA-II 1.65 to 1.86.
TABLES: list[tuple[int, int, dict[str, float]]] = [
    (5, 64, {"IP": 0.15, "CA": 0.12}),
    (6, 64, {"IP": 0.35, "CA": 0.25, "wCA-I": 0.2, "wCA-II": 0.2}),
    (7, 64, {"IP": 0.01, "CA": 0.05}),
    (8, 64, {"IP": 0.2, "CA": 0.15, "wCA-I": 0.05, "wCA-II": 0.15}),
    (11, 64, {"IP": 0.5, "CA": 0.2}),
    (11, 256, {"IP": 0.15, "CA": 0.15}),
]
# Over 256 cells these take seconds.
LONG: list[tuple[int, int, dict[str, float]]] = [
    (5, 256, {"IP": 0.05, "CA": 0.06}),
    (6, 256, {"IP": 0.2, "CA": 0.13, "wCA-I": 0.09, "wCA-II": 0.08}),
    (7, 256, {"IP": 0.01, "CA": 0.02}),
    (8, 256, {"IP": 0.07, "CA": 0.05, "wCA-I": 0.02, "wCA-II": 0.03}),
]


def cases(tables: list[tuple[int, int, dict[str, float]]], *marks: pytest.MarkDecorator) -> list[object]:
    return [pytest.param(*row, id=f"Table {row[0]}, d = {row[1]}", marks=marks) for row in tables]


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("table", "d", "spreads"), [*cases(TABLES), *cases(LONG, pytest.mark.nightly)])
def test_tables_of_random_queries(table: int, d: int, spreads: dict[str, float], seed: int) -> None:
    w = draw(table, d, seed)
    s = solve(w, "fitness_for_use")
    assert s.gap is not None and s.gap <= GAP_INTERIOR
    found = columns(w, s.objective, tuple(spreads))
    for name, spread in spreads.items():
        figure = Figure(f"Table {table}, {name}", "exact", printed(table, d)[name], spread)
        assert holds(figure, found[name]), (name, found)
        assert found[name] >= 1 - GAP_INTERIOR
    if table in TOTAL_ERROR:
        ca = solve(w, "l2_strategy")
        figure = Figure(f"Table {table}, total error", "upper", TOTAL_ERROR[table], 0.03)
        assert holds(figure, s.error / ca.error)


def test_column_hm_of_table_7_has_two_levels_at_64_and_128(subtests: pytest.Subtests) -> None:
    """HM over IP is free of the optimum."""
    for d in (64, 128, 256):
        with subtests.test(str(d)):
            w = draw(7, d, 0)
            ip = costs(w, ("IP",))["IP"]
            three = costs(w, ("HM",))["HM"] / ip
            two = cost(Strategy(np.vstack([np.ones(d), np.eye(d)])), w) / ip
            quotient = printed(7, d)["HM"] / printed(7, d)["IP"]
            assert holds(Figure("Table 7, HM / IP", "exact", quotient, 0.03), three if d == 256 else two)
            assert abs(three - two) > 0.4 * two
            assert holds(
                Figure("Table 8, HM / IP", "exact", printed(8, d)["HM"] / printed(8, d)["IP"], 0.03), three
            )


@pytest.mark.parametrize(
    "seed", [pytest.param(0, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.nightly)]
)
def test_table_6_has_integer_targets_too(seed: int) -> None:
    """With targets between the integers the column is a sixth above print, at d = 256."""
    rng = np.random.default_rng(seed)
    rows = random_ranges(256, 512, rng)
    figure = Figure("Table 6, wCA-I", "exact", printed(6, 256)["wCA-I"], 0.11)
    for targets, fits in ((rng.integers(1, 10, size=512), True), (rng.uniform(1, 10, size=512), False)):
        w = Workload.from_matrix(rows, targets=targets)
        found = columns(w, solve(w, "fitness_for_use").objective, ("wCA-I",))
        assert holds(figure, found["wCA-I"]) is fits, found


# -- Figure 2


def test_figure_2_weights_do_worse_than_none_for_a_loose_total(subtests: pytest.Subtests) -> None:
    """Identity with targets 1 and a total with target 4: wCA-I and wCA-II are worse than CA."""
    for d in (8, 16, 24):
        with subtests.test(str(d)):
            w = Workload.from_matrix(np.vstack([np.eye(d), np.ones(d)]), targets=np.r_[np.ones(d), 4.0])
            s = solve(w, "fitness_for_use")
            found = columns(w, s.objective)
            assert 1 - GAP_INTERIOR <= found["CA"] < found["wCA-II"] < found["wCA-I"]
            assert found["wCA-I"] > 1.4 * found["CA"]
