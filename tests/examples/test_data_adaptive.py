"""DAWA's partition: best by brute force, and private on small tables; MWEM; and the study's rows."""

import itertools
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from mmopt import Workload, baseline
from tests.examples.scripts import scripts, status

example = scripts("data-adaptive")
dawa, mechanisms, mwem, simulated_data = (
    example.dawa,
    example.mechanisms,
    example.mwem,
    example.simulated_data,
)


def partitions(n: int, allowed: list[int]) -> list[list[int]]:
    """All of n cells into buckets of these lengths, as edges."""
    cuts = itertools.chain.from_iterable(itertools.combinations(range(1, n), k) for k in range(n))
    found = [[0, *cut, n] for cut in cuts]
    return [edges for edges in found if all(size in allowed for size in np.diff(edges))]


def test_deviations_by_hand() -> None:
    costs = dawa.deviations([1, 3, 3, 9], dawa.lengths(4))
    assert {size: list(cost) for size, cost in costs.items()} == {1: [0] * 4, 2: [2, 0, 6], 4: [10]}
    # With 3 for each bucket: 3 + 3 + 3 for 1 | 3 3 | 9, and 12 for single cells, 14 for pairs, 13 for all.
    assert dawa.best_partition({size: cost + 3 for size, cost in costs.items()}, 4) == [0, 1, 3, 4]


def test_the_partition_is_the_best_of_all(rng: np.random.Generator) -> None:
    for n in (1, 2, 5, 9) * 3:
        # Costs of any sign, as noise makes them.
        costs = {size: rng.normal(size=n - size + 1) for size in dawa.lengths(n)}

        def cost(edges: list[int], costs: dict[int, np.ndarray] = costs) -> float:
            return sum(costs[b - a][a] for a, b in itertools.pairwise(edges))

        best = dawa.best_partition(costs, n)
        assert cost(best) == pytest.approx(min(map(cost, partitions(n, dawa.lengths(n)))))


def test_one_row_moves_two_deviations_by_no_more_than_the_scale_allows(rng: np.random.Generator) -> None:
    # Of the theorem: two buckets with the row's cell, of any lengths, against the scale of either's noise.
    n, allowed = 16, dawa.lengths(16)
    for _ in range(5):
        x = rng.integers(0, 5, size=n).astype(float)
        at = rng.integers(n)
        before, after = (dawa.deviations(counts, allowed) for counts in (x, x + (np.arange(n) == at)))
        moved = {size: np.abs(after[size] - before[size]).max() for size in allowed}
        for size, other in itertools.product(allowed, allowed):
            assert moved[size] <= 2.0 * (1.0 - 1.0 / size) + 1e-9
            assert moved[size] + moved[other] <= dawa.proved_scale(size, max(allowed)) + 1e-9


def drawn_partitions(noise: mechanisms.Noisy, x: list[int], draws: int) -> Counter[tuple[int, ...]]:
    """How often each partition comes out at ε₁ = 1, ε₂ = 0.1."""
    rng, costs = np.random.default_rng(x), dawa.deviations(x, dawa.lengths(len(x)))
    return Counter(tuple(dawa.best_partition(noise(costs, 1.0, 0.1, rng), len(x))) for _ in range(draws))


def test_neighbours_have_partitions_within_e_to_the_epsilon() -> None:
    for tables in (([6, 0, 0], [6, 1, 0]), ([0, 1, 6], [0, 0, 6]), ([3, 0, 1], [3, 0, 0])):
        one, other = (drawn_partitions(dawa.proved_noise, x, 3_000) for x in tables)
        for edges in one | other:
            for a, b in ((one[edges], other[edges]), (other[edges], one[edges])):
                assert a <= math.e * b + 4.0 * math.sqrt(a + math.e**2 * b + 1.0), tables


def test_the_authors_noise_is_less_private_than_epsilon() -> None:
    # The pair of tables at the top of dawa.py. By integration the factor is 4.46 here, and e is 2.72.
    few, many = (drawn_partitions(dawa.authors_noise, x, 20_000)[0, 2, 3] for x in ([6, 0, 0], [6, 1, 0]))
    assert many - math.e * few > 4.0 * math.sqrt(many + math.e**2 * few)


