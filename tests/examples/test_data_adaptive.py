"""DAWA's partition, best by brute force and private on small tables; MWEM, EFPA, grids; the study's rows."""

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
dawa, efpa, grids, mechanisms, mwem, simulated_data = (
    example.dawa,
    example.efpa,
    example.grids,
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
    for mechanism in mechanisms.ALL_MECHANISMS.values():
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


def test_efpas_noise_is_by_what_a_row_moves(subtests: pytest.Subtests) -> None:
    for n in (1, 2, 5, 8, 33):
        with subtests.test(n=n):
            Q, numbers = efpa.basis(n), efpa.kept(n)
            assert pytest.approx(np.eye(n), abs=1e-12) == Q.T @ Q
            moved = np.array([[np.abs(row[:m]).sum() for m in numbers] for row in Q])
            assert efpa.exact_sensitivities(n) == pytest.approx(moved.max(axis=0))
            for bound in (efpa.paper_sensitivities(n), numbers / math.sqrt(n)):
                assert (moved <= bound + 1e-9).all()


def test_efpas_choice_by_hand() -> None:
    # (3, 1) has coefficients √8 and √2. Left out √2 or nothing; noise √2 or 2√2 over ε₂ = 2, by the paper's
    # √m: scores √2 + 1/√2 and √2.
    chances = efpa.chances(np.array([3.0, 1.0]), 0.8, 2.0, efpa.paper_sensitivities(2))
    assert chances[0] / chances[1] == pytest.approx(math.exp(-0.8 / math.sqrt(2.0) / 2.0))


def test_efpas_choice_for_neighbours_is_within_e_to_its_share(rng: np.random.Generator) -> None:
    first = 0.7
    spike = np.where(np.arange(9) == 4, 50.0, 0.0)
    for x in (np.zeros(9), spike, *rng.integers(0, 9, size=(20, 9)).astype(float)):
        for sensitivities in (efpa.paper_sensitivities(9), efpa.exact_sensitivities(9)):
            chances = efpa.chances(x, first, 1.0, sensitivities)
            assert chances.sum() == pytest.approx(1.0)
            for row in np.eye(9):
                other = efpa.chances(x + row, first, 1.0, sensitivities)
                assert np.abs(np.log(other / chances)).max() <= first + 1e-9


def test_efpas_expected_error_is_that_of_simulated_answers() -> None:
    rng = np.random.default_rng(9)
    x, W, epsilon = np.array([2.0, 1, 2, 3, 9, 0, 4]), np.tri(7), 1.5
    for sensitivities in (efpa.paper_sensitivities(7), efpa.exact_sensitivities(7)):
        chances = efpa.chances(x, epsilon / 2, epsilon / 2, sensitivities)
        assert chances.max() < 0.9
        choice = rng.choice(len(chances), size=60_000, p=chances)
        noise = rng.laplace(size=(60_000, 7)) * (sensitivities[choice] / (epsilon / 2))[:, None]
        noisy = (x @ efpa.basis(7) + noise) * (np.arange(7) < efpa.kept(7)[choice][:, None])
        seen = np.square(noisy @ efpa.basis(7).T @ W.T - W @ x).mean()
        assert efpa.expected_error(W, x, epsilon, sensitivities) == pytest.approx(seen, rel=0.03)


def test_the_authors_efpa_publishes_angles() -> None:
    # The pair of tables at the top of efpa.py: where the coefficient is kept, no outcome is one of both.
    rng = np.random.default_rng(4)
    for x, is_real in (([6, 0, 0, 0], True), ([6, 1, 0, 0], False)):
        seconds = np.array([np.fft.rfft(efpa.authors_release(x, 1.0, rng))[1] for _ in range(2_000)])
        kept = seconds[np.abs(seconds) > 1e-9]
        assert len(kept) / 2_000 == pytest.approx(0.71, abs=0.04)
        assert ((np.abs(kept.imag) < 1e-9 * np.abs(kept)) == is_real).all()


def test_blocks_are_as_equal_as_may_be(subtests: pytest.Subtests) -> None:
    assert list(grids.blocks((3, 2), 2)) == [0, 1, 0, 1, 2, 3]
    for shape, each_way in itertools.product(((1, 1), (5, 8), (8, 3)), (1, 2, 3, 9)):
        with subtests.test(shape=shape, each_way=each_way):
            block = grids.blocks(shape, each_way).reshape(shape)
            assert sorted(set(block.ravel())) == list(range(np.prod(np.minimum(shape, each_way))))
            sides = [[np.ptp(np.argwhere(block == b), axis=0) + 1] for b in set(block.ravel())]
            assert (np.ptp(np.concatenate(sides), axis=0) <= 1).all()


def test_parts_lie_in_one_block_and_dense_blocks_have_more(rng: np.random.Generator) -> None:
    x = np.zeros((40, 40))
    x[:4, :4] = 600.0
    levels = grids.adaptive_grid(x, 1.0, rng)
    assert len(set(levels.part)) == len(set(zip(levels.part, levels.block, strict=True)))
    parts = [len(set(levels.part[levels.block == b])) for b in range(100)]
    assert parts[0] == 16 and sum(parts) < 16 + 99 * 9


class Recorded:
    """A generator that keeps the scales of its Laplace noise, which is 0."""

    def __init__(self) -> None:
        self.scales: list[float] = []

    def laplace(self, scale: float, size: int | None = None) -> float | np.ndarray:
        self.scales.append(scale)
        return 0.0 if size is None else np.zeros(size)


def test_the_grids_spend_epsilon_in_all() -> None:
    # 4 rows in each of 4 × 4 cells: at ε = 40 each cell is a block. The mean variance of cells is that of the
    # last step; AGrid's blocks have one part, and half of each measurement.
    x, W, epsilon = np.full(16, 4.0), np.eye(16), 40.0
    for error, of_noise in ((mechanisms.ugrid_error, 1.0), (mechanisms.agrid_error, 0.25)):
        rng = Recorded()
        last = math.sqrt(2.0 * of_noise / error(W, x, epsilon, rng))
        assert rng.scales[0] == pytest.approx(1.0 / (0.05 * epsilon))
        assert sum(1.0 / scale for scale in rng.scales) + last == pytest.approx(epsilon)


def test_a_block_is_averaged_with_its_parts_as_in_the_paper() -> None:
    alpha = grids.ALPHA
    for each_way in (1, 2, 5):
        weight = (alpha * each_way) ** 2 / ((1 - alpha) ** 2 + (alpha * each_way) ** 2)
        assert grids.first_weights(each_way**2) == pytest.approx(weight)


def test_the_grids_errors_are_those_of_simulated_answers() -> None:
    data = np.random.default_rng(10)
    x = data.integers(0, 40, size=144).astype(float) * (np.arange(144) % 12 < 5)
    W, epsilon, draws = simulated_data.square_queries("random rectangles", 12, data), 0.1, 4_000
    rest = 0.95 * epsilon
    block = grids.uniform_grid(x.reshape(12, 12), epsilon, np.random.default_rng(2))
    sizes = np.bincount(block)
    assert 1 < len(sizes) < 144
    noisy = np.bincount(block, x) + data.laplace(scale=1.0 / rest, size=(draws, len(sizes)))
    seen = np.square((noisy / sizes)[:, block] @ W.T - W @ x).mean()
    assert mechanisms.ugrid_error(W, x, epsilon, np.random.default_rng(2)) == pytest.approx(seen, rel=0.03)

    epsilon, rest = 1.0, 0.95
    levels = grids.adaptive_grid(x.reshape(12, 12), epsilon, np.random.default_rng(2))
    estimates = np.zeros((draws, 144))
    for b, total in enumerate(levels.totals):
        cells = np.flatnonzero(levels.block == b)
        parts, part = np.unique(levels.part[cells], return_inverse=True)
        noisy = np.bincount(part, x[cells]) + data.laplace(scale=2.0 / rest, size=(draws, len(parts)))
        weight = len(parts) / (1 + len(parts))
        both = weight * total + (1 - weight) * noisy.sum(axis=1)
        noisy += ((both - noisy.sum(axis=1)) / len(parts))[:, None]
        estimates[:, cells] = (noisy / np.bincount(part))[:, part]
    assert len(levels.totals) < len(set(levels.part))
    seen = np.square(estimates @ W.T - W @ x).mean()
    assert mechanisms.agrid_error(W, x, epsilon, np.random.default_rng(2)) == pytest.approx(seen, rel=0.03)


def test_p_identity_each_way_has_the_square_of_its_error() -> None:
    W = simulated_data.square_queries("corner rectangles", 8, np.random.default_rng(0))
    one = mechanisms.laplace_error(np.tri(8), "p_identity")
    assert mechanisms.each_way_error(W.tobytes(), 64, "p_identity") == pytest.approx(one**2 / 2.0)


def test_squares_of_data_and_rectangles(rng: np.random.Generator) -> None:
    for shape in simulated_data.SHAPES:
        x = simulated_data.drawn_square(shape, 16, 1000, rng)
        assert x.shape == (256,) and x.sum() == 1000 and (x >= 0).all()
    for query in simulated_data.square_queries("random rectangles", 9, rng).reshape(81, 9, 9):
        assert (query == query.any(axis=1)[:, None] * query.any(axis=0)).all() and query.any()
    with pytest.raises(ValueError) as caught:
        simulated_data.square_queries("prefix", 4, rng)
    assert str(caught.value) == "no workload 'prefix', expected one of corner rectangles, random rectangles"


def test_the_packages_table_is_counted_whole() -> None:
    square = example.package_table.census_counts(8, 16)
    assert square.sum() == 29_501
    assert (square.reshape(8, 16).sum(axis=0) == example.package_table.census_counts(16)).all()


def test_a_square_has_its_mechanisms_and_its_place_on_the_page(tmp_path: Path) -> None:
    at = (["random rectangles"], ["uniform", "census2000"], [100], [0.1])
    rows = list(example.study.study(8, 1, *at, side=8))
    names = [m.name for m in mechanisms.SQUARE_MECHANISMS]
    assert [(r.shape, r.rows, r.cells, r.mechanism) for r in rows] == [
        (shape, size, 64, name)
        for (shape, size) in (("uniform", 100), ("census2000", 29_501))
        for name in names
    ]
    example.study.write(tmp_path, rows)
    page = (tmp_path / "page.md").read_text()
    assert "## In a square" in page and "## A table that comes with a package" in page
    assert "## The slides' claims" not in page and all(f"{row.error:.3g} |" in page for row in rows)


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
        "error: --workloads has 'cubes', expected some of prefix, random ranges, identity, "
        "corner rectangles, random rectangles\n"
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
