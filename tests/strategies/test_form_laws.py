"""The law of the table of forms: every figure of a strategy, rounded and measured too, against its matrix.

Guards component_strategies.py, factor_strategies.py, privacy/rounding/integer_factors.py and
protocol_and_dense_strategy.py.
"""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
import tolerances

from mmopt.mechanism import measure, plan
from mmopt.numerics.component_arrays import Level, Split, lift
from mmopt.privacy import Privacy
from mmopt.privacy.rounding.integer_dense import WORTH_SAYING
from mmopt.privacy.rounding.table_of_forms import ROUNDED, round_any
from mmopt.results.saved_fields import pack, plain, read_npz, restored_strategy, unpack, write_npz
from mmopt.sectors.row_space_cells_and_targets import RestComponent, SectorLayout
from mmopt.strategies import (
    FORMS,
    ComponentStrategy,
    MarginalStrategy,
    Neighbours,
    ProductStrategy,
    RowSpaceStrategy,
    SetStrategy,
    Strategy,
    StrategyForm,
    UnionStrategy,
    normalise,
)
from mmopt.symmetry import symmetry
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product, Workload
from mmopt.workloads.factors_and_products import identity, total
from tests.privacy.rounding.test_integer_factors import columns_normalised

REPLACED = Neighbours.of("replace-one")
SETS = ("add-remove", "replace-one")
SIZES = (2, 4)
N = 8
BITS = {"dense": "COLUMN_BITS", "components_and_sectors": "COLUMN_BITS", "factors": "BITS"}
NEED_BITS = ("dense", "by_component")


@pytest.fixture(autouse=True)
def nothing_is_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    for file in ("strategies.component_strategies", "privacy.rounding.integer_components_and_sectors"):
        monkeypatch.setattr(f"mmopt.{file}.MOST_CELLS", 1)


