"""Proofs that no strategy for prefix sums under Laplace noise is better than a target, by cases.

The mathematics is in examples/site/notes/branching-bound.md. What decides is whole numbers: lengths are
multiples of 1 / UNIT, and ``proves`` compares integers below 2^63. The rest is a search, and may be wrong
without harm.

    python examples/pure-bound/branch.py 3
    python examples/pure-bound/branch.py 4 --target 48/5
"""

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

UNIT = 2**10
"""The length 1 of a column."""

FINE = 2**12
"""The largest entry of a matrix Y."""

SMALL = -1
"""In place of a lead: no entry of the column is above 1/2."""


@dataclass(frozen=True)
class Case:
    """Strategies by the lead of each column, the sign there, and the range of the entry's length."""

    leads: tuple[int, ...]
    signs: tuple[int, ...]
    least: tuple[int, ...]
    largest: tuple[int, ...]

    @property
    def rows(self) -> int:
        """How many rows are leads."""
        return max(self.leads) + 1

    def near_identity(self) -> bool:
        """Whether the theorem on strategies near the identity covers all of the case."""
        n = len(self.leads)
        return self.rows == n and all(5 * n**2 * (UNIT - length) <= UNIT for length in self.least)

    def halves(self) -> "tuple[Case, Case] | None":
        """Both halves of the longest interval."""
        widths = [high - low for low, high in zip(self.least, self.largest, strict=True)]
        j = widths.index(max(widths))
        if widths[j] < 2:
            return None
        middle = (self.least[j] + self.largest[j]) // 2
        low, high = list(self.least), list(self.largest)
        low[j] = high[j] = middle
        return replace(self, largest=tuple(high)), replace(self, least=tuple(low))


