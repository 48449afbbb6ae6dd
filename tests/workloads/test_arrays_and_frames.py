"""A data frame of queries × cells: its index names the queries, its columns the cells."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mmopt.errors import WorkloadError
from mmopt.workloads import Domain, Values, Workload

ROWS = [[1, 1, 0], [0, 1, 1]]
FRAME = pd.DataFrame(ROWS, index=["young", "old"], columns=["child", "adult", "senior"])


def test_labels_of_a_frame() -> None:
    w = Workload.from_matrix(FRAME)
    assert w.labels() == ["young", "old"]
    assert w.domain.attributes[0].labels == ("child", "adult", "senior")
    assert w.domain.names == ("cell",)
    np.testing.assert_array_equal(w.queries, ROWS)


def test_the_name_of_the_columns_names_the_attribute() -> None:
    frame = FRAME.rename_axis(columns="age")
    same = Domain.of(age=["child", "adult", "senior"])
    assert Workload.from_matrix(frame).domain.describe() == same.describe()


def test_labels_that_are_no_texts_stay_table_values() -> None:
    frame = pd.DataFrame(ROWS, columns=pd.Index([20, 30, 40], name="age"), index=[2.5, True])
    w = Workload.from_matrix(frame)
    (age,) = w.domain.attributes
    assert (age.labels, age.encoding) == (("20", "30", "40"), Values((20, 30, 40)))
    assert w.labels() == ["2.5", "true"]


def test_an_index_that_only_counts_gives_no_labels() -> None:
    w = Workload.from_matrix(pd.DataFrame(ROWS))
    assert w == Workload.from_matrix(ROWS)
    assert w.labels() == ["query 0", "query 1"]
    assert Workload.from_matrix(pd.DataFrame(ROWS, index=range(5, 7))).labels() == ["5", "6"]


def test_polars_names_cells_only() -> None:
    w = Workload.from_matrix(pl.DataFrame({"child": [1, 0], "adult": [1, 1], "senior": [0, 1]}))
    assert w == Workload.from_matrix(FRAME)
    assert w.labels() == ["query 0", "query 1"]


def test_columns_of_several_types_and_levels() -> None:
    columns = pd.MultiIndex.from_product([["F", "M"], [1, 2]])
    frame = pd.DataFrame([[True, False, True, False]], columns=columns)
    frame[("M", 2)] = 0.5
    frame.index = pd.MultiIndex.from_tuples([("a", 1)])
    w = Workload.from_matrix(frame)
    assert w.domain.attributes[0].labels == ("F, 1", "F, 2", "M, 1", "M, 2")
    assert w.labels() == ["a, 1"]
    assert w.queries.tolist() == [[1.0, 0.0, 1.0, 0.5]]


def test_targets_in_the_order_of_the_queries() -> None:
    for targets in ([1, 2], pd.Series([1, 2]), pd.Series([1, 2], index=["young", "old"]), (1, 2)):
        assert Workload.from_matrix(FRAME, targets).targets.tolist() == [1.0, 2.0]
    for frame in (FRAME.to_numpy(), pd.DataFrame(ROWS)):  # without labels there is nothing to compare
        named = pd.Series([1, 2], index=["old", "young"])
        assert Workload.from_matrix(frame, named).targets.tolist() == [1.0, 2.0]


WRONG: list[tuple[Callable[[], object], str]] = [
    (
        lambda: Workload.from_matrix(FRAME, pd.Series([1, 2], index=["old", "young"])),
        "the targets have the same labels in another order than the queries\n"
        "  pass targets.reindex(queries.index)",
    ),
    (
        lambda: Workload.from_matrix(FRAME, weights=pd.Series([1, 2], index=["old", "older"])),
        "the weights have other labels than the queries\n  pass weights.reindex(queries.index)",
    ),
    (
        lambda: Workload.from_matrix(pd.DataFrame(ROWS, columns=["a", "b", "a"])),
        "the data frame has two columns 'a'",
    ),
    (
        lambda: Workload.from_matrix(pd.DataFrame(ROWS, columns=["a", "b", ""])),
        "a query or a cell of the frame has an empty label",
    ),
    (
        lambda: Workload.from_matrix(FRAME.replace(0, np.nan)),
        "query 0 ('young') has the entry nan at cell 2, expected finite numbers",
    ),
    (
        lambda: Workload.from_matrix(FRAME.mul([1, 0], axis=0)),
        "query 1 ('old') is all zero\n  leave it out: its answer is 0",
    ),
    (
        lambda: Workload.from_matrix(FRAME.astype(str)),
        "the data frame holds object values, expected a number per query and cell\n"
        "  a row is a query and a column a cell; labels of queries go in the index, data go elsewhere",
    ),
]


@pytest.mark.quick
def test_refused(subtests: pytest.Subtests) -> None:
    for call, text in WRONG:
        with subtests.test(text):
            with pytest.raises(WorkloadError) as caught:
                call()
            assert str(caught.value) == text
