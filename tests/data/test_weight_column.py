"""Tables that are aggregated already: a line stands for as many rows as its weight says.

Guards cell_codes.py, counted_rows.py.
"""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from mmopt.data import data_vector
from mmopt.workloads import Domain
from tests.data.tables import refusal, values

ONE = Domain((values("a", 1, 2, outside="drop"),))
LIMIT = 2**31
TABLE = "the dictionary of columns"


def test_a_line_stands_for_so_many_rows(subtests: pytest.Subtests) -> None:
    for weights in [
        [3, 0, 5, 2],
        np.array([3, 0, 5, 2], np.uint8),
        [3.0, 0.0, 5.0, 2.0],
        ["3", "0", " 5 ", "2e0"],
        [Decimal(3), Decimal("0.00"), Decimal(5), Decimal(2)],
    ]:
        with subtests.test(str(weights)):
            found = data_vector({"a": [1, 1, 2, 7], "n": weights}, ONE, weight="n")
            assert found.counts.tolist() == [3, 5] and found.rows == 10 and dict(found.dropped) == {"a": 2}


def test_lines_for_no_row_are_not_refused() -> None:
    refusing = Domain((values("a", 1, 2),))
    assert data_vector({"a": [1, 7], "n": [2, 0]}, refusing, weight="n").counts.tolist() == [2, 0]


def test_a_column_may_be_both_value_and_weight() -> None:
    assert data_vector({"a": [1, 2, 2]}, ONE, weight="a").counts.tolist() == [1, 4]


def test_weights_that_are_no_counts(subtests: pytest.Subtests) -> None:
    for weights, fault in [
        ([1, None, 2], "1 line missing (NULL, empty, NaN or listed under null)"),
        ([1.0, float("nan"), None], "2 lines missing (NULL, empty, NaN or listed under null)"),
        ([1, -1, -2], "2 lines negative"),
        ([1.5, 1.0, 1.0], "1 line no whole number"),
        (["1", "1_0", "x"], "2 lines no number"),
        (["1", "0.5", "inf"], "1 line above 2147483648, 1 line no whole number"),
        ([LIMIT, LIMIT + 1, 0], "1 line above 2147483648"),
        ([2**62, 2**63 - 1, 0], "2 lines above 2147483648"),
        (pa.array([2**64 - 1, 1, 1], pa.uint64()), "1 line above 2147483648"),
        ([Decimal("0.5"), Decimal(1), Decimal(-1)], "1 line negative, 1 line no whole number"),
        ([Decimal("1.00000000000000000001"), Decimal(1), Decimal(1)], "1 line no whole number"),
        (pa.nulls(3), "3 lines missing (NULL, empty, NaN or listed under null)"),
    ]:
        more = (
            "; weights of a survey count no rows, and weighted totals are not released: leave the weight "
            "out, and each line is a row"
        ) * fault.endswith("no whole number")
        with subtests.test(fault):
            assert refusal({"a": [1, 2, 2], "n": weights}, ONE, weight="n") == (
                f"{TABLE}: column 'n' is the weight of each line, a whole number from 0 to {LIMIT}; found "
                f"(confidential, do not publish) {fault}\n"
                f"  correct the table, or leave such lines out of it{more}"
            )


def test_more_rows_than_the_limit() -> None:
    assert data_vector({"a": [1, 2], "n": [LIMIT - 1, 1]}, ONE, weight="n").rows == LIMIT
    assert refusal({"a": [1, 2], "n": [LIMIT, 1]}, ONE, weight="n") == (
        f"{TABLE}: the weights add up to more rows than the limit, {LIMIT} (confidential, do not publish)"
    )


def test_a_weight_that_is_not_there_or_of_another_type() -> None:
    assert refusal({"a": [1], "m": [1]}, ONE, weight="n") == (
        f"{TABLE}: no column 'n' (the weight of each line)\n  the table has: a, m"
    )
    for column, kind in ((pa.array([True]), "boolean"), (pa.array([b"1"]), "binary")):
        assert refusal(pa.table({"a": [1], "n": column}), ONE, weight="n") == (
            f"the data frame: column 'n' is of type {kind}; the weight of a line is a whole number\n"
            "  name another column with 'weight', or leave it out: each line is a row then"
        )
