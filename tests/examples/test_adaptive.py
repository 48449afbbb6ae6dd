"""The study of PVLDB 2012, Figures 3 and 5 and Table 2: workloads, factors, the command, and its files."""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from command_line import called
from tolerances import GAP_INTERIOR, ROUNDING

from mmopt import OptionError, Strategy, Workload, solve
from mmopt.strategies.baselines import baseline
from mmopt.workloads.workload import only
from tests.examples.scripts import EXAMPLES, scripts, status

study, tables, own = (vars(scripts("adaptive"))[name] for name in ("study", "printed", "workloads"))
ALWAYS, RIVALS, Case, cases = own.ALWAYS, own.RIVALS, own.Case, own.cases
Draw, Line, SCALE, lines = study.Draw, study.Line, study.SCALE, study.lines
draw, designs, margins_of, rival_rmse = study.draw, study.designs, study.margins_of, study.rival_rmse


FOLDER = EXAMPLES / "adaptive"
FOUR = (4, 4, 4, 4)

FILES: dict[str, Callable[[], Workload]] = {
    "cdf.yaml": lambda: own.cumulative(256),
    "marginals.yaml": lambda: own.k_way(FOUR, 2),
    "permuted-ranges.yaml": lambda: own.permuted_ranges(64, 0),
    "predicates.yaml": lambda: Workload.from_matrix(own.sampled_predicates(32, 32, 0)),
    "random-marginals.yaml": lambda: own.random_marginals(FOUR, 0),
    "random-ranges.yaml": lambda: own.random_ranges((8, 8), 0),
    "ranges.yaml": lambda: own.all_ranges((16, 16)),
}


def case(kind: str, cells: int) -> Case:
    """The first workload of a kind."""
    return next(one for one in cases(cells) if one.kind == kind)


def test_shapes_are_those_of_the_paper() -> None:
    assert [own.shape(2048, count) for count in (1, 2, 3, 4, None)] == [
        (2048,),
        (64, 32),
        (16, 16, 8),
        (8, 8, 8, 4),
        (2,) * 11,
    ]
    assert own.shape(16, 4) == own.shape(16) == (2, 2, 2, 2)


def test_other_numbers_of_cells_are_refused() -> None:
    for cells in (8, 100, -16, 0):
        with pytest.raises(OptionError) as caught:
            own.shape(cells)
        assert caught.value.message == f"--cells is {cells}, expected a power of two, 16 or more"


def test_workloads() -> None:
    assert own.all_ranges((4, 4)).shape == (100, 16)
    assert own.k_way((4, 2, 2), 2).shape == (8 + 8 + 4, 16)
    assert own.k_way((4, 2, 2), 1, ranges=True).shape == (10 + 3 + 3, 16)
    assert np.array_equal(own.cumulative(16).queries, np.tri(16))
    assert own.random_predicates(16, 0).shape == (128, 16)
    assert own.random_ranges((4, 4), 0).shape == (4, 16)
    assert own.random_marginals((4, 2, 2), 0).m == own.random_marginals((4, 2, 2), 0).queries.shape[0]


def test_draws_are_those_of_their_seeds() -> None:
    for one in cases(16):
        assert one.workload(1) == one.workload(1)
        assert one.is_random == (one.workload(1) != one.workload(2)) or one.label == "random, 4x4"


def test_permuted_cells_keep_the_queries() -> None:
    plain = own.all_ranges((16,))
    for permuted in (own.permuted_ranges(16, 3), own.permuted_cells(plain, 3)):
        assert permuted.eigenvalues == pytest.approx(plain.eigenvalues, rel=1e-10)
        assert sorted(permuted.squared_norms()) == sorted(plain.squared_norms())
        assert not np.array_equal(permuted.gram, plain.gram)


def test_sampled_ranges_and_sets() -> None:
    sampled = own.sampled_ranges((8, 2), 400, 0)
    assert {ends for _, ends in sampled} == {(0, 0), (0, 1), (1, 1)}
    assert all(0 <= low <= high < 8 for (low, high), _ in sampled)
    assert len(sampled) == 400
    for attributes in (2, 3, 8):
        sets = own.sampled_sets(attributes, 0)
        assert len(set(sets)) == attributes and all(sets)


