"""The columns of an accuracy: a value a query, what was asked beside what is had.

Guards release_plan.py.
"""

import itertools

import numpy as np
import pytest
from random_workloads import domain_of

from mmopt import Privacy, Strategy, Workload, plan
from mmopt.mechanism.release_plan import accuracy_columns
from mmopt.workloads import Product, Wish, factors_and_products as f

W = Workload.from_products(
    domain_of(3),
    [
        Product((f.identity(3),), name="plain"),
        Product((f.prefix(3),), name="variance", target=9.0),
        Product((f.total(3),), name="wish", within=Wish(6.0, 0.9)),
        Product((f.identity(3),), name="both", within=Wish(6.0, 0.9), target=0.5),
        Product((f.identity(3),), name="loose", within=Wish(6.0, 0.9), target=1e6),
    ],
)


@pytest.mark.quick
def test_each_says_what_was_asked_and_whether_it_is_held(subtests: pytest.Subtests) -> None:
    for norm, epsilon in itertools.product([1, 2], [0.1, 1.0, 3.0, 30.0]):
        with subtests.test(f"{norm}, {epsilon}"):
            privacy = Privacy(epsilon=epsilon) if norm == 1 else Privacy(rho=epsilon**2 / 2)
            found = plan(W, Strategy(np.eye(3), norm), privacy)
            columns = accuracy_columns(found, 0.8).to_dict()
            assert {len(values) for values in columns.values()} == {W.m}
            assert columns["query"] == [
                name for name, rows in W.groups() for _ in range(rows.start, rows.stop)
            ]
            assert columns["label"] == W.labels() and set(columns["noise"]) == {found.kind}
            assert columns["standard_error"] == found.standard_errors.tolist()
            assert columns["half_width"] == found.intervals(0.8).widths.tolist()
            asked = {name: rows.start for name, rows in W.groups()}
            for name, variance, within in (
                ("plain", None, None),
                ("variance", 9.0, None),
                ("wish", None, 6.0),
                ("both", 0.5, 6.0),
                ("loose", None, 6.0),
            ):
                row = asked[name]
                confidence = None if within is None else 0.9
                assert [columns[key][row] for key in ("max_variance", "within", "within_confidence")] == [
                    variance, within, confidence
                ]  # fmt: skip
                error, width = found.standard_errors[row], found.intervals(0.9).widths[row]
                is_held = (variance is None or error**2 <= variance) and (within is None or width <= within)
                assert columns["meets"][row] == (None if name == "plain" else is_held), (name, epsilon)


def test_whole_answers_have_whole_half_widths() -> None:
    for norm, privacy in ((1, Privacy(epsilon=0.7)), (2, Privacy(rho=0.03))):
        found = plan(W, Strategy(np.eye(3), norm), privacy)
        widths = found.intervals(0.95).widths
        np.testing.assert_array_equal(widths, np.rint(widths))
