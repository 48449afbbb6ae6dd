"""Rows beside what others reach: units, bounds, and the command line."""

import math
from dataclasses import replace

import numpy as np
import pytest
import tolerances

from mmopt.errors import OptionError
from tests.examples.scripts import scripts, status

peers, reached, rows = scripts("peers").peers, scripts("peers").reached, scripts("peers").rows
FIGURES, ROWS, Row, rows_named = rows.FIGURES, rows.ROWS, rows.Row, rows.rows_named
computed, reach = peers.computed, reached.reach

OTHERS = (
    "≤2-way prefixes on 2x",
    "2-way on 2x",
    "≤3-way on 2x",
    "all on 2x",
    "one value",
    "largest variance, ≤2-way prefixes on 10",
    "256 steps",
    "D-optimal",
)
CHECKED = [row for row in ROWS if row.is_small or row.name.startswith(OTHERS)]
EXACT = ("total error", "largest error", "marginals")


def test_rows_have_names_and_figures_of_their_own() -> None:
    assert len({(row.group, row.name) for row in ROWS}) == len(ROWS)
    assert {row.figure for row in ROWS} <= {"objective", "rmse", "volume"}
    assert all(0 < value < math.inf for row in ROWS for value in (*row.peers.values(), *row.seconds.values()))
    assert all({*row.seconds} <= {*row.peers} and {*row.baselines} <= {*row.peers} for row in ROWS)
    assert {row.best for row in ROWS if not row.peers} == {""}
    assert {row.group for row in rows_named(["census", "marginals"])} == {"census", "marginals"}
    assert (*rows_named(None), *rows_named(["slides-large"])) == ROWS
    assert {row.group for row in ROWS} == set(FIGURES)
    assert rows_named(["laplace"], small=True) == tuple(
        row for row in rows_named(["laplace"]) if row.name in ("prefix 64", "all ranges 64")
    )
    with pytest.raises(
        OptionError, match=r"^there is no group 'censu', expected one of total error, "
    ) as raised:
        rows_named(["censu"])
    assert raised.value.hint == "did you mean 'census'?"


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, marks=[pytest.mark.slow] * (not row.is_small), id=f"{row.group}, {row.name}")
        for row in CHECKED
    ],
)
def test_nobody_is_better_than_the_bound(row: Row) -> None:
    found = reach(row)
    assert found.bound is not None and found.bound <= found.value
    assert found.gap is not None
    assert found.gap <= tolerances.GAP_INTERIOR or row.group not in EXACT
    assert found.gap <= row.options.get("tolerance", 0.011) or row.group not in ("few attributes", "targets")
    assert found.memory is None or found.memory > 2**20
    if not row.peers:
        assert (found.theirs, found.ratio) == (None, None)
        return
    assert found.theirs == min(row.peers.values()) == row.peers[row.best]
    # Printed to seven digits or so, and never below what is proved.
    assert found.theirs >= found.bound * (1 - tolerances.PRINTED)
    assert found.ratio is not None and found.ratio >= 1 - tolerances.PRINTED


def test_workloads_are_those_of_their_names() -> None:
    """Workloads as matrices: prefixes and ranges of sets, targets by the number of attributes, and pairs
    in words."""
    prefix, total = np.tri(3), np.ones((1, 3))
    made = rows.up_to(2, "prefix", (3, 3), (1.0, 4.0))
    expected = [np.kron(prefix, total), np.kron(total, prefix), np.kron(prefix, prefix)]
    assert np.array_equal(made.matrix, np.vstack(expected))
    assert np.array_equal(made.targets, [1.0] * 6 + [4.0] * 9)
    assert np.array_equal(rows.box("prefix", 3, 3).matrix, expected[2])
    assert rows.box("all ranges", 3).m == 6
    two = rows.pairs("aP c1, fI bR")
    assert two.n == 8**6
    first = [np.tri(8), np.ones((1, 8)), np.eye(1, 8), *[np.ones((1, 8))] * 3]
    second = [np.ones((1, 8)), rows.f.all_range(8).matrix(), *[np.ones((1, 8))] * 3, np.eye(8)]
    for product, blocks in zip(two.products, (first, second), strict=True):
        for factor, block in zip(product.factors, blocks, strict=True):
            assert np.array_equal(factor.matrix(), block)
    assert [rows.pairs(text).m for text in rows.SEVERAL.values()] == [144, 3788]


@pytest.mark.slow
def test_the_slides_imply_errors() -> None:
    """Identity, H2, Privelet and HB come out as on the slides, to their two digits."""
    row = next(row for row in rows_named(["slides"]) if row.name == "prefix 256")
    found = computed(row)
    assert {*found} == {*row.baselines} == {*row.peers} - {"HDMM"}
    for name in ("Identity", "H2", "Privelet", "HB"):
        ratio, printed = (value / row.peers["HDMM"] for value in (found[name], row.peers[name]))
        assert ratio == pytest.approx(printed, abs=0.0101)
    assert found["GreedyH"] == pytest.approx(row.peers["GreedyH"], rel=0.02)  # its weights are our reading
    assert reach(row).ratio > 0.99


@pytest.mark.slow
def test_rmse_and_its_bound() -> None:
    (row,) = rows_named(["census"])
    found = reach(row, tolerance=1e-3)
    assert found.bound is not None and found.bound <= found.value <= found.bound * (1 + 1e-3)
    assert found.gap is not None and 1.0 < found.ratio < 1.3


def test_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> int | str | None:
        return status(monkeypatch, "peers/peers.py", *arguments)

    assert run("--groups", "list") == 0
    assert capsys.readouterr().out.splitlines() == [
        "total error",
        "largest error",
        "marginals",
        "few attributes",
        "targets",
        "census",
        "streams",
        "designs",
        "laplace",
        "slides",
        "slides-large",
    ]
    assert len(peers.baselines_table(rows_named(["slides"])[:1]).rows) == 2
    capsys.readouterr()
    several = replace(ROWS[0], peers={"A": 2.0, "B": 1.0, "C": 1.5}, seconds={"A": 4.0, "B": 0.25})
    assert peers.whose(several) == "B, 0.25 s; C 1.5; A 2"
    assert peers.whose(replace(several, peers={}, seconds={})) == ""
    assert run("--groups", "nowhere") == 2
    assert capsys.readouterr().err.startswith("error: there is no group 'nowhere'")


def test_each_row_has_a_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(monkeypatch, "peers/peers.py", "--groups", "largest error", "--few") == 0
    said = capsys.readouterr()
    assert said.err == "largest error: prefix 64\n"
    (line,) = (line for line in said.out.splitlines() if "4.78127" in line)
    assert "4.45787" in line and " MB " in line and "1.0725" in line


@pytest.mark.slow
def test_the_census(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(monkeypatch, "peers/peers.py", "--groups", "census", "--tolerance", "1e-2") == 0
    said = capsys.readouterr()
    assert said.err == "census: SF1-like, 500,480 cells\n"
    title, head, *rest = said.out.splitlines()
    line = next(line for line in rest if "SF1-like" in line)
    assert title.strip() == "census (root mean square error per query, Gaussian noise)"
    assert head.split()[:3] == ["workload", "ours", "gap"] and "HDMM, " in line
