"""Charts of solutions, strategies and comparisons: what is drawn is what the numbers are.

Guards chart_parts.py, charts.py, displays_and_report_page.py.
"""

import dataclasses

import numpy as np
import pytest

import mmopt
from mmopt import ComponentStrategy, Solution, Strategy, Workload
from mmopt.errors import OptionError, ResultError, TooLargeError
from mmopt.numerics.component_arrays import Split
from mmopt.report.chart_parts import empty_figure, picture
from mmopt.report.charts import coarsened, error_figure
from mmopt.strategies import Neighbours, ProductStrategy
from mmopt.symmetry import symmetry
from mmopt.testing.problem_registry import marginals

W = Workload.from_matrix(np.tri(5))


@pytest.fixture(scope="module")
def solution() -> Solution:
    return mmopt.solve(W, "l2_strategy")


def test_a_coarse_picture_shows_the_largest_entry_of_each_block(rng: np.random.Generator) -> None:
    for shape in [(257, 255), *rng.integers(1, 900, (3, 2))]:
        matrix = rng.normal(size=shape)
        picture, (down, across) = coarsened(matrix)
        assert max(picture.shape) <= 256 and (max(shape) > 256 or np.array_equal(picture, matrix))
        for i in rng.integers(0, picture.shape[0], 5):
            for j in rng.integers(0, picture.shape[1], 5):
                block = matrix[i * down : (i + 1) * down, j * across : (j + 1) * across]
                assert np.abs(picture[i, j]) == np.abs(block).max() and picture[i, j] in block


def test_a_heat_map_has_the_entries() -> None:
    matrix = np.tri(5) - 2 * np.eye(5)
    figure = Strategy(matrix).plot()
    assert np.array_equal(figure.axes[0].images[0].get_array(), matrix)
    assert figure.axes[0].images[0].get_clim() == (-1.0, 1.0)
    assert figure.get_suptitle() == "Strategy: 5 measured queries over 5 cells"
    zeros = Strategy(np.vstack([matrix, np.zeros((3, 5))]))
    assert zeros.plot().get_suptitle() == figure.get_suptitle() and zeros.p == 8
    large = Strategy(np.eye(600)).plot()
    assert large.axes[0].get_title(loc="left") == "3 × 3 entries a square: the largest"


def test_a_strategy_by_component_has_a_panel_for_each() -> None:
    found = symmetry(marginals([10] * 30, [1]), False)
    assert found is not None
    cells = found.cells
    parts = tuple(np.eye(d) for d in cells.dims)
    strategy = ComponentStrategy(Split(cells.abstract(cells.dims), cells, parts))
    figure = strategy.plot()
    pictures = [axes.images[0].get_array() for axes in figure.axes if axes.get_title(loc="left")]
    assert {picture.shape for picture in pictures} == {part.shape for part in strategy.split.parts}
    (profile,) = strategy.plot("profile").axes
    assert profile.get_xlim() == (0.0, 1e30) and "by orbit" in profile.get_xlabel()


def test_the_profile_is_that_of_the_solution(solution: Solution) -> None:
    stairs = solution.plot("profile").axes[0].patches[0].get_data()
    assert np.array_equal(stairs.values, solution.profile)


def test_errors_are_those_of_the_queries_beside_baselines_and_bound(solution: Solution) -> None:
    figure = solution.plot("errors", W)
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    names = [str(name).split(":")[0] for name in lines]
    assert names == ["l2_strategy", "identity", "workload", "least rms of any strategy"]
    mine, cells, asked, least = lines.values()
    assert np.allclose(np.square(mine).mean(), solution.rmse**2)
    assert np.allclose(np.square(cells), [1, 2, 3, 4, 5]) and np.allclose(np.square(asked), 5)
    assert all(np.sqrt(np.square(one).mean()) >= least[0] for one in (mine, cells, asked))
    claimed = dataclasses.replace(solution, error_bound_grade="claimed")
    assert len(claimed.plot("errors", W).axes[0].lines) == 3
    weighted = Workload.from_matrix(np.tri(5), weights=[1, 2, 3, 4, 5])
    assert len(Strategy(np.eye(5)).plot("errors", weighted).axes[0].lines) == 3
    assert len(mmopt.solve(weighted, "l2_strategy").plot("errors", weighted).axes[0].lines) == 3


def test_the_bound_is_drawn_beside_what_it_bounds_alone() -> None:
    others = Strategy(np.eye(5), 1), Strategy(np.eye(5), neighbours=Neighbours.of("replace-one"))
    for strategy, lines in ((Strategy(np.eye(5)), 4), *zip(others, (3, 1), strict=True)):
        assert len(error_figure(strategy, W, bound=1.0).axes[0].lines) == lines


def test_figures_of_errors_are_rounded_to_their_side(solution: Solution) -> None:
    lines = error_figure(solution.strategy, W, "l2_strategy", 5 * 1.26452**2).axes[0].lines
    said = dict(str(line.get_label()).split(": ") for line in lines)
    assert said["least rms of any strategy"] == "1.264 or more"
    assert said["identity"] == "rms 1.733"  # √3


def test_a_strategy_with_the_name_of_a_baseline_is_told_apart(solution: Solution) -> None:
    lines = error_figure(solution.strategy, W, "identity").axes[0].lines
    names = [str(line.get_label()).split(":")[0] for line in lines]
    assert names == ["strategy of 'identity'", "identity", "workload"]


def test_without_a_kind_a_solution_shows_how_it_came_down(solution: Solution) -> None:
    assert solution.plot().axes[0].get_ylabel() == solution.plot("convergence").axes[0].get_ylabel() == "gap"
    assert solution.plot("strategy").axes[0].get_ylabel() == "measured query"


def test_a_notebook_shows_a_figure_even_in_a_script_that_the_font_lacks() -> None:
    axes = (figure := empty_figure(2.0, 2.0)).add_subplot()
    axes.set_title("年齢")
    assert figure._repr_png_().startswith(b"\x89PNG") and picture(lambda: figure, "svg")  # type: ignore[attr-defined]


def test_what_cannot_be_drawn_is_said(solution: Solution) -> None:
    kinds = "'convergence', 'strategy', 'profile', 'errors'"
    with pytest.raises(OptionError) as unknown:
        solution.plot("profil")
    assert (
        str(unknown.value) == f"there is no chart 'profil' of it, expected {kinds}\n  did you mean 'profile'?"
    )
    with pytest.raises(OptionError) as missing:
        solution.plot("errors")
    assert str(missing.value) == "errors are those of queries\n  plot('errors', workload)"
    other = Workload.from_matrix(np.eye(5))
    said = f"the solution is for the workload {W.hash[:12]}…, this one is {other.hash[:12]}…"
    with pytest.raises(ResultError) as wrong:
        solution.plot("errors", other)
    assert str(wrong.value) == f"{said}\n  give the workload that was solved"
    large = ProductStrategy((Strategy(np.eye(60)), Strategy(np.eye(60))))
    with pytest.raises(TooLargeError) as error:
        large.plot()
    assert str(error.value) == (
        "a strategy of 3,600 rows over 3,600 cells has no picture of its entries, and no table: they "
        "go up to 2,048\n"
        "  'profile' in place of 'strategy' is what each cell costs"
    )
