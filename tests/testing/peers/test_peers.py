"""Rows beside what others reach: units, bounds, and the command line."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import tolerances
from constructed import haar, hierarchy, identity

from mmopt import Strategy
from mmopt.errors import OptionError
from mmopt.testing.peers import FIGURES, ROWS, Row, reach, rows_named
from mmopt.testing.peers.__main__ import _whose, main

SMALL = [row for row in ROWS if row.name in ("prefix 64", "all ranges 64") or "2x5x16x20x75" in row.name]
CONVEX = ("l2_strategy", "fitness_for_use")


def test_rows_have_names_and_figures_of_their_own() -> None:
    assert len({(row.group, row.name) for row in ROWS}) == len(ROWS)
    assert {row.figure for row in ROWS} <= {"objective", "rmse"}
    assert all(row.peers and min(row.peers.values()) > 0 for row in ROWS)
    assert {row.group for row in rows_named(["census", "marginals"])} == {"census", "marginals"}
    assert rows_named(None) == ROWS and {row.group for row in ROWS} == set(FIGURES)
    with pytest.raises(
        OptionError, match=r"^there is no group 'censu', expected one of total error, "
    ) as raised:
        rows_named(["censu"])
    assert raised.value.hint == "did you mean 'census'?"


@pytest.mark.parametrize("row", SMALL, ids=lambda row: f"{row.group}, {row.name}")
def test_nobody_is_better_than_the_bound(row: Row) -> None:
    found = reach(row)
    assert found.gap is not None
    assert found.gap <= tolerances.GAP_INTERIOR or row.program not in CONVEX
    assert found.bound is not None and found.bound <= found.value
    assert found.theirs == min(row.peers.values()) == row.peers[found.peer]
    # Printed to seven digits or so, and never below what is proved.
    assert found.theirs >= found.bound * (1 - tolerances.PRINTED)
    assert found.ratio >= 1 - tolerances.PRINTED


def test_the_slides_imply_errors() -> None:
    """H2 and Privelet are there exactly: the binary hierarchy and the Haar wavelet, at 128 cells."""
    row = next(row for row in rows_named(["slides"]) if row.name == "prefix 128")
    workload = row.build()
    for name, make in (("Identity", identity), ("H2", hierarchy), ("Privelet", haar)):
        strategy = Strategy(make(128), 1)
        rmse = strategy.sensitivity * np.sqrt(strategy.mean_variance(workload))
        assert row.peers[name] == pytest.approx(rmse, rel=0.02)
    assert reach(row).ratio > 0.99


def test_rmse_and_its_bound() -> None:
    (row,) = rows_named(["census"])
    found = reach(row, tolerance=1e-3)
    assert found.bound is not None and found.bound <= found.value <= found.bound * (1 + 1e-3)
    assert found.gap is not None and 1.0 < found.ratio < 1.3


def test_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def status(*arguments: str) -> int | str | None:
        monkeypatch.setattr(sys, "argv", ["peers", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code

    assert status("--groups", "list") == 0
    assert capsys.readouterr().out.splitlines() == [
        "total error",
        "largest error",
        "marginals",
        "census",
        "laplace",
        "slides",
    ]
    assert status("--groups", "census", "--tolerance", "1e-2") == 0
    said = capsys.readouterr()
    assert said.err == "census: SF1-like, 500,480 cells\n"
    title, head, _, line, _ = said.out.splitlines()
    assert title.strip() == "census (root mean square error per query, Gaussian noise)"
    assert head.split()[:3] == ["workload", "ours", "gap"] and line.split()[-1] == "HDMM"
    assert _whose({"A": 2.0, "B": 1.0, "C": 1.5}, "B") == "B; C 1.5; A 2"
    assert status("--groups", "nowhere") == 2
    assert capsys.readouterr().err.startswith("error: there is no group 'nowhere'")
