"""Files that change while they are counted, and columns that no query needs.

Guards table_files_and_connections.py.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from mmopt.data import check_columns, data_vector
from mmopt.data.open_table import open_table
from mmopt.errors import DataError
from mmopt.request import parse_request

CHANGED = (
    "t.csv: the file changed while it was read; nothing was released\n  use a copy that nobody writes to"
)
FILE = """
domain:
  sex: {values: [F, M]}
  age: {bins: [0, 18, 65]%s}
  city: {values: [A, B, C]%s}
workload: [{marginal: [sex]}, {product: {}}]
"""


@pytest.mark.quick
def test_a_file_that_changes() -> None:
    file = Path("t.csv")

    def grow() -> None:
        file.write_text("a\n1\n2\n3\n")

    def touch() -> None:
        os.utime(file, ns=(1, 1))

    def swap() -> None:
        Path("other.csv").write_text("a\n1\n2\n")
        status = file.stat()
        os.utime("other.csv", ns=(status.st_atime_ns, status.st_mtime_ns))
        os.replace("other.csv", file)

    def fail() -> None:
        grow()
        raise DataError("half a row")

    for change in (grow, touch, swap, file.unlink, fail):
        file.write_text("a\n1\n2\n")
        with pytest.raises(DataError) as caught, open_table("t.csv", {"a": "attribute 'a'"}):
            change()
        assert str(caught.value) == CHANGED, change


def test_columns_that_no_query_needs_may_hold_anything() -> None:
    request = parse_request(FILE % ("", ", missing: B"))
    workload = request.workload
    rows = ["F", "M", "M"]
    for data in (
        {"sex": rows},
        {"sex": rows, "age": ["x", None, 99], "city": [None, "Z", 7]},
        {"sex": rows, "age": [[1], [2], [3]], "city": [True, False, None]},
    ):
        check_columns(data, workload.domain, workload=workload)
        found = data_vector(data, workload.domain, workload=workload)
        assert found.rows == 3 and dict(found.dropped) == {"sex": 0, "age": 0, "city": 0}
        np.testing.assert_array_equal(workload.answers(found), [1, 2, 3])
        assert found.counts.reshape(2, 2, 3)[:, 0, 0].tolist() == [1, 2]
    with pytest.raises(DataError, match="no column 'age'"):
        data_vector({"sex": rows}, workload.domain)


@pytest.mark.quick
def test_an_attribute_that_drops_rows_is_read() -> None:
    for rule, kept in (("outside: drop", [1, 1, 2]), ("missing: drop", None)):
        request = parse_request(FILE % (f", {rule}", ""))
        workload = request.workload
        data = {"sex": ["F", "M", "M"], "age": [5, 99, 20]}
        if kept is None:
            with pytest.raises(DataError, match="1 outside the declared domain"):
                data_vector(data, workload.domain, workload=workload)
            continue
        found = data_vector(data, workload.domain, workload=workload)
        np.testing.assert_array_equal(workload.answers(found), kept)
        assert found.dropped["age"] == 1
        with pytest.raises(DataError, match="no column 'age'"):
            check_columns({"sex": ["F"]}, workload.domain, workload=workload)


def test_answers_do_not_depend_on_which_columns_are_read(rng: np.random.Generator) -> None:
    """And a row changes one cell only, whatever it holds elsewhere."""
    request = parse_request(FILE % (", outside: drop, missing: drop", ""))
    workload = request.workload
    rows = int(rng.integers(1, 40))
    data = {
        "sex": rng.choice(["F", "M"], rows),
        "age": rng.integers(-9, 99, rows),
        "city": rng.choice(["A", "B", "C"], rows),
    }
    some = data_vector(data, workload.domain, workload=workload)
    every = data_vector(data, workload.domain)
    np.testing.assert_array_equal(workload.answers(some), workload.answers(every))
    one = data_vector(
        {name: column[:-1] for name, column in data.items()}, workload.domain, workload=workload
    )
    assert np.abs(some.counts - one.counts).sum() == some.counts.sum() - one.counts.sum() <= 1
