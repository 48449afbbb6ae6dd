"""Strategies by sets of attributes from the products' Gram matrices alone: closed forms near the optimum.

The best strategy for queries of one attribute comes from their Gram matrix: a design problem in its values.
A product of the workload is given by the Gram matrices of the few attributes that it looks at.

**Residual spaces** are solved one by one: this is the best strategy whose matrix N is block-diagonal by
sectors. Each attribute has a base, numbers β of sum 1 over its values. A query less its mean under β is in
the sectors with that attribute, its mean in those without; so with P = I - β 1ᵀ the queries' part in sector S
has

    H_S = Σ over products p that look at all of S  w_p Π_{k in p not in S} γ_k ⊗_{i in S} Pᵀ Gᵢ P,  γ = βᵀ G β

as its Gram matrix. Mostly that is one Kronecker product; then the product of the optima of its attributes is
the sector's optimum, of error E_S, and its squared lengths are products of theirs. At shares a_S,
Σ a_S = 1, the errors E_S / a_S are least together at a_S ∝ √E_S: (Σ √E_S)². The largest squared length is at
most the sum of the sectors' largest, and this where one value of each attribute is longest in all of them.

Errors add up: in coordinates of the contrasts of mean zero under β, which need not be orthogonal, X is
block-diagonal, with a block for each sector, and so is its inverse.

With uniform bases this is QuerySmasher (He et al., arXiv 2604.00868), on marginals ResidualPlanner (Xiao et
al., arXiv 2305.08175), optimal there. For other queries other bases are far better.

**The best bases** give strategies near the optimum over any number of cells. The base β of each attribute,
under which the mean of a query is taken, decides what sectors have in common and so how much a strategy that
is block-diagonal by sectors loses: on prefixes of one and two of ten attributes a tenth of the error with
uniform bases, a few thousandths with the best. The error is (Σ √E_S)² and

    E_S = Σ over products  w Π γ Π tr(Pᵀ G P X⁻),   dγ = 2 (G β)ᵀ dβ,   d tr(Pᵀ G P X⁻) = -2 (G P X⁻ 1)ᵀ dβ

where the strategies X are the best, so that their change does not matter: a smooth problem in Σ dᵢ numbers.
Bases may have negative entries. The largest squared length still has a bound in closed form.

Two values have one contrast, whose larger entry is 1: the error has a kink at the uniform base, mostly its
least, where a quasi-Newton method would stop. These bases stay uniform.

**On a row space** a residual strategy is a matrix N, a start within a few thousandths of the optimum.
X = Σ_S a_S ⊗_{i in S} Xᵢ, other attributes summed over, is the Gram matrix of products of queries with the
Gram matrices Xᵢ: N comes from it as the queries' own Gram matrix comes from their products. Blocks of sectors
that no S contains together are zero.

**Shared designs** have one strategy for each attribute, the same in all sectors. Sectors that are solved one
by one may have different strategies of an attribute that several products have different queries of.
Measurements by the same rows everywhere can be rounded to integers without a bias. With E_S = Σ w Π tr(Gᵢ
Xᵢ⁻) over the products in sector S, the total (Σ √E_S)² has the derivative Σ_S (Σ √E / √E_S) w Π of the others
in tr(Gᵢ Xᵢ⁻): so Xᵢ is the best strategy of a sum of Gram matrices, one attribute after the other. For an
attribute with the same queries everywhere it is at once the best of all.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, reduce
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import linalg, optimize

from mmopt.errors import TooLargeError, WorkloadError
from mmopt.limits import require_memory, time_left
from mmopt.numerics.arrays import Array, grouped
from mmopt.sectors.functions_of_few import SectorComponent
from mmopt.sectors.row_space import RowSpace
from mmopt.workloads import Implicit, Workload

MOST_STEPS = 2000  # of ``attribute_design``
#: A value's multiplier is multiplied by the length there to this power: exact at once for orthogonal queries,
#: and no slower than smaller powers on prefixes of 10 and 100 values (34 and 49 steps to a gap of 1e-10).
STEP_POWER = 2.0
#: Eigenvalues below this part of the largest count as zero: they are rounding of the Gram matrix.
RANK = 1e-13
#: Least multiplier of a value: near zero the strategy would be a quotient of rounding errors.
LEAST_MEASURE = 1e-12
LEAST_FACTOR = 1e-3  # least part of its multiplier that a value keeps in one step
ARRAYS_AT_ONCE = 3  # (d, d), in ``attribute_design``


@dataclass(frozen=True, eq=False)
class AttributeDesign:
    """A strategy X = AᵀA of an attribute's values, its largest entry on the diagonal 1.

    strategy : (d, d), psd, of the same range as the Gram matrix. measure : (d,), the multipliers, of sum 1.
    inverse : (d, d), X⁻ with X X⁻ X = X. error : tr(G X⁻), the total squared error at sensitivity 1.
    """

    strategy: Array
    inverse: Array
    measure: Array
    error: float


def contrast_gram(gram: Array, base: Array) -> Array:
    """PᵀG P with P = I - base 1ᵀ: the Gram matrix of queries less their means under ``base``, of sum 1."""
    means = gram @ base
    return np.asarray(gram - means - means[:, None] + base @ means)


def attribute_design(
    gram: Array, gap: float = 1e-10, start: Array | None = None, steps: int = MOST_STEPS
) -> AttributeDesign:
    """The strategy of least total error for a Gram matrix (d, d), by multiplicative steps on its dual.

    The dual is approximate optimal design (Pukelsheim, Optimal Design of Experiments, chapter 6): with
    K = D^½ G D^½ and t = tr K^½ the strategy is X = D^{-½} K^½ D^{-½} / t, whose squared lengths are 1 where
    the multipliers D are best. They stop at this gap, after so many steps, or when a time limit is over; the
    strategy is valid then too.
    start : (d,) positive multipliers to start from, of sum 1; uniform ones unless given.

    Raises
    ------
    TooLargeError : beyond the memory limit.
    """
    d = len(gram)
    require_memory((d, d), "strategy of one attribute", share=ARRAYS_AT_ONCE)
    measure = np.full(d, 1.0 / d) if start is None else start
    for step in range(steps):
        root = np.sqrt(measure)
        values, vectors = linalg.eigh(root[:, None] * gram * root)
        singular = np.sqrt(np.where(values > RANK * values[-1], values, 0.0))
        t = float(singular.sum())
        lengths = (vectors**2 @ singular) / (measure * t) if t else np.zeros(d)
        if lengths.max() <= 1 + gap or step == steps - 1 or time_left() <= 0:
            break
        measure = measure * np.maximum(lengths, LEAST_FACTOR) ** STEP_POWER
        measure = np.maximum(measure / measure.sum(), LEAST_MEASURE)
    if not t:
        return AttributeDesign(np.zeros((d, d)), np.zeros((d, d)), measure, 0.0)
    half = vectors * np.sqrt(singular / t) / root[:, None]
    strategy = half @ half.T
    most = float(strategy.diagonal().max())
    kept = singular > 0
    half = (root[:, None] * vectors[:, kept]) * np.sqrt(t * most / singular[kept])
    return AttributeDesign(strategy / most, half @ half.T, measure, t * t * most)


#: Attributes that one product may look at here: it lies in 2^this many sectors.
MOST_ATTRIBUTES = 8

#: An attribute and the identity (``id``) of a factor's Gram matrix on it.
Key = tuple[int, int]
#: Weights of Kronecker products, by their factors.
Terms = dict[tuple[Key, ...], float]


@dataclass(frozen=True, eq=False)
class FewProduct:
    """weight · ⊗ grams over ``attributes``, all others summed over: WᵀW of some queries.

    attributes : ascending numbers. grams : one (dᵢ, dᵢ) an attribute; equal factors share one array.
    """

    attributes: tuple[int, ...]
    grams: tuple[Array, ...]
    weight: float


def products_of_few(workload: Workload) -> tuple[FewProduct, ...]:
    """The workload's products, weights of rows in their Gram matrices; equal products as one.

    Raises
    ------
    WorkloadError : queries given as a matrix.
    TooLargeError : a product looks at more than ``MOST_ATTRIBUTES`` attributes.
    """
    grams: dict[Implicit, Array] = {}
    weights: dict[tuple[tuple[int, ...], tuple[Implicit, ...]], float] = defaultdict(float)
    if workload.products is None:
        raise WorkloadError(
            "some queries are given as a matrix, expected products alone",
            hint="queries are taken apart by the attributes that they look at; write them as products",
        )
    for product in workload.products:
        factors = product.weighed().factors
        attributes = tuple(i for i, factor in enumerate(factors) if factor.kind != "total")
        if len(attributes) > MOST_ATTRIBUTES:
            raise TooLargeError(
                f"product '{product.title(workload.domain)}' looks at {len(attributes)} attributes, "
                f"expected {MOST_ATTRIBUTES} at most",
                hint="queries are taken apart by the sets of their attributes; ask for fewer at a time",
            )
        weights[attributes, tuple(factors[i] for i in attributes)] += product.weight
    for _, factors in weights:
        grams |= {factor: factor.gram() for factor in factors if factor not in grams}
    return tuple(
        FewProduct(attributes, tuple(grams[f] for f in factors), weight)
        for (attributes, factors), weight in weights.items()
    )


def _contrasts(products: Sequence[FewProduct], bases: Sequence[Array]) -> dict[Key, Array]:
    """By factor the Gram matrix of its contrasts; attributes of one base share them, and so designs."""
    keyed = _grams(products)
    distinct = {(key, bases[i].tobytes()): (gram, bases[i]) for (i, key), gram in keyed.items()}
    contrasts = {key: contrast_gram(*pair) for key, pair in distinct.items()}
    return {(i, key): contrasts[key, bases[i].tobytes()] for i, key in keyed}


def _grams(products: Sequence[FewProduct]) -> dict[tuple[int, int], Array]:
    """The Gram matrices by attribute and identity."""
    return {(i, id(gram)): gram for p in products for i, gram in zip(p.attributes, p.grams, strict=True)}


def terms_by_sector(products: Sequence[FewProduct], bases: Sequence[Array]) -> dict[tuple[int, ...], Terms]:
    """The weights of the Kronecker products of contrasts in each sector: w Π of the others' means.

    bases : (dᵢ,) an attribute, of sum 1. The mean of a Gram matrix G is baseᵀ G base, the squared length of
    the queries' means.
    """
    weights: dict[tuple[int, ...], Terms] = defaultdict(lambda: defaultdict(float))
    means = {
        (i, number): max(float(bases[i] @ gram @ bases[i]), 0.0)
        for (i, number), gram in _grams(products).items()
    }
    for product in products:
        keyed = list(zip(product.attributes, map(id, product.grams), strict=True))
        for size in range(len(keyed) + 1):
            for chosen in itertools.combinations(keyed, size):
                weights[tuple(i for i, _ in chosen)][chosen] += product.weight * math.prod(
                    means[key] for key in keyed if key not in chosen
                )
    return weights


#: Most rounds over the attributes, where a sector is no Kronecker product.
ROUNDS = 20
ROUND_GAIN = 1e-9  # that a further round is worth
#: Arguments of ``attribute_design`` while bases are searched for.
ROUGH: Mapping[str, Any] = MappingProxyType({"gap": 1e-6, "steps": 10})
ROUGH_ROUNDS = 2  # in place of ``ROUNDS`` then


@dataclass(frozen=True, eq=False)
class ResidualSpace:
    """One sector with its strategy ``share`` · ⊗ designs.

    attributes : the sector. error : E_S, at squared sensitivity 1. share : a_S. is_optimal : whether no
    strategy in this sector has less error; else it is the best product of strategies that was found.
    """

    attributes: tuple[int, ...]
    designs: tuple[AttributeDesign, ...]
    error: float
    share: float
    is_optimal: bool


@dataclass(frozen=True, eq=False)
class ResidualStrategy:
    """X = ⊕ over sectors at ``bases``; ``error``: total squared error at squared sensitivity 1."""

    bases: tuple[Array, ...]
    spaces: tuple[ResidualSpace, ...]
    error: float

    @property
    def is_optimal(self) -> bool:
        """Whether each sector's strategy is the best.

        No block-diagonal one has then less error at these bases, its largest length the sum of the sectors'.
        """
        return all(space.is_optimal for space in self.spaces)

    @property
    def measures(self) -> tuple[Array, ...]:
        """(dᵢ,) an attribute: the multipliers of its largest sector's design, uniform where it has none.

        At the best bases their product is next to the product measure whose bound is best.
        """
        measures = [np.full(len(base), 1 / len(base)) for base in self.bases]
        for space in sorted(self.spaces, key=lambda space: len(space.attributes)):
            for i, design in zip(space.attributes, space.designs, strict=True):
                measures[i] = design.measure / design.measure.sum()
        return tuple(measures)


def residual_strategy(workload: Workload) -> ResidualStrategy:
    """The best strategy with uniform bases. Raises as ``products_of_few``.

    TooLargeError also for a factor beyond the memory limit.
    """
    uniform = tuple(np.full(attribute.size, 1 / attribute.size) for attribute in workload.domain.attributes)
    return strategy_at(products_of_few(workload), uniform)


def strategy_at(
    products: Sequence[FewProduct],
    bases: tuple[Array, ...],
    last: ResidualStrategy | None = None,
    is_rough: bool = False,
) -> ResidualStrategy:
    """The best strategy with these bases, (dᵢ,) an attribute, of sum 1.

    last : the strategy at bases nearby, whose measures are good to start from. is_rough : for a search of
    bases, less near the best.
    """
    contrasts = _contrasts(products, bases)
    starts = {
        (space.attributes, i): design.measure
        for space in (last.spaces if last else ())
        for i, design in zip(space.attributes, space.designs, strict=True)
    }
    design: Callable[..., AttributeDesign] = partial(attribute_design, **(ROUGH if is_rough else {}))
    designs: dict[int, AttributeDesign] = {}
    solved = []
    for attributes, terms in terms_by_sector(products, bases).items():
        if len(terms) == 1:
            [(keys, weight)] = terms.items()
            for key in keys:
                gram = contrasts[key]
                if id(gram) not in designs:
                    designs[id(gram)] = design(gram, start=starts.get((attributes, key[0])))
            chosen = tuple(designs[id(contrasts[key])] for key in keys)
            error = weight * math.prod(design.error for design in chosen)
        else:
            first = [starts.get((attributes, i)) for i in attributes]
            chosen, error = _product_strategy(
                terms, contrasts, first, design, ROUGH_ROUNDS if is_rough else ROUNDS
            )
        if error > 0:
            solved.append((attributes, chosen, error, len(terms) == 1 or len(attributes) == 1))
    total = math.fsum(math.sqrt(error) for _, _, error, _ in solved)
    spaces = tuple(
        ResidualSpace(attributes, chosen, error, math.sqrt(error) / total, is_optimal)
        for attributes, chosen, error, is_optimal in solved
    )
    return ResidualStrategy(bases, spaces, total**2)


def _product_strategy(
    terms: Terms,
    grams: Mapping[Key, Array],
    starts: Sequence[Array | None],
    design: Callable[..., AttributeDesign],
    rounds: int,
) -> tuple[tuple[AttributeDesign, ...], float]:
    """⊗ Xᵢ of low error Σ w Π tr(Gᵢ Xᵢ⁻), one attribute after the other, and the error."""
    weights = np.array(list(terms.values()))
    factors = [np.array([grams[keys[i]] for keys in terms]) for i in range(len(next(iter(terms))))]
    designs = [
        design(np.einsum("t,txy->xy", weights, each), start=start)
        for each, start in zip(factors, starts, strict=True)
    ]
    costs = np.array(list(map(_costs, factors, designs)))
    error = math.inf
    for _ in range(rounds):
        for i, each in enumerate(factors):
            designs[i] = design(
                np.einsum("t,txy->xy", weights * np.delete(costs, i, axis=0).prod(axis=0), each),
                start=designs[i].measure,
            )
            costs[i] = _costs(each, designs[i])
        last, error = error, float(weights @ costs.prod(axis=0))
        if error >= last * (1 - ROUND_GAIN):
            break
    return tuple(designs), error


def _costs(grams: Array, design: AttributeDesign) -> Array:
    """tr(G X⁻) of each Gram matrix, (t, d, d), whose range is in that of X."""
    return np.asarray(np.einsum("txy,xy->t", grams, design.inverse))


SHARE_OF_TIME = 0.25  # of the time that is left, for a search that gives a start to others


class _TimeIsOver(Exception):
    """The time of the search is over; its best strategy is kept."""


def best_residual_strategy(workload: Workload) -> ResidualStrategy:
    """The block-diagonal strategy at the best bases found. Raises as ``residual_strategy``."""
    return with_best_bases(products_of_few(workload), workload.domain.shape)


def with_best_bases(
    products: Sequence[FewProduct],
    sizes: Sequence[int],
    steps: int = 60,
    last: ResidualStrategy | None = None,
) -> ResidualStrategy:
    """The strategy at the best bases, over attributes of these sizes, by L-BFGS-B from uniform bases.

    Under a time limit the search has a share of what is left: where it starts from, or ends, is valid too.

    last : a strategy of products nearby, at whose bases it starts.
    """
    ends = np.cumsum(sizes)[:-1]
    best: list[ResidualStrategy] = []
    least_left = (1.0 - SHARE_OF_TIME) * time_left()

    def loss(free: Array) -> tuple[float, Array]:
        """The logarithm of the error at bases made of sum 1, and its derivatives."""
        if best and time_left() <= least_left < math.inf:
            raise _TimeIsOver
        bases = tuple(part + (1 - part.sum()) / len(part) for part in np.split(free, ends))
        strategy = strategy_at(products, bases, best[0] if best else last, is_rough=True)
        if not best or strategy.error < best[0].error:
            best[:] = [strategy]
        slopes = [slope - slope.mean() for slope in slopes_of_error(products, strategy)]
        slopes = [slope if len(slope) > 2 else 0.0 * slope for slope in slopes]
        return math.log(strategy.error), np.concatenate(slopes) / strategy.error

    start = np.concatenate([np.full(size, 1 / size) for size in sizes] if last is None else last.bases)
    with suppress(_TimeIsOver):
        optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxfun": steps})
    return best[0]


def slopes_of_error(products: Sequence[FewProduct], strategy: ResidualStrategy) -> tuple[Array, ...]:
    """(dᵢ,) an attribute: the derivative of the error in its base, the designs as they are.

    These are the best for the bases, so that their change does not matter.
    """
    slopes = tuple(np.zeros(len(base)) for base in strategy.bases)
    spaces = {space.attributes: space for space in strategy.spaces}
    costs: dict[tuple[int, int, int], tuple[float, Array]] = {}
    for product in products:
        numbered = list(enumerate(product.attributes))
        means = [  # 0 in place of a design: the mean has none
            costs.setdefault(
                (i, id(product.grams[at]), 0), _mean_and_slope(product.grams[at], strategy.bases[i])
            )
            for at, i in numbered
        ]
        for size in range(len(numbered) + 1):
            for chosen in itertools.combinations(numbered, size):
                if (space := spaces.get(tuple(i for _, i in chosen))) is None:
                    continue
                parts = list(means)
                for (at, i), design in zip(chosen, space.designs, strict=True):
                    key = (i, id(product.grams[at]), id(design))
                    if key not in costs:
                        costs[key] = _cost_and_slope(product.grams[at], strategy.bases[i], design.inverse)
                    parts[at] = costs[key]
                # (Σ √E)² has the derivative Σ √E / √E_S in E_S, one over the sector's share
                factor = product.weight / space.share
                for at, i in numbered:
                    others = math.prod(value for k, (value, _) in enumerate(parts) if k != at)
                    slopes[i][:] += factor * others * parts[at][1]
    return slopes


def _mean_and_slope(gram: Array, base: Array) -> tuple[float, Array]:
    """βᵀ G β and its derivative."""
    along = gram @ base
    return float(base @ along), 2 * along


def _cost_and_slope(gram: Array, base: Array, inverse: Array) -> tuple[float, Array]:
    """tr(Pᵀ G P X⁻) and its derivative in the base."""
    sums = inverse.sum(axis=1)
    return float(np.vdot(contrast_gram(gram, base), inverse)), -2 * (gram @ (sums - base * sums.sum()))


#: The constant, and the contrasts.
PARTS = slice(0, 1), slice(1, None)


def part_of_component(rows: RowSpace, component: SectorComponent, spaces: Sequence[ResidualSpace]) -> Array:
    """N (d, d): blocks ⊗ of the strategies' coefficients on contrasts and constants, and numbers on rests."""
    part = np.zeros((component.dim, component.dim))
    for space in spaces:
        strategies = {i: design.strategy for i, design in zip(space.attributes, space.designs, strict=True)}
        if not all(i in strategies for i, _ in component.rests):
            continue
        weight = space.share * math.prod(
            _on_rest(rows, i, orbit, strategies[i]) for i, orbit in component.rests
        )
        free = {i: _on_flat(rows, i, x) for i, x in strategies.items() if i not in dict(component.rests)}
        inside = [sector for sector in component.sectors if set(sector) <= set(free)]
        for one in inside:
            for other in inside:
                blocks = (x[PARTS[i in one], PARTS[i in other]] for i, x in sorted(free.items()))
                part[component.places[one], component.places[other]] += reduce(
                    np.kron, blocks, np.full((1, 1), weight)
                )
    return part


