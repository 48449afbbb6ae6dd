"""For examples/scaling: one tiny measurement, and rows without one."""

from collections.abc import Callable

import pytest
from examples.scripts import scripts

from mmopt.comparison import Isolated

measure = scripts("scaling").measure
Row = measure.Row
MakeRow = Callable[..., Row]


@pytest.fixture(scope="session")
def measured() -> list[Row]:
    """Two sizes, two solvers and the baseline, two solves each, which on Linux are forks of one process."""
    chosen = measure.cases(["l2_strategy"], ["prefix"], [6, 4], ["clarabel", "qoco"], "scs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "Isolated", lambda forks, threads: Isolated(threads=threads))
        return list(measure.measure(chosen, baseline="scs", repeat=2))


@pytest.fixture
def row() -> MakeRow:
    """A row with made-up figures."""

    def make(solver: str, n: int, cpu: float | None, **changes: object) -> Row:
        figures: dict[str, object] = {
            "program": "l2_strategy",
            "problem": "prefix",
            "chosen": solver,
            "m": n,
            "wall": 1.0,
            "iterations": 7,
            "memory": None if cpu is None else 80 * n**2,
            "gap": None if cpu is None else 1e-7,
            "objective": None if cpu is None else 2.0,
            "bound": None if cpu is None else 1.9,
            "stop": "too large" if cpu is None else "gap reached",
            "reason": "no room" if cpu is None else "",
            "repeats": 3,
        }
        return Row(solver=solver, n=n, cpu=cpu, **{**figures, **changes})  # type: ignore[arg-type]

    return make
