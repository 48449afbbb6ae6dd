"""Refined answers on tables: they agree, obey their totals and are as near as is proved.

Guards refined_tables.py, refined_answers.py, workloads/agreeing_tables.py, balls.py.
"""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import mmopt
from mmopt.answers import Release, load_release
from mmopt.answers.refined_answers import check_refined, figures_of, nearest_counts
from mmopt.answers.refined_tables import nearest_tables
from mmopt.errors import OptionError, ResultError, SolverError
from mmopt.mechanism import build_manifest, measure, plan
from mmopt.mechanism.release_writing import LOCAL
from mmopt.numerics.arrays import Array
from mmopt.numerics.balls import Ball, exact, matmul, product
from mmopt.privacy import Privacy
from mmopt.proof import certify
from mmopt.strategies import Strategy
from mmopt.workloads import Workload, agreeing_tables
from mmopt.workloads.agreeing_tables import Tables, refinable_words, tables_of

SIZES = (3, 2, 4, 2)
DOMAIN = mmopt.Domain.of(**{name: range(size) for name, size in zip("abcd", SIZES, strict=True)})


def asked(*products: dict[str, object]) -> Workload:
    return Workload.of(domain=DOMAIN, workload=[{"product": one} for one in products])


PAIRS = DOMAIN.marginals([2]) + asked({"c": "prefix"}, {"a": [[0, 1]]}, {})


def tables_in(workload: Workload, cells: Array) -> Array:
    """The counts of all tables of a population, by brute force: the cells in which a query is 1 alone."""
    tables = tables_of(workload)
    found = np.linalg.lstsq(
        np.vstack([tables.queries.toarray(), tables.agreement.toarray()]),
        np.concatenate([workload.queries @ cells, np.zeros(tables.agreement.shape[0])]),
        rcond=None,
    )[0]
    return np.asarray(found)


def population(rng: np.random.Generator, size: float = 3.0) -> Array:
    n = DOMAIN.size
    return rng.poisson(rng.exponential(size, n) * (rng.random(n) < 0.4)).astype(np.int64)


def of(workload: Workload, counts: Array, seed: int, rho: float = 0.05) -> Release:
    planned = plan(workload, Strategy(np.eye(workload.n), 2), Privacy(rho=rho))
    answers = measure(planned, counts, seed)
    return Release.of(planned, answers, build_manifest(planned, answers))


@pytest.fixture(autouse=True)
def on_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """No count of cells one by one, so that small workloads are refined on tables."""
    monkeypatch.setattr(agreeing_tables, "MOST_CLASSES", 2)


@pytest.mark.draws(2)
def test_errors_never_grow_and_tables_agree(rng: np.random.Generator) -> None:
    """The tables of the population obey the rules, and a projection moves no farther from them."""
    counts = population(rng)
    release = of(PAIRS, counts, int(rng.integers(2**32)))
    true, errors = PAIRS.queries @ counts, release.answers["standard_error"]
    before = float(np.sum(((release.answers["estimate"] - true) / errors) ** 2))
    for totals in (None, float(counts.sum()), {None: counts.sum(), 0: true[0]}):
        found = release.refine(totals=totals)
        refined, about = np.array(found.answers["refined"]), found.manifest["refined"]
        assert np.sum(((refined - true) / errors) ** 2) <= before * (1 + 1e-9) + 1e-9
        assert (refined >= 0).all() and about["grade"] == "proved" and about["gap"] <= 1e-6
        assert about["bound"] <= about["objective"] <= before + 1e-9
        assert about["tables"] == 6 and about["agreement"] == LOCAL and about["kept"] <= 1e-9
        # What pairs of attributes have in common is the same in all of them.
        groups = {name: refined[rows] for name, rows in PAIRS.groups()}
        by_a = [groups["a, b"].reshape(3, 2), groups["a, c"].reshape(3, 4), groups["a, d"].reshape(3, 2)]
        for table in by_a:
            assert table.sum(axis=1) == pytest.approx(by_a[0].sum(axis=1), abs=1e-6)
        assert groups["c prefix"] == pytest.approx(
            groups["b, c"].reshape(2, 4).sum(axis=0).cumsum(), abs=1e-6
        )
        assert groups["total"][0] == pytest.approx(groups["c, d"].sum(), abs=1e-6)
        if totals is not None:
            assert groups["total"][0] == pytest.approx(counts.sum(), abs=1e-6)


