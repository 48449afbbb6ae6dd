"""Mixtures of products of measures: their bounds and strategies, slopes and curvature, and better mixtures.

**Mixtures.** A product of a mixture is a class of cells in which the attributes are independent. One product
has no dependence between attributes, a single cell has nothing else; a mixture of some twenty products can
have that of all pairs at once. Weights and measures are the softmax of logits. With f of the mixture, whose
integral is 1, and w_c, p_c its parts,

    ∂ log t / ∂ logit of w_c = w_c (mean of f in c, less 1) / 2
    ∂ log t / ∂ logit of p_c(x_i) = w_c p_c(x_i) (mean of f in c at x_i, less the mean in c) / 2

which L-BFGS follows. t is concave in the measure, not in the logits: the result need not be the best measure,
and it bounds like any other.

**Targets.** The weights of the queries are searched for as those of the cells are. Let y be shares of the
orbits of queries, of sum 1, and q = y / (size · target) the weight of each query. With R(y)ᵀ R(y) = Σ q rᵀ r
over the rows r of all orbits, t(w, y)² = (tr (R Q(w) Rᵀ)^½)² is below the privacy cost of every strategy that
meets all targets: t is at most the root of its q-weighted variances times its mean cost. It is the least of
such roots, over all strategies, so concave in (w, y), and homogeneous of degree ½ in each of them. Hence the
best Σw = Σy = 1 is the best Σw + Σy = 2: cells and queries have one simplex.

    P = σ⁻¹ Uᵀ R Q,  seen = r Pᵀ,  N⁻¹ = t Pᵀ σ⁻¹ P

make the variance of a query at the strategy N (``MomentSpectrum.parts``) equal to t Σ_a seen_a² / σ_a over
its orbit. ∂t by the weight of a query is that by the weight of a cell, with ``seen`` for the cell's vector; a
second derivative by a cell and a query has the opposite sign. Where all variances count in addition, with the
weight ``constant``, q = y / (size · target) + constant · Σy, and nothing else changes.

**Columns.** With weights w of its products a mixture has the moments Σ_j w_j Q_j. t(w) = Σ μ tr (R Q Rᵀ)^½
is concave and homogeneous of degree ½, and in the eigenvectors U and roots σ of R Q Rᵀ, with A_j
= Uᵀ R Q_j Rᵀ U,

    ∂t/∂w_j = ½ Σ μ Σ_a A_j[a, a] / σ_a = ½ t · (the integral of f under product j)
    ∂²t/∂w_j∂w_l = -½ Σ μ Σ_ab A_j[a, b] A_l[a, b] / (σ_a σ_b (σ_a + σ_b)).

A cell's Q_j is a square v vᵀ (``RowSpace.vectors``). Between cells 1 / (x + y) = Σ_q g_q e^{-(x + y) s_q}
to a thousandth then makes a curvature out of matrix products, however many cells there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg, optimize, special

from mmopt.limits import require_time
from mmopt.numerics import EPS, Array, Ints, Split, eigh, qr
from mmopt.sectors.functions_of_few import Mixture
from mmopt.sectors.row_space import RowSpace


@dataclass(frozen=True, eq=False)
class MomentSpectrum:
    """R_κ Q_κ R_κᵀ = U σ² Uᵀ of each component, for a measure of mass 1.

    roots : (r,) σ, ascending and positive. turned : (r, d) Uᵀ R. total : t = Σ μ Σ σ. moments : (d, d) Q.
    """

    roots: tuple[Array, ...]
    turned: tuple[Array, ...]
    total: float
    moments: tuple[Array, ...]

    @property
    def bound(self) -> float:
        """t²: below every strategy's total error, to rounding, if the measure is nowhere negative."""
        return self.total**2

    @cached_property
    def parts(self) -> tuple[Array, ...]:
        """N_κ = R_κᵀ (R_κ Q_κ R_κᵀ)^{-1/2} R_κ / t: f is the derivative of log t² by the measure."""
        each = zip(self.roots, self.turned, strict=True)
        return tuple(turned.T @ (turned / (self.total * root[:, None])) for root, turned in each)


def spectrum(space: RowSpace, moments: Sequence[Array]) -> MomentSpectrum:
    """The spectrum at the moments of a measure of mass 1 under which no query vanishes.

    Eigenvalues near zero are lifted to the most that rounding may have taken from them. Then t is no bound by
    itself: the proved bound is that of the program's certificate (``sectors.total_error_bounds``).
    """
    roots, turned = [], []
    for moment, root in zip(moments, space.root.parts, strict=True):
        require_time()
        squares, directions = eigh(root @ moment @ root.T)
        roots.append(np.sqrt(np.maximum(squares, len(squares) * EPS * float(squares.max(initial=0.0)))))
        turned.append(directions.T @ root)
    multiplicities = space.space.multiplicities.tolist()
    total = sum(m * float(root.sum()) for m, root in zip(multiplicities, roots, strict=True))
    return MomentSpectrum(tuple(roots), tuple(turned), total, tuple(moments))


