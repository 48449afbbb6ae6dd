"""The chart of a release draws every answer with its interval, where it belongs, and few words."""

import datetime
from typing import Any

import numpy as np
import pytest

from mmopt.mechanism import Answers, measure, plan
from mmopt.mechanism.release_writing import SIMULATED, answers_frame
from mmopt.privacy import Privacy
from mmopt.report.chart_parts import picture
from mmopt.report.charts import BANDS, PANELS, release_figure
from mmopt.results import Frame
from mmopt.strategies import Strategy
from mmopt.workloads import Attribute, Bins, Domain, Product, Workload
from mmopt.workloads.factors_and_products import all_range, identity, predicates, prefix, total

BINS = Bins((0.0, 10.0, 20.0, 50.0))
DAYS = Bins.between_dates(*(datetime.date(2020, month, 1) for month in (1, 2, 4, 5)))


def frame_of(*products: Product, encoding: Bins = BINS, simulate: int | None = 1) -> Frame:
    attributes = (Attribute("sex", ("F", "M")), Attribute("age", encoding.labels(), encoding=encoding))
    asked = Workload.from_products(Domain(attributes), products)
    found = plan(asked, Strategy(np.eye(asked.n)), Privacy(rho=0.5))
    return answers_frame(measure(found, 10 * np.arange(asked.n), simulate, 0.9))


def bars(axes: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Marks (k, 2) and ends of the bars (k, 2, 2) of each line of error bars."""
    found = []
    for held in axes.containers:
        line, _, (segments,) = held.lines
        found.append(
            (np.column_stack([line.get_xdata(), line.get_ydata()]), np.array(segments.get_segments()))
        )
    return found


def test_bins_stand_in_their_middle_by_the_other_attribute() -> None:
    frame = frame_of(Product((identity(2), identity(3))))
    (axes,) = release_figure(frame).axes
    assert axes.get_xlabel() == "age" and axes.get_title(loc="left") == "sex, age"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["F", "M"]
    for (marks, ends), start in zip(bars(axes), (0, 3), strict=True):
        own = slice(start, start + 3)
        assert marks == pytest.approx(np.column_stack([[5.0, 15.0, 35.0], frame["estimate"][own]]))
        assert ends[:, :, 1] == pytest.approx(np.column_stack([frame["low"][own], frame["high"][own]]))


def test_prefixes_stand_at_their_ends_and_an_open_one_beside() -> None:
    frame = frame_of(Product((total(2), prefix(3)), name="up to"), simulate=None)
    figure = release_figure(frame, "ages")
    (axes,) = figure.axes
    ((marks, _),) = bars(axes)
    assert marks[:, 0].tolist() == [10.0, 20.0, 50.0] and axes.get_legend() is None
    assert axes.get_xlabel() == "age"
    assert figure.get_suptitle() == "ages; answers with 90% intervals, each query alone"
    frame = frame_of(Product((total(2), prefix(3))), encoding=Bins((0.0, 10.0, 20.0, np.inf)), simulate=None)
    (axes,) = release_figure(frame).axes
    ((marks, _),) = bars(axes)
    assert marks[:, 0].tolist() == [10.0, 20.0]
    assert axes.get_xlabel().startswith(f"age\nnot on this scale: any age: {frame['estimate'][2]:,.2f} [")


def test_dates_are_dates() -> None:
    frame = frame_of(Product((total(2), identity(3))), encoding=DAYS)
    (axes,) = release_figure(frame).axes
    days = axes.containers[0].lines[0].get_xdata()
    assert days.astype(str).tolist() == ["2020-01-16T12", "2020-03-02T00", "2020-04-16T00"]


def test_what_has_no_place_on_a_scale_has_its_label() -> None:
    """Categories, ranges that overlap, and sets."""
    for product in (
        Product((identity(2), total(3))),
        Product((total(2), all_range(3))),
        Product((total(2), predicates([[1, 0, 1], [0, 1, 0]]))),
    ):
        frame = frame_of(product)
        (axes,) = release_figure(frame).axes
        ((marks, ends),) = bars(axes)
        assert [text.get_text() for text in axes.get_yticklabels()] == frame["label"].tolist()
        assert marks[:, 0] == pytest.approx(frame["estimate"])
        assert ends[:, :, 0] == pytest.approx(np.column_stack([frame["low"], frame["high"]]))
        low, high = axes.get_ylim()
        assert low > high, "the first is on top"


def test_many_answers_are_one_line_and_few_words() -> None:
    for m in (31, 401, 4000):
        x, names = np.arange(m, dtype=float), tuple(map(str, range(m)))
        one = np.ones(m)
        frame = answers_frame(Answers(("g",) * m, names, x, one, x - 2, x + 2, 0.95 * one, 0.95, True))
        figure = release_figure(frame)
        (axes,) = figure.axes
        assert axes.get_xlabel() == "queries in their order"
        if m <= 400:
            assert len(bars(axes)[0][0]) == m
            continue
        (band,) = axes.collections
        box, line = band.get_paths()[0].get_extents(), axes.lines[0].get_ydata()
        assert (box.y0, box.y1) == pytest.approx((frame["low"].min(), frame["high"].max()))
        assert len(line) == min(m, BANDS) and line.mean() == pytest.approx(frame["estimate"].mean(), rel=1e-2)
    assert len(picture(lambda: release_figure(frame), "svg")) < 500_000


def test_groups_that_are_not_drawn_are_counted_and_simulations_say_so() -> None:
    frame = frame_of(*(Product((identity(2), total(3)), name=f"group {i}") for i in range(PANELS + 2)))
    figure = release_figure(frame)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"group {i}" for i in range(PANELS)]
    assert figure.get_suptitle() == (
        f"{SIMULATED}\nanswers with 90% intervals, each query alone; 2 more groups not drawn"
    )


def test_labels_are_no_formulas() -> None:
    """A lone dollar, two of them, a line end, and many letters, which are wrapped and cut in the middle."""
    labels = ("$_{^", "from $0 to $_10", "two\nlines", "x" * 150)
    asked = Workload.from_products(Domain((Attribute("pay", labels),)), [Product((identity(4),), name="$_$")])
    frame = answers_frame(measure(plan(asked, Strategy(np.eye(4)), Privacy(rho=0.5)), np.arange(4), 1))
    (axes,) = (figure := release_figure(frame)).axes
    figure.draw_without_rendering()
    assert not any(text.get_parse_math() for text in axes.get_yticklabels())
    *few, many = (text.get_text() for text in axes.get_yticklabels())
    assert few == ["pay=$_{^", "pay=from $0 to $_10", "pay=two lines"]
    assert many.replace("\n", "") == f"pay={'x' * 55}…{'x' * 60}" and max(map(len, many.split("\n"))) == 32


def test_refined_answers_are_diamonds() -> None:
    frame = frame_of(Product((identity(2), identity(3))), Product((identity(2), total(3)), name="sexes"))
    refined = np.arange(len(frame), dtype=float)
    both = Frame(
        {**{name: frame[name] for name in frame.names}, "refined": refined},
        {**frame.metadata, "refined": "rules"},
    )
    assert "diamonds" not in release_figure(frame).get_suptitle()
    figure = release_figure(both)
    assert figure.get_suptitle().endswith("; diamonds: refined")
    drawn = [
        line.get_ydata() if axes.get_ylabel() == "answer" else line.get_xdata()
        for axes in figure.axes
        for line in axes.lines
        if line.get_marker() == "D"
    ]
    assert sorted(np.concatenate(drawn).tolist()) == refined.tolist()
