"""Cases of the golden record that call the public names of mmopt; each gives a text."""

import json
from pathlib import Path

import numpy as np
from record.inputs import SHIPPED

import mmopt


def figures(s: mmopt.Solution) -> str:
    shape = s.strategy.matrix.shape if isinstance(s.strategy, mmopt.Strategy) else s.strategy
    return json.dumps(
        {
            "program": s.program,
            "objective": s.objective,
            "bound": s.bound,
            "value": s.value,
            "error": s.error,
            "error_bound": s.error_bound,
            "sensitivity": s.sensitivity,
            "rmse": s.rmse,
            "strategy": str(shape),
        },
        indent=1,
    )


def python_solve() -> str:
    w = mmopt.Workload.from_matrix(np.tri(16))
    s = mmopt.solve(w, "l2_strategy", tolerance=1e-9)
    s.save("s.npz")
    again = mmopt.Solution.load("s.npz")
    return "\n".join((figures(s), figures(again), str(mmopt.verify(again, w).holds), str(w)))


def python_own_program() -> str:
    w = mmopt.Workload.from_matrix(np.tri(5))
    p = mmopt.Program.parse(SHIPPED.replace("program l2_strategy", "program mine"))
    return figures(mmopt.solve(w, p, tolerance=1e-9))


def python_certify() -> str:
    w = mmopt.Workload.from_matrix(np.tri(6))
    return "\n".join((figures(mmopt.certify(w, np.eye(6))), str(mmopt.baseline("wavelet", w))))


def python_request() -> str:
    r = mmopt.load_request("total.yaml")
    x = mmopt.data_vector("people.csv", r.workload.domain)
    return f"{r.privacy}\n{r.workload}\n{r.workload.labels()}\n{r.workload.matrix.tolist()}\n{x}"


def python_release() -> str:
    w = mmopt.Workload.from_matrix(np.tri(4))
    plan = mmopt.plan(w, mmopt.Strategy(np.eye(4)), mmopt.Privacy(epsilon=1.0, delta=1e-6))
    answers = mmopt.measure(plan, np.array([1234567, 0, 3, 4]), simulate=2)
    mmopt.write_release(answers, mmopt.build_manifest(plan, answers, program="mine"), "out")
    manifest = Path("out", "manifest.json").read_text(encoding="utf-8")
    return f"{answers.standard_errors.tolist()}\n{manifest}"


def python_explain() -> str:
    return str(mmopt.explain("singular_value_bound", mmopt.Workload.load("total.yaml")))


def python_refusals() -> str:
    w = mmopt.Workload.from_matrix(np.tri(4))
    lines = []
    for ask in (
        lambda: mmopt.solve(w, "l2_stratgy"),
        lambda: mmopt.solve(w, "l2_strategy", solver="clarabell"),
        lambda: mmopt.solve(w, "l2_strategy", tolerance=-1),
        lambda: mmopt.solve(w, "fitness_for_use"),
        lambda: mmopt.certify(w, np.eye(3)),
        lambda: mmopt.Privacy(epsilon=0.0),
        lambda: mmopt.baseline("haaar", w),
        lambda: mmopt.Workload.from_matrix(np.full((2, 2), np.nan)),
        lambda: mmopt.Program.parse("progam a\n"),
    ):
        try:
            lines.append(str(ask()))
        except mmopt.Error as error:
            lines.append(f"{type(error).__name__}: {error}")
    return "\n".join(lines)


CALLS = (
    python_solve,
    python_own_program,
    python_certify,
    python_request,
    python_release,
    python_explain,
    python_refusals,
)
