"""Rows beside what others reach: units, bounds, and the command line."""

from dataclasses import replace

import pytest
import tolerances

from mmopt.errors import OptionError
from tests.examples.scripts import scripts, status

peers, rows = scripts("peers").peers, scripts("peers").rows
FIGURES, ROWS, Row, rows_named = rows.FIGURES, rows.ROWS, rows.Row, rows.rows_named
computed, reach = peers.computed, peers.reach

FEW = ("≤2-way prefixes on 10^2", "≤2-way prefixes on 6^3")
SMALL = [
    row for row in ROWS if row.name in ("prefix 64", "all ranges 64", *FEW) or "2x5x16x20x75" in row.name
]
SLOW = [row.group == "laplace" and "2x5x16" in row.name for row in SMALL]
CONVEX = ("l2_strategy", "fitness_for_use")


def test_rows_have_names_and_figures_of_their_own() -> None:
    assert len({(row.group, row.name) for row in ROWS}) == len(ROWS)
    assert {row.figure for row in ROWS} <= {"objective", "rmse"}
    assert all(row.peers and min(row.peers.values()) > 0 for row in ROWS)
    assert {row.group for row in rows_named(["census", "marginals"])} == {"census", "marginals"}
    assert (*rows_named(None), *rows_named(["slides-large"])) == ROWS
    assert {row.group for row in ROWS} == set(FIGURES)
    with pytest.raises(
        OptionError, match=r"^there is no group 'censu', expected one of total error, "
    ) as raised:
        rows_named(["censu"])
    assert raised.value.hint == "did you mean 'census'?"


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, marks=[pytest.mark.slow] * slow, id=f"{row.group}, {row.name}")
        for row, slow in zip(SMALL, SLOW, strict=True)
    ],
)
def test_nobody_is_better_than_the_bound(row: Row) -> None:
    found = reach(row)
    assert found.gap is not None
    assert found.gap <= tolerances.GAP_INTERIOR or row.program not in CONVEX
    assert found.bound is not None and found.bound <= found.value
    assert found.theirs == min(row.peers.values()) == row.peers[row.best]
    # Printed to seven digits or so, and never below what is proved.
    assert found.theirs >= found.bound * (1 - tolerances.PRINTED)
    assert found.ratio >= 1 - tolerances.PRINTED


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
        "census",
        "laplace",
        "slides",
        "slides-large",
    ]
    assert peers.baselines_table(rows_named(["slides"])[:1]).row_count == 2
    capsys.readouterr()
    assert peers.whose(replace(ROWS[0], peers={"A": 2.0, "B": 1.0, "C": 1.5})) == "B; C 1.5; A 2"
    assert run("--groups", "nowhere") == 2
    assert capsys.readouterr().err.startswith("error: there is no group 'nowhere'")


@pytest.mark.slow
def test_the_census(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(monkeypatch, "peers/peers.py", "--groups", "census", "--tolerance", "1e-2") == 0
    said = capsys.readouterr()
    assert said.err == "census: SF1-like, 500,480 cells\n"
    title, head, _, line, _ = said.out.splitlines()
    assert title.strip() == "census (root mean square error per query, Gaussian noise)"
    assert head.split()[:3] == ["workload", "ours", "gap"] and line.split()[-1] == "HDMM"
