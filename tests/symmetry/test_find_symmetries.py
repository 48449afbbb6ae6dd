"""The components of a workload are those of its dense matrices.

Guards components.py, workload_by_component.py.
"""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
import tolerances
from few_attributes import few_ways
from named_workloads import census
from symmetric_workloads import nearly, random_products, random_symmetric_matrix

from mmopt.errors import TooLargeError, WorkloadError
from mmopt.numerics.component_arrays import Space, Split, lift
from mmopt.symmetry import SymmetricWorkload, find_symmetries, symmetry
from mmopt.symmetry.attribute_queries import terms_of
from mmopt.symmetry.components import AttributeSymmetry, Joint
from mmopt.symmetry.workload_by_component import is_connected
from mmopt.testing.problem_registry import domain_of, marginals
from mmopt.workloads import Product, Workload, factors_and_products as f


def drawn(rng: np.random.Generator) -> Workload:
    return random_symmetric_matrix(rng) if rng.random() < 0.4 else random_products(rng)


def with_symmetries(
    rng: np.random.Generator, with_targets: bool, count: int = 5
) -> Iterator[tuple[Workload, SymmetricWorkload]]:
    """So many random workloads that have some; at most four times as many are drawn."""
    left = 4 * count
    while count:
        workload = drawn(rng)
        found = symmetry(workload, with_targets)
        if found is not None:
            yield workload, found
            count -= 1
        left -= 1
        assert left >= 0, "most random workloads have symmetries"


def bases_of(space: Space) -> np.ndarray:
    return np.hstack([space.basis(at).toarray() for at in range(space.count)])


def check_space(space: Space) -> None:
    """Orthonormal bases, each vector on its orbit, the same share in each cell; orbits as large as said."""
    orbits, columns = space.orbit_of(), bases_of(space)
    np.testing.assert_allclose(columns.T @ columns, np.eye(columns.shape[1]), atol=1e-12)
    assert columns.shape == (space.size, space.kept)
    np.testing.assert_array_equal(np.bincount(orbits, minlength=len(space.sizes)), space.sizes)
    for at, (copies, labels) in enumerate(zip(space.multiplicities, space.labels, strict=True)):
        each = np.square(space.basis(at).toarray()).reshape(space.size, space.dims[at], -1).sum(axis=2)
        wanted = (orbits[:, None] == labels) * copies / space.sizes[labels]
        np.testing.assert_allclose(each, wanted, atol=1e-12)


def test_the_root_by_components_is_a_root(rng: np.random.Generator) -> None:
    for workload, found in with_symmetries(rng, False):
        check_space(found.cells)
        root, size = lift(found.sources["workload.root"]), float(np.abs(workload.gram).max())
        np.testing.assert_allclose(root.T @ root, workload.gram, atol=tolerances.ROUNDING * 10 * size)
        gram = found.sources_named(("workload.gram",))["workload.gram"]
        np.testing.assert_allclose(lift(gram), workload.gram, atol=1e-11 * size)


def test_queries_and_targets_by_components(rng: np.random.Generator) -> None:
    for workload, found in with_symmetries(rng, True):
        left, right = (found.sources[f"workload.{name}"] for name in ("representation", "basis"))
        check_space(found.cells)
        check_space(left.rows)
        np.testing.assert_allclose(lift(left) @ lift(right), workload.queries, atol=1e-11)
        np.testing.assert_array_equal(lift(found.sources["workload.targets"]), workload.targets)
        rows = lift(right)
        np.testing.assert_allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-12)
        assert len(rows) == workload.rank


def test_the_census_workload() -> None:
    workload = census()
    assert (workload.m, workload.n, len(workload.blocks)) == (4151, 500480, 33)
    found = symmetry(workload, False)
    assert (
        str(found)
        == "symmetry between attribute values: 500480 cells -> 400 orbits, 96 components of size up to 400"
    )
    root = found.sources["workload.root"]
    assert max(root.rows.dims) == 170
    assert found.cells.size == 500480
    with_targets = symmetry(census(target=2.0), True)
    assert str(with_targets) == str(found)
    queries = with_targets.sources["workload.representation"]
    assert queries.shape == (4151, 3112)
    assert sum(queries.rows.sizes) == 4151
    # The trace of the Gram matrix is the sum of all squared norms.
    squares = [np.square(part).sum() for part in queries.parts]
    total = float(queries.multiplicities @ squares)
    assert total == pytest.approx(float(workload.squared_norms().sum()), rel=1e-12)