PRODUCTS = 24  # of a mixture
WAVES, HEIGHT = 4, 0.3  # of the logits that tell the parts apart to begin with
LEAST_LOGIT = -40.0  # to begin with
FIRST_STEPS, STEPS = 10, 40  # before the first mixture, and between two
REMEMBERED = 20  # steps, by L-BFGS
LEAST_RISE = 1e-6  # of t² in so many steps


def mixtures_of_rising_t(
    space: RowSpace, product: Mixture, rng: np.random.Generator
) -> Iterator[tuple[Mixture, MomentSpectrum]]:
    """Mixtures of ``PRODUCTS`` products near the one given, of rising t; ends where it rises no more."""
    logits = [
        np.zeros(PRODUCTS),
        *(np.log(factor) + _waves(factor.shape[1], rng) for factor in product.factors),
    ]
    place, before = np.concatenate([np.maximum(part, LEAST_LOGIT).ravel() for part in logits]), 0.0
    while True:
        optimum = optimize.minimize(
            lambda logits: negative_log_t(space, logits),
            place,
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": STEPS if before else FIRST_STEPS,
                "maxcor": REMEMBERED,
                "ftol": 0.0,
                "gtol": 0.0,
            },
        )
        place = optimum.x
        mixture = _mixture(space, place)
        at = spectrum(space, space.moments(mixture))
        yield mixture, at
        if at.bound <= before * (1.0 + LEAST_RISE):
            return
        before = at.bound


def negative_log_t(space: RowSpace, logits: Array) -> tuple[float, Array]:
    """-log t of the mixture with these logits, and its derivatives by them, in their order.

    logits : (PRODUCTS + PRODUCTS Σo,) those of the weights, then of each attribute's measures, part by part.
    """
    mixture = _mixture(space, logits)
    strategy = spectrum(space, space.moments(mixture))
    weights, means = mixture.weights, space.means(mixture, strategy.parts)
    each = [(factor * mean).sum(axis=1) for factor, mean in zip(mixture.factors, means, strict=True)]
    slopes = [
        (weights[:, None] * factor * (mean - total[:, None])).ravel()
        for factor, mean, total in zip(mixture.factors, means, each, strict=True)
    ]
    by_weights = weights * (each[0] - 1.0)
    return -float(np.log(strategy.total)), -0.5 * np.concatenate([by_weights, *slopes])


def _mixture(space: RowSpace, logits: Array) -> Mixture:
    """The mixture of ``PRODUCTS`` products with these logits, in the order of ``negative_log_t``."""
    first, *each = np.split(logits, PRODUCTS * np.cumsum([1, *space.shape])[:-1])
    factors = tuple(special.softmax(part.reshape(PRODUCTS, -1), axis=-1) for part in each)
    return Mixture(special.softmax(first), factors)


def _waves(count: int, rng: np.random.Generator) -> Array:
    """(PRODUCTS, count) for each product, a sum of a few random waves along the values."""
    places = np.pi * np.linspace(-0.5, 0.5, count)
    heights, phases = rng.normal(size=(2, PRODUCTS, WAVES, 1))
    turns = np.arange(1, WAVES + 1)[:, None]
    return np.asarray(HEIGHT * (heights * np.cos(turns * places + 2 * np.pi * phases)).sum(axis=1))


@dataclass(frozen=True, eq=False)
class QueryShares:
    """Orbits of queries with targets, which shares of the orbits turn into weighted queries.

    rows : by component (m, d), the rows t of **Queries with targets** in ``row_space_cells_and_targets.py``.
    orbits : by component (m,) the orbit of each row. sizes, targets : (o,) of each orbit.
    constant : what each query's weight has in addition, for each unit of Σ shares.
    """

    rows: tuple[Array, ...]
    orbits: tuple[Ints, ...]
    sizes: Array
    targets: Array
    constant: float = 0.0

    @property
    def even(self) -> Array:
        """(o,) the same share for every query."""
        return np.asarray(self.sizes / self.sizes.sum())

    def weighing(self, space: RowSpace, shares: Array) -> RowSpace:
        """The row space with the queries of these shares (o,) for its root."""
        roots = np.sqrt(shares / (self.sizes * self.targets) + self.constant * float(shares.sum()))
        return with_root(
            space, [rows * roots[orbit, None] for rows, orbit in zip(self.rows, self.orbits, strict=True)]
        )

    def seen(self, spectrum: MomentSpectrum) -> tuple[Array, ...]:
        """By component (m, r), each row times Pᵀ."""
        each = zip(self.rows, spectrum.turned, spectrum.roots, spectrum.moments, strict=True)
        return tuple(rows @ (turned @ q).T / root for rows, turned, root, q in each)

    def slopes(self, spectrum: MomentSpectrum, multiplicities: Sequence[float]) -> Array:
        """(o,) the variance at N of each orbit next to its target, over t²: its mean by the shares is 1."""
        total = np.zeros(len(self.sizes))
        for at, (seen, root, multiplicity) in enumerate(
            zip(self.seen(spectrum), spectrum.roots, multiplicities, strict=True)
        ):
            total += multiplicity / spectrum.total * self.by_shares(np.square(seen) @ (1.0 / root), at)
        return total

    def by_shares(self, values: Array, component: int) -> Array:
        """Derivatives by shares (J + o, …) from (J + m, …), the last m by weights of a component's rows."""
        orbit = self.orbits[component]
        count = len(values) - len(orbit)
        summed = np.zeros((len(self.sizes), *values.shape[1:]))
        np.add.at(summed, orbit, values[count:])
        scale = (self.sizes * self.targets).reshape(-1, *(1,) * (values.ndim - 1))
        return np.concatenate([values[:count], summed / scale + self.constant * summed.sum(axis=0)])


