"""PODS 2010, section 6 and appendices F and G: hierarchies and wavelets, their eigenvalues and errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from instances import Array
from item import Item, Row, worst

from mmopt import Strategy, Workload
from mmopt.workloads import factors_and_products

__all__ = ["ITEMS"]

SIZES = (4, 8, 16, 32, 64)


def hierarchy(n: int) -> Array:
    """H of the paper, binary."""
    return factors_and_products.hierarchy(n).matrix()


def haar(n: int) -> Array:
    """Y of the paper."""
    return factors_and_products.haar(n).matrix()


def cells(n: int) -> Array:
    """I of the paper."""
    return factors_and_products.identity(n).matrix()


def table_1(_: np.random.Generator) -> Iterator[Row]:
    """Eigenvalues: of HᵀH 2n - 1, and n/2ⁱ - 1, 2ⁱ times; of YᵀY n, and n/2ⁱ, 2ⁱ times."""
    for n in SIZES:
        levels = [n >> i for i in range(n.bit_length() - 1) for _ in range(1 << i)]
        for name, A, values in (
            ("HᵀH", hierarchy(n), [2 * n - 1, *(size - 1 for size in levels)]),
            ("YᵀY", haar(n), [n, *levels]),
        ):
            found = np.linalg.eigvalsh(A.T @ A)[::-1]
            yield worst(
                f"{name}, n = {n}", [*zip(sorted(map(float, values), reverse=True), found, strict=True)]
            )


def rotations(n: int) -> tuple[Array, Array]:
    """Appendix F.1: √eigenvalue times eigenvector; for Y the two halves in place of total and difference."""
    details = haar(n)[1:]
    units = details / np.linalg.norm(details, axis=1, keepdims=True)
    halves = np.kron(np.eye(2), np.full(n // 2, math.sqrt(2 / n)))
    pair = []
    for A, vectors in (
        (hierarchy(n), np.vstack([np.full(n, n**-0.5), units])),
        (haar(n), np.vstack([halves, units[1:]])),
    ):
        pair.append(np.linalg.norm(A @ vectors.T, axis=0)[:, None] * vectors)
    return pair[0], pair[1]


def theorem_f_45(_: np.random.Generator) -> Iterator[Row]:
    """The eigenvectors' rows have the profiles, and these sensitivities, below 1 + log n."""
    for tree, name, make in ((True, "H", hierarchy), (False, "Y", haar)):
        printed, below, same = [], [], []
        for n in SIZES:
            levels, B = n.bit_length() - 1, rotations(n)[0 if tree else 1]
            roots = sum(math.sqrt(1 - 0.5**i) for i in range(1, levels + 1))
            formula = math.sqrt((2 * n - 1) / n) + roots if tree else levels - 1 + math.sqrt(2)
            sensitivity = Strategy(B, norm=1).sensitivity
            printed.append((formula, sensitivity))
            below.append((1.0 + levels, sensitivity))
            same.append((0.0, float(np.abs(B.T @ B - make(n).T @ make(n)).max())))
        form = "√((2n-1)/n) + Σ √(1 - 2⁻ⁱ)" if tree else "log n - 1 + √2"
        yield worst(f"{name}: {form}, sensitivity of the rotation", printed)
        yield worst(f"{name}: 1 + log n, sensitivity of the rotation", below, "<=")
        yield worst(f"{name}: Gram matrix of the rotation less its own", same)


def figure_4(_: np.random.Generator) -> Iterator[Row]:
    """The rotations over four cells."""
    formulas = (math.sqrt(7 / 4) + math.sqrt(1 / 2) + math.sqrt(3 / 4), 1 + math.sqrt(2))
    for name, B, printed in zip("HY", rotations(4), formulas, strict=True):
        yield Row(f"sensitivity of {name}₄'", printed, Strategy(B, norm=1).sensitivity)