def test_marginals_are_numbers() -> None:
    found = symmetry(marginals([2, 5, 16, 20, 75], range(6)), False)
    assert (
        str(found)
        == "symmetry between attribute values: 240000 cells -> 1 orbit, 32 components of size up to 1"
    )
    assert found.cells.multiplicities.sum() == 240000


def test_ten_to_the_fifty_cells() -> None:
    found = symmetry(marginals([100] * 25, [1, 2], target=1.0), True)
    assert (
        str(found)
        == "symmetry between attribute values: about 1e50 cells -> 1 orbit, 326 components of size up to 1"
    )
    assert found.cells.size == 10**50
    queries = found.sources["workload.representation"]
    assert queries.rows.size == 25 * 100 + 300 * 100**2
    assert repr(found.cells) == "Space(about 1e50, 1 orbit, 326 components of size up to 1)"


FOUND = [
    (
        Workload.from_products(domain_of(8), [Product((f.all_range(8),), target=1.0)]),
        "reflection: 8 cells -> 4 orbits, 2 components of size up to 4",
    ),
    (
        Workload.from_products(domain_of(7), [Product((f.all_range(7),), target=1.0)]),
        "reflection: 7 cells -> 4 orbits, 2 components of size up to 4",
    ),
    (
        Workload.from_products(
            domain_of(4, 3),
            [
                Product((f.all_range(4), f.total(3)), target=1.0),
                Product((f.total(4), f.identity(3)), target=2),
            ],
        ),
        "symmetry between attribute values and reflection: 12 cells -> 2 orbits, "
        "3 components of size up to 2",
    ),
    (Workload.from_products(domain_of(6), [Product((f.prefix(6),), target=1.0)]), "None"),
    (
        Workload.from_matrix(np.vstack([np.tri(5), np.tri(5).T]), targets=1.0),
        "reflection: 5 cells -> 3 orbits, 2 components of size up to 3",
    ),
    (
        Workload.from_matrix(np.kron(np.eye(2), np.tri(3)), targets=[1, 1, 1, 2, 2, 2]),
        "independent blocks: 6 cells -> 6 orbits, 2 components of size up to 3",
    ),
    (
        Workload.from_matrix(np.kron(np.eye(3), np.ones((1, 2))), targets=1.0),
        "symmetry between attribute values, reflection and independent blocks: 6 cells -> 2 orbits, "
        "3 components of size up to 1",
    ),
]


def test_what_is_found(subtests: pytest.Subtests) -> None:
    for workload, text in FOUND:
        with subtests.test(text):
            assert str(symmetry(workload, False)) == text
            assert str(symmetry(workload, True)) == text


def test_targets_that_differ_break_a_symmetry() -> None:
    rows = np.vstack([np.eye(4), np.ones((1, 4))])
    assert str(symmetry(Workload.from_matrix(rows, targets=[1, 1, 2, 2, 5]), True)).startswith(
        "symmetry between attribute values: 4 cells -> 2 orbits"
    )
    assert str(symmetry(Workload.from_matrix(rows, targets=[1, 1, 2, 2, 5]), False)).startswith(
        "symmetry between attribute values: 4 cells -> 1 orbit"
    )
    # A rotation of the queries keeps the Gram matrix, and no pairs of query and target.
    turned = np.array([[1.0, 2, 3, 4], [-2, 1, -4, 3], [-3, 4, 1, -2], [-4, -3, 2, 1]])
    assert symmetry(Workload.from_matrix(turned, targets=1.0), True) is None
    assert str(symmetry(Workload.from_matrix(turned, weights=0.3), False)).startswith(
        "symmetry between attribute values"
    )