def with_root(space: RowSpace, parts: Sequence[Array]) -> RowSpace:
    """The row space with queries (m, d) of each component for its root, up to rotation of their rows."""
    few = tuple(qr(part) if len(part) > part.shape[1] else part for part in parts)
    return replace(space, root=Split(space.space.abstract(tuple(map(len, few))), space.space, few))


#: Step of the trapezoidal rule for 1 / z = ∫ exp(u - z e^u) du: off by 2 |Γ(1 + 2πi)| of it, some 7e-4.
NODE_STEP = 1.0
NODES_BEFORE, NODES_AFTER = 9.0, 2.5  # of u, below -log of the largest z and above -log of the least


@dataclass(frozen=True, eq=False)
class Columns:
    """The moments of each product by component: matrices (p, d, d), then vectors (c, d) of cells.

    Products with matrices come first in the mixture; those with vectors after them.
    """

    matrices: tuple[Array, ...]
    vectors: tuple[Array, ...]

    def moments(self, weights: Array) -> tuple[Array, ...]:
        """Q_κ of the mixture with these weights (J,)."""
        moments = []
        for matrices, vectors in zip(self.matrices, self.vectors, strict=True):
            first, rest = weights[: len(matrices)], weights[len(matrices) :]
            moments.append(np.tensordot(first, matrices, axes=1) + vectors.T @ (rest[:, None] * vectors))
        return tuple(moments)

    def kept(self, which: np.typing.NDArray[np.bool_]) -> Columns:
        """The columns of a mask (J,) alone."""
        count = len(self.matrices[0])
        return Columns(
            tuple(part[which[:count]] for part in self.matrices),
            tuple(part[which[count:]] for part in self.vectors),
        )

    def joined(self, other: Columns) -> Columns:
        """The columns of both, in this order; if these have vectors, the others may have no matrices."""
        return Columns(
            tuple(np.concatenate(pair) for pair in zip(self.matrices, other.matrices, strict=True)),
            tuple(np.concatenate(pair) for pair in zip(self.vectors, other.vectors, strict=True)),
        )


def columns_of_cells(space: RowSpace, cells: Ints) -> Columns:
    """The columns of cells (c, k)."""
    return Columns(tuple(np.zeros((0, d, d)) for d in space.space.dims), space.vectors(cells))


def columns_of(space: RowSpace, mixture: Mixture) -> Columns:
    """The columns of a mixture's products, as matrices."""
    singles = [
        space.moments(Mixture(np.ones(1), tuple(factor[at : at + 1] for factor in mixture.factors)))
        for at in range(mixture.count)
    ]
    matrices = tuple(np.stack(parts) for parts in zip(*singles, strict=True))
    return Columns(matrices, tuple(np.zeros((0, d)) for d in space.space.dims))


def integrals_and_curvature(
    columns: Columns,
    spectrum: MomentSpectrum,
    multiplicities: Sequence[float],
    queries: QueryShares | None = None,
) -> tuple[Array, Array]:
    """(J,) ∂t/∂w · 2/t, the integral of f under each product, and (J, J) ∂²t/∂w∂w.

    With ``queries`` those by its shares come last, (J + o,) and (J + o, J + o).
    """
    rows = None if queries is None else queries.seen(spectrum)
    slopes, curvature = [], []
    for at, (matrices, vectors, roots, turned, multiplicity) in enumerate(
        zip(columns.matrices, columns.vectors, spectrum.roots, spectrum.turned, multiplicities, strict=True)
    ):
        squares = turned @ matrices @ turned.T  # (p, r, r)
        seen = vectors @ turned.T  # (c, r)
        if rows is not None:
            seen = np.concatenate([seen, rows[at]])
        slope = np.concatenate([np.einsum("jaa,a->j", squares, 1.0 / roots), np.square(seen) @ (1.0 / roots)])
        second = _curvature(squares, seen, roots)
        if queries is not None:
            slope = queries.by_shares(slope, at)
            second = queries.by_shares(queries.by_shares(second, at).T, at)
        slopes.append(multiplicity / spectrum.total * slope)
        curvature.append(-0.5 * multiplicity * second)
    summed = np.sum(curvature, axis=0)
    if queries is not None:
        signs = np.ones(len(summed))
        signs[-len(queries.sizes) :] = -1.0
        summed *= np.multiply.outer(signs, signs)
    return np.sum(slopes, axis=0), summed