@pytest.fixture(params=[False, True])
def is_wide(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether integers need more bits than answers have room for: those are Python integers then."""
    for file, name in BITS.items() if request.param else ():
        monkeypatch.setattr(f"mmopt.privacy.rounding.integer_{file}.{name}", (42,))
    return bool(request.param)


def workload() -> Workload:
    """Marginals, of different weights: every form has a strategy for them."""
    return Workload.from_products(
        domain_of(*SIZES),
        [
            Product((identity(2), total(4)), "first", weight=3.0, target=2.0),
            Product((total(2), identity(4)), "second", target=5.0),
        ],
    )


def factor(rng: np.random.Generator, size: int, norm: int) -> Strategy:
    return columns_normalised(np.vstack([np.eye(size), rng.uniform(-0.5, 0.7, (2, size))]), norm)


def products(rng: np.random.Generator, norm: int) -> tuple[ProductStrategy, ProductStrategy]:
    """One for each marginal."""
    sums = {n: Strategy(np.ones((1, n)), norm) for n in SIZES}
    first = ProductStrategy((factor(rng, 2, norm), sums[4]))
    return first, ProductStrategy((sums[2], factor(rng, 4, norm)))


def by_component(rng: np.random.Generator, norm: int) -> ComponentStrategy:
    found = symmetry(workload(), False)
    assert found is not None
    cells = found.cells
    parts = tuple(np.vstack([np.eye(d), rng.uniform(-0.5, 0.7, (1, d))]) for d in cells.dims)
    return ComponentStrategy(Split(cells.abstract(tuple(map(len, parts))), cells, parts))


def on_sectors(rng: np.random.Generator, norm: int) -> RowSpaceStrategy:
    """Strategy on the queries of one attribute or the other: 1 + 1 + 3 functions."""
    functions = tuple(np.hstack([np.zeros((n - 1, 1)), np.eye(n - 1)]) for n in SIZES)
    layout = SectorLayout(tuple(map(np.arange, SIZES)), functions, ((), (0,), (1,)))
    core = np.eye(5) + rng.uniform(-0.3, 0.3, (5, 5))
    components = (RestComponent((), layout, core),)
    columns = RowSpaceStrategy(components, 1.0).implicit().matrix()
    return RowSpaceStrategy(components, float(np.linalg.norm(columns, axis=0).max()) * (1 + 1e-14), 0.7)


def sectorwise(rng: np.random.Generator, norm: int) -> SetStrategy:
    """Strategy for one attribute or the other, about a base of its own."""
    rows = tuple(np.eye(n)[1:] + rng.uniform(-0.3, 0.3, (n - 1, n)) for n in SIZES)
    return SetStrategy(rows, ((), (0,), (1,)), rng.uniform(0.5, 1.0, 3), norm)


MADE: dict[str, Callable[[np.random.Generator, int], StrategyForm]] = {
    "dense": lambda rng, norm: Strategy(np.vstack([np.eye(N), rng.uniform(-0.5, 0.7, (3, N))]), norm),
    "by_component": by_component,
    "product": lambda rng, norm: ProductStrategy(tuple(factor(rng, n, norm) for n in SIZES)),
    "union": lambda rng, norm: UnionStrategy(products(rng, norm), (0.6, 0.4)),
    "marginals": lambda rng, norm: MarginalStrategy(SIZES, [0.0, 0.6, 0.3, 0.1], norm),
    "sectors": on_sectors,
    "sectorwise": sectorwise,
}
# Queries are answered by means of what the parts say: least squares are no worse.
BOUNDS = ("union",)
GAUSSIAN = ("by_component", "sectors")
CASES = [(name, norm) for name in FORMS for norm in (1, 2) if norm == 2 or name not in GAUSSIAN]


Made = dict[tuple[str, int], StrategyForm]


@pytest.fixture
def made(rng: np.random.Generator) -> Made:
    """One strategy of each form, for each noise that it takes."""
    return {(name, norm): MADE[name](rng, norm) for name, norm in CASES}


def test_the_tables_have_the_same_forms() -> None:
    assert set(MADE) == set(FORMS) and set(ROUNDED) == set(FORMS.values())
    assert all(type(MADE[name](np.random.default_rng(1), 2)) is form for name, form in FORMS.items())


def near(found: object, expected: object) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerances.RECOMPUTED, atol=tolerances.FINE)


def told(matrix: np.ndarray, w: Workload) -> np.ndarray:
    """Variances (m,) of least squares at unit noise."""
    return np.square(w.queries @ np.linalg.pinv(matrix)).sum(axis=1)


def column_lengths(columns: np.ndarray, norm: int) -> np.ndarray:
    return np.linalg.norm(columns, ord=norm, axis=0)


def differences(matrix: np.ndarray) -> np.ndarray:
    """Differences of all pairs of columns, as columns."""
    return (matrix[:, :, None] - matrix[:, None, :]).reshape(len(matrix), -1)


@pytest.mark.quick
def test_figures_are_those_of_the_matrix(subtests: pytest.Subtests, made: Made) -> None:
    for (name, norm), strategy in made.items():
        with subtests.test(name, norm=norm):
            w, a = workload(), strategy.implicit().matrix()
            assert (strategy.p, strategy.n) == a.shape and repr(strategy).startswith(type(strategy).__name__)
            largest = column_lengths(a, strategy.norm).max()
            assert strategy.sensitivity >= largest * (1 - tolerances.ROUNDING)
            near(strategy.sensitivity, largest)
            near(strategy.sensitivity_to(REPLACED), column_lengths(differences(a), strategy.norm).max())
            profile = strategy.profile
            near(lift(profile) if isinstance(profile, Level) else profile, np.square(a).sum(axis=0))
            variances, least = strategy.variances(w), told(a, w)
            if name in BOUNDS:
                assert (variances >= least * (1 - tolerances.RECOMPUTED)).all()
                assert (variances < 2 * least).all()
            else:
                near(variances, least)
            near(strategy.squared_error(w), w.weights @ variances)
            near(strategy.total_error(w), strategy.sensitivity**2 * (w.weights @ variances))
            near(strategy.mean_variance(w), variances.mean())
            near(strategy.rmse(w), strategy.sensitivity * np.sqrt(variances.mean()))
            assert strategy.supports(w)


@pytest.mark.quick
def test_estimates_are_least_squares(subtests: pytest.Subtests, made: Made, rng: np.random.Generator) -> None:
    for (name, norm), strategy in made.items():
        with subtests.test(name, norm=norm):
            w, a = workload(), strategy.implicit().matrix()
            noisy = rng.normal(size=strategy.p)
            expected = w.answers(np.linalg.pinv(a) @ noisy)
            np.testing.assert_allclose(w.answers(strategy.estimate(noisy)), expected, rtol=1e-6, atol=1e-7)


def test_what_is_not_measured_is_not_supported(rng: np.random.Generator) -> None:
    """A strategy of each form measures the total alone, or nothing of one attribute."""
    sums = {n: Strategy(np.ones((1, n))) for n in SIZES}
    alone = ProductStrategy((sums[2], sums[4]))
    whole, whole_layout = by_component(rng, 2), on_sectors(rng, 2).layout
    parts = tuple(
        part if not any(chosen.key) else 0.0 * part
        for part, chosen in zip(whole.split.parts, whole.cells.chosen, strict=True)
    )
    few = {
        "dense": Strategy(np.ones((1, N))),
        "by_component": ComponentStrategy(Split(whole.split.rows, whole.split.columns, parts)),
        "product": alone,
        "union": UnionStrategy((alone, products(rng, 2)[0]), (0.5, 0.5)),
        "marginals": MarginalStrategy(SIZES, [1.0, 0.0, 0.0, 0.0]),
        "sectors": RowSpaceStrategy(
            (RestComponent((), SectorLayout(whole_layout.labels, whole_layout.functions, ((),)), np.eye(1)),),
            1.0,
        ),
        "sectorwise": SetStrategy(sectorwise(rng, 2).matrices, ((),), [1.0]),
    }
    assert set(few) == set(FORMS)
    w = workload()
    for strategy in few.values():
        assert not strategy.supports(w)
        assert strategy.total_error(w) == strategy.mean_variance(w) == np.inf
        variances = strategy.variances(w)
        assert np.isinf(variances[2:]).all()


def test_scaled_to_sensitivity_one(subtests: pytest.Subtests, made: Made) -> None:
    for (name, norm), strategy in made.items():
        with subtests.test(name, norm=norm):
            scaled = normalise(strategy)
            assert type(scaled) is type(strategy) and 1 - tolerances.ROUNDING <= scaled.sensitivity <= 1.0
            near(scaled.implicit().matrix() * strategy.sensitivity, strategy.implicit().matrix())
            near(scaled.total_error(workload()), strategy.total_error(workload()))


def test_saved_and_back(subtests: pytest.Subtests, made: Made, tmp_path) -> None:
    for (name, norm), strategy in made.items():
        with subtests.test(name, norm=norm):
            path = write_npz(*pack({"strategy": plain(strategy)}), tmp_path / "one.npz")
            found = restored_strategy(unpack(*read_npz(path))["strategy"])
            assert type(found) is type(strategy) and found.norm == strategy.norm
            np.testing.assert_array_equal(found.implicit().matrix(), strategy.implicit().matrix())
            assert found.sensitivity == strategy.sensitivity


@pytest.mark.quick
def test_integers_are_the_strategy_and_their_sensitivity_is_exact(
    subtests: pytest.Subtests, made: Made, is_wide: bool
) -> None:
    for ((name, norm), strategy), neighbours in itertools.product(made.items(), SETS):
        with subtests.test(name, norm=norm, neighbours=neighbours):
            w = workload()
            integer = round_any(strategy, w, neighbours)
            k = np.column_stack([integer.answers(unit) for unit in np.eye(N, dtype=np.int64)])
            fits = all(part.largest_answer < 2**62 for part in integer.parts)
            assert k.dtype == (np.int64 if fits else object) and len(k) == integer.rows
            assert fits != is_wide or name not in NEED_BITS
            assert integer.squared_sensitivities() == [part.squared_sensitivity for part in integer.parts]
            power, scales = (2 if integer.norm == 1 else 1), [part.relative for part in integer.parts]
            ends = np.cumsum([part.rows for part in integer.parts])[:-1]
            for rows, part in zip(np.split(k, ends), integer.parts, strict=True):
                changes = rows if neighbours == "add-remove" else np.hstack([rows, differences(rows)])
                sizes = np.abs(changes.astype(object)) ** (1 if integer.norm == 1 else 2)
                least = max(sizes.sum(axis=0)) ** power
                assert least <= part.squared_sensitivity
                assert part.squared_sensitivity == least or neighbours == "replace-one"
            deviations = np.repeat(scales, [part.rows for part in integer.parts]) * 2.0**integer.bits
            least = told(k.astype(float) / deviations[:, None], w)
            if name in BOUNDS:
                assert (integer.variances >= least * (1 - tolerances.RECOMPUTED)).all()
            else:
                np.testing.assert_allclose(integer.variances, least, rtol=1e-6)
            errors = integer.standard_errors(np.array(scales) * 2.0**integer.bits)
            np.testing.assert_allclose(errors, np.sqrt(integer.variances), rtol=1e-9)
            assert integer.loss <= WORTH_SAYING and not integer.is_biased
            # At equal privacy rounding costs next to nothing: the strategy is the one that was given.
            size = integer.sensitivity * 2.0**-integer.bits
            size = size / scales[0] if integer.compares_columns else size
            if neighbours == "add-remove":
                cost = size**2 * integer.variances.mean()
                assert cost <= strategy.rmse(w) ** 2 * WORTH_SAYING * (1 + tolerances.RECOMPUTED)
            x = np.arange(3, 3 + N)
            exact = integer.answers(x).astype(float)
            np.testing.assert_allclose(integer.estimate(exact), w.answers(x), rtol=1e-6)


def test_measured_with_the_errors_that_are_planned(
    subtests: pytest.Subtests, made: Made, is_wide: bool
) -> None:
    for (name, norm), strategy in made.items():
        with subtests.test(name, norm=norm):
            w, x = workload(), np.arange(100, 100 + N)
            privacy = Privacy(epsilon=1.0) if strategy.norm == 1 else Privacy(epsilon=1.0, delta=1e-6)
            planned = plan(w, strategy, privacy)
            assert (max(part.largest_answer for part in planned.parts) >= 2**62) >= (
                is_wide and name in NEED_BITS
            )
            drawn = [measure(planned, x, simulate=seed).estimates for seed in range(20)]
            off = (np.array(drawn) - w.answers(x)) / planned.standard_errors
            # Of 120 errors the mean square has relative standard deviation 0.14 to 0.35: they are correlated.
            assert 0.2 < np.square(off).mean() < 2.5
            assert measure(planned, x).private