def test_queries_without_a_target() -> None:
    rows = np.vstack([np.eye(3), np.ones((1, 3))])
    found = symmetry(Workload.from_matrix(rows, targets=[2, 2, 2, math.inf]), True)
    assert isinstance(found, SymmetricWorkload)
    assert found.sources["workload.targets"].shape == (3,)
    with pytest.raises(WorkloadError) as caught:
        symmetry(Workload.from_matrix(rows, targets=[math.inf, math.inf, 2, 2]), True)
    assert str(caught.value) == (
        "some queries have no target and cannot be derived from those that have one, so their "
        "variance would have no limit (2 of 4 queries have none)\n"
        "  give them a target (max_variance), or leave them out"
    )
    with pytest.raises(WorkloadError) as caught:
        symmetry(Workload.from_matrix(rows), True)
    assert str(caught.value) == (
        "the program needs accuracy targets, and no query of the workload has one\n"
        "  add within or max_variance to the queries, or pass targets= to Workload.from_matrix"
    )


def test_small_singular_values_keep_their_digits() -> None:
    """Two values that nearly cannot be told apart: 1e-9 times the rest, lost in a Gram matrix."""
    rows = np.vstack([np.ones((1, 4)), 1e-9 * np.eye(4)])
    found = symmetry(Workload.from_matrix(rows), False)
    root = found.sources["workload.root"]
    assert isinstance(root, Split)
    values = sorted(float(np.linalg.norm(part)) for part in root.parts)
    assert values[0] == pytest.approx(1e-9, rel=1e-6)
    assert values[1] == pytest.approx(2.0)


def test_a_larger_component_is_as_good_as_no_symmetry(rng: np.random.Generator) -> None:
    for with_targets in (False, True):
        for workload, found in with_symmetries(rng, with_targets, 3):
            most = found.cells.largest
            assert symmetry(workload, with_targets, most - 1) is None
            again = symmetry(workload, with_targets, most)
            assert again is not None
            assert again.cells.dims == found.cells.dims


def test_what_is_seen_to_be_one_block_is_one(rng: np.random.Generator) -> None:
    hits = 0
    for workload, found in with_symmetries(rng, False, 20):
        joint, terms = found.cells.joint, terms_of(workload, False)[1]
        whole = (0,) * len(joint.attributes)
        blocks = [chosen.kept for chosen in found.cells.chosen if chosen.key == whole]
        if is_connected(joint, terms):
            hits += 1
            assert [len(kept) for kept in blocks] == [joint.dim(whole)]
    assert hits > 1


def test_cells_and_totals_link_orbits_together_alone() -> None:
    """Prefixes of each of two attributes; without totals of the one, its prefixes alone link its values."""
    ways = [Product((f.prefix(4), f.total(3))), Product((f.total(4), f.prefix(3)))]
    for products, is_linked in (
        (ways, True),
        ([Product((f.identity(4), f.prefix(3)))], False),
        ([Product((f.prefix(4), f.prefix(3)))], True),
        ([Product((f.prefix(4), f.predicates([[1.0, 0.0, 0.0]], ["p"])))], False),
    ):
        workload = Workload.from_products(domain_of(4, 3), products)
        attributes = tuple(AttributeSymmetry.of(np.arange(size), False) for size in (4, 3))
        assert is_connected(Joint(attributes), terms_of(workload, False)[1]) == is_linked


