"""The slides on HDMM reproduced: every slide is there, and what is named as ours is.

That each figure is accounted for: tests/examples/test_reproduce.py.
"""

import numpy as np
import pytest
from examples.scripts import scripts

reproduce = scripts("reproduce")
ITEMS = {item.name: item for item in reproduce.hdmm.SOURCE.items}

SLIDES = """
Task: batch query answering
Approach 1: data-agnostic mechanisms
Data-agnostic mechanisms
Selected measurements for range queries
Strategy matrices for 1D range queries
Error: workload of all range queries
Strategy matrices equivalent to wavelet
The matrix mechanism
OPTMM: Matrix mechanism optimization
Matrix mechanism optimization is hard
Optimal selection of observations
Approach 2: data-adaptive mechanisms
Selected data-adaptive mechanisms
Comparison of approaches
Example data and workload
Person table, in vector form
Product workloads
Product workload example
Products and union of products
Census SF1 workload (person queries)
Can we scale the matrix mechanism?
Matrix mechanism vs. HDMM
OPT₀: Optimizing over p-identity strategies
Visualizing OPT₀ output
Error on Prefix workload
Implicit workload representation
Implicit representations are extremely compact
Properties of Kronecker products
OPT⊗: one product
OPT⊗: a union of products
Optimizing union of product workloads
OPT₊: a union of product strategies
OPT_M: marginals strategies
Overview: running HDMM
How close to optimal are we?
More accuracy results: multi-dimensional workloads
Many additional Census challenges
Tuning workload error
Data-adaptive mechanisms
Frequency vector representation of input
Data-dependent algorithms for low-dimensional linear queries
Error metric
Variation with shape
Data-independent alternatives
Increasing scale
Summary
Open problems
"""
"""Their titles, in their order; the slides have no numbers that all of them show."""

MORE = {
    "Error on Prefix workload, 512 to 2048",
    "Error on Prefix workload, 4096",
    "Error on Prefix workload, 8192",
    "Tuning workload error: weights",
    "Error metric, definitions 7 and 8",
}
"""Second items of a slide."""


def test_every_slide_is_there() -> None:
    assert set(SLIDES.split("\n")[1:-1]) == set(ITEMS) - MORE
    assert set(ITEMS) >= MORE


def test_a_small_row_of_the_prefix_table() -> None:
    """Ours beside what the table implies of HDMM, with a proved bound below both."""
    theirs, *baselines = reproduce.hdmm_results.prefix((128,))(np.random.default_rng(0))
    assert theirs.bound < theirs.ours <= theirs.paper * 1.003 == pytest.approx(4.475, abs=1e-3)
    assert [row.verdict for row in baselines] == ["lower bound holds"] * 5


@pytest.mark.parametrize("name", ["Data-agnostic mechanisms", "Selected data-adaptive mechanisms"])
def test_tables_of_mechanisms_are_markdown(name: str) -> None:
    lines = [line for line in ITEMS[name].remark.split("\n") if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1
    assert len(lines) == 2 + {"Data-agnostic mechanisms": 11, "Selected data-adaptive mechanisms": 8}[name]


def test_what_is_named_as_ours_is_there() -> None:
    """Names of programs and baselines in the tables of mechanisms."""
    from mmopt import Program, baseline
    from mmopt.testing.census_workloads import marginals

    names = set()
    for item in ("Data-agnostic mechanisms", "Optimal selection of observations"):
        for line in ITEMS[item].remark.split("\n")[2:]:
            names |= set(line.split("`")[1::2])
    names -= {"mmopt programs", "mmopt baselines"}
    programs = {"l2_strategy", "min_error", "eigen_design", "query_weighting", "low_rank"}
    assert programs < names
    for name in programs:
        assert Program.load(name).name == name
    several, one = marginals((2, 2), (1,)), marginals((4,), (1,))
    for name in names - programs:
        assert baseline(name, one if name == "greedy_h" else several, 1).implicit().shape[1] == 4
