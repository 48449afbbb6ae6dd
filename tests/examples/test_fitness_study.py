"""The study of PVLDB 2021, Tables 4 to 11: closed forms of its columns, what is marked, and the command."""

import numpy as np
import pytest
from tolerances import GAP_INTERIOR, ROUNDING

from mmopt import OptionError, Strategy, Workload, solve
from mmopt.workloads.blocks.factor_blocks import prefix
from tests.examples.scripts import scripts, status

study, tables, own = (vars(scripts("fitness-tables"))[name] for name in ("study", "printed", "workloads"))
Line, lines, sizes_of = study.Line, study.lines, study.sizes_of
branching, cost, costs, hierarchical = study.branching, study.cost, study.costs, study.hierarchical
RANDOM, cubes, draw, workload = own.RANDOM, own.cubes, own.draw, own.workload


def test_workloads() -> None:
    assert own.pl94().shape == (319, 252) and own.age_pyramids().shape == (351, 232)
    assert cubes(3).shape == (36, 27)
    for table in RANDOM:
        w = draw(table, 8, 1)
        assert w.n == 8 and w.m == (4 if table == 11 else 16)
        assert w == workload(table, 8, 1) and w != draw(table, 8, 2)
        assert (w.targets == 1).all() == (table not in (6, 8))
    assert set(np.unique(draw(8, 64, 0).targets)) <= set(range(1, 10))
    assert set(np.unique(draw(7, 8, 0).queries)) == {-1.0, 1.0}


def test_closed_forms_of_ip_and_of_hm() -> None:
    """Prefix sums: IP is n; a tree of three levels answers the cells with variance below 1, times 3."""
    w = Workload.from_matrix(np.tri(16), targets=2.0)
    assert study.input_perturbation(w) == 8.0
    assert costs(w, ("IP",))["IP"] == cost(Strategy(np.eye(16)), w) == 8.0
    total_and_cells = np.vstack([np.ones(3), np.eye(3)])
    # (I + 11ᵀ)⁻¹ = I - 11ᵀ/4: a cell has 3/4, two cells 1, all three 3/4.
    found = cost(Strategy(total_and_cells), Workload.from_matrix(np.tri(3), targets=[1.0, 1.0, 3.0]))
    assert found == pytest.approx(2.0, rel=ROUNDING)


def test_branching() -> None:
    """The trees that fit the printed figures; the formula written out."""
    for n, b in ((2, 2), (8, 3), (64, 8), (128, 12), (216, 15), (256, 16), (512, 23), (1024, 32)):
        assert branching(n) == b
        k = np.arange(2, n)
        level = np.ceil(np.log(n) / np.log(k) - 1e-9)
        value = np.where(level > 1, (k - 1) * level**3 - 2 * (k + 1) * level**2 / 3, np.inf)
        assert n == 2 or 2 + int(np.argmin(value)) == b


def test_table_10_fits_the_trees_to_three_digits() -> None:
    """HM over IP is free of the optimum; print has 2.259 and 2.486 for t = 4 and 6."""
    for t in (4, 6):
        w = cubes(t)
        known = tables.printed(10, t)
        ours = hierarchical(w) / study.input_perturbation(w)
        assert ours == pytest.approx(known["HM"] / known["IP"], rel=2e-3)


def test_equal_targets_make_the_weighted_forms_alike() -> None:
    found = costs(cubes(2), tables.MECHANISMS)
    assert found["CA"] == found["wCA-I"] == found["wCA-II"]
    random = costs(draw(8, 16, 0), tables.MECHANISMS)
    assert random["wCA-I"] < random["wCA-II"] < random["CA"]


def test_lines_are_above_the_optimum() -> None:
    (line,) = lines([10], 8, 3)
    assert (line.table, study.label_of(line.table, line.size)) == (10, "t = 2")
    assert line.gap <= GAP_INTERIOR
    assert all(len(own) == 1 and own[0] >= 1 - GAP_INTERIOR for own in line.ratios.values())
    best = solve(cubes(2), "fitness_for_use")
    assert line.ratios["IP"] == (4 / best.objective,)
    assert tables.printed(10, 2)["IP"] == 1.82


def test_sizes() -> None:
    assert sizes_of(10, 256) == [2, 4, 6] and sizes_of(5, 256) == [64, 128, 256]
    assert sizes_of(4, 2) == [0] and sizes_of(11, 63) == []
    with pytest.raises(OptionError) as caught:
        sizes_of(3, 256)
    assert caught.value.message == "there is no Table 3, expected one of 4, 5, 6, 7, 8, 9, 10, 11"
    with pytest.raises(OptionError) as caught:
        next(lines([5], 64, 0))
    assert caught.value.message == "a table needs at least one draw, found 0"


def test_a_figure_outside_the_draws_is_marked() -> None:
    ratios = dict.fromkeys(tables.MECHANISMS, (1.0, 1.2, 1.1)) | {"IP": (10.0, 10.9, 10.5)}
    line = Line(5, 64, ratios, 1e-7)
    table = study.table_of(5, [line])
    cells = [list(map(str, column.cells)) for column in table.columns]
    assert cells[1] == ["here", "draws", "print", "ratio"]
    assert cells[2] == ["10.50", "10-10.9", "10.63", "0.988 "]
    assert cells[3] == ["1.10", "1-1.2", "2.84", "0.387*"]


def test_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> int | str | None:
        return status(monkeypatch, "fitness-tables/study.py", *arguments)

    assert run("--tables", "10", "--largest", "64") == 0
    said = capsys.readouterr()
    assert said.err == "Table 10: t = 2\nTable 10: t = 4\n"
    assert max(map(len, said.out.splitlines())) <= 88
    shown = " ".join(said.out.split())
    assert "t = 2 here 1.83 2.81 1.15 1.15 1.15 print 1.82 3.02 1.14 1.14 1.14 ratio 1.007 0.931*" in shown
    assert "t = 4 here 4.61 10.42 1.41" in shown and "draws 1" not in shown
    assert "SM-II ended 0.7 to 1.6 % above the optimum" in shown
    assert run("--tables", "5,x") == 2
    assert capsys.readouterr().err == "error: --tables has 'x', expected whole numbers separated by commas\n"
    assert run("--help") == 0
    assert "fitness" in capsys.readouterr().out


def test_prefix_blocks_have_the_cost_of_their_matrix() -> None:
    """The strategy sees products through ``squared_norms`` and ``variances`` alone."""
    w = Workload.from_matrix(prefix(9).matrix(), targets=1.0)
    assert hierarchical(w) == pytest.approx(
        3 * max(np.einsum("ij,jk,ik->i", np.tri(9), inverse(9), np.tri(9))), rel=ROUNDING
    )


def inverse(n: int) -> np.ndarray:
    """Of the Gram matrix of total, thirds and cells of nine cells."""
    gram = np.eye(n) + np.kron(np.eye(3), np.ones((3, 3))) + np.ones((n, n))
    return np.linalg.inv(gram)