def _curvature(squares: Array, seen: Array, roots: Array) -> Array:
    """Minus twice ∂²/∂w∂w of tr (R Q Rᵀ)^½, (J, J): see **Columns** above.

    squares : (p, r, r) A of products with matrices. seen : (c, r) the vectors v of cells, whose A is v vᵀ.
    roots : σ, ascending. Between cells 1 / (σ_a + σ_b) is the integral by steps of ``NODE_STEP``.
    """
    count, cells = len(squares), len(seen)
    curvature = np.zeros((count + cells,) * 2)
    if count:
        weighed = squares / (np.multiply.outer(roots, roots) * np.add.outer(roots, roots))
        curvature[:count, :count] = weighed.reshape(count, -1) @ squares.reshape(count, -1).T
        for at in range(count):
            curvature[at, count:] = np.einsum("ca,ca->c", seen @ weighed[at], seen)
        curvature[count:, :count] = curvature[:count, count:].T
    if cells:
        scaled = seen / np.sqrt(roots)
        low = -np.log(2.0 * roots[-1]) - NODES_BEFORE
        for node in np.exp(np.arange(low, -np.log(2.0 * roots[0]) + NODES_AFTER + NODE_STEP, NODE_STEP)):
            rows = scaled * np.exp(-node / 2.0 * roots)
            curvature[count:, count:] += NODE_STEP * node * np.square(rows @ rows.T)
    return curvature


MOST_STEPS = 60  # of the interior-point method
CLOSE = 1e-10  # gap and misses at which it ends, relative
CENTRING = 0.15  # of the mean product of x and dual, that a step aims at
GROWTH = 10.0  # of a ridge that was too small
BACK = 0.98  # part of the way to the boundary


def best_on_simplex(slopes: Array, curvature: Array, mass: float) -> Array:
    """x (J,) >= 0 with Σx = ``mass`` that maximises slopes·x + ½ xᵀ curvature x, to some ten digits.

    curvature : (J, J), negative semidefinite up to rounding. A primal-dual interior-point method (Nocedal and
    Wright, Numerical Optimization, 2006, section 16.6); x is positive.
    """
    count = len(slopes)
    x = np.full(count, mass / count)
    scale = float(np.abs(slopes + curvature @ x).max()) or 1.0
    dual = np.full(count, scale)
    shift = 0.0
    ridge = 1e-13 * float(np.abs(np.diag(curvature)).max(initial=0.0))
    for _ in range(MOST_STEPS):
        off = slopes + curvature @ x + dual - shift  # 0 at the best x; ``shift`` is the multiplier of Σx
        gap = float(x @ dual) / count
        if gap * count <= CLOSE * scale * mass and float(np.abs(off).max()) <= CLOSE * scale:
            break
        factor, ridge = _cholesky(np.diag(dual / x) - curvature, ridge)
        right = off + CENTRING * gap / x - dual
        one, moved = linalg.cho_solve(factor, np.column_stack([np.ones(count), right])).T
        change = float((moved.sum() + x.sum() - mass) / one.sum())
        step = moved - change * one
        step_dual = CENTRING * gap / x - dual - dual / x * step
        most = min(_part_of_step(x, step), _part_of_step(dual, step_dual))
        x, dual, shift = x + most * step, dual + most * step_dual, shift + most * change
    return np.asarray(x * (mass / x.sum()))


def _cholesky(system: Array, ridge: float) -> tuple[tuple[Array, bool], float]:
    """A Cholesky factor with as much of a ridge as rounding of the curvature needs, and the ridge."""
    while True:
        try:
            return linalg.cho_factor(system + ridge * np.eye(len(system)), check_finite=False), ridge
        except linalg.LinAlgError:
            ridge = max(GROWTH * ridge, EPS * float(np.abs(np.diag(system)).max()))
            if not np.isfinite(ridge):
                raise


def _part_of_step(point: Array, step: Array) -> float:
    """The part of a step that a positive point can take and stay so, at most 1."""
    falls = step < 0
    return min(1.0, BACK * float((point[falls] / -step[falls]).min(initial=np.inf)))
