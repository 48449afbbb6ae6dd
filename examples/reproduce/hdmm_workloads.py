"""The slides' second part: the census workload, and workloads as products."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from hdmm_mechanism import columns, drawn
from item import Item, Row, worst
from numpy.typing import ArrayLike, NDArray

from mmopt import Workload
from mmopt.request import load_request
from mmopt.strategies.baselines import evaluate
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product, factors_and_products as f
from mmopt.workloads.workload import only

__all__ = ["ITEMS", "census"]

Array = NDArray[np.float64]
Random = np.random.Generator
TRIALS = 20

NATIONAL = 2 * 17 * 115 * 126  # sex, relation, age, race and ethnicity
STATES, TRACTS, BLOCKS = 52, 73_768, 10_620_683
QUERIES = 4151
SINGLE = 4
"""Bytes of an entry that fit the slides' sizes of matrices."""

FILE = Path(__file__).resolve().parents[1] / "sf1-like" / "workload.yaml"


def census() -> Workload:
    """examples/sf1-like: a workload in the manner of Summary File 1."""
    return load_request(FILE).workload


def domain_sizes(_: Random) -> Iterator[Row]:
    for name, places, printed in (
        ("national", 1, "492660"),
        ("by state", STATES, "25618320"),
        ("by tract", TRACTS, "36342542880"),
        ("by block", BLOCKS, "5232385686780"),
    ):
        yield Row(f"cells, {name}", printed, NATIONAL * places)


def queries_of_census(_: Random) -> Iterator[Row]:
    w = census()
    yield Row("queries on persons", "4151", w.m)
    yield Row("products", "32", len(w.products or ()), why="one more in ours, which is in the manner of SF1")
    sensitivity = evaluate("workload", w, (1,)).costs[0].sensitivity
    why = "ours is in the manner of SF1; the slides do not list theirs"
    yield Row("sensitivity", "50", sensitivity, why=why)


def redistricting(_: Random) -> Iterator[Row]:
    yield Row("PL94, queries", "288", only(census(), "PL94").m)


def product_of_predicates(_: Random) -> Iterator[Row]:
    """Six queries: each pair of a predicate on age and one on race."""
    age, race = np.arange(0, 100), np.arange(1, 6)
    ages = f.predicates(np.array([age > 18, age == 65, (age >= 18) & (age <= 25)], dtype=float), list("abc"))
    races = f.predicates(np.array([race <= 3, race == 3], dtype=float), list("de"))
    w = Workload.from_products(domain_of(len(age), len(race)), [Product((ages, races))])
    printed = [np.outer(a, r).ravel() for a in ages.matrix() for r in races.matrix()]
    yield Row("queries", "6", w.m)
    yield Row("largest difference from the listed conjunctions", "0", float(np.abs(w.matrix - printed).max()))


def table_p12(_: Random) -> Iterator[Row]:
    """Sex × (all ages, and 23 groups of ages)."""
    groups = np.eye(23)
    ages = f.predicates(np.vstack([np.ones(23), groups]), [f"g{i}" for i in range(24)])
    w = Workload.from_products(domain_of(2, 23), [Product((f.identity(2), ages))])
    yield Row("queries of P12 [49] without its total", "48", w.m)


def scale(_: Random) -> Iterator[Row]:
    """Decimal units, four bytes an entry."""
    explicit = SINGLE * QUERIES * NATIONAL
    yield Row("W of SF1-national, GB", "8", explicit / 1e9)
    yield Row("W of SF1-state, TB", "22", explicit * STATES**2 / 1e12)
    yield Row("data vector, national: log₁₀ of its cells", "6", math.log10(NATIONAL))
    yield Row("data vector, by state: log₁₀ of its cells", "7", math.log10(NATIONAL * STATES))


def implicit_example(_: Random) -> Iterator[Row]:
    """Sex × grades at or above each of five: W is the Kronecker product."""
    sex, grade = np.eye(2), np.tri(5)
    w = Workload.from_products(domain_of(2, 5), [Product((f.identity(2), f.prefix(5)))])
    yield Row("queries", "10", w.m)
    yield Row(
        "largest difference from W_sex ⊗ W_grade", "0", float(np.abs(w.matrix - np.kron(sex, grade)).max())
    )