def test_fourier_and_datacube_measure_the_margins_of_other_workloads() -> None:
    """Over 4 x 4 cells the 1-way ranges are answered from both margins."""
    w = own.k_way((4, 4), 1, ranges=True)
    margins = own.k_way((4, 4), 1)
    assert margins_of(w) == margins
    rows = np.vstack([np.kron(np.eye(4), np.ones(4)), np.kron(np.ones(4), np.eye(4))])
    cube = math.sqrt(Strategy(rows).total_error(w) / w.m)
    assert rival_rmse("Cube", w) == pytest.approx(cube, rel=ROUNDING)
    fourier = math.sqrt(7 / 16 * w.squared_norms().mean())  # 7 of 16 orthonormal rows, which span the queries
    assert rival_rmse("Four.", w) == pytest.approx(fourier, rel=1e-9)
    assert rival_rmse("Four.", margins) == pytest.approx(
        math.sqrt(baseline("fourier", margins).total_error(margins) / margins.m), rel=1e-9
    )


def test_fourier_is_noise_on_the_cells_where_all_are_needed() -> None:
    w = own.random_predicates(16, 0)
    assert margins_of(w).shape == (16, 16)
    assert rival_rmse("Four.", w) == pytest.approx(rival_rmse("cells", w), rel=1e-9)


def test_a_rival_that_does_not_apply_is_infinite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.strategies.baselines.few_attribute_baselines.MOST_CANDIDATES", 3)
    assert rival_rmse("Cube", own.k_way((2, 2, 2, 2), 2)) == math.inf


def test_a_line_lies_between_its_bounds() -> None:
    (line,) = lines([case("2-way", 16)], 3)
    w = own.k_way(own.shape(16, 3), 2, ranges=True)
    eigen = solve(w, "eigen_design")
    best = solve(w, "l2_strategy")
    assert len(line.draws) == 1 and line.eigen == SCALE * math.sqrt(eigen.error / w.m)
    assert line.best == pytest.approx(math.sqrt(best.error / eigen.error), rel=GAP_INTERIOR)
    assert line.bound <= line.best * (1 + GAP_INTERIOR) <= 1 + 2 * GAP_INTERIOR
    assert min(line.factor(name) for name in RIVALS) >= line.best * (1 - GAP_INTERIOR)
    assert line.gain == min(line.factor(name) for name in line.case.rivals)
    assert pytest.approx(math.sqrt(8 * math.log(2e4)), rel=ROUNDING) == SCALE


def test_eigen_strategies_do_not_depend_on_the_order_of_the_cells() -> None:
    """Proposition 5, for ranges, whose Gram matrix has a simple spectrum."""
    (line,) = lines([case("permuted", 32)], 2)
    plain = draw(own.all_ranges((32,)), ("cells", "Wav.", "Hier."))
    for one in line.draws:
        assert one.eigen == pytest.approx(plain.eigen, rel=1e-5)
        assert one.rivals["cells"] == pytest.approx(plain.rivals["cells"], rel=1e-5)
        assert one.rivals["Wav."] > plain.rivals["Wav."] and one.rivals["Hier."] > plain.rivals["Hier."]


def test_eigen_strategies_of_marginals_reach_the_bound() -> None:
    """Section 5.1; for every set of marginals, which all cells enter alike."""
    for line in lines([one for one in cases(32) if one.kind == "marginals"], 2):
        assert line.bound == pytest.approx(1, abs=GAP_INTERIOR)
        for one in line.draws:
            assert min(one.rivals.values()) >= 1 - GAP_INTERIOR


def test_other_design_queries() -> None:
    found = {(kind, state): ratios for kind, state, ratios in designs(32)}
    assert set(found) == set(tables.FIGURE_5)
    assert all(set(ratios) == set(study.DESIGNS) for ratios in found.values())
    assert [*found["marginals", "as is"].values()] == pytest.approx([1.0] * 3, abs=GAP_INTERIOR)
    ranges, permuted = found["ranges", "as is"], found["ranges", "permuted"]
    assert 1 < ranges["Fourier"] < ranges["wavelet"] < 1.2 and ranges["real Fourier"] < 1
    assert min(permuted.values()) > 1.2
    assert min(found["marginals", "permuted"].values()) > 1.1


def test_draws_are_refused() -> None:
    with pytest.raises(OptionError) as caught:
        next(lines(cases(16), 0))
    assert caught.value.message == "the study needs at least one draw, found 0"


