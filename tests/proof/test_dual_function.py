"""The dual function: values known in closed form, and weak and strong duality of every shipped program.

Guards dual_function.py.
"""

import math

import numpy as np
import pytest
from tolerances import GAP

import mmopt
from mmopt.language import program_names, shipped

W = mmopt.Workload.from_matrix(np.tri(4), targets=np.ones(4))
CONVEX = [
    name
    for name in program_names()
    if (p := shipped(name).written).problem_class == "convex" and not any(c.family for c in p.constraints)
]
# Linear in a free variable: infinite at multipliers that a solver has up to rounding.
LINEAR = {"common_mechanism", "e_optimal_design"}
LP = """program lp
choose
    x: vector[2] >= 0
maximize
    3 * x[0] + 5 * x[1]
subject to
    a: x[0] <= 4
    b: 2 * x[1] <= 12
    c: 18 >= 3 * x[0] + 2 * x[1]
"""
DISK = """program disk
choose
    x: vector[2]
minimize
    (x[0] - 3)**2 + (x[1] - 2)**2
subject to
    disk: x[0]**2 + x[1]**2 <= 5
    line: x[0] + 2 * x[1] == 4
"""
LOGDET = """program logdet
choose
    X: psd[2, 2]
maximize
    logdet(X)
subject to
    most: [[2, 1], [1, 2]] >> X
    cap: trace(X) <= 3
"""
SUM = """program sum
choose
    x: vector[2] >= 0
minimize
    sum(x)
subject to
    l: diag(x) >> -[[0, 1], [1, 0]]
"""
INVERSE = """program inverse
choose
    X: psd[2, 2]
minimize
    trace(X) - 1.8 * X[0, 1]
subject to
    l: inv(X) << eye(2)
"""
ROOT = """program root
choose
    s: scalar >= 0
maximize
    sqrt(s)
subject to
    l: s <= 1
"""
# By hand: text, multipliers, value.
KNOWN = [
    (LP, {}, math.inf),
    (LP, {"b": 2.5, "c": 1.0}, 48.0),
    (LP, {"a": 3.0, "b": 2.5}, 42.0),
    (DISK, {"disk": 1.0}, 1.5),
    (DISK, {"disk": 1.0, "line": 1.0}, 0.375),
    (DISK, {"line": -2.0}, -11.0),
    (SUM, {"l": [[1, -1], [-1, 1]]}, 2.0),
    (INVERSE, {"l": [[1.0, -0.9], [-0.9, 1.0]]}, 2.0),
    (LOGDET, {"cap": 1.0}, 1.0),
    (LOGDET, {"most": np.eye(2), "cap": 1.0}, 7.0 - 2.0 * math.log(2.0) - 2.0),
]


@pytest.mark.parametrize(("text", "multipliers", "value"), KNOWN)
def test_values_by_hand(text: str, multipliers: dict[str, float], value: float) -> None:
    program = mmopt.Program.parse(text)
    assert mmopt.dual_function(program, multipliers=multipliers) == pytest.approx(value, rel=GAP)


def test_what_the_solver_is_not_sure_of_is_not_given() -> None:
    """A solver may come to a stand at any value where the dual function is infinite."""
    program = mmopt.Program.parse(ROOT)
    with pytest.raises(mmopt.SolverError, match="clarabel does not compute the dual function"):
        mmopt.dual_function(program, multipliers={"l": 1e-6})
    with pytest.raises(mmopt.OptionError, match="the multiplier of 'l' is not finite"):
        mmopt.dual_function(program, multipliers={"l": math.nan})


@pytest.mark.parametrize("name", CONVEX)
def test_duality(name: str, rng: np.random.Generator) -> None:
    """It is the optimum at the multipliers of a solution, if these are of all lines, and never beyond it."""
    s = mmopt.solve(W, name)
    lines = {line.name for line in shipped(name).written.constraints}
    at = {key: y for key, y in s.multipliers.items() if key in lines}
    sign = 1.0 if s.sense == "minimize" else -1.0
    value = mmopt.dual_function(name, W, at)
    assert sign * value <= sign * s.objective + GAP * abs(s.objective)
    if at.keys() == lines and name not in LINEAR:
        assert value == pytest.approx(s.objective, rel=GAP)
    near = {key: y * rng.uniform(0.5, 2.0) for key, y in at.items()}
    assert sign * mmopt.dual_function(name, W, near) <= sign * s.objective + GAP * abs(s.objective)


def test_what_has_none_is_refused() -> None:
    for name, words in (("p_identity", "not convex"), ("l2_strategy_lmi", "not a single constraint")):
        with pytest.raises(mmopt.UnsuitableError, match=words):
            mmopt.dual_function(name, W, {line.name: 1.0 for line in shipped(name).written.constraints})
    with pytest.raises(mmopt.OptionError, match=r"has shape \(2,\), its line \(\)"):
        mmopt.dual_function(mmopt.Program.parse(LP), multipliers={"a": [1.0, 2.0]})
