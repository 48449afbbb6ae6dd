"""accuracy_tables, accuracy_chart: wishes in words, each once; the chart draws the half widths and wishes.

Guards charts.py, accuracy_release_and_ledger_tables.py.
"""

from pathlib import Path

import numpy as np
import pytest
from random_workloads import domain_of

from mmopt import OptionError, Privacy, Strategy, Workload, plan
from mmopt.report.accuracy_release_and_ledger_tables import accuracy_by_query, privacy_rows
from mmopt.report.chart_parts import save
from mmopt.report.charts import accuracy_figure
from mmopt.report.table_style import wish_words
from mmopt.workloads import Product, Wish, factors_and_products as f


def planned(*products: Product) -> Workload:
    return Workload.from_products(domain_of(3), products)


IDENTITY = (f.identity(3),)


def test_what_was_asked_for_in_words(subtests: pytest.Subtests) -> None:
    for product, words in (
        (Product(IDENTITY), ""),
        (Product(IDENTITY, target=4.5), "variance 4.5"),
        (Product(IDENTITY, within=Wish(7.0)), "± 7 at 95%"),
        (Product(IDENTITY, within=Wish(7.0, 0.9), target=2.0), "± 7 at 90%, variance 2"),
        (Product(IDENTITY, within=Wish(7.0, 0.999), target=1e9), "± 7 at 99.9%"),
    ):
        with subtests.test(words):
            assert [wish_words(each) for each in planned(product).wishes_by_group()] == [words]
    w = Workload.from_matrix(np.eye(3), targets=[4.0, np.inf, 9.0])
    assert [wish_words(each) for each in w.wishes_by_group()] == ["variance 4 to 9 (1 without)"]


def test_wishes_that_are_not_met_are_counted() -> None:
    """Variances of 1 / (2 rho): 1/2, 10 and 500; queries without a wish are not counted."""
    two = Product((f.predicates(np.eye(3)[:2]),), target=5.0)
    w = planned(Product((f.total(3),)), Product(IDENTITY, target=50.0), two)
    for rho, unmet in (
        (1.0, []),
        (0.05, ["2 of 2 in 'a0 predicates' (variance 5)"]),
        (1e-3, ["3 of 3 in 'a0' (variance 50), 2 of 2 in 'a0 predicates' (variance 5)"]),
    ):
        rows = privacy_rows(plan(w, Strategy(np.eye(3)), Privacy(rho=rho)))
        assert [text for name, text in rows if name == "missed targets"] == unmet


def test_only_the_first_queries_of_a_group_are_shown() -> None:
    w = Workload.from_products(domain_of(15), [Product((f.identity(15),), name="each")])
    table = accuracy_by_query(plan(w, Strategy(np.eye(15)), Privacy(rho=1.0)), 0.95)
    first = [str(name) for name, *_ in table.rows]
    assert len(first) == 1 + 10 + 1 and first[-1].strip() == "… 5 more"


def test_the_chart_has_a_line_a_group_and_what_was_asked(tmp_path: Path) -> None:
    w = planned(Product(IDENTITY, name="wished", within=Wish(7.0)), Product((f.prefix(3),)))
    found = plan(w, Strategy(np.eye(3)), Privacy(rho=0.1))
    axes = accuracy_figure(found, 0.95, "a title").axes[0]
    lines = [line.get_ydata() for line in axes.lines if len(line.get_ydata())]
    widths = found.intervals(0.95).widths
    np.testing.assert_array_equal(np.asarray(lines[0], dtype=float), widths[:3])
    np.testing.assert_array_equal(np.asarray(lines[2], dtype=float), [7.0] * 3)
    np.testing.assert_array_equal(np.asarray(lines[1], dtype=float), widths[3:])
    assert [line.get_label() for line in axes.lines if not len(line.get_ydata())] == ["target"]
    assert axes.get_ylabel() == "± counts at 95%" and axes.get_ylim()[0] == 0.0
    with pytest.raises(OptionError, match=r"a chart is written to an \.svg or \.png file"):
        save(tmp_path / "a.pdf", lambda: accuracy_figure(found, 0.95))
    save(tmp_path / "a.svg", lambda: accuracy_figure(found, 0.95))
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<?xml")
