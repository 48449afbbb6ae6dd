"""Bins of numbers and dates: their ends, labels and errors."""

from __future__ import annotations

import datetime
import itertools
import math

import numpy as np
import pytest

from mmopt.errors import WorkloadError
from mmopt.workloads import Attribute, Bins, Categories, Domain, Values
from mmopt.workloads.query_labels import cell_label, range_labels

pytestmark = pytest.mark.quick

DAY = datetime.date.fromisoformat


def dates(*edges: str | None) -> Bins:
    return Bins.of_dates(*(DAY(edge) if edge else None for edge in edges))


def test_ends_of_numbers_and_dates_none_where_open() -> None:
    assert Bins((0, 18, 65)).ends(0, 1) == (0.0, 65.0)
    assert Bins((-math.inf, 18, 65, math.inf)).ends(1, 1) == (18.0, 65.0)
    assert Bins((-math.inf, 18, 65, math.inf)).ends(0, 2) == (None, None)
    found = dates("2020-01-01", "2020-04-01", None)
    assert found.ends(0, 0) == (DAY("2020-01-01"), DAY("2020-04-01"))
    assert found.ends(0, 1) == (DAY("2020-01-01"), None)
    assert found.edges == (18262.0, 18353.0, math.inf)


def test_labels() -> None:
    assert Bins((-math.inf, 18, 65, math.inf)).labels() == ("< 18", "[18, 65)", ">= 65")
    assert dates(None, "2020-01-01", "2020-02-01", "2020-02-02", "2020-02-14", None).labels() == (
        "< 2020-01-01",
        "2020-01",
        "2020-02-01",
        "[2020-02-02, 2020-02-14)",
        ">= 2020-02-14",
    )
    assert dates("2019-01-01", "2020-01-01", "2020-04-01", "2020-10-01", "9999-12-31").labels() == (
        "2019",
        "2020-Q1",
        "[2020-04-01, 2020-10-01)",
        "[2020-10-01, 9999-12-31)",
    )
    assert dates("2020-02-01", "2020-05-01", "2021-05-01", "9999-12-01", "9999-12-31").labels()[:2] == (
        "[2020-02-01, 2020-05-01)",
        "[2020-05-01, 2021-05-01)",
    )


@pytest.mark.draws(3)
def test_labels_of_bins_differ(rng: np.random.Generator) -> None:
    """Among them calendar months, quarters and years, which have names."""
    firsts = [datetime.date(2019 + i // 12, i % 12 + 1, 1).toordinal() - 719163 for i in range(60)]
    edges = np.unique([*rng.choice(firsts, 30), *rng.integers(firsts[0], firsts[-1], 9)])
    labels = Bins(tuple(edges), dates=True).labels()
    assert len(set(labels)) == len(labels)


def test_queries_on_bins() -> None:
    """By their ends where they have any, not by the labels of the bins."""
    joined = dates("2020-01-01", "2020-02-01", "2020-02-14", None)
    a = Attribute("joined", joined.labels(), encoding=joined)
    assert [cell_label(a, cell) for cell in range(3)] == [
        "joined in 2020-01",
        "joined in [2020-02-01, 2020-02-14)",
        "joined >= 2020-02-14",
    ]
    assert range_labels(a, [(0, 0), (0, 1), (1, 2), (None, 0), (None, 2), (0, 2)]) == [
        "2020-01-01 <= joined < 2020-02-01",
        "2020-01-01 <= joined < 2020-02-14",
        "joined >= 2020-02-01",
        "joined < 2020-02-01",
        "any joined",
        "joined >= 2020-01-01",
    ]
    both = Bins((-math.inf, 18, 65, math.inf))
    age = Attribute("age", both.labels(), encoding=both)
    assert range_labels(age, [(0, 0), (0, 1), (1, 1), (1, 2), (0, 2)]) == [
        "age < 18",
        "age < 65",
        "18 <= age < 65",
        "age >= 18",
        "any age",
    ]


def test_cells_beside_the_declared_ones() -> None:
    """They follow the encoding's; the rules name them; no range of bins or numbers holds one."""
    age = Attribute("age", ("[0, 18)", "other", "?"), encoding=Bins((0, 18)), outside="other", missing="?")
    assert (age.declared, age.size) == (1, 3)
    assert [cell_label(age, cell) for cell in range(3)] == ["age in [0, 18)", "age=other", "age=?"]
    assert range_labels(age, [(0, 0), (0, 2), (None, 1), (1, 1)]) == [
        "0 <= age < 18",
        "age from [0, 18) to ?",
        "age up to other",
        "age=other",
    ]
    child = Attribute("n", ("0", "1", "?"), encoding=Values((0, 1)), missing="?")
    assert range_labels(child, [(None, 1), (None, 2)]) == ["n <= 1", "n up to ?"]
    assert Attribute("a", ("x", "y"), encoding=Categories((("b",),)), outside="y", missing="y").declared == 1


def test_prefixes_of_bins_beside_other_cells_end_at_what_is_known() -> None:
    form = {"bins": [0, 18, "open"], "missing": {"cell": "?"}}
    assert Domain.of(age=form).product(age="prefix").labels() == ["age < 18", "any known age"]
    assert Domain.of(age={"bins": [0, 18, "open"]}).product(age="prefix").labels()[1] == "any age"


@pytest.mark.parametrize("rules", [{}, {"missing": "drop"}, {"missing": "x"}])
def test_a_cell_beside_the_declared_ones_is_named_by_a_rule(rules: dict[str, str]) -> None:
    for last in ("y", "drop"):
        with pytest.raises(WorkloadError) as caught:
            Attribute("a", ("x", last), encoding=Values(("x",)), **rules)
        assert str(caught.value) == "attribute 'a' has 2 labels, but its encoding has 1 cells"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: dates("2020-01-01"), "bins need at least two edges, found 1"),
        (
            lambda: dates("2020-02-01", "2020-01-01"),
            "bin edges must increase, found 2020-02-01 before 2020-01-01",
        ),
        (
            lambda: dates("2020-02-01", None, "2020-03-01"),
            "bin edges must be finite numbers, but for a first -inf and a last inf, "
            "found [18293, nan, 18322]",
        ),
        (
            lambda: Bins((-math.inf, math.inf)),
            "bin edges must be finite numbers, but for a first -inf and a last inf, found [-inf, inf]",
        ),
        (
            lambda: Bins((math.inf, 3)),
            "bin edges must be finite numbers, but for a first -inf and a last inf, found [inf, 3]",
        ),
        (
            lambda: Bins((0, 0.5), dates=True),
            "edges of dates are whole days since 1970-01-01, of the years 1 to 9999, found 0.5",
        ),
        (
            lambda: Bins((0, 1e9), dates=True),
            "edges of dates are whole days since 1970-01-01, of the years 1 to 9999, found 1000000000",
        ),
    ],
)
def test_errors(make: object, text: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        make()  # type: ignore[operator]
    assert str(caught.value) == text


def test_bins_are_told_apart_by_what_their_edges_mean() -> None:
    made = [Bins((0, 1)), Bins((0, 1), dates=True), Bins((0, math.inf)), Bins((-math.inf, 1))]
    assert all(a.describe() != b.describe() for a, b in itertools.combinations(made, 2))
    assert Bins((0, 1)).describe() == ["bins", ["0x0.0p+0", "0x1.0000000000000p+0"]]
