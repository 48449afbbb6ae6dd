"""The slides' first part: mechanisms that do not look at the data, and the matrix mechanism."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from item import Item, Row, worst
from numpy.typing import NDArray

from mmopt import Strategy, Workload, solve
from mmopt.strategies.baselines import baseline, evaluate
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product, factors_and_products

__all__ = ["ITEMS", "all_ranges", "columns", "drawn", "table"]

Array = NDArray[np.float64]
Random = np.random.Generator
TRIALS = 20

HAAR = factors_and_products.haar(4).matrix()
PAIRS = np.kron(np.eye(2), [1.0, 1.0])
DOUBLED = np.vstack([PAIRS, np.eye(4), np.eye(4)])  # the equivalent strategy of sensitivity 3
ROOTED = np.vstack([PAIRS, math.sqrt(2) * np.eye(4)])  # the one that dominates


def table(header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    """Markdown."""
    lines = (header, ("---",) * len(header), *rows)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def all_ranges(n: int) -> Workload:
    """All ranges of one attribute, kept as a block."""
    return Workload.from_products(domain_of(n), [Product((factors_and_products.all_range(n),))])


def columns(A: Array) -> float:
    """‖A‖₁: the largest L1 norm of a column."""
    return float(np.abs(A).sum(axis=0).max())


def drawn(rng: Random, n: int) -> Array:
    """A strategy of full column rank, not nearly singular."""
    rotation = np.linalg.qr(rng.normal(size=(n + 2, n)))[0]
    return np.asarray(rotation * rng.uniform(0.5, 2.0, size=n))


# -- strategies for ranges


def strategies_for_ranges(_: Random) -> Iterator[Row]:
    hierarchy = np.vstack([np.ones(4), PAIRS, np.eye(4)])
    wavelet = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1]], dtype=float)
    four = Workload.from_matrix(np.eye(4))
    for symbol, name, printed in (
        ("I", "identity", np.eye(4)),
        ("H", "hierarchical(branching=2)", hierarchy),
        ("Y", "wavelet", wavelet),
    ):
        ours = baseline(name, four, 1).implicit().matrix()
        yield Row(
            f"{symbol}: largest difference from mmopt's {name}", "0", float(np.abs(ours - printed).max())
        )
    yield Row("‖Y‖₁", "3", columns(wavelet))


def all_ranges_of_1024(_: Random) -> Iterator[Row]:
    """Root mean square error of a range at ε = 0.1; noise on the cells has it in closed form."""
    n, noise = 1024, math.sqrt(2) / 0.1
    w = all_ranges(n)
    rmse = {
        name: noise * evaluate(name, w, (1,)).costs[0].rmse
        for name in ("identity", "hierarchical(branching=2)", "wavelet")
    }
    yield Row("identity: √((n + 2)/3 · 2/ε²)", noise * math.sqrt((n + 2) / 3), rmse["identity"])
    bound = noise * math.sqrt(solve(w, "l2_strategy").error_bound / w.m)
    for name in ("hierarchical(branching=2)", "wavelet"):
        yield Row(f"{name}, against the identity", rmse["identity"], rmse[name], "<=", bound=bound)


def equivalent_to_the_wavelet(rng: Random) -> Iterator[Row]:
    root = symmetric_root(HAAR.T @ HAAR)
    yield Row("‖Y‖₁", "3", columns(HAAR))
    yield Row("‖Y′‖₁", "3", columns(DOUBLED))
    yield Row("‖Y″‖₁", "2.414", columns(ROOTED))
    queries = Workload.from_matrix(rng.normal(size=(20, 4)))
    for name, A in (("Y′", DOUBLED), ("Y″", ROOTED)):
        pairs = zip(Strategy(HAAR).variances(queries), Strategy(A).variances(queries), strict=True)
        yield worst(f"variances of queries from {name} and from Y, before scaling", list(pairs))
    yield Row("‖Y″‖₁, the symmetric root of YᵀY, which is equivalent too", "2.414", columns(root), "<=")


def symmetric_root(gram: Array) -> Array:
    values, vectors = np.linalg.eigh(gram)
    return np.asarray(vectors @ np.diag(np.sqrt(values)) @ vectors.T)


# -- the matrix mechanism


def matrix_mechanism(rng: Random) -> Iterator[Row]:
    """Variances of W x + (‖A‖₁/ε) W A⁺ b, and of noise on the queries themselves."""
    of_strategy: list[tuple[float, float]] = []
    of_laplace: list[tuple[float, float]] = []
    for _ in range(TRIALS):
        n, epsilon = int(rng.integers(2, 6)), float(rng.uniform(0.1, 2))
        A, W = drawn(rng, n), rng.normal(size=(int(rng.integers(1, 6)), n))
        spread = columns(A) / epsilon * W @ np.linalg.pinv(A)
        noise = 2 * (Strategy(A, 1).sensitivity / epsilon) ** 2
        ours = noise * Strategy(A, 1).variances(Workload.from_matrix(W))
        of_strategy += list(zip(2 * np.square(spread).sum(axis=1), ours, strict=True))
        laplace = evaluate("workload", Workload.from_matrix(W), (1,)).costs[0]
        of_laplace.append((2 * len(W) * (columns(W) / epsilon) ** 2, 2 / epsilon**2 * laplace.error))
    yield worst("variances of the matrix mechanism", of_strategy)
    yield worst("total error of Laplace noise on W x", of_laplace)


def total_error(rng: Random) -> Iterator[Row]:
    pairs = []
    for _ in range(TRIALS):
        n, epsilon = int(rng.integers(2, 6)), float(rng.uniform(0.1, 2))
        A, W = drawn(rng, n), rng.normal(size=(int(rng.integers(1, 6)), n))
        printed = 2 / epsilon**2 * columns(A) ** 2 * np.square(W @ np.linalg.pinv(A)).sum()
        pairs.append((float(printed), 2 / epsilon**2 * Strategy(A, 1).total_error(Workload.from_matrix(W))))
    yield worst("(2/ε²) ‖A‖₁² ‖W A⁺‖²_F against mmopt's total error", pairs)


def not_convex(_: Random) -> Iterator[Row]:
    """Two rotations of the identity over two cells, the matrix between them; and no support."""
    cells, turned = np.eye(2), np.array([[0.0, -1.0], [1.0, 0.0]])
    w = Workload.from_matrix(np.eye(2))
    ends, middle = (
        np.mean([Strategy(A, 1).total_error(w) for A in group])
        for group in ((cells, turned), ((cells + turned) / 2,))
    )
    yield Row("error in the middle of two strategies, above their mean", float(ends), float(middle), ">=")
    tall = Strategy(np.array([[1.0, 1.0]]), 1)
    yield Row(
        "A supports W where W A⁺ A = W: the total does not support the cells", "0", float(tall.supports(w))
    )


AGNOSTIC = table(
    ("workload", "strategy", "citation", "where it lives"),
    (
        ("any", "identity", "Dwork, TCC '06", "`identity`"),
        ("low-order marginals", "Fourier basis", "Barak, PODS '07", "`fourier`"),
        ("all ranges of one attribute", "hierarchy", "Hay, PVLDB '10", "`hierarchical(branching=2)`"),
        ("all ranges", "Haar wavelet", "Xiao, ICDE '10", "`wavelet`"),
        ("ranges of two attributes", "quad-tree", "Cormode, ICDE '12", "`quadtree`"),
        ("linear queries", "linear queries", "Li, PODS '10", "`l2_strategy`, `min_error`"),
        ("linear queries", "eigen-queries, weighted", "Li, PVLDB '12", "`eigen_design`, `query_weighting`"),
        ("data cubes", "data cubes", "Ding, SIGMOD '11", "`datacube`"),
        ("linear queries", "low rank", "Yuan, VLDB '12", "`low_rank`"),
        ("ranges", "hierarchy with the best branching", "Qardaji, PVLDB '13", "`hierarchical`"),
        ("ranges", "weighted hierarchy", "Li, VLDB '14", "`greedy_h`"),
    ),
)

SELECTION = table(
    ("privacy", "problem", "citation", "where it lives", "what is proved"),
    (
        ("ε", "data cubes, greedy cover", "Ding, SIGMOD '11", "`datacube`", "its error"),
        ("ε", "SDP with rank constraints", "Li, PODS '10", "`min_error`", "a bound on every strategy"),
        ("(ε, δ)", "SDP", "Li, PODS '10", "`l2_strategy`", "the optimum, by a certificate"),
        ("ε", "A B ≈ W, biconvex", "Yuan, VLDB '12", "`low_rank`", "a bound on every strategy"),
        ("(ε, δ)", "weights of eigenvectors", "Li, PVLDB '12", "`eigen_design`", "the best weights"),
    ),
)

BY_NAME = "Programs are listed by `mmopt programs`, baselines by `mmopt baselines`."
PICTURE = "A picture or an outline; no figure and no formula."

ITEMS = (
    Item(
        "Task: batch query answering",
        "A workload is a set of linear counting queries.",
        "explained",
        remark=PICTURE,
    ),
    Item(
        "Approach 1: data-agnostic mechanisms",
        "Select, measure, reconstruct.",
        "explained",
        remark=f"{PICTURE} `solve`, `measure` and `release` are these three steps.",
    ),
    Item(
        "Data-agnostic mechanisms",
        "A table of workloads, strategies and citations.",
        "explained",
        remark=f"All are in mmopt:\n\n{AGNOSTIC}\n\n{BY_NAME}",
    ),
    Item(
        "Selected measurements for range queries",
        "Identity, Haar wavelet and trees as measurements.",
        "explained",
        remark="Rows of the table before this one: `identity`, `wavelet`, `hierarchical`, `quadtree`.",
    ),
    Item(
        "Strategy matrices for 1D range queries",
        "Identity, hierarchy and wavelet of four cells.",
        "computed",
        strategies_for_ranges,
    ),
    Item(
        "Error: workload of all range queries",
        "The three strategies at ε = 0.1 and n = 1024.",
        "computed",
        all_ranges_of_1024,
        remark="A picture without numbers. Root mean square errors of a range are compared with each other.",
    ),
    Item(
        "Strategy matrices equivalent to wavelet",
        "Strategies with the errors of the wavelet, and less sensitivity.",
        "computed",
        equivalent_to_the_wavelet,
        errata=("Wavelet of four cells",),
    ),
    Item(
        "The matrix mechanism",
        "W x + (‖A‖₁/ε) W A⁺ b, beside the Laplace mechanism.",
        "checked",
        matrix_mechanism,
    ),
    Item("OPTMM: Matrix mechanism optimization", "Error = (2/ε²) ‖A‖₁² ‖W A⁺‖²_F.", "checked", total_error),
    Item(
        "Matrix mechanism optimization is hard",
        "Not convex in A, and constrained by W A⁺ A = W.",
        "checked",
        not_convex,
        remark="In the strategy's Gram matrix AᵀA the (ε, δ) problem is convex (`l2_strategy`).",
    ),
    Item(
        "Optimal selection of observations",
        "A table of objectives, problem types and runtimes.",
        "explained",
        remark=f"All are in mmopt:\n\n{SELECTION}\n\nRuntimes are orders of growth of other programs.",
    ),
)
