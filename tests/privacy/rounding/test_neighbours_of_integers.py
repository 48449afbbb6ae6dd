"""The sensitivity of integers to each set of neighbours, against all changes of the counts, one by one.

Guards integer_factors.py, norms_and_measured_integers.py, integer_dense.py.
"""

import itertools

import numpy as np
import pytest

from mmopt import Workload
from mmopt.errors import PrivacyError
from mmopt.privacy.rounding.norms_and_measured_integers import bound_by_column, squared_sensitivity
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.strategies import (
    MarginalStrategy,
    Neighbours,
    ProductStrategy,
    SetStrategy,
    Strategy,
    UnionStrategy,
)
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product
from mmopt.workloads.factors_and_products import identity, total
from tests.numerics.test_participation import block, patterns
from tests.strategies.test_neighbours import SETS, changes, stream

APART = "participation separation 2 at most 3"


@pytest.mark.quick
def test_no_change_of_counts_is_beyond_it(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for norm, rule, name in itertools.product([1, 2], ["drop", "refuse"], SETS):
        with subtests.test(norm=norm, rule=rule, name=name):
            for is_total in (False, False, True):
                n = int(rng.integers(2, 6))
                size = 10 ** int(rng.integers(1, 9))
                matrix = rng.integers(-size, size, (3, n))
                if is_total:  # replaced rows move nothing, one that is left out does
                    matrix[:] = matrix[:, :1]
                found = squared_sensitivity(matrix, norm, Neighbours.of(name).over(stream(n, rule)))
                moved = [matrix.astype(object) @ change for change in changes(name, n, rule == "drop")]
                largest = max(
                    int((own**2).sum()) if norm == 2 else int(np.abs(own).sum()) ** 2 for own in moved
                )
                assert largest == found if name != APART else largest <= found
                if name == APART and norm == 2:
                    gram = np.abs(matrix.astype(object).T @ matrix.astype(object))
                    assert found == max(int(block(gram, steps)) for steps in patterns(n, 2, 3))
                if name == APART and norm == 1:
                    lengths = np.abs(matrix).sum(axis=0)
                    assert found == max(int(lengths[list(steps)].sum()) for steps in patterns(n, 2, 3)) ** 2


@pytest.mark.quick
def test_sums_beyond_64_bits_are_rounded_up(subtests: pytest.Subtests) -> None:
    """Quotients of them are added: a part in 2^50 more."""
    for norm in [1, 2]:
        with subtests.test(norm=norm):
            matrix = np.full((1, 64), 2**29 + 1, dtype=np.int64) if norm == 2 else np.full((1, 64), 2**57 + 1)
            exact = (64 * int(matrix[0, 0])) ** 2
            found = squared_sensitivity(matrix, norm, Neighbours.of("participation separation 1 at most 64"))
            assert exact <= found <= exact + exact // 2**48


@pytest.mark.quick
def test_what_is_measured_is_hidden(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Means of the measured rows on neighbouring tables are never further apart than is claimed."""
    for norm, name in itertools.product([1, 2], SETS):
        with subtests.test(norm=norm, name=name):
            for _ in range(3):
                n = int(rng.integers(3, 6))
                w = stream(n)
                rows = np.vstack([np.tri(n), rng.uniform(-1, 1, (2, n))])
                integer = round_any(Strategy(rows, norm), w, name)
                x = rng.integers(5, 20, n)
                before = integer.answers(x)
                (part,) = integer.parts
                assert integer.squared_sensitivities() == [part.squared_sensitivity]
                assert part.is_one_count is False or name == "add-remove"
                for change in changes(name, n, w.domain.may_drop):
                    moved = (integer.answers(x + change) - before).astype(object)
                    size = int((moved**2).sum()) if norm == 2 else int(np.abs(moved).sum()) ** 2
                    assert size <= part.squared_sensitivity


@pytest.mark.quick
def test_k_rows_of_one_person_are_k_times_one_row_in_every_form(subtests: pytest.Subtests) -> None:
    for norm in [1, 2]:
        with subtests.test(norm=norm):
            w = stream(4, "refuse")
            product = ProductStrategy((Strategy(np.vstack([np.eye(4), np.ones((1, 4))]), norm),))
            forms = [
                Strategy(np.vstack([np.eye(4), np.ones((1, 4))]), norm),
                product,
                UnionStrategy((product,), (0.5,)),
                MarginalStrategy((4,), np.array([0.5, 1.0]), norm),
            ]
            for strategy in forms:
                one, three = (round_any(strategy, w, {"rows": k}) for k in (1, 3))
                assert three.sensitivity == pytest.approx(3 * one.sensitivity, rel=1e-12)
                for single, own in zip(one.parts, three.parts, strict=True):
                    assert own.squared_sensitivity == 9 * single.squared_sensitivity
                    assert not own.is_one_count
                assert three.hash == one.hash
            for strategy in (forms[-1], Strategy(np.eye(4), norm)):
                one, two = (round_any(strategy, w, {"rows": k}) for k in (1, 2))
                assert all(part.is_one_count for part in one.parts)
                assert not any(part.is_one_count for part in two.parts)


@pytest.mark.quick
def test_of_a_total_a_replaced_row_may_be_one_that_is_left_out() -> None:
    w = Workload.from_products(stream(4).domain, [Product((total(4),))])
    for norm in (1, 2):
        strategy = MarginalStrategy((4,), np.array([1.0, 0.0]), norm)
        added, replaced = (round_any(strategy, w, name) for name in ("add-remove", "replace-one"))
        assert added.squared_sensitivities() == replaced.squared_sensitivities() != [0]


def test_of_a_set_of_attributes_each_decides(subtests: pytest.Subtests) -> None:
    """One of the two has no negative entry, and one count a column: their product has neither."""
    rows = (np.array([[1.0, 0.0]]), np.array([[1.0, -1.0, 0.0], [0.5, 0.5, -1.0]]))
    sets = ((), (0,), (1,), (0, 1))
    w = Workload.from_products(domain_of(2, 3), [Product((identity(2), identity(3)))])
    for norm, name in itertools.product([1, 2], ["add-remove", "replace-one"]):
        with subtests.test(norm=norm, name=name):
            integer = round_any(SetStrategy(rows, sets, np.ones(4), norm), w, name)
            k = np.column_stack([integer.answers(unit) for unit in np.eye(6, dtype=np.int64)]).astype(object)
            ends = np.cumsum([part.rows for part in integer.parts])[:-1]
            for own, part in zip(np.split(k, ends), integer.parts, strict=True):
                moved = (
                    own if name == "add-remove" else (own[:, :, None] - own[:, None, :]).reshape(len(own), -1)
                )
                sizes = (moved**2).sum(axis=0) if norm == 2 else np.abs(moved).sum(axis=0) ** 2
                assert max(sizes) <= part.squared_sensitivity
                is_one = bool(((own != 0).sum(axis=0) <= 1).all())
                assert part.is_one_count is (is_one and name == "add-remove")


@pytest.mark.quick
def test_a_strategy_in_factors_has_no_known_sensitivity_to_a_participation() -> None:
    w: Workload = stream(4)
    steps = MarginalStrategy((4,), np.array([0.0, 1.0]), 2)
    message = (
        f"the sensitivity to '{APART}' is not known of a strategy in factors or by component, which is for "
        "'add-remove': its columns are not compared\n"
        "  choose a strategy that is a matrix, as programs do over at most 8,192 steps; or write "
        "'neighbours: {rows: 3}', which covers it"
    )
    for strategy in (steps, ProductStrategy((Strategy(np.eye(4)),))):
        with pytest.raises(PrivacyError) as error:
            _ = round_any(strategy, w, APART).parts
        assert str(error.value) == message
    with pytest.raises(PrivacyError) as refused:
        bound_by_column(1, 2, Neighbours.of(APART), is_nonnegative=True)
    assert str(refused.value) == message
