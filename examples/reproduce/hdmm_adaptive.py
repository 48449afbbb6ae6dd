"""The slides' last part: mechanisms that look at the data, where each lives, how error is measured."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hdmm_mechanism import table
from item import Item, Row, worst

__all__ = ["ITEMS"]

Random = np.random.Generator
TRIALS = 20

HEADER = ("mechanism", "citation", "where it lives")
NOWHERE = "no library that we know of"

SELECTED = table(
    HEADER,
    (
        ("ranges: approximate v-optimal histogram", "Xu, ICDE '12", "`dpcomp_core`, its authors' code"),
        ("2-D ranges: k-d tree (DPCube)", "Xiao, SDM '10", "`dpcomp_core`"),
        ("2-D ranges: hybrid k-d tree", "Cormode, ICDE '12", "`dp-spatial-decompositions`"),
        ("marginals: scaled workload queries (iReduct)", "Xiao, SIGMOD '11", NOWHERE),
        (
            "linear queries: subset of the workload (MWEM)",
            "Hardt, NIPS '12",
            "`smartnoise-synth`; repository of `mbi`; `examples/data-adaptive`",
        ),
        ("any: Bayes net (PrivBayes)", "Zhang, SIGMOD '14", "`DataSynthesizer`; early versions of `mbi`"),
        (
            "ranges: tree, reduced domain (DAWA)",
            "Li, VLDB '14",
            "`dpcomp_core`, `ektelo`; `examples/data-adaptive`; its tree is our baseline `greedy_h`",
        ),
        (
            "linear queries: minimum payoff records (DualQuery)",
            "Gaboardi, ICML '14",
            "early versions of `mbi`",
        ),
    ),
)

LOW_DIMENSIONAL = table(
    HEADER,
    (
        ("Uniform: a noisy total, spread evenly", "", "`dpcomp_core`, `ektelo`"),
        (
            "MWEM",
            "Hardt '12",
            "ours, `examples/data-adaptive`; `smartnoise-synth`; examples of `mbi`; `dpcomp_core`, `ektelo`",
        ),
        ("AHP", "Zhang '14", "`dpcomp_core`, `ektelo`"),
        ("DAWA", "Li '14", "ours, `examples/data-adaptive`; `dpcomp_core`, `ektelo`"),
        ("PHP", "Acs '12", "`dpcomp_core`, its authors' code"),
        (
            "QuadTree",
            "Cormode '12",
            "as a baseline that does not look at the data: ours, `quadtree`; `dpcomp_core`",
        ),
        ("UGrid", "Qardaji '13", "ours, `examples/data-adaptive`; `dpcomp_core`, `ektelo`"),
        ("AGrid", "Qardaji '13", "ours, `examples/data-adaptive`; `dpcomp_core`, `ektelo`"),
        ("EFPA", "Acs '12", "ours, `examples/data-adaptive`; `dpcomp_core`, its authors' code"),
    ),
)

LIBRARIES = (
    "None is in the package mmopt, whose error does not depend on the data and is proved before they are "
    "read. `mbi`, `smartnoise-synth` and `DataSynthesizer` are on PyPI. `dpcomp_core` (the code of DPBench) "
    "and `ektelo` are research code on GitHub, not packaged. OpenDP has later mechanisms of the kind (AIM, "
    "MST). Looked up in November 2026."
)
WITHOUT_NUMBERS = "A picture without numbers, of data that the slides name but do not have."


def per_query(answers: np.ndarray, truth: np.ndarray, scale: float) -> float:
    """Definition 7 with the L1 loss."""
    return float(np.abs(answers - truth).sum() / (scale * len(truth)))


def scaled_error(_: Random) -> Iterator[Row]:
    """Four queries, each off by 100."""
    truth = np.array([500.0, 900.0, 0.0, 250.0])
    for name, records, printed in (("1", 1_000.0, "0.100"), ("2", 100_000.0, "0.001")):
        yield Row(f"dataset {name}: scaled absolute error", printed, per_query(truth + 100, truth, records))


def population_error(rng: Random) -> Iterator[Row]:
    """Definition 8: the error against a population is at most that of the sample and that of privacy."""
    pairs = []
    for _ in range(TRIALS):
        n, scale = int(rng.integers(2, 9)), int(rng.integers(10, 1000))
        shape = rng.dirichlet(np.ones(n))
        x, W = rng.multinomial(scale, shape), rng.normal(size=(4, n))
        answers = W @ x + rng.laplace(scale=5, size=4)
        parts = per_query(W @ x, scale * W @ shape, scale) + per_query(answers, W @ x, scale)
        pairs.append((parts, per_query(answers, scale * W @ shape, scale)))
    yield worst("population error, at most sample error plus privacy error", pairs, "<=")


ITEMS = (
    Item(
        "Approach 2: data-adaptive mechanisms",
        "Test the data privately, then select measurements.",
        "explained",
        remark="A picture.",
    ),
    Item(
        "Selected data-adaptive mechanisms",
        "A table of workloads, measurements and citations.",
        "explained",
        remark=f"{SELECTED}\n\n{LIBRARIES}",
    ),
    Item(
        "Comparison of approaches",
        "Data-agnostic and data-adaptive mechanisms, in words.",
        "explained",
        remark="No figures. Of the left column mmopt has errors before data are read and unbiased answers.",
    ),
    Item(
        "Data-adaptive mechanisms",
        "Benchmarks are missing.",
        "explained",
        remark="No figures; DPBench, which the next slides show, was written for this.",
    ),
    Item(
        "Frequency vector representation of input",
        "Domain size, scale and shape of a data vector.",
        "explained",
        remark="Definitions: n, ‖x‖₁ and x/‖x‖₁.",
    ),
    Item(
        "Data-dependent algorithms for low-dimensional linear queries",
        "A list of nine.",
        "explained",
        remark=f"{LOW_DIMENSIONAL}\n\n{LIBRARIES}",
    ),
    Item("Error metric", "Scaled error: an error of 100 at two scales.", "computed", scaled_error),
    Item(
        "Error metric, definitions 7 and 8",
        "Scaled and population-based error per query, as the page of DPBench on the slide defines them.",
        "checked",
        population_error,
    ),
    Item(
        "Variation with shape",
        "Errors of a data-dependent algorithm on 1-D data.",
        "explained",
        remark=WITHOUT_NUMBERS,
    ),
    Item(
        "Data-independent alternatives",
        "Identity and HB as yardsticks.",
        "explained",
        remark=f"{WITHOUT_NUMBERS} The yardsticks are our baselines `identity` and `hierarchical`; their "
        "errors on prefix sums are in the table of the prefix workload.",
    ),
    Item("Increasing scale", "The same at larger scales.", "explained", remark=WITHOUT_NUMBERS),
    Item(
        "Summary",
        "Low signal: data-dependent methods are better; high signal: data-independent ones.",
        "explained",
        remark="A statement on many data sets, without a number.",
    ),
    Item(
        "Open problems",
        "High dimensions; trade-offs; queries that are not linear.",
        "explained",
        remark="No figures.",
    ),
)
