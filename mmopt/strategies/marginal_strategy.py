"""Weighted marginals as a strategy, and sums over sets of attributes.

There is one number for each set of attributes, and nothing of the size of the cells.

The marginal over the attributes S, times θ_S, has the Gram matrix θ_S² ⊗ᵢ (I if i ∈ S, else J). On the
subspace T, where attributes of T have mean zero and the others are constant, AᵀA is the number
λ_T = Σ_{S ⊇ T} θ_S² Π_{i ∉ S} nᵢ (slides on HDMM, OPT_M; McKenna et al., PVLDB 2018, section 6.3).
Sets of attributes are bit masks here: bit i is attribute i.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmopt.errors import OptionError
from mmopt.limits import require_memory
from mmopt.numerics.arrays import EPS, Array, owned
from mmopt.numerics.outward import check_norm
from mmopt.strategies.factor_strategies import products_of
from mmopt.strategies.protocol_and_dense_strategy import StrategyForm
from mmopt.workloads import Factor, Implicit, Kron, Scaled, Stack, Workload
from mmopt.workloads.blocks.combined_blocks import kron
from mmopt.workloads.factors_and_products import answers_of_product, identity, total

CANCELLED_SHARE = 1e-6  # of the squared length of a query: a smaller difference has too few digits left


@dataclass(frozen=True, eq=False, repr=False)
class MarginalStrategy(StrategyForm):
    """All marginals S with a weight θ_S > 0, measured as θ_S times their counts, plus noise. Immutable.

    Parameters
    ----------
    sizes : of the attributes. weights : θ (2^d,), nonnegative, by bit mask. norm : 1 or 2.

    Raises
    ------
    OptionError : weights of another length, negative, or all zero; another norm.
    """

    sizes: tuple[int, ...]
    weights: Array
    norm: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(int(size) for size in self.sizes))
        object.__setattr__(self, "weights", owned(self.weights))
        check_norm(self.norm, "the strategy's norm")
        if self.weights.shape != (2 ** len(self.sizes),):
            raise OptionError(
                f"the weights have shape {self.weights.shape}, expected one for each of the "
                f"{2 ** len(self.sizes)} sets of {len(self.sizes)} attributes"
            )
        if not (np.isfinite(self.weights).all() and (self.weights >= 0).all() and self.weights.any()):
            raise OptionError("the weights of marginals must be finite, nonnegative, and not all zero")

    @property
    def p(self) -> int:
        cells = np.prod(self.sizes, dtype=object) / volumes(self.sizes, object)
        return int(cells[self.weights > 0].sum())

    @property
    def n(self) -> int:
        return int(np.prod(self.sizes, dtype=object))

    @property
    def largest_column(self) -> float:
        """Σ θ or √Σ θ², rounded upwards: a row is counted once in every marginal."""
        exact = self.weights.sum() if self.norm == 1 else np.sqrt(np.square(self.weights).sum())
        return float(exact * (1.0 + (len(self.weights) + 3) * EPS))

    @property
    def eigenvalues(self) -> Array:
        """λ (2^d,): AᵀA on the subspace of each set of attributes."""
        return supersets(np.square(self.weights) * volumes(self.sizes), len(self.sizes))

    def divided(self, by: float) -> "MarginalStrategy":
        return MarginalStrategy(self.sizes, self.weights / by, self.norm)

    def squared_error(self, workload: Workload) -> float:
        """Σ energy / λ over the sets with energy; infinity where one of them is not measured."""
        energy = energies(workload, self.sizes)
        needed = energy > 0
        with np.errstate(divide="ignore"):
            return float((energy[needed] / self.eigenvalues[needed]).sum())

    def variances(self, workload: Workload) -> Array:
        require_memory((workload.m,), "list of the queries' variances")
        with np.errstate(divide="ignore"):
            inverse = 1.0 / self.eigenvalues
        out = []
        for product in products_of(workload, self.sizes):
            parts = [_split(factor) for factor in product.factors]
            varying = [i for i, (_, rest) in enumerate(parts) if (rest > 0).any()]
            sums: Array = np.zeros(product.m)
            for mask in subsets_of(_mask(varying)):  # on all other subspaces every query is exactly zero
                # The last attribute varies fastest in a product's queries.
                seen = kron([part[mask >> i & 1][None] for i, part in enumerate(parts)])[0]
                sums += np.where(seen > 0, inverse[mask], 0.0) * np.where(seen > 0, seen, 0.0)
            out.append(sums)
        return np.concatenate(out)

    def implicit(self) -> Implicit:
        """All rows (p, n), never formed: the marginals in the order of their bit masks."""
        return Stack(
            [
                Scaled(
                    Kron([(identity if mask >> i & 1 else total)(n) for i, n in enumerate(self.sizes)]),
                    float(self.weights[mask]),
                )
                for mask in np.flatnonzero(self.weights > 0).tolist()
            ]
        )

    def estimate(self, noisy: Array) -> Array:
        """Least-squares estimate (n,) of the data vector from noisy answers (p,), in closed form.

        On each subspace T it is the mean of the estimates from the marginals S ⊇ T, weighted by their shares
        θ_S² Π_{i ∉ S} nᵢ of λ_T. No weights are subtracted: a difference would lose all digits where
        those of two marginals are far apart.

        Raises
        ------
        TooLargeError : as many numbers as cells do not fit in memory.
        """
        require_memory((self.n,), "estimate of the data vector")
        estimate = np.zeros(self.sizes)
        cells_of_a_count = volumes(self.sizes)
        for space, mean in self._means(noisy, np.flatnonzero(self.eigenvalues > 0).tolist()).items():
            shape = [n if space >> i & 1 else 1 for i, n in enumerate(self.sizes)]
            estimate += mean.reshape(shape) / cells_of_a_count[space]
        return estimate.ravel()

    def answers_from(self, workload: Workload, noisy: Array) -> Array:
        """The queries of ``estimate`` (m,), from subspaces alone: never as many numbers as cells.

        A table over the attributes U has parts on the subspaces T ⊆ U alone, each spread evenly over the
        cells of U that are equal in T.

        Raises
        ------
        UnsuitableError : a workload from a matrix. WorkloadError : one over other cells.
        """
        products = products_of(workload, self.sizes)
        inside = {mask: subsets_of(mask) for mask in {_mask(p.looked_at) for p in products}}
        means = self._means(noisy, sorted(set().union(*inside.values())))

        def table(attributes: tuple[int, ...]) -> Array:
            total = np.zeros([self.sizes[i] for i in attributes])
            for space in inside[_mask(attributes)]:
                if (mean := means.get(space)) is not None:
                    shape = [self.sizes[i] if space >> i & 1 else 1 for i in attributes]
                    total += mean.reshape(shape) / (total.size // mean.size)
            return total

        return np.concatenate([answers_of_product(product, table) for product in products])

    def _means(self, noisy: Array, spaces: Sequence[int]) -> dict[int, Array]:
        """Estimates by the marginals of the sums of the data vector over all but each subspace's attributes.

        (sizes of T,), the part of mean zero in each attribute; none where no marginal has them.
        """
        cells_of_a_count = volumes(self.sizes)
        sets = np.flatnonzero(self.weights > 0).tolist()
        shapes = [[self.sizes[i] for i in attributes_of(mask)] for mask in sets]
        ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
        tables = {
            mask: part.reshape(shape) / self.weights[mask]
            for mask, shape, part in zip(sets, shapes, np.split(np.asarray(noisy, float), ends), strict=True)
        }
        means: dict[int, Array] = {}
        for space in spaces:
            above = [mask for mask in sets if mask & space == space]
            if not above:
                continue
            shares = np.square(self.weights[above] / self.weights[above].max()) * cells_of_a_count[above]
            shares /= shares.sum()
            mean: Array = np.zeros([self.sizes[i] for i in attributes_of(space)])
            for share, mask in zip(shares, above, strict=True):
                others = (at for at, i in enumerate(attributes_of(mask)) if not space >> i & 1)
                mean = mean + share * tables[mask].sum(axis=tuple(others))
            for axis in range(mean.ndim):
                mean = mean - mean.mean(axis=axis, keepdims=True)
            means[space] = mean
        return means

    def fields(self) -> dict[str, Any]:
        return {"form": "marginals", **super().fields(), "sizes": np.array(self.sizes, dtype=np.int64)}

    def __repr__(self) -> str:
        return self._words(f"{int((self.weights > 0).sum())} marginals")


def attributes_of(mask: int) -> tuple[int, ...]:
    """The attributes of a set, ascending."""
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def _mask(attributes: Iterable[int]) -> int:
    """The bit mask of a set of attributes."""
    return sum(1 << i for i in attributes)


def subsets_of(mask: int) -> list[int]:
    """Every set inside a set, itself and the empty one among them, ascending."""
    masks = [0]
    for i in attributes_of(mask):
        masks += [smaller | 1 << i for smaller in masks]
    return masks


def volumes(sizes: Sequence[int], dtype: type = float) -> Array:
    """Π_{i ∉ S} nᵢ for each set S, (2^d,): the number of cells in one count of the marginal."""
    out: Array = np.ones(1, dtype=dtype)
    for size in sizes:
        out = np.concatenate([out * size, out])
    return out


def supersets(values: Array, d: int) -> Array:
    """Σ_{S ⊇ T} values_S for each set T, (2^d,)."""
    return _swept(values, d, lambda without, having: (without + having, having))


def subsets(values: Array, d: int) -> Array:
    """Σ_{S ⊆ T} values_S for each set T, (2^d,): the transpose of ``supersets``."""
    return _swept(values, d, lambda without, having: (without, without + having))


def _swept(values: Array, d: int, step: Callable[[Array, Array], tuple[Array, Array]]) -> Array:
    """Apply ``step`` for each attribute in turn, to the sets without it and those that have it."""
    out = np.array(values, dtype=float)
    for i in range(d):
        halves = out.reshape(-1, 2, 2**i)
        halves[:, 0], halves[:, 1] = step(halves[:, 0], halves[:, 1])
    return out


def energies(workload: Workload, sizes: tuple[int, ...] | None = None) -> Array:
    """tr(G Π_T), (2^d,): the share of the workload's Gram matrix on the subspace of each set."""
    total = np.zeros(2 ** len(workload.domain.shape))
    for product in products_of(workload.weighed, sizes):
        energy = np.ones(1)
        for factor in product.factors:
            constant, rest = (float(part.sum()) for part in _split(factor))
            energy = np.concatenate([energy * constant, energy * rest])
        total += product.weight * energy
    return total


def _split(factor: Factor) -> tuple[Array, Array]:
    """Squared length of each query's constant part, and of the rest of mean zero; exactly 0 where it is."""
    sums, norms = factor.apply(np.ones(factor.size)), factor.squared_norms()
    constant = np.square(sums) / factor.size
    rest = np.maximum(norms - constant, 0.0)
    near = np.flatnonzero(rest <= CANCELLED_SHARE * norms)  # where the difference has lost its digits
    if len(near):
        rows = factor.take(near)
        off = rows - rows[:, :1]  # exactly zero where the row is constant
        rest[near] = np.square(off - off.mean(axis=1, keepdims=True)).sum(axis=1)
    return constant, rest
