"""Every chart, also of long names and of few or many queries, stays on its page and reads well.

Guards chart_parts.py, charts.py.
"""

import datetime
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mmopt import ComponentStrategy, Privacy, Strategy, Workload
from mmopt.comparison import Outcome
from mmopt.driver import Progress
from mmopt.mechanism import Answers, measure, plan
from mmopt.mechanism.release_writing import answers_frame
from mmopt.numerics.component_arrays import Split
from mmopt.report.chart_parts import empty_figure, picture
from mmopt.report.charts import (
    accuracy_figure,
    convergence_figure,
    error_figure,
    heat_map,
    profile_of_cells,
    release_figure,
)
from mmopt.results import Frame
from mmopt.symmetry import symmetry
from mmopt.testing.problem_registry import marginals
from mmopt.workloads import Attribute, Bins, Domain, Product
from mmopt.workloads.factors_and_products import identity, predicates, prefix, total
from tests.report.chart_law import faults

WIDE = "W" * 60
WORDS = "how many persons of the household were at work in that week "
FORMULA = "from $_{^ to $0 "
GREEK = "Ἀλφάβητον τοῦ ἔτους — Übergröße "
YEARS = Bins(tuple(float(year) for year in range(14, 31)))
DAYS = Bins.between_dates(*(datetime.date(2020, month, 1) for month in (1, 2, 4, 5)))


def release(*products: Product, names: tuple[str, ...] = (), bins: Bins = YEARS, count: int = 10) -> Frame:
    first, second, sexes = (*names, *("sex", "age", "part")[len(names) :])
    values = tuple(f"{value}{i}" for i, value in enumerate((first, WIDE, FORMULA, "b", "c", "d")))
    attributes = (
        Attribute(first, values),
        Attribute(second, bins.labels(), encoding=bins),
        Attribute(sexes, ("F", "M")),
    )
    asked = Workload.from_products(Domain(attributes), products)
    planned = plan(asked, Strategy(np.eye(asked.n)), Privacy(rho=0.5))
    return answers_frame(measure(planned, count * np.arange(asked.n), 1, 0.9))


def many_answers(m: int) -> Frame:
    x, one = np.arange(m, dtype=float) - m / 2, np.ones(m)
    return answers_frame(
        Answers((WORDS,) * m, tuple(map(str, range(m))), x, one, x - 2, x + 2, one, 0.95, True)
    )


def accuracy(workload: Workload, title: str = "") -> Any:
    return accuracy_figure(plan(workload, Strategy(np.eye(workload.n)), Privacy(rho=0.5)), 0.95, title)


def grouped(count: int, name: str, wish: float = 9.0) -> Workload:
    domain = Domain.of({"age": {"bins": [0, 18, 65, 115]}})
    parts = [domain.marginal("age", name=f"{i} {name}", within=wish) for i in range(count)]
    return sum(parts[1:], parts[0])


def stopped(program: str, solver: str, *gaps: float, tolerance: float | None = None) -> Outcome:
    history = tuple(
        Progress(program, solver, float(i), i, 1.0 + gap, 1.0) for i, gap in enumerate(gaps, start=1)
    )
    return Outcome(program, solver, tolerance, "x", "x", "time limit", history=history)


def compared(programs: int, solvers: int, name: str = "l2_strategy") -> list[Outcome]:
    return [
        stopped(f"{name}{i}", f"solver{j}", 1.0, 0.1 / (i + 1), 10.0 ** -(1 + i / 3 + j / 2))
        for i in range(programs)
        for j in range(solvers)
    ]


def by_component() -> ComponentStrategy:
    found = symmetry(marginals([10] * 30, [1]), False)
    assert found is not None
    cells = found.cells
    eyes = tuple(np.eye(d) for d in cells.dims)
    return ComponentStrategy(Split(cells.abstract(cells.dims), cells, eyes))


def queries(m: int) -> Workload:
    return Workload.from_matrix(np.tri(m, min(m, 40)))