def test_components_that_are_too_large_are_not_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither their roots nor their singular values: both may take minutes."""
    workload = few_ways((10, 11, 12, 3), (1, 2), (f.prefix, f.prefix, f.prefix, f.identity))
    whole = symmetry(workload, False)
    assert whole is not None
    assert whole.cells.largest == 10 * 11 * 12
    monkeypatch.setattr(find_symmetries, "component_roots", None)
    monkeypatch.setattr(find_symmetries, "blocks_of", None)
    monkeypatch.setattr(find_symmetries, "asked_rows", None)
    for with_targets in (False, True):
        assert symmetry(workload, with_targets, 10 * 11 * 12 - 1) is None


def test_more_cells_than_a_float_counts_are_refused() -> None:
    with pytest.raises(TooLargeError, match=r"more than 10\^300 cells"):
        symmetry(marginals([10] * 320, [1]), False)


def test_too_many_components_are_refused() -> None:
    pairs = f.predicates(np.kron(np.eye(5), np.ones((1, 2)))[:1], ["p"])
    full = Product(tuple(f.identity(10) for _ in range(20)))
    cut = Product(tuple(f.union(pairs, f.total(10)) for _ in range(20)))
    with pytest.raises(TooLargeError) as caught:
        symmetry(Workload.from_products(domain_of(*[10] * 20), [full, cut]), False)
    assert str(caught.value) == (
        "a product of the workload splits into 3,486,784,401 components; the limit is 200,000\n"
        "  group values of the attributes"
    )


# -- nothing is taken for a symmetry that is none


def exact_gram(workload: Workload) -> np.ndarray:
    """The weighted Gram matrix in rationals, of the numbers as they were given."""
    rows = np.vectorize(Fraction, otypes=[object])(workload.queries)
    weights = np.array([Fraction(float(w)) for w in workload.weights], dtype=object)
    return rows.T @ (weights[:, None] * rows)


def check_exact(workload: Workload, found: SymmetricWorkload) -> None:
    """The group leaves the exact Gram matrix alone, and blocks are not linked by it."""
    gram, joint = exact_gram(workload), found.cells.joint
    cells = np.arange(workload.n).reshape([len(a.classes) for a in joint.attributes])
    for axis, attribute in enumerate(joint.attributes):
        moves = [np.arange(len(attribute.classes))[::-1]] if attribute.is_mirrored else []
        for own in (np.flatnonzero(attribute.classes == c) for c in range(len(attribute.mirror))):
            for v in own[1:]:
                move = np.arange(len(attribute.classes))
                move[[own[0], v]] = v, own[0]
                moves.append(move)
        for move in moves:
            to = np.take(cells, move, axis=axis).ravel()
            assert (gram[np.ix_(to, to)] == gram).all()
    bases = [np.sign(found.cells.basis(at).toarray()) for at in range(found.cells.count)]
    keys = [chosen.key for chosen in found.cells.chosen]
    for one, other in itertools.combinations(range(len(keys)), 2):
        if keys[one] == keys[other]:
            whole = [b[:, :: max(1, b.shape[1] // d)] for b, d in zip(bases, found.cells.dims, strict=True)]
            crossed = whole[one].astype(int).astype(object).T @ gram @ whole[other].astype(int).astype(object)
            assert not crossed.any()


@pytest.mark.quick
def test_the_group_leaves_the_exact_gram_matrix_alone(rng: np.random.Generator) -> None:
    for perturbed in (False, True):
        hits = 0
        while hits < 5:
            workload = drawn(rng)
            if workload.n > 24 or workload.m > 100:
                continue
            workload = nearly(rng, workload) if perturbed else workload
            found = symmetry(workload, False)
            if found is not None:
                hits += 1
                check_exact(workload, found)


BESIDE = [
    np.vstack([np.full((1, 8), 8.4e6 + 1 / 3), np.eye(8)[:6]]),  # lost in the rounding of the Gram matrix
    np.vstack([np.full((1, 8), 3.0**40), np.eye(8)[1:]]),
]


def test_small_rows_beside_large_ones(subtests: pytest.Subtests) -> None:
    for rows in BESIDE:
        with subtests.test(str(rows.max())):
            found = symmetry(Workload.from_matrix(rows), False)
            assert isinstance(found, SymmetricWorkload)
            check_exact(Workload.from_matrix(rows), found)


def test_integers_whose_products_no_float_holds() -> None:
    rows = np.vstack([np.full((1, 8), 2.0**30 + 1), np.tri(8)])
    assert symmetry(Workload.from_matrix(rows), False) is None


@pytest.mark.quick
def test_blocks_that_a_small_entry_links_are_one() -> None:
    """Two pairs of nearly parallel columns, linked by what a Gram matrix does not show after rounding."""
    h = 2.0**-27
    pair = np.array([[1.0, 1.0], [0.0, h]])
    rows = np.zeros((5, 4))
    rows[:2, :2], rows[2:4, 2:], rows[4] = pair, pair + np.array([[0, 0], [h, 0]]), [0, h, 0, -h]
    assert symmetry(Workload.from_matrix(rows), False) is None


def test_a_small_query_is_not_left_out() -> None:
    """The cells one by one, and a total of 1e16 times their size: the difference of two cells is asked."""
    rows = np.vstack([np.full((1, 6), 1e16), np.eye(6), np.eye(6)])
    found = symmetry(Workload.from_matrix(rows), False)
    assert isinstance(found, SymmetricWorkload)
    assert found.cells.kept == 6
    rest = min(float(np.abs(part).max()) for part in found.sources["workload.root"].parts)
    assert rest == pytest.approx(math.sqrt(2), rel=1e-12)