def test_the_noises_have_the_scales_they_say() -> None:
    rng, count = np.random.default_rng(3), 200_000
    costs = {1: np.zeros(count), 4: np.full(count, 1e6)}
    proved = dawa.proved_noise(costs, 0.5, 2.0, rng)
    # Lengths 1 and 4: 2 (2 - 1 - 1/4) / 0.5 = 3 and 2 (2 - 2/4) / 0.5 = 6. The charge is 1/2 + 4/0.5.
    # The mean size of Laplace noise is its scale.
    for size, scale in ((1, 3.0), (4, 6.0)):
        assert np.median(proved[size] - costs[size]) == pytest.approx(8.5, abs=0.15)
        assert np.abs(proved[size] - costs[size] - 8.5).mean() == pytest.approx(scale, rel=0.02)
    authors = dawa.authors_noise(costs, 0.5, 2.0, rng)
    assert (authors[1] == 0.5).all()
    assert np.abs(authors[4] - 1e6 - 0.5).mean() == pytest.approx((2 - 0.25) / 0.5, rel=0.02)
    # Nothing costs less than its charge: as often as the noise is below zero.
    flat = dawa.authors_noise({1: np.zeros(count), 4: np.zeros(count)}, 0.5, 2.0, rng)[4]
    assert flat.min() == 0.5 and np.mean(flat == 0.5) == pytest.approx(0.5, abs=0.01)


def test_of_equal_costs_the_longest_last_bucket_is_taken() -> None:
    assert dawa.best_partition({1: np.ones(3), 2: np.ones(2)}, 3) == [0, 1, 3]


def test_mwem_chooses_by_the_exponential_mechanism() -> None:
    rng, gaps = np.random.default_rng(5), np.array([0.0, 1.0, 3.0])
    chosen = Counter(mwem.worst_query(gaps, 0.8, rng) for _ in range(20_000))
    chances = np.exp(0.4 * gaps) / np.exp(0.4 * gaps).sum()
    assert [chosen[i] / 20_000 for i in range(3)] == pytest.approx(chances, abs=0.015)


def test_mwem_answers_few_queries_when_noise_is_next_to_nothing(rng: np.random.Generator) -> None:
    W, x = np.tri(4), np.array([40.0, 5, 0, 55])
    assert W @ mwem.estimate(W, x, 1e9, rng) == pytest.approx(W @ x, abs=0.5)
    # And where noise is all there is, they are numbers still.
    assert np.isfinite(mwem.estimate(W, x, 1e-6, rng)).all()


def test_mwem_refuses_queries_whose_sensitivity_is_not_one(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError) as caught:
        mwem.estimate(np.array([[1.0, -2.0]]), np.ones(2), 1.0, rng)
    assert str(caught.value) == "entries of W are between -2 and 1, expected 0 and 1"


def test_bucket_averages() -> None:
    assert dawa.bucket_averages([0, 2, 3]) == pytest.approx(np.array([[0.5, 0], [0.5, 0], [0, 1]]))