def test_the_bound_is_below_every_population(rng: np.random.Generator) -> None:
    """Also at a point and at multipliers that are not the best."""
    tables = tables_of(PAIRS)
    counts = population(rng)
    estimates, errors = PAIRS.queries @ counts + 9 * rng.normal(size=PAIRS.m), np.full(PAIRS.m, 9.0)
    base, x, z, kept, status = nearest_tables(*given(tables, estimates, errors))
    assert status == "Solved" and kept < 1e-9
    total = float(len(tables.sizes)) * 1e4
    for spoiled in (0.0, 0.01, 1.0):
        off = spoiled * rng.normal(size=len(z))
        pair = (np.maximum(-z - off, 0.0), np.maximum(z + off, 0.0))
        near = dataclasses.replace(nearest(base, x), multipliers=pair, most=total, kept=kept)
        zeros = np.zeros(len(z))
        figures = figures_of(tables.queries, estimates, errors, tables.agreement, zeros, near)
        for _ in range(20):
            cells = population(rng, 2.0 * rng.random())
            level = float(np.sum(((PAIRS.queries @ cells - estimates) / errors) ** 2))
            assert figures.bound <= level
            assert len(tables.sizes) * cells.sum() <= tables.most(estimates, errors, level)
        assert figures.bound <= figures.objective and (figures.gap < 1e-9 or spoiled)


def given(tables: Tables, estimates: Array, errors: Array) -> tuple[object, ...]:
    """No total is known."""
    return tables.queries, estimates, errors, tables.agreement, np.zeros(tables.agreement.shape[0])


def nearest(base: Array, x: Array) -> object:
    from mmopt.answers.refined_answers import Nearest

    nothing = np.zeros(0)
    return Nearest(None, base, x, (nothing, nothing), 0.0, "")


def test_one_table_is_what_counts_of_cells_are(rng: np.random.Generator) -> None:
    """And certify, with the program as it is written, has the same figures."""
    workload = asked({"a": "identity", "c": "identity"}, {"a": "identity"}, {"c": "prefix"})
    tables = tables_of(workload)
    assert tables.finest == 1
    matrix = np.unique(workload.queries, axis=1)
    estimates, errors = 4 * rng.normal(size=workload.m), rng.uniform(0.5, 2.0, workload.m)
    cells = nearest_counts(matrix, estimates, errors, np.zeros((0, 12)), np.zeros(0))
    best = figures_of(matrix, estimates, errors, np.zeros((0, 12)), np.zeros(0), cells)
    base, x, z, _, _ = nearest_tables(*given(tables, estimates, errors))
    judged = certify(
        Workload.from_matrix(tables.queries.toarray()),
        program="refine_tables",
        point={"x": base + x},
        multipliers={"known": z},
        givens={
            "y": estimates,
            "s": errors,
            "K": tables.agreement.toarray(),
            "v": np.zeros(len(z)),
            "most": 1000.0,
        },
        solve=False,
    )
    assert judged.objective == pytest.approx(best.objective, rel=1e-6)
    assert judged.bound == pytest.approx(best.bound, rel=1e-6)


def test_all_pairs_agree_on_what_they_have_in_common() -> None:
    """Also of classes that overlap: {0}, {1} of c in one table and {0, 1} in another."""
    workload = asked(
        {"a": "identity", "c": [[0], [1]]}, {"b": "identity", "c": [[0, 1]]}, {"d": "identity", "c": [[1, 2]]}
    )
    tables = tables_of(workload)
    assert tables.finest == 3
    # By hand: 3 x 3, 2 x 2 and 2 x 2 counts; {0, 1} and the rest; all of c, as {0}, {1}, {2} are chained.
    assert sorted(tables.sizes.tolist()) == [1, 2, 4, 4, 9]
    for seed in range(3):
        cells = population(np.random.default_rng(seed))
        x = tables_in(workload, cells)
        assert np.abs(tables.agreement @ x).max() < 1e-9
        assert tables.queries @ x == pytest.approx(workload.queries @ cells)


def test_agreement_in_pairs_promises_no_common_table() -> None:
    """Ten persons with A = B, B = C and A ≠ C: the answers stay as they are."""
    domain = mmopt.Domain.of(a=range(2), b=range(2), c=range(2))
    workload = domain.marginals([2])
    same, other = np.array([5.0, 0, 0, 5]), np.array([0, 5.0, 5, 0])
    answers = {"a, b": same, "a, c": other, "b, c": same}
    estimates = np.concatenate([answers[name] for name, _ in workload.groups()])
    tables = tables_of(workload)
    base, x, *_ = nearest_tables(*given(tables, estimates, np.ones(12)))
    assert tables.queries @ (base + x) == pytest.approx(estimates, abs=1e-4)
    matrix = np.unique(workload.queries, axis=1)
    cells = nearest_counts(matrix, estimates, np.ones(12), np.zeros((0, 8)), np.zeros(0))
    assert cells.solution is not None and cells.solution.objective > 1.0


