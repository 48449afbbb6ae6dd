"""Eleven textbook programs, a bound proved with each, beside plain cvxpy with the same solver.

python examples/scaling/own_programs.py                       the table; max-cut at 200 takes many minutes
python examples/scaling/own_programs.py --sizes 100 --only lasso,entropy
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import cvxpy
import numpy as np
import scipy.sparse as sp
import typer

import mmopt
from mmopt.cli.app import run_alone
from mmopt.cli.command_inputs import integers_in, names_in
from mmopt.cli.command_output import note, show
from mmopt.report.table_style import figure, gap, rows_table

cp: Any = cvxpy  # its names are not all typed
Data = Mapping[str, Any]
TWICE, MORE = 2.0, 0.1  # mmopt may take so many times the CPU seconds of cvxpy, and so many more


@dataclass(frozen=True)
class Model:
    """A program in both languages; ``data`` makes its givens for a size, from a seed of that size."""

    text: str
    data: Callable[[int, np.random.Generator], Data]
    problem: Callable[[Data], Any]


def program(given: str, choose: str, goal: str, *lines: str) -> str:
    """The text of a program without a strategy: sections with their lines."""
    sections = {"given": given, "choose": choose, goal.split()[0]: goal.split(maxsplit=1)[1]}
    if lines:
        sections["subject to"] = "\n".join(lines)
    body = (
        f"{name}\n" + "".join(f"    {line}\n" for line in text.split("\n")) for name, text in sections.items()
    )
    return "program own\n" + "".join(body)


def _covered(n: int, rng: np.random.Generator) -> Data:
    a = rng.uniform(0.1, 1.0, size=(n, n))
    return {"A": a, "b": a.sum(axis=1), "c": rng.uniform(0.5, 1.5, size=n)}


def _measured(n: int, rng: np.random.Generator) -> Data:
    a = rng.normal(size=(2 * n, n))
    return {"A": a, "b": a @ np.maximum(rng.normal(size=n), 0.0) + rng.normal(size=2 * n)}


def _assets(n: int, rng: np.random.Generator) -> Data:
    factors = max(2, n // 10)
    return {
        "F": rng.normal(size=(factors, n)) / np.sqrt(factors),
        "s": rng.uniform(0.1, 0.5, size=n),
        "r": rng.normal(0.1, 0.1, size=n),
    }


def _moments(n: int, rng: np.random.Generator) -> Data:
    a, p = rng.normal(size=(max(2, n // 10), n)), rng.uniform(0.5, 1.5, size=n)
    return {"A": a, "b": a @ (p / p.sum())}


def _network(n: int, rng: np.random.Generator) -> Data:
    """Six edges a node, in a matrix of few entries; a ring joins all nodes."""
    edges = np.arange(6 * n)
    start = np.concatenate([edges[:n], rng.integers(0, n, 5 * n)])
    end = (start + np.concatenate([np.ones(n, dtype=int), rng.integers(1, n, 5 * n)])) % n
    signs = np.repeat([1.0, -1.0], 6 * n)
    a = sp.csr_array((signs, (np.concatenate([start, end]), np.tile(edges, 2))), (n, 6 * n))
    return {"A": a, "b": a @ rng.uniform(size=6 * n), "c": rng.uniform(0.5, 1.5, size=6 * n)}


def _points(n: int, rng: np.random.Generator) -> Data:
    return {"V": rng.normal(size=(5, n))}


def _graph(n: int, rng: np.random.Generator) -> Data:
    edges = np.triu((rng.uniform(size=(n, n)) < min(1.0, 6.0 / n)) * 1.0, 1)
    edges = edges + edges.T
    return {"L": (np.diag(edges.sum(axis=1)) - edges) / 4}


def _of_vector(
    name: str, nonneg: bool, goal: Callable[[Any, Data], Any], *lines: Callable[[Any, Data], Any]
) -> Callable[[Data], Any]:
    """The problem of one vector, of as many entries as the given ``name`` has columns."""

    def problem(data: Data) -> Any:
        x = cp.Variable(data[name].shape[-1], nonneg=nonneg)
        return cp.Problem(goal(x, data), [line(x, data) for line in lines])

    return problem


def _max_cut(data: Data) -> Any:
    x = cp.Variable(data["L"].shape, PSD=True)
    return cp.Problem(cp.Maximize(cp.trace(data["L"] @ x)), [cp.diag(x) == 1])


FIT, FREE, SIGNED = "A: matrix[m, n]\nb: vector[m]", "x: vector[n]", "x: vector[n] >= 0"
DESIGN, WEIGHTS = "V: matrix[d, n]", "w: vector[n] >= 0"


def _moment_matrix(w: Any, data: Data) -> Any:
    return data["V"] @ cp.diag(w) @ data["V"].T


def _residual(x: Any, data: Data) -> Any:
    return data["A"] @ x - data["b"]


MODELS = {
    "linear program": Model(
        program(f"{FIT}\nc: vector[n]", SIGNED, "minimize c @ x", "cover: A @ x >= b"),
        _covered,
        _of_vector("A", True, lambda x, d: cp.Minimize(d["c"] @ x), lambda x, d: d["A"] @ x >= d["b"]),
    ),
    "network flow": Model(
        program(f"{FIT}\nc: vector[n]", SIGNED, "minimize c @ x", "conserve: A @ x == b", "limit: x <= 2"),
        _network,
        _of_vector(
            "A",
            True,
            lambda x, d: cp.Minimize(d["c"] @ x),
            lambda x, d: d["A"] @ x == d["b"],
            lambda x, d: x <= 2,
        ),
    ),
    "least squares": Model(
        program(FIT, SIGNED, "minimize sum((A @ x - b)**2)"),
        _measured,
        _of_vector("A", True, lambda x, d: cp.Minimize(cp.sum_squares(_residual(x, d)))),
    ),
    "lasso": Model(
        program(FIT, FREE, "minimize sum((A @ x - b)**2) + 5 * norm(x, 1)"),
        _measured,
        _of_vector("A", False, lambda x, d: cp.Minimize(cp.sum_squares(_residual(x, d)) + 5 * cp.norm1(x))),
    ),
    "portfolio": Model(
        program(
            "F: matrix[k, n]\ns: vector[n]\nr: vector[n]",
            SIGNED,
            "minimize sum((F @ x)**2) + sum((s * x)**2) - r @ x",
            "budget: sum(x) == 1",
        ),
        _assets,
        _of_vector(
            "F",
            True,
            lambda x, d: cp.Minimize(
                cp.sum_squares(d["F"] @ x) + cp.sum_squares(cp.multiply(d["s"], x)) - d["r"] @ x
            ),
            lambda x, d: cp.sum(x) == 1,
        ),
    ),
    "entropy": Model(
        program(FIT, SIGNED, "maximize sum(entropy(x))", "total: sum(x) == 1", "moments: A @ x == b"),
        _moments,
        _of_vector(
            "A",
            True,
            lambda x, d: cp.Maximize(cp.sum(cp.entr(x))),
            lambda x, d: cp.sum(x) == 1,
            lambda x, d: d["A"] @ x == d["b"],
        ),
    ),
    "D-optimal design": Model(
        program(DESIGN, WEIGHTS, "maximize logdet(V @ diag(w) @ V.T)", "total: sum(w) == 1"),
        _points,
        _of_vector(
            "V",
            True,
            lambda w, d: cp.Maximize(cp.log_det(_moment_matrix(w, d))),
            lambda w, d: cp.sum(w) == 1,
        ),
    ),
    "A-optimal design": Model(
        program(DESIGN, WEIGHTS, "minimize trace(inv(V @ diag(w) @ V.T))", "total: sum(w) == 1"),
        _points,
        _of_vector(
            "V",
            True,
            lambda w, d: cp.Minimize(cp.tr_inv(_moment_matrix(w, d))),
            lambda w, d: cp.sum(w) == 1,
        ),
    ),
    "L1 fit": Model(
        program(FIT, FREE, "minimize norm(A @ x - b, 1)"),
        _measured,
        _of_vector("A", False, lambda x, d: cp.Minimize(cp.norm1(_residual(x, d)))),
    ),
    "max-cut": Model(
        program("L: matrix[n, n]", "X: psd[n, n]", "maximize trace(L @ X)", "unit: diag(X) == 1"),
        _graph,
        _max_cut,
    ),
    "fourth powers": Model(
        program(FIT, FREE, "minimize sum((A @ x - b)**4)"),
        _measured,
        _of_vector("A", False, lambda x, d: cp.Minimize(cp.sum(cp.power(_residual(x, d), 4)))),
    ),
}


def _least(work: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """The least CPU seconds of some runs, and the result of the last."""
    seconds, result = np.inf, None
    for _ in range(repeat):
        start = time.process_time()
        result = work()
        seconds = min(seconds, time.process_time() - start)
    return seconds, result


def row(name: str, n: int, solver: str, repeat: int) -> dict[str, Any]:
    """One model at one size: CPU seconds of both, and the objective with its proved gap."""
    note(f"{name}, n = {n}")
    model = MODELS[name]
    data = model.data(n, np.random.default_rng(n))
    parsed = mmopt.Program.parse(model.text)
    ours, solution = _least(lambda: mmopt.solve([[1.0]], parsed, givens=data, solver=solver), repeat)
    theirs, value = _least(lambda: model.problem(data).solve(solver.upper()), repeat)
    return {
        "program": name,
        "n": n,
        "mmopt": ours,
        "cvxpy": theirs,
        "ratio": ours / theirs,
        "within": ours <= TWICE * theirs + MORE,
        "objective": solution.objective,
        "of cvxpy": value,
        "gap": solution.gap,
        "proved": solution.bound_grade == "proved",
    }


def own_programs(
    sizes: Annotated[str, typer.Option(metavar="N,N", help="Sizes of the programs.")] = "10,50,100,200",
    only: Annotated[str | None, typer.Option(metavar="A,B", help="Some of the eleven programs.")] = None,
    solver: Annotated[str, typer.Option(metavar="NAME", help="Solver of both.")] = "clarabel",
    repeat: Annotated[int, typer.Option(metavar="N", help="Solves of each; the quickest counts.")] = 2,
) -> None:
    """Measure what a proof costs: eleven programs beside plain cvxpy with the same solver, in one run."""
    chosen = names_in(only, "--only") or list(MODELS)
    if unknown := set(chosen) - MODELS.keys():
        raise mmopt.OptionError(f"--only has '{unknown.pop()}'; the programs are {', '.join(MODELS)}")
    rows = [row(name, n, solver, repeat) for name in chosen for n in integers_in(sizes, "--sizes")]
    cells = [
        [
            one["program"],
            f"{one['n']:,}",
            figure(one["mmopt"], 3),
            figure(one["cvxpy"], 3),
            figure(one["ratio"], 2),
            "yes" if one["within"] else "no",
            gap(one["gap"]),
            "yes" if one["proved"] else "no",
        ]
        for one in rows
    ]
    header = ("program", "n", "mmopt", "cvxpy", "ratio", "within", "gap", "proved")
    show(rows_table(header, cells, right=header[1:]))
    show(f"Least CPU seconds of {repeat} solves by {solver}. within: {TWICE:g} times cvxpy's and {MORE:g} s.")


if __name__ == "__main__":
    run_alone(own_programs, "python examples/scaling/own_programs.py")