def test_a_figure_outside_the_draws_is_marked_at_the_paper_s_size() -> None:
    rivals = dict.fromkeys(RIVALS, 1.9) | {"Four.": 1.38, "Cube": math.inf}
    other = rivals | {"Wav.": 2.0, "Four.": 1.4}
    line = Line(
        case("predicates", 2048), (Draw(70.0, rivals, 1.0, 0.999, 1e-7), Draw(71.0, other, 1.0, 0.998, 2e-7))
    )
    cells = [list(map(str, column)) for column in zip(*study.printed_table([line], 2048).rows, strict=True)]
    assert cells[1] == ["here", "print", "ratio"]
    assert cells[3] == ["1.95", "1.39", "1.403*"] and cells[4] == ["1.39", "1.94", "0.716*"]
    assert cells[5] == ["-", "", ""] and cells[9] == ["0.998", "1.00", "0.998"]
    assert len(study.printed_table([line], 64).rows) == 2


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int | str | None:
    return status(monkeypatch, "adaptive/study.py", *arguments)


@pytest.mark.slow
def test_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--cells", "16", "--draws", "1") == 0
    said = capsys.readouterr()
    assert said.err.splitlines()[:2] == ["Figure 3: all, 16", "Figure 3: all, 4x4"]
    assert said.err.splitlines()[-2:] == ["Table 2: predicates, 16", "Figure 5"]
    assert max(map(len, said.out.splitlines())) <= 80
    for title in ("Figure 3 (a): ranges", "Figure 3 (c): marginals", "Table 2: 16 cells", "Figure 5: "):
        assert title in said.out
    shown = " ".join(said.out.split())
    assert "text 1.2 to 2.1. Eigen-strategy over bound: here at most" in shown
    programs = re.findall(r"best: program l2_strategy, its total error within (\S+) of the least", shown)
    assert len(programs) == 3 and all(0 <= float(gap) <= 1e-6 for gap in programs)
    assert "print 13.16 9.62 0.99" in shown and "*" not in said.out.split("Figure 5")[0].split("Table 2")[1]
    for texts in tables.FOOTNOTES.values():
        assert all(" ".join(text.split()) in shown for text in texts)
    assert said.out.endswith("print: 2048 cells, here 16\n")


def test_one_part(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--figure", "5", "--cells", "16") == 0
    said = capsys.readouterr()
    assert said.err == "Figure 5\n" and "Figure 3 (" not in said.out and "Table 2:" not in said.out
    for option, number, known in (("--figure", 4, "3 or 5"), ("--table", 3, "2")):
        assert run(monkeypatch, option, str(number)) == 2
        assert capsys.readouterr().err == f"error: {option} is {number}, expected {known}\n"


def test_workloads_without_products_have_all_cells_for_margins() -> None:
    w = Workload.from_matrix(np.tri(4))
    assert np.array_equal(margins_of(w).queries, np.eye(4))


def test_files_are_workloads_of_the_study(subtests: pytest.Subtests) -> None:
    for file, make in FILES.items():
        with subtests.test(file):
            w, expected = Workload.load(FOLDER / file), make()
            assert w.shape == expected.shape
            assert np.array_equal(w.gram, expected.gram)
            text = (FOLDER / file).read_text(encoding="utf-8").replace("#", "")
            assert f"{w.m:,} queries" in " ".join(text.split())


def test_range_marginals_have_two_parts() -> None:
    w = Workload.load(FOLDER / "range-marginals.yaml")
    assert w.m == 2098
    for k in (1, 2):
        part, expected = only(w, f"{k}-way"), own.k_way((8, 8, 4), k, ranges=True)
        assert part.shape == expected.shape and np.array_equal(part.gram, expected.gram)


def test_every_file_is_known() -> None:
    assert {file.name for file in FOLDER.glob("*.yaml")} == {*FILES, "range-marginals.yaml"}
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(file in text for file in (*FILES, "range-marginals.yaml"))
    assert all(one.label in text for one in own.cases(2048) if one.part == "3")


@pytest.mark.some(1)
@pytest.mark.parametrize("file", ["permuted-ranges.yaml", "random-ranges.yaml", "random-marginals.yaml"])
def test_the_commands_run(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER.parents[1])
    lines = (FOLDER / file).read_text(encoding="utf-8").splitlines()
    commands = [line.split()[2:] for line in lines if line.startswith("#   mmopt")]
    assert [command[0] for command in commands] == ["check", "solve"]
    for command in commands:
        result = called(*command)
        assert result.exit_code == 0, result.output
