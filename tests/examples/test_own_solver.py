"""The examples of solvers of one's own: run where their packages are, else refused by name."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from mmopt import SolverError, Workload, solve

FOLDER = Path(__file__).parents[2] / "examples" / "own-solver"
MODULES = {"by_moreau": "moreau", "by_qics": "qics", "by_sdpa_multiprecision": "sdpap"}


def test_it_solves_or_its_package_is_named(
    monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    workload = Workload.from_matrix(np.tri(5))
    for name, package in MODULES.items():
        solver = f"{name}:solve"
        with subtests.test(name):
            if importlib.util.find_spec(package) is None:
                with pytest.raises(SolverError) as error:
                    solve(workload, "l2_strategy", solver=solver)
                assert str(error.value) == (
                    f"the module '{name}' of the solver '{solver}' cannot be imported: "
                    f"No module named '{package}'\n  install what it needs in mmopt's environment"
                )
                continue
            s = solve(workload, "l2_strategy", solver=solver, reduce=False)
            assert s.solver == solver and s.solver_version
            assert s.gap is not None and s.gap <= 1e-6


def test_every_example_is_in_the_table() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}.py`" in text for name in MODULES)
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == sorted(MODULES)
