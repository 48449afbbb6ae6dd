"""The chart of half widths: a line for each group, and what was asked for where something was."""

from __future__ import annotations

import numpy as np
import pytest

from mmopt.mechanism import plan
from mmopt.privacy import Privacy
from mmopt.report.accuracy_chart import accuracy_figure
from mmopt.strategies import Strategy
from mmopt.workloads import Domain, Workload

DOMAIN = Domain.of(sex=["F", "M"], age={"bins": [0, 18, 65, 115]})


@pytest.mark.quick
@pytest.mark.parametrize("within", [None, 50.0])
def test_half_widths_and_what_was_asked_for(within: float | None) -> None:
    workload: Workload = DOMAIN.marginal("sex", within=within) + DOMAIN.marginal("age")
    planned = plan(workload, Strategy(np.eye(DOMAIN.size), norm=1), Privacy(epsilon=1.0))
    (axes,) = accuracy_figure(planned, 0.9, "title").axes
    drawn = [np.asarray(line.get_ydata(), dtype=float) for line in axes.get_lines()]
    np.testing.assert_array_equal(np.concatenate(drawn[0:4:2]), planned.intervals(0.9).widths)
    asked = np.full(workload.m, np.nan)
    if within is not None:
        asked[:2] = within
    np.testing.assert_array_equal(np.concatenate(drawn[1:4:2]), asked)
    assert [line.get_label() for line in axes.get_lines()[4:]] == ["asked for"] * (within is not None)