def test_a_release_over_many_cells_is_refined_saved_and_loaded(tmp_path: Path) -> None:
    band = {"range": [0, 80], "width": 1}
    wide = mmopt.Domain.of(a=["x", "y"], b=band, c=band, d=band, e=band)
    workload = wide.marginal("a") + wide.marginal("a", "b")
    people = {"a": ["x", "y", "x"], "b": [1, 2, 3], "c": [2, 3, 4], "d": [3, 4, 5], "e": [5, 6, 7]}
    found = mmopt.release(people, workload, {"rho": 1.0}, simulate=1).refine(totals={None: 3, "a=x": 2})
    assert (found.answers["refined"] >= 0).all()
    assert found.answers["refined"][:2] == pytest.approx([2.0, 1.0], abs=1e-6)
    assert dict(found.rows())["refined"].startswith(f"non-negative, all rows: 3, 'a=x': 2; {LOCAL}; ")
    folder = found.save(tmp_path / "refined")
    back = load_release(folder, workload)
    assert not [name for name in back.unchecked if name.startswith("refined") and "objective" in name]
    assert back.manifest["refined"]["tables"] == 1
    text = json.loads((folder / "manifest.json").read_text())
    text["refined"]["totals"][0]["value"] = 4.0
    (folder / "manifest.json").write_text(json.dumps(text))
    with pytest.raises(ResultError, match="standard errors from those of any counts"):
        load_release(folder, workload)


def test_totals_that_no_tables_have() -> None:
    release = of(PAIRS, population(np.random.default_rng(1)), 1)
    with pytest.raises(SolverError) as caught:
        release.refine(totals={None: 100, "a=0, b=0": 300})
    assert str(caught.value) == (
        "no counts have all of these totals: 100 of all rows, 300 of 'a=0, b=0'\n"
        "  correct one of them or leave it out; by the others it would be: all rows at least 300, "
        "'a=0, b=0' 0 to 100"
    )
    with pytest.raises(OptionError, match="count the same rows"):
        release.refine(totals={None: 100, PAIRS.m - 1: 90})
    far = release.refine(totals=1e6).answers.metadata["contradicted totals"]
    assert far.startswith("the total of all rows is 1,000,000, and by the released answers it is ")


def test_whole_counts_of_tables_agree(rng: np.random.Generator, tmp_path: Path) -> None:
    counts = population(rng)
    release = of(PAIRS, counts, int(rng.integers(2**32)))
    near, whole = (release.refine(totals=counts.sum(), whole=whole) for whole in (False, True))
    refined = np.array(whole.answers["refined"])
    assert (refined == np.rint(refined)).all() and (refined >= 0).all()
    groups = {name: refined[rows] for name, rows in PAIRS.groups()}
    sizes = dict(zip("abcd", SIZES, strict=True))
    tables = {
        name: groups[", ".join(name)].reshape([sizes[one] for one in name])
        for name in ("ab", "ac", "ad", "bc", "bd", "cd")
    }
    for letter in "abcd":
        sums = [t.sum(axis=1 - name.index(letter)) for name, t in tables.items() if letter in name]
        assert all(np.array_equal(one, sums[0]) for one in sums)
        assert sums[0].sum() == groups["total"][0] == counts.sum()
    off, about = np.abs(refined - near.answers["refined"]), whole.manifest["refined"]["whole"]
    size = sum(t.size for t in tables.values())
    assert about["within_one"] >= size and off[:size].max() <= 1.0 + 1e-6
    assert off.max() <= max(1.0, about["largest_distance_of_others"]) + 1e-6
    assert check_refined(whole, tmp_path)
    halves = Workload.from_matrix(np.vstack([np.eye(4), [[0.0, 1, 0.5, 0]]]))
    with pytest.raises(OptionError, match=r"not whole \(1 query of 5\)"):
        of(halves, np.arange(4), 1).refine(whole=True)


def test_what_is_said_before() -> None:
    assert refinable_words(asked({"d": "identity"})) == "as counts of cells, also whole"
    assert refinable_words(PAIRS) == (
        "as 6 tables of 58 counts in all, any two with the same sums where they share attributes, whole "
        "where such are found"
    )
    many = mmopt.Domain.of(a=range(600), b=range(600)).marginals([2])
    assert refinable_words(many) == (
        "not at all: refining on tables takes 360,000 counts in 1 table, which is too many"
    )


def test_products_of_sparse_rows_hold_those_of_fractions(rng: np.random.Generator) -> None:
    matrix = rng.normal(size=(6, 9)) * (rng.random((6, 9)) < 0.5) * 10.0 ** rng.integers(-8, 8, (6, 9))
    mid, rad = rng.normal(size=9), rng.random(9) * 1e-9
    ball = product(sparse.csr_array(matrix), Ball(mid, rad))
    dense = matmul(exact(matrix), Ball(mid, rad))
    for sign in rng.choice([-1.0, 1.0], (20, 9)):
        at = matrix.astype(np.longdouble) @ (mid + sign * rad).astype(np.longdouble)
        assert (np.abs(at - ball.mid) <= ball.rad).all()
    assert (ball.rad <= dense.rad * 1.001 + 1e-200).all()
    assert isinstance(tables_of(PAIRS), Tables)
