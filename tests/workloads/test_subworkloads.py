"""Sub-workloads: names, parts, and weights that are multiplied."""

from __future__ import annotations

import numpy as np
import pytest

from mmopt.errors import OptionError, WorkloadError
from mmopt.workloads import Attribute, Domain, Product, Workload
from mmopt.workloads.blocks import factor_blocks as f
from mmopt.workloads.workload_variants import only, rest_of, subworkloads, weighted


@pytest.fixture
def workload() -> Workload:
    domain = Domain((Attribute("sex", ("F", "M")), Attribute("age", ("young", "old", "older"))))
    return Workload.from_products(
        domain,
        [
            Product((f.total(2), f.prefix(3)), weight=2.0),
            Product((f.identity(2), f.total(3)), subworkload="sexes"),
            Product((f.identity(2), f.identity(3)), subworkload="cells", weight=0.5),
            Product((f.total(2), f.total(3)), subworkload="sexes"),
        ],
    )


def test_parts_are_rows_of_the_whole(workload: Workload) -> None:
    assert subworkloads(workload) == ("sexes", "cells")
    np.testing.assert_array_equal(only(workload, "sexes").matrix, workload.matrix[[3, 4, 11]])
    np.testing.assert_array_equal(only(workload, "cells").matrix, workload.matrix[5:11])
    rest = rest_of(workload, "sexes")
    assert rest is not None
    np.testing.assert_array_equal(rest.matrix, workload.matrix[[0, 1, 2, *range(5, 11)]])
    assert rest_of(only(workload, "sexes"), "sexes") is None


def test_weights_are_multiplied(workload: Workload) -> None:
    factors = np.ones(12)
    factors[[3, 4, 11]], factors[5:11] = 3.0, 4.0
    found = weighted(workload, {"sexes": 3.0, "cells": 4.0})
    np.testing.assert_array_equal(found.weights, factors * workload.weights)
    np.testing.assert_array_equal(found.queries, workload.queries)
    assert weighted(workload, {}) is workload
    # The name of a part is no fact about the queries.
    assert weighted(workload, {"sexes": 1.0}) == workload
    assert found != workload


def test_refused(workload: Workload) -> None:
    message = r"^there is no sub-workload 'sex', the workload has sexes, cells\n"
    for ask in (only, rest_of, lambda w, name: weighted(w, {name: 2.0})):
        with pytest.raises(OptionError, match=message) as raised:
            ask(workload, "sex")
        assert raised.value.hint == "did you mean 'sexes'?"
    with pytest.raises(OptionError, match=r"^there is no sub-workload 'sex': the workload has none\n"):
        only(Workload.from_matrix(np.eye(2)), "sex")
    with pytest.raises(WorkloadError, match=r"^the factor of the sub-workload 'cells' is -1"):
        weighted(workload, {"cells": -1.0})
