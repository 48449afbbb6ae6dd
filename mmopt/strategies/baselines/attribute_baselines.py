"""Baselines and their designs, attribute by attribute: cells, trees of ranges, noise filters for streams.

A design is the rows to be measured, kept implicit. The two simplest have noise on every cell, and on every
answer.

The trees are hierarchies, Haar wavelets, weighted trees, and trees that split several attributes. The filters
are lower-triangular Toeplitz rows, made for prefix sums over one attribute.

In a filter row i has c_i, …, c_0 at the steps 0 to i. The first column is the longest. With the series c(x)
of its entries, prefix sums are answered by b(x) = 1 / ((1 - x) c(x)) from the measurements, so that the total
variance of n of them is Σ (n - i) b_i².
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import optimize, sparse

from mmopt.limits import require_memory
from mmopt.numerics import Array, Ints, toeplitz
from mmopt.strategies import ProductStrategy, Strategy
from mmopt.workloads import (
    Dense,
    Haar,
    Hierarchy,
    Identity,
    Implicit,
    Kron,
    Product,
    Ranges,
    Sparse,
    Workload,
    levels,
    runs,
)


class Errors(Protocol):
    """Errors of the queries at noise of unit variance, no sensitivity: any form of strategy has them."""

    def squared_error(self, workload: Workload) -> float:
        """‖W A⁺‖²_F, weighted; infinity where the rows do not determine the workload."""

    def variances(self, workload: Workload) -> Array:
        """The variance of each unweighted query (m,); infinity for one that the rows do not determine."""


@dataclass(frozen=True, eq=False)
class BaselineDesign:
    """Rows to be measured for a workload.

    rows : A (p, n), unscaled. detail : the choices for this workload, in words; may be empty.
    closed_form : their errors on this workload without a matrix; None where A has to be formed.
    """

    rows: Implicit
    detail: str = ""
    closed_form: Errors | None = None

    @cached_property
    def errors(self) -> Errors:
        """Errors on this workload; TooLargeError where A has to be formed and does not fit in memory."""
        return Strategy(self.rows.matrix()) if self.closed_form is None else self.closed_form


@dataclass(frozen=True)
class Parameter:
    """A parameter: name, kind (int or bool), default; least : of integers; about : in a few words."""

    name: str
    kind: type[int]
    default: int | None
    about: str
    least: int | None = None

    def __str__(self) -> str:
        return f"{self.name}={self.default}"


@dataclass(frozen=True)
class Baseline:
    """A way to choose a strategy, without optimisation.

    Parameters
    ----------
    name, title : for the command line, and in words.
    source : paper and section.
    norms : of columns, 1 for Laplace and 2 for Gaussian noise, in its paper; it is built for both.
    build : workload, norm and parameters to a ``BaselineDesign``. TooLargeError where memory is short.
    parameters : with their defaults.
    reason_against : why it does not apply to a workload, or None.
    shown : calls with parameters that are listed and compared by default, in addition to the name alone.
    depends_on_norm : whether its rows differ between Laplace and Gaussian noise.
    """

    name: str
    title: str
    source: str
    norms: tuple[int, ...]
    build: Callable[..., BaselineDesign]
    parameters: tuple[Parameter, ...] = ()
    reason_against: Callable[[Workload], str | None] = lambda workload: None
    shown: tuple[str, ...] = ()
    depends_on_norm: bool = False


def cells(workload: Workload, norm: int) -> BaselineDesign:
    """Every cell by itself (input perturbation; Dwork, McSherry, Nissim, Smith: TCC 2006)."""
    blocks = [Identity(size) for size in workload.domain.shape]
    return BaselineDesign(blocks[0] if len(blocks) == 1 else Kron(blocks), closed_form=OrthonormalRows())


class OrthonormalRows:
    """Orthonormal rows that determine every query: W A⁺ = W Aᵀ is as long as W, row by row."""

    def squared_error(self, workload: Workload) -> float:
        if workload.products is None:
            return math.fsum(workload.weights * workload.squared_norms())
        return math.fsum(
            product.weight
            * math.prod(float(factor.squared_norms().sum()) for factor in product.weighed().factors)
            for product in workload.products
        )

    def variances(self, workload: Workload) -> Array:
        require_memory((workload.m,), "list of the queries' variances")
        return workload.squared_norms()


def answers(workload: Workload, norm: int) -> BaselineDesign:
    """Every query of the workload unchanged, repeated ones repeatedly (Laplace or Gaussian mechanism)."""
    return BaselineDesign(workload.implicit(weighted=False), closed_form=_OnAnswers())


class _OnAnswers:
    """Errors of the mechanism that answers with its measurements: the noise of each query.

    Least squares on the same rows, as in every ``Strategy``, are never worse.
    """

    def squared_error(self, workload: Workload) -> float:
        """The sum of the weights."""
        if workload.products is None:
            return math.fsum(workload.weights)
        return math.fsum(
            product.weight
            * math.prod(f.rows if f.row_weights is None else f.row_weights.sum() for f in product.factors)
            for product in workload.products
        )

    def variances(self, workload: Workload) -> Array:
        require_memory((workload.m,), "list of the queries' variances")
        return np.ones(workload.m)


def by_attribute(workload: Workload, blocks: Sequence[Implicit], detail: str = "") -> BaselineDesign:
    """A₁ ⊗ … ⊗ A_d; the error of a union of products is taken attribute by attribute (tr(⊗ Gᵢ) = Π tr Gᵢ)."""
    if len(blocks) == 1:
        return BaselineDesign(blocks[0], detail)
    closed_form = (
        None
        if workload.products is None
        else ProductStrategy(tuple(Strategy(block.matrix()) for block in blocks))
    )
    return BaselineDesign(Kron(blocks), detail, closed_form)


# -- trees and filters


#: The least share of its parts in a block's error, so that no part is measured with weight zero.
LEAST_SHARE = 1e-12

#: Entries of the workload that are read together.
ENTRIES_AT_A_TIME = 2**22


def hierarchical(
    workload: Workload, norm: int, branching: int | None = None, root: bool | None = None
) -> BaselineDesign:
    """The Kronecker product of one hierarchy per attribute.

    Parameters
    ----------
    branching : parts of each block (Hay, Rastogi, Miklau, Suciu: PVLDB 2010); by default ``best_branching``
        of each attribute (Qardaji, Yang, Li: PVLDB 2013, HB).
    root : whether the total is measured too; by default where a branching is given, as Hay et al. do, and not
        where it is chosen, as Qardaji et al. do.
    """
    chosen = [branching or best_branching(size) for size in workload.domain.shape]
    whole = root if root is not None else branching is not None
    blocks = [_levels(size, b, whole) for size, b in zip(workload.domain.shape, chosen, strict=True)]
    return by_attribute(
        workload, blocks, f"branching {', '.join(map(str, chosen))}{'' if whole else ', no total'}"
    )


def _levels(size: int, branching: int, root: bool) -> Implicit:
    """The hierarchy of an attribute, with the total or, where it is more than one cell, without it."""
    tree = Hierarchy(size, branching)
    if root or size == 1:
        return tree
    require_memory(tree.shape, "hierarchy")
    return Dense(tree.matrix()[1:])  # the total is the first row


def best_branching(size: int) -> int:
    """The branching of HB: the b with the least average variance of a range, in their count.

    h levels below the total, h = ⌈log_b n⌉, cost (b - 1) h³ - 2 (b + 1) h² / 3 (Qardaji, Yang, Li: PVLDB
    2013, section 3: noise on all levels but the root, then least squares; to leading order in n). Noise
    variance per level h² for ε-differential privacy. It looks at the domain only, not at the workload, and is
    used under Gaussian noise too. The least b where several are equal; 2 for a single cell.
    """

    def cost(b: int) -> tuple[float, int]:
        """The cost, and b to choose the least of equals."""
        h = next(h for h in itertools.count(1) if b**h >= size)
        return (b - 1) * h**3 - 2 * (b + 1) * h**2 / 3, b

    return min(range(2, max(size, 2) + 1), key=cost)


def wavelet(workload: Workload, norm: int) -> BaselineDesign:
    """The Kronecker product of one Haar wavelet per attribute (Xiao, Wang, Gehrke: ICDE 2010, §IV and VI).

    Privelet's coefficient of a block is half the difference of the averages of its halves; times Privelet's
    weight, the block's length, it is the difference of the sums: so equal noise on the rows with entries -1,
    0 and 1 is Privelet's noise (PODS 2010, Proposition E.43). An attribute whose size is no power of two is
    filled up with empty cells, that is, columns are dropped: rows that only split empty cells are left out,
    and a cell whose partners are empty is measured at each of those levels, as Privelet does.
    """
    return by_attribute(workload, [_haar(size) for size in workload.domain.shape])


def _haar(size: int) -> Implicit:
    """The Haar wavelet of an attribute of any size, see ``wavelet``."""
    filled = 1 << (size - 1).bit_length()
    if filled == size:
        return Haar(size)
    require_memory((filled, filled), "wavelet")
    rows = Haar(filled).matrix()[:, :size]
    return Dense(rows[rows.any(axis=1)])


def quadtree(workload: Workload, norm: int, branching: int = 2) -> BaselineDesign:
    """The total, its branching^d parts, their parts, down to single cells: every block once.

    Each attribute's blocks split into ``branching`` parts at every level until they are single cells
    (Cormode, Procopiuc, Srivastava, Shen, Yu: ICDE 2012, §3, for two attributes, all levels alike; with other
    branchings Qardaji, Yang, Li: PVLDB 2013, §4). An attribute down to single cells waits for the
    others. For one attribute it is the hierarchy.
    """
    sizes = workload.domain.shape
    trees = [[*_starts(size, branching)] for size in sizes]
    depth = max(map(len, trees))
    require_memory((depth, workload.n), "list of the blocks of the quadtree")
    blocks = []
    is_single = np.zeros(workload.n, dtype=bool)
    for level in range(depth):
        starts = [tree[min(level, len(tree) - 1)] for tree in trees]
        first = np.ravel_multi_index(np.meshgrid(*starts, indexing="ij"), sizes).ravel()  # cell of each block
        counts = np.bincount(first, minlength=workload.n)
        blocks.append(_blocks(first, ~is_single))
        is_single = counts[first] == 1
    return BaselineDesign(Sparse(sparse.csr_array(sparse.vstack(blocks))))


def _starts(size: int, branching: int) -> Iterator[Ints]:
    """First cell of the block of each cell, (size,), level by level."""
    at = np.zeros(size, dtype=np.int64)
    for start, stop in levels(size, branching):
        at[runs(start, stop - start)] = np.repeat(start, stop - start)
        yield at.copy()


def _blocks(first: Ints, is_measured: np.typing.NDArray[np.bool_]) -> sparse.csr_array:
    """A row for each block with cells to be measured, in the order of their first cells."""
    cells = np.flatnonzero(is_measured)
    blocks, rows = np.unique(first[cells], return_inverse=True)
    return sparse.csr_array((np.ones(len(cells)), (rows, cells)), shape=(len(blocks), len(first)))


@dataclass(frozen=True)
class _Block:
    """Cells start to stop - 1, their share z >= 0 against the rows within, and the two parts."""

    start: int
    stop: int
    share: float = 0.0
    parts: tuple["_Block", ...] = ()


def greedy_h(workload: Workload, norm: int) -> BaselineDesign:
    """The weights of GreedyH (Li, Hay, Miklau: DAWA, PVLDB 2014, §5), block by block.

    Our reading. From the cells upwards, the count of a block gets the share λ and all rows within it
    are scaled by 1 - λ, so that every cell keeps L1 norm 1 (under norm 2: shares of the squared weights, L2
    norm 1). λ has the least error, at the given weights within, on the queries
    restricted to the block; those that are constant on it are left to the blocks above. The stationary points
    are roots of a polynomial (``best_share``). The paper's first stage, which merges cells by the data, is
    left out.
    """
    n = workload.n
    require_memory((2 * n - 1, n), "hierarchy of greedy_h")
    constant = same_throughout(workload)
    constant[0, n] = 0.0  # no block is above all cells
    top = _weighed_block(workload.gram, np.eye(n), constant, (0, n), norm)
    return BaselineDesign(Dense(np.array([*_weighted_rows(top, 1.0, n, norm)])))


def _halves(start: int, stop: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Two parts as equal as possible, the longer one first, as in ``Hierarchy``."""
    middle = (start + stop + 1) // 2
    return (start, middle), (middle, stop)


