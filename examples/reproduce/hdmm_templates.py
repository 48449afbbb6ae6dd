"""The slides' third part: the templates OPT₀, OPT⊗, OPT₊ and OPT_M, and what each says of the error."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from hdmm_mechanism import columns, drawn
from item import Item, Row, worst
from numpy.typing import NDArray

from mmopt import Strategy, Workload, solve
from mmopt.driver.templates import marginal_strategy, product, union
from mmopt.strategies import MarginalStrategy, ProductStrategy
from mmopt.strategies.baselines import evaluate
from mmopt.testing.problem_registry import domain_of, marginals, singular_value_bound
from mmopt.workloads import Product, factors_and_products as f

__all__ = ["ADULT", "ITEMS"]

Array = NDArray[np.float64]
Random = np.random.Generator
TRIALS = 20
ADULT = (2, 5, 16, 20, 75)


# -- OPT₀


def p_identity(theta: Array) -> Array:
    """A(Θ) as printed: [I; Θ] diag(1 + 1ᵀΘ)⁻¹."""
    return np.asarray(np.vstack([np.eye(theta.shape[1]), theta]) / (1 + theta.sum(axis=0)))


def opt_0(rng: Random) -> Iterator[Row]:
    norms, full, errors = [], [], []
    for _ in range(TRIALS):
        n, p = int(rng.integers(3, 9)), int(rng.integers(1, 4))
        theta, W = rng.uniform(0, 2, size=(p, n)), rng.normal(size=(4, n))
        A, w = p_identity(theta), Workload.from_matrix(W)
        strategy = Strategy(A, 1)
        norms.append((1.0, strategy.sensitivity))
        full.append((float(n), float(np.linalg.matrix_rank(A))))
        errors.append((strategy.total_error(w), without_inverse_of_n(W, theta)))
    yield worst("‖A(Θ)‖₁", norms)
    yield worst("full column rank, so that W A⁺ A = W", full)
    yield worst("‖W A⁺‖²_F, dense and by a system of p equations", errors)


def without_inverse_of_n(W: Array, theta: Array) -> float:
    """‖W A(Θ)⁺‖²_F by (I + ΘᵀΘ)⁻¹ = I - Θᵀ(I + ΘΘᵀ)⁻¹Θ."""
    scaled = W * (1 + theta.sum(axis=0))
    inner = np.linalg.solve(np.eye(len(theta)) + theta @ theta.T, theta @ scaled.T)
    return float(np.square(scaled).sum() - np.sum((theta @ scaled.T) * inner))


def opt_0_of_ranges(_: Random) -> Iterator[Row]:
    w = Workload.from_products(domain_of(256), [Product((f.all_range(256),))])
    found = solve(w, "p_identity", givens={"size": 22})
    bound = math.sqrt(found.error_bound / w.m)
    yield Row("rows beside the identity (p)", "12", found.strategy.p - 256)
    theirs = evaluate("hierarchical(branching=16,root=False)", w, (1,)).costs[0].rmse
    yield Row("rmse, against H16 (the identity and 16 blocks)", theirs, found.rmse, "<=", bound=bound)


# -- OPT⊗


def drawn_products(rng: Random, count: int) -> tuple[Workload, list[list[Array]]]:
    """A union of products of drawn query matrices over two attributes, and these matrices."""
    sizes = [int(rng.integers(2, 5)), int(rng.integers(2, 5))]
    parts = [[rng.normal(size=(int(rng.integers(1, 5)), n)) for n in sizes] for _ in range(count)]
    factors = [[f.predicates(W, [str(i) for i in range(len(W))]) for W in own] for own in parts]
    return Workload.from_products(domain_of(*sizes), [Product(tuple(own)) for own in factors]), parts


def drawn_strategies(rng: Random, w: Workload) -> list[Array]:
    return [drawn(rng, n) for n in w.domain.shape]


def error(A: Array, W: Array) -> float:
    """‖A‖₁² ‖W A⁺‖²_F."""
    return float(columns(A) ** 2 * np.square(W @ np.linalg.pinv(A)).sum())


def opt_kronecker(rng: Random) -> Iterator[Row]:
    norms, profiles, errors, bounds = [], [], [], []
    for _ in range(TRIALS):
        w, (parts,) = drawn_products(rng, 1)
        factors = drawn_strategies(rng, w)
        whole = np.asarray(np.kron(*factors), dtype=np.float64)
        strategy = ProductStrategy(tuple(Strategy(A, 1) for A in factors))
        norms.append((math.prod(map(columns, factors)), columns(whole)))
        dense = float(np.linalg.norm(w.matrix @ np.linalg.pinv(whole)))
        each = [float(np.linalg.norm(W @ np.linalg.pinv(A))) for W, A in zip(parts, factors, strict=True)]
        profiles.append((math.prod(each), dense))
        product_of_errors = math.prod(error(A, W) for A, W in zip(factors, parts, strict=True))
        errors.append((product_of_errors, strategy.total_error(w)))
        of_parts = math.prod(singular_value_bound(Workload.from_matrix(W)) for W in parts)
        bounds.append((of_parts, singular_value_bound(Workload.from_matrix(w.matrix))))
    yield worst("‖A‖₁ = Π ‖Aᵢ‖₁", norms)
    yield worst("‖W A⁺‖_F = Π ‖Wᵢ Aᵢ⁺‖_F", profiles)
    yield worst("Error(W, A) = Π Error(Wᵢ, Aᵢ), without 2/ε²", errors)
    yield worst("SVDB(W) = Π SVDB(Wᵢ)", bounds)
    epsilon, (printed, once) = 0.5, errors[0]
    yield Row(
        "as printed with 2/ε² in each error, ε = 0.5",
        (2 / epsilon**2) ** 2 * printed,
        2 / epsilon**2 * once,
        why="the noise stands once, not d times (errata)",
    )


def opt_kronecker_of_unions(rng: Random) -> Iterator[Row]:
    pairs = []
    for _ in range(TRIALS):
        w, parts = drawn_products(rng, int(rng.integers(2, 4)))
        factors = drawn_strategies(rng, w)
        printed = sum(math.prod(error(A, W) for A, W in zip(factors, own, strict=True)) for own in parts)
        pairs.append((float(printed), ProductStrategy(tuple(Strategy(A, 1) for A in factors)).total_error(w)))
    yield worst("Error(W, A) = Σⱼ Πᵢ Error(Wᵢⱼ, Aᵢ)", pairs)


# -- OPT₊ and OPT_M


def opt_union(_: Random) -> Iterator[Row]:
    """The total and the cells of four cells, each measured as it is, stacked with shares of the budget."""
    rows = [np.ones((1, 4)), np.eye(4)]
    both = Workload.from_matrix(np.vstack(rows))
    errors = np.array([error(A, A) for A in rows])

    def stacked(shares: Array) -> float:
        A = np.vstack([share * own for share, own in zip(shares, rows, strict=True)])
        return Strategy(A, 1).total_error(both)

    yield Row(
        "error of the stacked strategies, at most Σ Eⱼ, as printed",
        float(errors.sum()),
        stacked(np.ones(2)),
        "<=",
        why="the budget is split (errata)",
    )
    best = np.cbrt(errors) / np.cbrt(errors).sum()
    yield Row(
        "after the best split, at most (Σ Eⱼ^⅓)³", float(np.cbrt(errors).sum() ** 3), stacked(best), "<="
    )
    pairs = [
        (float((errors / s**2).sum()), stacked(s))
        for s in (np.array([t, 1 - t]) for t in np.arange(1, 10) / 10)
    ]
    yield worst("at shares θⱼ with sum 1, at most Σ Eⱼ/θⱼ²", pairs, "<=")


def opt_marginals(rng: Random) -> Iterator[Row]:
    """M(θ) and its error, dense against in closed form, over 2 × 3 × 2 cells."""
    sizes, norms, errors = (2, 3, 2), [], []
    w = marginals(sizes, (0, 1, 2, 3))
    for _ in range(TRIALS):
        theta = rng.uniform(0.1, 1, size=8)
        rows = []
        for mask, weight in enumerate(theta):
            parts = [np.eye(n) if mask >> i & 1 else np.ones((1, n)) for i, n in enumerate(sizes)]
            rows.append(weight * np.kron(np.kron(parts[0], parts[1]), parts[2]))
        M = np.vstack(rows)
        norms.append((float(theta.sum()), columns(M)))
        errors.append((error(M, w.matrix), MarginalStrategy(sizes, theta, 1).total_error(w)))
    yield worst("‖M(θ)‖₁ = Σ θᵢ", norms)
    yield worst("‖M(θ)‖₁² ‖W M(θ)⁺‖²_F, dense and in closed form", errors)


# -- which of them


def regions(_: Random) -> Iterator[Row]:
    """Root mean square errors under Laplace noise, of the template named against others."""

    def one_product(w: Workload) -> float:
        return product(w, norm=1, starts=1).rmse(w)

    def one_marginals(w: Workload) -> float:
        return marginal_strategy(w, norm=1).rmse(w)

    boxes = Workload.from_products(domain_of(64, 64, 64), [Product((f.all_range(64),) * 3)])
    yield Row("all 3-D ranges over 64³: OPT⊗ against OPT_M", one_marginals(boxes), one_product(boxes), "<=")
    low = marginals(ADULT, (0, 1, 2, 3))
    yield Row("up to 3-way marginals: OPT_M against OPT⊗", one_product(low), one_marginals(low), "<=")
    either = [(f.prefix(64), f.total(64)), (f.total(64), f.prefix(64))]
    w = Workload.from_products(domain_of(64, 64), [Product(own) for own in either])
    others = min(one_product(w), one_marginals(w))
    yield Row("prefixes of one of two attributes: OPT₊ against both", others, union(w, norm=1).rmse(w), "<=")


def answers_of_hdmm(rng: Random) -> Iterator[Row]:
    """W x̄ by the factors' least squares, against W A⁺ y of the matrix mechanism."""
    pairs: list[tuple[float, float]] = []
    for _ in range(TRIALS):
        w, _ = drawn_products(rng, 2)
        strategy = ProductStrategy(tuple(Strategy(A, 1) for A in drawn_strategies(rng, w)))
        A = strategy.implicit().matrix()
        y = A @ rng.integers(0, 50, size=w.n) + rng.laplace(size=len(A))
        implicit, dense = w.answers(strategy.estimate(y)), w.matrix @ np.linalg.pinv(A) @ y
        pairs += [(float(a), float(b)) for a, b in zip(dense, implicit, strict=True)]
    yield worst("answers", pairs)