def _on_flat(rows: RowSpace, i: int, strategy: Array) -> Array:
    """(o, o) B X Bᵀ / d² with the rows of B the constant and the contrasts at each value."""
    basis = rows.bases[i]
    functions = rows.functions[i][basis.symmetry.orbit_of]
    return np.asarray(functions.T @ strategy @ functions / basis.size**2)


def _on_rest(rows: RowSpace, i: int, orbit: int, strategy: Array) -> float:
    """The number by which X multiplies functions of the orbit's values with sum zero, over d."""
    v, w = np.flatnonzero(rows.bases[i].symmetry.orbit_of == orbit)[:2]
    return float(strategy[v, v] - strategy[v, w]) / rows.bases[i].size


SHARED_ROUNDS = 20  # over the attributes of several queries
SHARED_GAIN = 1e-6  # that a further round is worth
LEAST_SHARE = 1e-9  # of a sector: one whose error is negligible next to the others is measured too


@dataclass(frozen=True, eq=False)
class SharedDesigns:
    """X = Σ_S a_S ⊗ Xᵢ, other attributes summed over.

    designs : Xᵢ by attribute, of those that a product looks at. shares : a_S by sector, of sum 1.
    error : total squared error at squared sensitivity 1.
    """

    designs: Mapping[int, AttributeDesign]
    shares: Mapping[tuple[int, ...], float]
    error: float