def compact(_: Random) -> Iterator[Row]:
    """Entries of the factors, against entries of the matrix, four bytes each."""
    yield Row("P12 explicit, MB", "96", SINGLE * 49 * NATIONAL / 1e6, within=0.01)
    p12 = SINGLE * sum(rows * size for rows, size in ((2, 2), (24, 115), (1, 17), (1, 126)))
    yield Row(
        "P12 implicit, KB",
        "24",
        p12 / 1e3,
        why="eight bytes an entry fit (next line), where the other lines fit four",
    )
    yield Row("P12 implicit, KB, eight bytes an entry", "24", 2 * p12 / 1e3, within=0.05)
    factors = SINGLE * sum(
        math.prod(own.matrix().shape) for p in census().products or () for own in p.factors
    )
    yield Row("SF1-national implicit, KB", "335", factors / 1e3, within=0.01)
    states = 2 * factors + SINGLE * STATES**2
    yield Row(
        "SF1-state implicit: each product for the states and for all, KB", "687", states / 1e3, within=0.01
    )
    yield Row("SF1-national explicit, GB", "8", SINGLE * QUERIES * NATIONAL / 1e9)
    yield Row("SF1-state explicit, TB", "22", SINGLE * QUERIES * NATIONAL * STATES**2 / 1e12)


def kron(A: ArrayLike, B: ArrayLike) -> Array:
    one, other = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    return np.asarray(np.kron(one, other))


def kronecker(rng: Random) -> Iterator[Row]:
    pairs: dict[str, list[tuple[float, float]]] = {}

    def compare(label: str, one: ArrayLike, other: ArrayLike) -> None:
        both = zip(np.ravel(one), np.ravel(other), strict=True)
        pairs.setdefault(label, []).extend((float(a), float(b)) for a, b in both)

    for _ in range(TRIALS):
        A, B = drawn(rng, int(rng.integers(2, 4))), drawn(rng, int(rng.integers(2, 4)))
        C, D = rng.normal(size=(A.shape[1], 3)), rng.normal(size=(B.shape[1], 2))
        whole = kron(A, B)
        compare("(A ⊗ B) ⊗ C = A ⊗ (B ⊗ C)", kron(whole, C), kron(A, kron(B, C)))
        compare("(A ⊗ B)(C ⊗ D) = AC ⊗ BD", whole @ kron(C, D), kron(A @ C, B @ D))
        compare("(A ⊗ B)⁺ = A⁺ ⊗ B⁺", np.linalg.pinv(whole), kron(np.linalg.pinv(A), np.linalg.pinv(B)))
        norms = [np.array([columns(M), np.linalg.norm(M)]) for M in (whole, A, B)]
        compare("‖A ⊗ B‖ = ‖A‖ ‖B‖, L1 and Frobenius", norms[0], norms[1] * norms[2])
        values = [np.linalg.svd(M, compute_uv=False) for M in (whole, A, B)]
        compare("singular values of A ⊗ B are σᵢ σⱼ", values[0], np.sort(np.outer(*values[1:]).ravel())[::-1])
    for label, found in pairs.items():
        yield worst(label, found)


def products_and_unions(_: Random) -> Iterator[Row]:
    """Boxes, one marginal, all marginals over 3 × 4 cells: their numbers of queries as products."""
    domain = domain_of(3, 4)
    boxes = Workload.from_products(domain, [Product((f.all_range(3), f.all_range(4)))])
    yield Row("all ranges of two attributes of 3 and 4 values: 6 · 10", 60.0, boxes.m)
    kinds = [(f.identity, f.total)] * 2
    every = Workload.from_products(
        domain, [Product((one(3), other(4))) for one, other in itertools.product(*kinds)]
    )
    yield Row("all marginals: (3 + 1)(4 + 1)", 20.0, every.m)
    single = Product((f.union(f.identity(3), f.total(3)), f.union(f.identity(4), f.total(4))))
    as_one = Workload.from_products(domain, [single])
    gram = float(np.abs(as_one.matrix.T @ as_one.matrix - every.matrix.T @ every.matrix).max())
    yield Row("all marginals as one product: largest difference of WᵀW", 0.0, gram)


ITEMS = (
    Item(
        "Example data and workload",
        "Persons of a census by six attributes; 4151 queries.",
        "computed",
        queries_of_census,
        remark="The workload is examples/sf1-like.",
    ),
    Item("Person table, in vector form", "Cells of the data vector by geography.", "computed", domain_sizes),
    Item("Product workloads", "Predicates on age and race, all pairs.", "computed", product_of_predicates),
    Item("Product workload example", "Table P12: sex by age.", "computed", table_p12),
    Item(
        "Products and union of products",
        "What products of query sets can say.",
        "checked",
        products_and_unions,
        remark="SF1 as 32 products with sensitivity 50: see the example data and workload.",
    ),
    Item(
        "Census SF1 workload (person queries)",
        "Some products of SF1, those of PL 94-171 marked.",
        "computed",
        redistricting,
        remark="The number 288 is on a later slide (tuning workload error).",
    ),
    Item(
        "Can we scale the matrix mechanism?", "Sizes of the matrix and of the data vector.", "computed", scale
    ),
    Item("Implicit workload representation", "W as a Kronecker product.", "computed", implicit_example),
    Item(
        "Implicit representations are extremely compact", "Explicit and implicit sizes.", "computed", compact
    ),
    Item("Properties of Kronecker products", "Five identities.", "checked", kronecker),
)
