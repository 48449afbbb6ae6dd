"""AIM of the OpenDP library beside the best strategy, for all two-way marginals. A SIMULATION, NOT A RELEASE.

python examples/data-adaptive/aim.py    needs pip install 'opendp[mbi]' too; a minute or two

AIM (McKenna, Mullins, Sheldon, Miklau: PVLDB 2022), the successor of MWEM, chooses in each round the marginal
that its model answers worst, measures it, and fits the model again. On a line of cells it would have one
marginal only, so the data here have four columns of four values: independent, or the second and the fourth
copies of their neighbours with chance 0.8. Each mechanism spends the same rho of zero-concentrated privacy
(neighbours: a row more or less). The data are drawn by this recipe and known.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
import sys

import numpy as np
import numpy.typing as npt

from mmopt import Domain, Privacy, plan, solve

COLUMNS, VALUES = "abcd", 4
SHAPES = {"independent": 0.0, "copies": 0.8}
ROWS = (1_000, 100_000)
RHOS = (1e-4, 1e-2)

Ints = npt.NDArray[np.int64]


def drawn(copied: float, rows: int, rng: np.random.Generator) -> Ints:
    """A table (rows, 4) of values 0 to 3."""
    table = rng.integers(0, VALUES, size=(rows, len(COLUMNS)))
    for copy, source in ((1, 0), (3, 2)):
        same = rng.random(rows) < copied
        table[same, copy] = table[same, source]
    return table


def best_strategy(rho: float) -> float:
    """The root mean squared error of a query, for any data."""
    domain = Domain.of({name: list(range(VALUES)) for name in COLUMNS})
    workload = domain.marginals(ways=2)
    planned = plan(workload, solve(workload, "l2_strategy"), Privacy(rho=rho))
    return math.sqrt(float(np.square(planned.standard_errors).mean()))


def aim(table: Ints, rho: float) -> float:
    """The root mean squared error of one run of AIM; its noise is OpenDP's."""
    import opendp.prelude as dp
    import polars as pl
    from opendp.extras import mbi

    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=pl.LazyFrame(dict(zip(COLUMNS, table.T, strict=True))),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=rho),
    )
    pairs = list(itertools.combinations(range(len(COLUMNS)), 2))
    asked = [mbi.Count((COLUMNS[i], COLUMNS[j])) for i, j in pairs]
    release = (
        context.query(rho=rho)
        .select(*COLUMNS)
        .contingency_table(
            keys={name: list(range(VALUES)) for name in COLUMNS}, algorithm=mbi.AIM(queries=asked)
        )
        .release()
    )
    squared = []
    for i, j in pairs:
        true = np.zeros((VALUES, VALUES))
        np.add.at(true, (table[:, i], table[:, j]), 1)
        # The library has one more value in each column, for what is in no key: no row is.
        told = np.asarray(release.project((COLUMNS[i], COLUMNS[j])))[:VALUES, :VALUES]
        squared.append(np.square(told - true).mean())
    return math.sqrt(float(np.mean(squared)))


def main() -> None:
    missing = [name for name in ("mbi", "polars") if importlib.util.find_spec(name) is None]
    if missing:
        names = " and ".join(missing)
        print(f"AIM is left out: {names} not installed (pip install 'opendp[mbi]')", file=sys.stderr)
    print("Simulation on known data, not a release. Error: root mean square of a query, over the rows.\n")
    print("| data | rows | rho | l2_strategy, before any data | AIM, one run |")
    print("|---|---:|---:|---:|---:|")
    for (shape, copied), rows, rho in itertools.product(SHAPES.items(), ROWS, RHOS):
        table = drawn(copied, rows, np.random.default_rng([rows, round(10 * copied)]))
        seen = "left out" if missing else f"{aim(table, rho) / rows:.3g}"
        print(f"| {shape} | {rows:,} | {rho:g} | {best_strategy(rho) / rows:.3g} | {seen} |", flush=True)


if __name__ == "__main__":
    main()