def shared_designs(products: Sequence[FewProduct], bases: Sequence[Array]) -> SharedDesigns:
    """The best shared strategy found, with these bases (dᵢ,), of sum 1; over a time limit the last one.

    Raises
    ------
    TooLargeError : a factor beyond the memory limit.
    """
    sectors, grams = terms_by_sector(products, bases), _contrasts(products, bases)
    keys = grouped((key[0], key) for key in grams)
    designs = {
        i: attribute_design(_sum_of_grams(grams, dict.fromkeys(each, 1.0))) for i, each in keys.items()
    }
    costs = {key: float(np.vdot(gram, designs[key[0]].inverse)) for key, gram in grams.items()}  # tr(G X⁻)
    several = {i: each for i, each in keys.items() if len(each) > 1}
    roots = _roots_of_errors(sectors, costs)
    error = math.fsum(roots.values()) ** 2
    for _ in range(SHARED_ROUNDS if several else 0):
        for i, each in several.items():
            designs[i] = attribute_design(_sum_of_grams(grams, _slopes(sectors, costs, each)))
            costs |= {key: float(np.vdot(grams[key], designs[i].inverse)) for key in each}
        roots = _roots_of_errors(sectors, costs)
        last, error = error, math.fsum(roots.values()) ** 2
        if error >= last * (1 - SHARED_GAIN) or time_left() <= 0:
            break
    least = LEAST_SHARE * math.fsum(roots.values())
    roots = {one: max(root, least) for one, root in roots.items()}
    whole = math.fsum(roots.values())
    return SharedDesigns(designs, {one: root / whole for one, root in roots.items()}, error)


def _roots_of_errors(
    sectors: Mapping[tuple[int, ...], Terms], costs: Mapping[Key, float]
) -> dict[tuple[int, ...], float]:
    """√E of each sector."""
    each = {
        sector: [weight * math.prod(costs[key] for key in keys) for keys, weight in terms.items()]
        for sector, terms in sectors.items()
    }
    return {sector: math.sqrt(math.fsum(errors)) for sector, errors in each.items()}


def _slopes(
    sectors: Mapping[tuple[int, ...], Terms], costs: Mapping[Key, float], keys: Sequence[Key]
) -> dict[Key, float]:
    """The derivative of the error in the costs of these keys, over Σ √E."""
    slopes = dict.fromkeys(keys, 0.0)
    for sector, root in _roots_of_errors(sectors, costs).items():
        for factors, weight in sectors[sector].items() if root else ():
            for key in factors:
                if key in slopes:
                    slopes[key] += weight * math.prod(costs[k] for k in factors if k != key) / root
    return slopes


def _sum_of_grams(grams: Mapping[Key, Array], weights: Mapping[Key, float]) -> Array:
    """The sum of the Gram matrices that have weights."""
    return np.asarray(sum(weight * grams[key] for key, weight in weights.items()))