def test_at_a_huge_epsilon_the_error_is_next_to_nothing(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    x = rng.permutation(16) * 3.0  # all cells differ, so that no bucket of several is free
    for mechanism in mechanisms.MECHANISMS:
        if mechanism.name not in ("uniform", "MWEM"):
            with subtests.test(mechanism.name):
                epsilon = 1e4 if "Gaussian" in mechanism.name else 1e9
                assert mechanism.error(np.tri(16), x, epsilon, rng) < 1e-2


def test_the_expected_error_is_that_of_simulated_answers() -> None:
    rng = np.random.default_rng(8)
    edges, x, W, epsilon = [0, 4, 5, 6, 8], np.array([2.0, 1, 2, 3, 9, 0, 4, 4]), np.tri(8), 0.7
    asked = W @ dawa.bucket_averages(edges)
    workload = Workload.from_matrix(asked)
    strategy = baseline("hierarchical", workload, 1)
    totals = np.add.reduceat(x, edges[:-1])
    noise = rng.laplace(scale=strategy.sensitivity / epsilon, size=(40_000, strategy.p))
    estimates = totals + strategy.estimate(noise)
    seen = np.square(estimates @ asked.T - W @ x).mean()
    bias = np.square(asked @ totals - W @ x).mean()
    assert seen == pytest.approx(
        bias + mechanisms.laplace_error(asked, "hierarchical") / epsilon**2, rel=0.03
    )


def test_uniform_by_hand() -> None:
    # Two cells of 3 and 1: each is told 2 and half of the noise of the total, of variance 2.
    error = mechanisms.uniform_error(np.eye(2), np.array([3.0, 1.0]), 1.0, np.random.default_rng(0))
    assert error == pytest.approx(1.0 + 2.0 / 4.0)


def test_data_are_counts_of_the_rows(rng: np.random.Generator) -> None:
    for shape in (*simulated_data.SHAPES,) * 2:
        x = simulated_data.drawn(shape, 64, 1000, rng)
        assert x.sum() == 1000 and (x >= 0).all() and (x == np.round(x)).all()
        if shape == "sparse":
            assert np.count_nonzero(x) <= 1


def test_the_row_set_is_complete_and_the_page_has_every_figure(tmp_path: Path) -> None:
    rows = list(example.study.study(8, 1, ["prefix", "identity"], ["uniform", "sparse"], [100], [0.1, 1.0]))
    kept = {(r.workload, r.shape, r.rows, r.epsilon, r.mechanism) for r in rows}
    names = [m.name for m in mechanisms.MECHANISMS]
    assert kept == set(
        itertools.product(["prefix", "identity"], ["uniform", "sparse"], [100], [0.1, 1.0], names)
    )
    assert len(rows) == len(kept) and all(0 < row.error < np.inf for row in rows)
    example.study.write(tmp_path, rows)
    page = (tmp_path / "page.md").read_text()
    assert "not a release" in page and all(f"{row.error:.3g} |" in page for row in rows)
    told = (tmp_path / "rows.csv").read_text().splitlines()
    assert len(told) == len(rows) + 1 and all(line.endswith(",simulation") for line in told[1:])
    assert (tmp_path / "chart.svg").read_text().lstrip().startswith("<?xml")


def test_gain_compares_what_is_proved_unless_asked() -> None:
    def row(mechanism: str, adaptive: bool, error: float) -> object:
        return example.study.Row("prefix", "smooth", 8, 100, 0.5, mechanism, adaptive, 1, error)

    rows = [row("identity", False, 6.0), row("p_identity", False, 4.0), row("uniform", True, 8.0)]
    rows += [row("l2_strategy, Gaussian", False, 1.0), row("authors' partition + p_identity", True, 2.0)]
    assert example.page.gain(rows) == {("prefix", "smooth", 50.0): 0.5}
    assert example.page.gain(rows, authors=True) == {("prefix", "smooth", 50.0): 2.0}


def test_the_slides_claims_are_counted() -> None:
    def rows(workload: str, shape: str, size: int, looking: float) -> list[object]:
        place = (workload, shape, 8, size, 1.0)
        agnostic = 4.0 if workload == "prefix" else 400.0
        return [
            example.study.Row(*place, "identity", False, 1, agnostic),
            example.study.Row(*place, "uniform", True, 1, looking),
        ]

    # At a signal of 10 looking gains 4 and 0.5 times, 8 between two shapes of one workload; 100 times for the
    # other workload. At 100,000 it gains 1, which counts for neither.
    drawn = rows("prefix", "smooth", 10, 1.0) + rows("prefix", "sparse", 10, 8.0)
    drawn += rows("identity", "smooth", 10, 4.0) + rows("prefix", "smooth", 100_000, 4.0)
    low, high, spread = example.page.claims(drawn)[2:]
    assert low.count(" in 2 of 3 settings |") == 2
    assert high.count(" in 0 of 1 settings |") == 2
    assert spread.count(" up to 8 times |") == 2


def test_what_the_slides_list_says_is_ours_is_there() -> None:
    from mmopt.installation_and_files import programs_folder
    from mmopt.strategies.baselines import CATALOGUE

    there = {row.name for row in CATALOGUE} | {file.stem for file in programs_folder().glob("*.program")}
    for name, _, home, why in example.slides_list.MECHANISMS_OF_THE_SLIDES:
        if home == "mmopt":
            named = re.findall(r"`(\w+)`", why)
            assert named and set(named) <= there, name


def test_bad_options_are_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(monkeypatch, "data-adaptive/study.py", "--workloads", "cubes") == 2
    assert capsys.readouterr().err.endswith(
        "error: --workloads has 'cubes', expected some of prefix, random ranges, identity\n"
    )


def test_aim_says_when_its_library_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(example.aim.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(example.aim, "ROWS", (1_000,))
    example.aim.main()
    out, err = capsys.readouterr()
    assert err == "AIM is left out: mbi and polars not installed (pip install 'opendp[mbi]')\n"
    assert out.count("left out |") == len(example.aim.SHAPES) * len(example.aim.RHOS)


def test_copies_are_copies(rng: np.random.Generator) -> None:
    table = example.aim.drawn(0.8, 20_000, rng)
    # A copy, or equal by chance: 0.8 + 0.2 / 4.
    assert np.mean(table[:, 0] == table[:, 1]) == pytest.approx(0.85, abs=0.02)
    assert np.mean(table[:, 1] == table[:, 2]) == pytest.approx(0.25, abs=0.02)