ITEMS = (
    Item(
        "Matrix mechanism vs. HDMM",
        "The same steps with implicit matrices give the same answers.",
        "checked",
        answers_of_hdmm,
        remark="The bars beside the steps are times in a picture; they are not compared.",
    ),
    Item(
        "OPT₀: Optimizing over p-identity strategies",
        "A(Θ) has sensitivity 1, supports every workload, and its error needs no inverse of n rows.",
        "checked",
        opt_0,
        remark="The value of the faster evaluation is compared, not its time (240 times less at n = 8192).",
    ),
    Item(
        "Visualizing OPT₀ output",
        "The strategy for all ranges over 256 values with p = 12, beside H16.",
        "computed",
        opt_0_of_ranges,
        remark="A picture without numbers; the two errors are compared.",
    ),
    Item(
        "OPT⊗: one product",
        "Sensitivity, error and singular value bound of products of strategies (slides 37 to 39).",
        "checked",
        opt_kronecker,
        errata=("OPT⊗, error of a product",),
    ),
    Item(
        "OPT⊗: a union of products",
        "The error of a product of strategies on a union of products.",
        "checked",
        opt_kronecker_of_unions,
    ),
    Item(
        "Optimizing union of product workloads",
        "Three templates: products, unions of products, weighted marginals.",
        "explained",
        remark="A picture of regions. `mmopt templates` searches all three; the overview compares them.",
    ),
    Item(
        "OPT₊: a union of product strategies",
        "Each product with a strategy of its own.",
        "checked",
        opt_union,
        remark="The sign between the error and the sum is lost in our text of the slides; read: at most.",
        errata=("OPT₊, error of a union",),
    ),
    Item("OPT_M: marginals strategies", "M(θ), its sensitivity and its error.", "checked", opt_marginals),
    Item(
        "Overview: running HDMM",
        "Which template is best for which workload.",
        "computed",
        regions,
        seconds=3,
        remark="By search, of which nothing is proved but the errors themselves.",
    ),
)