def example_4_11(rng: np.random.Generator) -> Iterator[Row]:
    """Both have sensitivity 3 as they stand."""
    for name, A in (("H₄", hierarchy(4)), ("Y₄", haar(4))):
        yield Row(f"‖{name}‖₁", "3", Strategy(A, norm=1).sensitivity)
    yield from figure_4(rng)


def section_6_1(_: np.random.Generator) -> Iterator[Row]:
    """Sensitivities in both norms, ratios of eigenvalues, and the smallest eigenvalue."""
    for norm, power in ((1, 1.0), (2, 0.5)):
        for name, make in (("H", hierarchy), ("Y", haar)):
            found = [((1 + math.log2(n)) ** power, Strategy(make(n), norm=norm).sensitivity) for n in SIZES]
            yield worst(f"‖{name}‖{'₁₂'[norm - 1]}, {'1 + log n' if norm == 1 else '√(1 + log n)'}", found)
    ratios, smallest = [], []
    for n in SIZES:
        tree, wavelet = (np.linalg.eigvalsh(A.T @ A) for A in (hierarchy(n), haar(n)))
        ratios += list(tree / wavelet)
        smallest += [(float(tree[0]), float(wavelet[0]))]
    yield Row(f"eigenvalues of H over those of Y, least of {len(ratios)}", 0.5, float(min(ratios)), ">=")
    yield Row(f"the same, largest of {len(ratios)}", 2.0, float(max(ratios)), "<=")
    yield worst("smallest eigenvalue of H", [(1.0, tree) for tree, _ in smallest])
    yield Row("smallest eigenvalue of Y, n = 4", "1", smallest[0][1], why="it is one above that of H")


def section_6_2(_: np.random.Generator) -> Iterator[Row]:
    """Sensitivity of all ranges, (n/2)(n/2 + 1), and of all predicates, 2^(n-1)."""
    for n in (4, 8, 10):
        ranges = factors_and_products.all_range(n).matrix()
        yield Row(f"all ranges, n = {n}", n / 2 * (n / 2 + 1), Strategy(ranges, norm=1).sensitivity)
        predicates = np.array(list(itertools.product([0.0, 1.0], repeat=n)))
        yield Row(f"all predicates, n = {n}", 2.0 ** (n - 1), Strategy(predicates, norm=1).sensitivity)


def theorem_6_29(rng: np.random.Generator) -> Iterator[Row]:
    """Errors of H and Y for one query are within a factor of two of each other."""
    ratios = []
    for n in SIZES:
        pair, total = np.eye(n)[0] - np.eye(n)[1], np.ones(n)
        queries = Workload.from_matrix(np.vstack([pair, total, rng.normal(size=(50, n))]))
        tree, wavelet = (Strategy(A, norm=1).variances(queries) for A in (hierarchy(n), haar(n)))
        ratios += list(tree / wavelet)
    yield Row(f"error under H over that under Y, largest of {len(ratios)}", 2.0, float(max(ratios)), "<=")
    yield Row(f"the same, least of {len(ratios)}", 0.5, float(min(ratios)), ">=")


@dataclass(frozen=True)
class Errors:
    """Over n cells, times ε²/2: largest and total error on ranges and on 0-1 queries, their total over 2ⁿ."""

    ranges: float
    all_ranges: float
    predicates: float
    all_predicates: float


