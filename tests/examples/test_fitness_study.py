"""The study of PVLDB 2021, Tables 4 to 11: closed forms of its columns, what is marked, and the command."""

import numpy as np
import pytest
from tolerances import GAP_INTERIOR, ROUNDING

from mmopt import OptionError, Strategy, Workload, solve
from mmopt.workloads.factors_and_products import prefix
from tests.examples.scripts import scripts, status

study, tables, own = (vars(scripts("fitness-tables"))[name] for name in ("study", "printed", "workloads"))
Line, lines, sizes_of = study.Line, study.lines, study.sizes_of
cost, costs, hierarchical, regularised = study.cost, study.costs, study.hierarchical, study.regularised
RANDOM, cubes, draw, workload = own.RANDOM, own.cubes, own.draw, own.workload


def test_workloads() -> None:
    assert own.pl94().shape == (319, 252) and own.age_pyramids().shape == (351, 232)
    assert cubes(3).shape == (36, 27)
    for table in RANDOM:
        w = draw(table, 8, 1)
        assert w.n == 8 and w.m == (4 if table == 11 else 16)
        assert workload(table, 8) == draw(table, 8, 0) != w
        assert (w.targets == 1).all() == (table not in (6, 8))
    for table in (6, 8):
        assert set(np.unique(draw(table, 64).targets)) == set(range(1, 11))
    assert set(np.unique(draw(7, 8, 0).queries)) == {-1.0, 1.0}


def test_closed_forms_of_ip_and_of_hm() -> None:
    """HM: the total, ⌊√n⌋ blocks of ⌊√n⌋ cells, the cells. Of eleven cells two are in no block."""
    w = Workload.from_matrix(np.tri(16), targets=2.0)
    assert study.input_perturbation(w) == 8.0
    assert costs(w, ("IP",))["IP"] == cost(Strategy(np.eye(16)), w) == 8.0
    blocks = np.hstack([np.kron(np.eye(3), np.ones(3)), np.zeros((3, 2))])
    tree = np.vstack([np.ones(11), blocks, np.eye(11)])
    w = Workload.from_matrix(np.vstack([np.tri(11), np.eye(11)[9]]), targets=[*range(1, 12), 0.2])
    assert hierarchical(w) == pytest.approx(cost(Strategy(tree), w), rel=ROUNDING)
    products = cubes(3)
    found = Workload.from_matrix(products.matrix, targets=1.0)
    assert hierarchical(products) == pytest.approx(hierarchical(found), rel=ROUNDING)


def test_regularised_workloads_have_the_gram_matrix_of_ca() -> None:
    """V + θ mean(diag V) I, V that of the queries over a power of their targets."""
    w = draw(6, 8, 1)
    for power in (0.0, 0.5, 1.0):
        rows = w.queries / w.targets[:, None] ** power
        gram = rows.T @ rows
        wanted = gram + 1e-3 * np.diag(gram).mean() * np.eye(8)
        np.testing.assert_allclose(regularised(w, power).gram, wanted, rtol=ROUNDING)
    found = regularised(cubes(3), 0.0).gram
    np.testing.assert_allclose(found, cubes(3).gram + 6e-3 * np.eye(27), rtol=ROUNDING)


def test_equal_targets_make_the_weighted_forms_alike() -> None:
    found = costs(cubes(2), tables.MECHANISMS)
    assert found["CA"] == found["wCA-I"] == found["wCA-II"]
    random = costs(draw(8, 16, 0), tables.MECHANISMS)
    assert random["wCA-I"] < random["wCA-II"] < random["CA"]


def test_lines_are_above_the_optimum() -> None:
    (line,) = lines([10], 8)
    assert (line.table, study.label_of(line.table, line.size)) == (10, "t = 2")
    assert line.gap <= GAP_INTERIOR
    assert all(own >= 1 - GAP_INTERIOR for own in line.ratios.values())
    best = solve(cubes(2), "fitness_for_use")
    assert line.ratios["IP"] == 4 / best.objective and line.error == best.error
    assert line.at_print["IP"] == pytest.approx(tables.printed(10, 2)["IP"]) == 1.82
    assert line.at_print["HM"] * line.excess == pytest.approx(line.ratios["HM"])


def test_sizes() -> None:
    assert sizes_of(10, 256) == [2, 4, 6] and sizes_of(5, 256) == [64, 128, 256]
    assert sizes_of(4, 2) == [0] and sizes_of(11, 63) == []
    with pytest.raises(OptionError) as caught:
        sizes_of(3, 256)
    assert caught.value.message == "there is no Table 3, expected one of 4, 5, 6, 7, 8, 9, 10, 11"


def test_a_figure_that_differs_at_the_alpha_of_print_is_marked() -> None:
    ratios = dict.fromkeys(tables.MECHANISMS, 1.4) | {"IP": 10.63 * 1.1}
    table = study.table_of(5, [Line(5, 64, ratios, 1e-7, 1.0)])
    cells = [list(map(str, column)) for column in zip(*table.rows, strict=True)]
    assert cells[1] == ["optimum", "/ 1.100", "print", "ratio"]
    assert cells[2] == ["11.69", "10.63", "10.63", "1.000 "]
    assert cells[3] == ["1.40", "1.27", "2.84", "0.448*"]
    assert cells[4] == ["1.40", "1.27", "1.27", "1.002 "]


def test_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> int | str | None:
        return status(monkeypatch, "fitness-tables/study.py", *arguments)

    assert run("--tables", "10", "--largest", "64") == 0
    said = capsys.readouterr()
    assert said.err == "Table 10: t = 2\nTable 10: t = 4\n"
    assert max(map(len, said.out.splitlines())) <= 88
    shown = " ".join(said.out.split())
    assert "t = 2 optimum 1.83 3.04 1.15 1.15 1.15 / 1.007 1.82 3.02 1.14 1.14 1.14 print 1.82 3.02" in shown
    assert "t = 4 optimum 4.61 10.42 1.44" in shown and "over SM-II's, which column IP shows" in shown
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
    """Inverse of the Gram matrix of total, thirds and cells of nine cells."""
    gram = np.eye(n) + np.kron(np.eye(3), np.ones((3, 3))) + np.ones((n, n))
    return np.linalg.inv(gram)