AGES = Product((total(6), identity(16), total(2)))
CHARTS: dict[str, Callable[[], Any]] = {
    "release-small": lambda: release_figure(release(AGES)),
    "release-both": lambda: release_figure(
        release(Product((identity(6), identity(16), total(2)))), f"{WORDS}{GREEK}.yaml"
    ),
    "release-awkward": lambda: release_figure(
        release(
            Product((identity(6), identity(16), total(2)), name=WORDS + FORMULA),
            Product((identity(6), total(16), identity(2)), name=WIDE),
            Product((total(6), prefix(16), total(2)), name=GREEK),
            Product((total(6), total(16), total(2)), name="all"),
            names=(WORDS, WIDE, GREEK),
            count=0,  # so that some answers are below 0
        ),
        WORDS + WIDE,
    ),
    "release-off-scale": lambda: release_figure(
        release(Product((total(6), prefix(16), total(2)), name="up to"), names=(FORMULA, WORDS), count=10**5)
    ),
    "release-sets": lambda: release_figure(
        release(Product((total(6), predicates([[1, 0] * 8, [0, 1] * 8]), total(2))), names=(GREEK, WIDE))
    ),
    "release-days": lambda: release_figure(
        release(Product((identity(6), identity(3), total(2))), names=(GREEK,), bins=DAYS)
    ),
    "release-one": lambda: release_figure(many_answers(1)),
    "release-40": lambda: release_figure(many_answers(40), WORDS),
    "release-2000": lambda: release_figure(many_answers(2000), WORDS),
    "accuracy-one": lambda: accuracy(Workload.from_matrix(np.ones((1, 3)))),
    "accuracy-2000": lambda: accuracy(queries(2000), WORDS),
    "accuracy-long": lambda: accuracy(grouped(15, WORDS + FORMULA), WIDE + GREEK),
    "accuracy-small": lambda: accuracy(grouped(2, "ages"), "ages.yaml"),
    "errors-small": lambda: error_figure(Strategy(np.eye(5)), queries(5), "l2_strategy", 1.0),
    "errors-one": lambda: error_figure(Strategy(np.ones((1, 1))), queries(1), WIDE, 1.0),
    "errors-2000": lambda: error_figure(Strategy(np.eye(40)), queries(2000), WORDS, 1.0),
    "strategy": lambda: heat_map(Strategy(np.eye(3) - np.tri(3)), WORDS + WIDE),
    "strategy-one": lambda: heat_map(Strategy(np.ones((1, 1))), FORMULA),
    "strategy-600": lambda: heat_map(Strategy(np.eye(600)), WIDE),
    "strategy-parts": lambda: heat_map(by_component(), GREEK),
    "profile": lambda: profile_of_cells(Strategy(np.eye(3)), WORDS + FORMULA),
    "profile-parts": lambda: profile_of_cells(by_component(), WIDE),
    "gaps-one": lambda: convergence_figure([stopped("l2_strategy", "scs", 1.0, 0.1)], "ages.yaml"),
    "gaps-five": lambda: convergence_figure(compared(1, 5), WORDS + WIDE),
    "gaps-two-of-five": lambda: convergence_figure(compared(2, 5), "a.yaml: 3 queries"),
    "gaps-twelve-of-five": lambda: convergence_figure(compared(12, 5), "a.yaml: 3 queries"),
    "gaps-forty": lambda: convergence_figure(compared(40, 2)),
    "gaps-long": lambda: convergence_figure(
        [*compared(12, 5, WORDS + FORMULA), *compared(2, 2, WIDE), stopped(WIDE, "")], WIDE
    ),
}
SLOW = ("release-awkward", "strategy-parts", "gaps-twelve-of-five", "gaps-forty", "gaps-long")


@pytest.mark.some(8)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in CHARTS]
)
def test_everything_is_on_the_page_and_nothing_lies_over_a_panel(name: str) -> None:
    assert faults(CHARTS[name]()) == []


def test_the_law_sees_each_fault() -> None:
    figure = empty_figure(4.0, 2.0)
    first, second = figure.subplots(2, 1)
    first.plot([0, 1], [0, 1], label="a line")
    first.legend()
    first.set_xlabel("query, in the order of the workload")
    second.set_xlabel(WIDE)
    second.set_xticks([0.5, 0.51], ["a label", "another"])
    kinds = {fault.split(":")[0] for fault in faults(figure)}
    assert kinds == {"off the page", "over a panel", "no whole number", "ticks overlap"}


def test_a_legend_names_its_attribute_and_text_is_text() -> None:
    svg = picture(CHARTS["release-both"], "svg").decode()
    (legend,) = [axes.get_legend() for axes in CHARTS["release-both"]().axes]
    assert legend.get_title().get_text() == "sex"
    for words in ("sex0", "age", "SIMULATED NOISE: these answers are not private and must not be published"):
        assert f">{words}</text>" in svg
    assert "sans-serif" in svg and "$_{^" in svg and "<use" in svg and "DejaVuSans-" not in svg


def test_no_answer_below_a_panel_is_cut() -> None:
    asked, without_end = (
        Product((total(6), prefix(16), total(2)), name="up to"),
        (*YEARS.edges[:-1], math.inf),
    )
    frame = release(asked, names=(FORMULA, WORDS), bins=Bins(without_end))
    (axes,) = release_figure(frame).axes
    words = " ".join(axes.get_xlabel().split())
    label, low, high = (frame[name][15] for name in ("label", "low", "high"))
    assert f"{' '.join(label.split())}: {frame['estimate'][15]:,.2f} [{low:,.2f}, {high:,.2f}]" in words


def test_panels_are_as_high_with_many_words_as_with_few() -> None:
    few, many = (accuracy(grouped(count, words), words) for count, words in ((1, "x"), (12, WORDS * 3)))
    heights = [figure.axes[0].get_position().height * figure.get_figheight() for figure in (few, many)]
    assert heights[1] == pytest.approx(heights[0], rel=0.1)
    assert many.get_figheight() > few.get_figheight() + 1


def test_a_name_with_dollar_signs_is_no_formula() -> None:
    figure = accuracy(grouped(1, FORMULA), FORMULA)
    assert picture(lambda: figure, "png").startswith(b"\x89PNG")
    assert figure.legends[0].get_texts()[0].get_text() == f"0 {FORMULA}"