def errors(A: Array) -> Errors:
    """Errors of a strategy. Among 0-1 queries the one of every other cell stands for the largest."""
    n = A.shape[1]
    M = Strategy(A, norm=1).sensitivity ** 2 * np.linalg.inv(A.T @ A)
    below = np.pad(M.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    diagonal = below.diagonal()
    of_ranges = diagonal[:, None] + diagonal[None, :] - below - below.T  # from cell i up to cell j
    alternating = np.arange(n) % 2 == 0
    trace, whole = float(np.trace(M)), float(M.sum())
    return Errors(
        ranges=float(of_ranges.max()),
        all_ranges=float(np.triu(of_ranges, 1).sum()),
        predicates=float(M[np.ix_(alternating, alternating)].sum()),
        all_predicates=(trace + whole) / 4,
    )


def theorem_6_30(_: np.random.Generator) -> Iterator[Row]:
    """Growth from 256 to 512 cells, beside that of the printed form with 1 + log n for log n."""
    forms = {  # powers of n and of log n for H and Y, and of n for the cells
        "largest error on ranges": ("ranges", (0, 3), 1),
        "total error on ranges": ("all_ranges", (2, 3), 3),
        "largest error on 0-1 queries": ("predicates", (1, 2), 1),
        "total error on 0-1 queries, over 2ⁿ": ("all_predicates", (1, 2), 1),
    }
    sizes = (256, 512)
    for name, make in (("H", hierarchy), ("Y", haar)):
        M = Strategy(make(16), norm=1).sensitivity ** 2 * np.linalg.inv(make(16).T @ make(16))
        every = np.array(list(itertools.product([0.0, 1.0], repeat=16)))
        largest = float(((every @ M) * every).sum(axis=1).max())
        yield Row(
            f"largest of all 0-1 queries, {name}, n = 16: every other cell",
            largest,
            errors(make(16)).predicates,
        )
    for name, make in (("H", hierarchy), ("Y", haar), ("I", cells)):
        small, large = (errors(make(n)) for n in sizes)
        for label, (field, (power, of_log), of_cells) in forms.items():
            powers = (of_cells, 0) if name == "I" else (power, of_log)
            printed = [n ** powers[0] * (1 + math.log2(n)) ** powers[1] for n in sizes]
            growth = getattr(large, field) / getattr(small, field)
            yield Row(f"{label}, {name}: growth", printed[1] / printed[0], growth, "=", 0.05)


WITHOUT_NUMBERS = "A picture; its numbers are in formulas that our text of the paper lacks."

ITEMS = (
    Item(
        "Example 4.11",
        "Neither H₄ nor Y₄ has the least sensitivity of its profile.",
        "computed",
        example_4_11,
        remark="Program 5.3 finds rotations with less still.",
    ),
    Item("Figure 4", "Strategies equivalent to H₄ and Y₄ with less sensitivity.", "computed", figure_4),
    Item(
        "Section 6.1",
        "Sensitivities, and eigenvalues that differ by one.",
        "computed",
        section_6_1,
        errata=("Section 6.1, smallest eigenvalues",),
    ),
    Item("Section 6.2", "Sensitivities of all ranges and of all predicates.", "computed", section_6_2),
    Item("Theorem 6.29", "½ Error_Y(w) ≤ Error_H(w) ≤ 2 Error_Y(w).", "checked", theorem_6_29),
    Item(
        "Theorem 6.30",
        "Largest and total errors grow as log³n, n² log³n (ranges), n log²n, n 2ⁿ log²n (0-1 queries).",
        "checked",
        theorem_6_30,
        remark="There are no constants to compare: what is compared is how much an error grows when there "
        "are twice as many cells. The largest error of a 0-1 query is that of every other cell, which for 16 "
        "cells is the largest of all 65,536 of them.",
    ),
    Item("Table 1", "Eigenvalues and eigenvectors of HᵀH and YᵀY (appendix F.1).", "computed", table_1),
    Item(
        "Theorem F.45",
        "Table 1 holds, and rotations by its eigenvectors have less sensitivity.",
        "checked",
        theorem_f_45,
    ),
    Item(
        "Figure 5",
        "Ellipses of two error profiles.",
        "explained",
        remark=WITHOUT_NUMBERS + " Definition 4.9 checks what it shows.",
    ),
    Item(
        "Example G.49", "Two profiles, their eigenvalues and rotations.", "explained", remark=WITHOUT_NUMBERS
    ),
    Item(
        "Example G.50",
        "Strategies of these profiles and their sensitivities.",
        "explained",
        remark=WITHOUT_NUMBERS + " Theorem 4.13 makes strategies of any profile.",
    ),
)