def cases(n: int) -> Iterator[Case]:
    """All leads and signs: rows are numbered as they come; the first column a row leads has the sign 1."""
    for leads in itertools.product(range(SMALL, n), repeat=n):
        in_order = list(dict.fromkeys(lead for lead in leads if lead != SMALL))
        if in_order != list(range(len(in_order))):
            continue
        first = [lead == SMALL or lead not in leads[:j] for j, lead in enumerate(leads)]
        for signs in itertools.product(*((1,) if one else (1, -1) for one in first)):
            least = tuple(0 if lead == SMALL else UNIT // 2 for lead in leads)
            yield Case(leads, signs, least, tuple(0 if lead == SMALL else UNIT for lead in leads))


def corners(case: Case) -> list[Whole]:
    """For each column the corners (choices, rows) of its polytope; rows beyond the leads are new ones."""
    everything = case.rows + sum(2 if lead == SMALL else 1 for lead in case.leads)
    used = case.rows
    columns = []
    for lead, sign, *lengths in zip(case.leads, case.signs, case.least, case.largest, strict=True):
        choices = set()
        entries: list[tuple[int, int]]
        if lead == SMALL:
            for pair in itertools.combinations(range(used + 2), 2):
                for signs in itertools.product((1, -1), repeat=2):
                    entries = [(row, s * UNIT // 2) for row, s in zip(pair, signs, strict=True)]
                    choices.add(tuple(column(everything, entries)))
            used += 2
        else:
            for length, row, s in itertools.product(lengths, range(used + 1), (1, -1)):
                if row != lead:
                    entries = [(lead, sign * length), (row, s * (UNIT - length))]
                    choices.add(tuple(column(everything, entries)))
            used += 1
        columns.append(np.array(sorted(choices), dtype=np.int64))
    return columns


def column(rows: int, entries: list[tuple[int, int]]) -> list[int]:
    """A column with some entries."""
    made = [0] * rows
    for row, value in entries:
        made[row] = value
    return made


def costs(h: NDArray[Any], columns: list[Whole]) -> NDArray[Any]:
    """tr(H AᵀA) for all choices of corners, one axis a column, in the type of H."""
    n = len(columns)
    total = np.zeros([len(c) for c in columns], dtype=h.dtype)
    for i, j in itertools.combinations_with_replacement(range(n), 2):
        products = columns[i] @ columns[j].T
        shape = [len(c) if axis in (i, j) else 1 for axis, c in enumerate(columns)]
        part = h[i, i] * np.diagonal(products) if i == j else 2 * h[i, j] * products
        total += part.reshape(shape)
    return total


def proves(y: Whole, columns: list[Whole], target: Fraction) -> bool:
    """Whether tr(WY)² > target · ‖AY‖² for all choices of corners, exactly: nothing here is above 2^60."""
    n = len(columns)
    if n > 8 or y.min() < -FINE or y.max() > FINE:
        return False
    answers = int(np.trace(np.tri(n, dtype=np.int64) @ y))
    largest = int(costs(y @ y.T, columns).max())
    return answers > 0 and answers**2 * UNIT**2 > target * largest


def whole(gram: Array) -> Whole:
    """Y in whole numbers, near a multiple of the best one for a Gram matrix."""
    y = np.linalg.inv(gram) @ np.tri(len(gram)).T
    return np.asarray(np.rint(y / np.abs(y).max() * FINE), dtype=np.int64)


def look_for(columns: list[Whole], target: Fraction, rounds: int = 60, steps: int = 15) -> tuple[bool, Whole]:
    """Whether a Y is found that proves the target, and the last Y.

    It belongs to the least error over means of Gram matrices. The worst choice of corners joins the mean in
    each round, and the weights are improved by the multiplicative rule of optimum experimental design.
    """
    n = len(columns)
    g = np.tri(n).T @ np.tri(n)
    rng = np.random.default_rng(0)

    def gram_of(choice: tuple[Any, ...]) -> Array:
        a = np.array([c[k] for c, k in zip(columns, choice, strict=True)]) / UNIT
        return np.asarray(a @ a.T)

    grams = [gram_of(tuple(rng.integers(len(c)) for c in columns)) for _ in range(3 * n)]
    weights = np.full(len(grams), 1.0 / len(grams))
    ridge = 1e-9 * np.eye(n)
    x = np.eye(n)
    for _ in range(rounds):
        for _ in range(steps):
            x = np.tensordot(weights, np.array(grams), 1) + ridge
            k = np.linalg.inv(x)
            slopes = np.tensordot(np.array(grams), k @ g @ k, ([1, 2], [0, 1]))
            weights = weights * slopes / (weights @ slopes)
        keep = weights > 1e-7
        grams = [gram for gram, kept in zip(grams, keep, strict=True) if kept]
        weights = weights[keep] / weights[keep].sum()
        x = np.tensordot(weights, np.array(grams), 1) + ridge
        k = np.linalg.inv(x)
        error = float(np.trace(g @ k))
        if error < float(target):  # a mean of Gram matrices below the target: the case is too wide
            break
        values = costs(k @ g @ k, columns) / UNIT**2
        worst = np.unravel_index(values.argmax(), values.shape)
        bound = error**2 / float(values[worst])
        if bound > float(target) + 1e-6 and proves(whole(x), columns, target):
            return True, whole(x)
        if bound > error * (1.0 - 1e-7):
            break
        grams.append(gram_of(worst))
        weights = np.append(0.8 * weights, 0.2)
    return False, whole(x)


def prove(n: int, target: Fraction) -> int | None:
    """How many cases were proved; None where one is left that cannot be halved."""
    theorem = target <= Fraction(n * (n + 1), 2)
    waiting: list[tuple[Case, Whole | None]] = [(case, None) for case in cases(n)]
    proved = 0
    while waiting:
        case, guess = waiting.pop()
        if theorem and case.near_identity():
            proved += 1
            continue
        columns = corners(case)
        done = guess is not None and proves(guess, columns, target)
        if not done:
            done, guess = look_for(columns, target)
        if done:
            proved += 1
            continue
        halves = case.halves()
        if halves is None:
            return None
        waiting += [(half, guess) for half in halves]
    return proved


def main() -> int:
    """Print what was proved."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("cells", type=int)
    parser.add_argument("--target", type=Fraction, help="by default that of noise on the cells, n(n+1)/2")
    options = parser.parse_args()
    n: int = options.cells
    target = Fraction(n * (n + 1), 2) if options.target is None else options.target
    proved = prove(n, target)
    if proved is None:
        raise SystemExit(f"{n} cells: nothing proved")
    print(f"{n} cells: every strategy has an error of {target} at least, in {proved} cases")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