def same_throughout(workload: Workload) -> dict[tuple[int, int], float]:
    """Σ w c² over the queries that are a constant c on a block, for each block of the binary hierarchy.

    The workload is on one attribute.
    """
    sums: dict[tuple[int, int], float] = defaultdict(float)
    for block in workload.blocks:
        if isinstance(block, Product) and isinstance(block.factors[0], Ranges):
            _add_intervals(sums, block.weighted_gram(), (0, workload.n))
            continue
        weights, step = block.weights, max(1, ENTRIES_AT_A_TIME // workload.n)
        for first in range(0, block.m, step):
            last = min(first + step, block.m)
            _add_same(sums, block.rows(first, last).T, weights[first:last], (0, workload.n))
    return dict(sums)


def _add_intervals(sums: dict[tuple[int, int], float], gram: Array, ends: tuple[int, int]) -> None:
    """Add the intervals that contain a block, its first and its last cell: the Gram matrix counts them."""
    start, stop = ends
    sums[ends] += float(gram[start, stop - 1])
    if stop - start > 1:
        for half in _halves(start, stop):
            _add_intervals(sums, gram, half)


def _add_same(
    sums: dict[tuple[int, int], float], cells: Array, weights: Array, ends: tuple[int, int]
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Whether each query (cells (n, queries)) is constant on a block, after adding up those that are."""
    start, stop = ends
    if stop - start == 1:
        same = np.ones(len(weights), dtype=np.bool_)
    else:
        first, second = _halves(start, stop)
        same = _add_same(sums, cells, weights, first) & _add_same(sums, cells, weights, second)
        same &= cells[start] == cells[second[0]]
    sums[ends] += float((weights * np.square(cells[start]))[same].sum())
    return same


def _weighed_block(
    gram: Array, inverse: Array, constant: dict[tuple[int, int], float], ends: tuple[int, int], norm: int
) -> _Block:
    """Weigh a block after its parts; ``inverse`` (n, n), at first the identity, becomes (AᵀA)⁻¹ on it.

    ``constant``: by ``same_throughout``, the part of the error that is left to the blocks above.
    """
    if ends[1] - ends[0] == 1:
        return _Block(*ends)
    first, second = (_weighed_block(gram, inverse, constant, half, norm) for half in _halves(*ends))
    here = slice(*ends)
    block_inverse, block_gram = inverse[here, here], gram[here, here]
    v = block_inverse.sum(axis=1)
    s = float(v.sum())  # the variance of the block's count by its parts
    error = float((block_inverse * block_gram).sum())
    along = float(v @ block_gram @ v) / s - constant[ends] * s  # the part of the error that the count lowers
    z = best_share(error - constant[ends] * s - along, along, s, norm) if along > LEAST_SHARE * error else 0.0
    # AᵀA becomes c (AᵀA + q 1 1ᵀ), c = (1 + z)⁻² or (1 + z)⁻¹; its inverse by Sherman and Morrison.
    q = z**2 if norm == 1 else z
    block_inverse -= np.outer(v, v * (q / (1.0 + q * s)))
    block_inverse *= (1.0 + z) ** 2 if norm == 1 else 1.0 + z
    return _Block(*ends, z, (first, second))


def best_share(a: float, b: float, s: float, norm: int) -> float:
    """z = λ / (1 - λ) >= 0 with the least (1 + z)² (a + b / (1 + s z²)); norm 2: (1 + z) (a + b / (1 + s z)).

    a is the error within the parts that the count of the block cannot change (at least ``LEAST_SHARE`` of b),
    b > 0 the part along it, s > 0 the variance of the total by the parts.
    """
    a = max(a, LEAST_SHARE * b)
    if norm == 2:
        return max(0.0, (math.sqrt(b * max(s - 1.0, 0.0) / a) - 1.0) / s)
    roots = np.roots([a * s * s, 0.0, 2.0 * a * s, -b * s, a + b])
    real = [float(z.real) for z in roots if z.real > 0 and abs(z.imag) <= 1e-6 * abs(z)]
    return min([0.0, *real], key=lambda z: (1.0 + z) ** 2 * (a + b / (1.0 + s * z * z)))


def _weighted_rows(block: _Block, share: float, n: int, norm: int) -> Iterator[Array]:
    """The weighted rows, a block before its parts; ``share`` is the norm (squared) left for its columns."""
    entry = share * block.share / (1.0 + block.share) if block.parts else share
    if entry > 0:
        row = np.zeros(n)
        row[block.start : block.stop] = entry if norm == 1 else math.sqrt(entry)
        yield row
    for part in block.parts:
        yield from _weighted_rows(part, share / (1.0 + block.share), n, norm)


LARGEST_LOGIT = 25.0  # of a decay, and logarithm of a weight, up or down
LARGEST_LOSS = 1e3  # in place of the logarithm of an error that is not finite


def square_root(workload: Workload, norm: int) -> BaselineDesign:
    """The square root of the matrix of prefix sums: c(x) = (1 - x)^(-1/2)."""
    return _toeplitz_design(root_column(workload.n))


def _toeplitz_design(column: Array, detail: str = "") -> BaselineDesign:
    """The lower-triangular Toeplitz rows with this first column."""
    require_memory((len(column), len(column)), "Toeplitz matrix")
    return BaselineDesign(Dense(toeplitz(column)), detail)


def root_column(n: int) -> Array:
    """The first n coefficients of (1 - x)^(-1/2): c_k = c_{k-1} (1 - 1 / 2k)."""
    return np.cumprod(np.concatenate([[1.0], 1.0 - 0.5 / np.arange(1, n)]))


def buffered(workload: Workload, norm: int, buffers: int = 3) -> BaselineDesign:
    """c_k = Σ ω_j θ_j^(k-1) for k >= 1: noise that needs one number of memory for each buffer (BLT).

    Dvijotham, McMahan, Pillutla, Steinke, Thakurta: FOCS 2024. The decays θ and weights ω are those of the
    least total error of n prefix sums that a quasi-Newton search finds from the decays of a geometric series.
    """
    return _toeplitz_design(buffered_column(workload.n, buffers), f"{buffers} buffer{'s' * (buffers > 1)}")


def buffered_column(n: int, buffers: int) -> Array:
    """The first column (n,), as ``buffered``.

    The search starts near the square root, of which c_k is the integral of θ^(k-1) (θ / (1 - θ))^½ / π over
    θ in (0, 1): buffers evenly spread over log(1 - θ).
    """
    if n == 1:
        return np.ones(1)
    spacing = math.log(2.0 * n) / buffers
    rests = 0.9 * np.exp(-spacing * (np.arange(buffers) + 0.5))  # 1 - θ
    weights = spacing * np.sqrt(rests * (1.0 - rests)) / math.pi

    def spread(point: Array) -> float:
        """The logarithm of the total error at logits and logarithms of weights."""
        column, answers = _series(point, n)
        with np.errstate(over="ignore", invalid="ignore"):
            worth = float(np.square(column).sum() * (np.arange(n, 0, -1) @ np.square(answers)))
        return min(math.log(worth), LARGEST_LOSS) if worth < math.inf else LARGEST_LOSS

    start = np.concatenate([np.log((1.0 - rests) / rests), np.log(weights)])
    best = optimize.minimize(
        spread,
        start,
        jac="3-point",
        method="L-BFGS-B",
        bounds=optimize.Bounds(-LARGEST_LOGIT, LARGEST_LOGIT),
        options={"maxiter": 1000, "maxfun": 100_000, "ftol": 1e-13},
    )
    return _series(best.x, n)[0]


def _series(point: Array, n: int) -> tuple[Array, Array]:
    """c and b (n,) of logits of θ and logarithms of ω: both series are quotients of polynomials."""
    from scipy.signal import lfilter  # takes a second to load, and only streams filter

    logits, logarithms = np.split(point, 2)
    decays = 1.0 / (1.0 + np.exp(-logits))
    weights = np.exp(logarithms)
    below = np.poly(decays)
    above = below.copy()
    for j, weight in enumerate(weights):
        above[1:] += weight * np.poly(np.delete(decays, j))
    impulse = np.concatenate([[1.0], np.zeros(n - 1)])
    column = lfilter(above, below, impulse)
    return np.asarray(column), np.asarray(lfilter(below, np.convolve(above, [1.0, -1.0]), impulse))
