"""The compiled problem as plain data, and named arrays back.

This is what your own solver receives, and what an exported file contains: minimize ``c @ x + offset``
subject to ``A @ x + s = b``, with s in a product of cones K. The rows are in the order of the fields of
:class:`Cones`. If the program maximizes, minus its objective is minimized.

**Your own solver** is one Python function from a :class:`ConicProblem` to a point and multipliers. It returns
x (n,) and y (m,), in the dual cones, with ``c + A.T @ y = 0`` (plus ``P @ x``, if there is a P). The result
is ``(x, y)``, or a dictionary or object with ``x`` and ``y`` and, optionally, ``iterations`` and ``status``.
With status "infeasible" or "unbounded", x may be None; the status is checked, not trusted. The function may
also be a generator of such results. A generator is stopped between two results, by the requested gap, a time
limit or Ctrl-C. A plain function in a Python session cannot be stopped: it has to respect
``problem.options.time_limit`` itself. ``mmopt compare`` ends its process.

``problem.options.tolerance`` is the requested gap, from ``mmopt.solve(…, tolerance=…)`` or ``--tolerance``,
by default 1e-6. The gap is proved for the repaired point, so solve a little more accurately. If a program has
no repair, a point may be refused that violates a constraint by more than rounding, that is 1e-10 of its size.
The function is called once for every problem that a solve makes, and there may be many: each part of a
reduction (at nine tenths of its share of the tolerance), each step of a procedure, each round of a search. It
may be called once more at a smaller tolerance.

In a module ``own``::

    import scipy.optimize

    def simplex(problem):
        '''HiGHS of scipy: for linear programs.'''
        z, A, b = problem.cones.zero, problem.A, problem.b
        found = scipy.optimize.linprog(
            problem.c, A_eq=A[:z], b_eq=b[:z], A_ub=A[z:], b_ub=b[z:], bounds=(None, None),
            options={"time_limit": problem.options.time_limit},
        )
        y = [*-found.eqlin.marginals, *-found.ineqlin.marginals]
        return {"x": found.x, "y": y, "iterations": found.nit, "status": found.message}

    simplex.cones = {"zero", "nonnegative"}

Use it as ``mmopt.solve(workload, program, solver=simplex)`` or ``mmopt solve … --solver own:simplex``.
``cones`` names the cones that it accepts (:class:`Cones`), by default all. With ``quadratic = True`` it gets
a quadratic objective as P. If its module has a ``__version__``, that is printed with the result.
"""

import importlib
import inspect
import itertools
import os
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from mmopt.compiler import Lowered
from mmopt.errors import Error, OptionError, SolverError, UnsuitableError, counted
from mmopt.limits import Stop
from mmopt.numerics.arrays import Array
from mmopt.solvers.options_points_and_clock import Iteration, Options

Named = tuple[dict[str, Array], dict[str, Array]]  # variables, and multipliers, by the program's names


@dataclass(frozen=True)
class Handover:
    """Solver data of a lowered problem, as cvxpy's reductions give them."""

    lowered: Lowered
    solver: str  # cvxpy's name
    data: Mapping[str, Any]
    chain: Any
    inverse: Any

    @property
    def cones(self) -> Any:
        return self.data["dims"]

    @property
    def matrix_size(self) -> tuple[int, int, int]:
        """Rows, columns and nonzeros of the constraints; some solvers get equations apart from cones."""
        # Solvers of quadratic programs have G for a limit, and F for its matrix.
        both = (self.data.get("A"), self.data.get("F", self.data.get("G")))
        parts = [part for part in both if part is not None]
        return sum(p.shape[0] for p in parts), parts[0].shape[1], sum(p.nnz for p in parts)

    @property
    def is_quadratic(self) -> bool:
        """Whether a part of the objective is handed over as quadratic, which needs no cones."""
        return getattr(self.data.get("P"), "nnz", 0) > 0

    @property
    def figures(self) -> dict[str, str | int]:
        """Words on what the solver gets, under ``gets``, and each number of them under ``gets`` and its unit.

        Cones, where known, by kind and size; a quadratic objective; rows, columns and nonzeros of the matrix.
        """
        dims, (rows, columns, nonzeros) = self.data.get("dims"), self.matrix_size
        kinds: dict[str, Mapping[int, int]] = (
            {}
            if dims is None
            else {
                "equation": {0: dims.zero},
                "inequality": {0: dims.nonneg},
                "exponential cone": {0: dims.exp},
                "second-order cone": Counter(dims.soc),
                "psd cone": Counter(dims.psd),
                "power cone": {0: len(dims.p3d)},
            }
        )
        cones = [
            (kind, f" of size {k}" * bool(k), int(n)) for kind in kinds for k, n in kinds[kind].items() if n
        ]
        parts = [
            *(f"{counted(n, kind)}{size}" for kind, size, n in cones),
            *["a quadratic objective"] * self.is_quadratic,
        ]
        return {
            "gets": ", ".join([*parts, f"{rows:,} × {columns:,} with {nonzeros:,} nonzeros"]),
            **{f"gets {counted(2, kind)[2:]}{size}": n for kind, size, n in cones},
            "gets rows": int(rows),
            "gets columns": int(columns),
            "gets nonzeros": int(nonzeros),
        }

    def named(self, raw: Any) -> Named:
        """Variables and multipliers by the program's names, from a solver's raw solution."""
        solution = self.chain.invert(raw, self.inverse)
        # It stores the values, then evaluates its objective, which may not exist there; ours is evaluated
        # elsewhere.
        with suppress(np.linalg.LinAlgError), np.errstate(all="ignore"):
            self.lowered.problem.unpack(solution)
        return self.current()

    @np.errstate(all="ignore")  # numbers that are not finite are noticed where the point is judged
    def current(self) -> Named:
        """The present values of the cvxpy problem: variables and multipliers by the program's names."""
        lowered = self.lowered
        variables = {
            n: np.array(v.value, dtype=float) for n, v in lowered.variables.items() if v.value is not None
        }
        multipliers: dict[str, Array] = {}
        for name, group in lowered.constraints.items():
            duals = [c.dual_value for c in group]
            if not duals or any(dual is None for dual in duals):
                continue
            values = [_dual(dual) for dual in duals]
            together = values[0] if len(values) == 1 else np.array(values)
            if name in lowered.places:
                at, shape = lowered.places[name]
                together = np.zeros(shape)
                together.flat[at] = values[0]
            multipliers[name] = together * lowered.rows.get(name, 1.0)
        for key, (name, first, end) in lowered.corners.items():
            if name in multipliers:
                blocks = multipliers[name][..., first:end, first:end]
                multipliers[key] = blocks if blocks.ndim == 2 else blocks[:, 0, 0]
        return variables, multipliers

    def counted(self, iterations: Iterable[Iteration], before: int, run: int) -> list[Iteration]:
        """The iterations of a run after ``before`` others; objective and bound are the lowered problem's."""
        sign = -1.0 if self.lowered.problem.objective.NAME == "maximize" else 1.0
        offset = float(self.inverse[-1].get("offset", 0.0))
        return [each.placed(before, run, sign, offset) for each in iterations]


def _dual(value: Any) -> Array:
    """The dual of a constraint; of a second-order cone in place of 2 × 2 matrices as such matrices."""
    if not isinstance(value, list):
        return np.asarray(value, dtype=float)
    t, (b, difference) = value  # of t >= |(2 b, a - c)| with t = a + c
    return np.squeeze(np.array([[t + difference, b], [b, t - difference]]).transpose(2, 0, 1))


def hand_over(lowered: Lowered, solver: str, *, quadratic: bool = False) -> Handover:
    """Let cvxpy reduce the problem to the standard form of the solver.

    quadratic : leave a quadratic objective as it is, in ``data["P"]``; else it goes into cones.

    Raises
    ------
    UnsuitableError : the solver does not take the cones of the problem.
    """
    import cvxpy

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "geo_mean is being", UserWarning
            )  # "approximated", with error 0
            # solver_opts has to be passed: without it cvxpy 1.9.3 leaves out data that invert needs.
            data, chain, inverse = lowered.problem.get_problem_data(
                solver, solver_opts={"use_quad_obj": quadratic}
            )
    except cvxpy.SolverError as error:
        raise UnsuitableError(f"{solver} does not take the problem, says cvxpy: {error}") from None
    return Handover(lowered, solver, data, chain, inverse)


@dataclass(frozen=True)
class ConeBlock:
    """Rows ``first`` to ``end`` (not included) of A and b, in one cone, or in many of one entry.

    kind : "zero", "nonnegative", "second-order", "psd", "exponential" or "power". size : the number of rows;
    of a psd cone the side of the matrix. alpha : of a power cone, else 0.
    """

    kind: str
    first: int
    end: int
    size: int
    alpha: float = 0.0


@dataclass(frozen=True)
class Cones:
    """The cones of s, in the order of the rows.

    zero : rows with s = 0. nonnegative : rows with s >= 0.
    second_order : rows of each cone, (t, u) with t >= |u|.
    psd : side n of each psd matrix S; its n (n + 1) / 2 rows are the lower triangle column by column, entries
    off the diagonal times √2: S[0, 0], √2 S[1, 0], …, √2 S[n-1, 0], S[1, 1], √2 S[2, 1], …
    exponential : the number of cones (u, v, w) with w >= v exp(u / v), v > 0, or their closure.
    power : alpha of each cone (u, v, w) with u**alpha v**(1 - alpha) >= |w|, u, v >= 0.
    """

    zero: int = 0
    nonnegative: int = 0
    second_order: tuple[int, ...] = ()
    psd: tuple[int, ...] = ()
    exponential: int = 0
    power: tuple[float, ...] = ()

    @property
    def blocks(self) -> tuple[ConeBlock, ...]:
        """The rows of each cone; those of the first two kinds together."""
        singles = (("zero", self.zero), ("nonnegative", self.nonnegative))
        sizes = [
            *((kind, rows, rows, 0.0) for kind, rows in singles if rows),
            *(("second-order", size, size, 0.0) for size in self.second_order),
            *(("psd", side * (side + 1) // 2, side, 0.0) for side in self.psd),
            *[("exponential", 3, 3, 0.0)] * self.exponential,
            *(("power", 3, 3, alpha) for alpha in self.power),
        ]
        pairs = zip(sizes, itertools.accumulate(rows for _, rows, _, _ in sizes), strict=True)
        return tuple(
            ConeBlock(kind, end - rows, end, size, alpha) for (kind, rows, size, alpha), end in pairs
        )

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds that there are."""
        return frozenset(block.kind for block in self.blocks)


def cones_of(dims: Any) -> Cones:
    """The cones of cvxpy's dimensions."""
    return Cones(
        int(dims.zero),
        int(dims.nonneg),
        tuple(int(size) for size in dims.soc),
        tuple(int(side) for side in dims.psd),
        int(dims.exp),
        tuple(float(alpha) for alpha in dims.p3d),
    )


@dataclass(frozen=True, eq=False)
class ConicProblem:
    """minimize ``c @ x + offset`` (with P: ``+ x @ P @ x / 2``) subject to ``A @ x + s = b``, s in ``cones``.

    A : (m, n) scipy.sparse.csc_array. b : (m,). c : (n,).
    P : (n, n) csc_array, symmetric and psd, of a quadratic objective; None where that is in the cones.
    sense : of the program. Where it is "maximize", the objective here is minus the program's.
    names : of the columns, ``X[0, 1]``; "" for unknowns that the cones add.
    options : the demands on the solver: ``options.tolerance``, the gap; ``options.time_limit``, the seconds
    that are left; ``max_iterations``, ``threads`` and ``verbose`` as the caller passed them.
    """

    A: Any
    b: Array
    c: Array
    cones: Cones
    offset: float = 0.0
    sense: str = "minimize"
    P: Any = None
    names: tuple[str, ...] = ()
    options: Options = field(default_factory=Options)

    def values(self, x: Array, y: Array) -> tuple[float, float]:
        """The objective at x, and that of the dual at y, both without the offset."""
        half = 0.0 if self.P is None else 0.5 * float(x @ (self.P @ x))
        return float(self.c @ x) + half, -float(self.b @ y) - half


def conic_problem(handed: Handover, options: Options | None = None) -> ConicProblem:
    """The data of a problem handed over for "SCS", whose order of cones and triangles is the one here."""
    data = handed.data
    a = sp.csc_array(data["A"])
    b, c = (np.asarray(data[name], dtype=float) for name in "bc")
    quadratic = data.get("P")
    return ConicProblem(
        A=sp.csc_array((_read_only(a.data), _read_only(a.indices), _read_only(a.indptr)), a.shape),
        b=_read_only(b),
        c=_read_only(c),
        cones=cones_of(handed.cones),
        offset=float(handed.inverse[-1]["offset"]),
        sense=handed.lowered.problem.objective.NAME,
        P=None if quadratic is None else sp.csc_array(quadratic),
        names=_names(handed),
        options=options or Options(),
    )


def _read_only(array: Array) -> Array:
    """A view that a solver of one's own cannot change, as the numbers are used again after it."""
    view = array.view()
    view.flags.writeable = False
    return view


def led_back(x: Array, y: Array) -> dict[str, Any]:
    """A point and multipliers as the raw solution that ``Handover.named`` reads."""
    return {
        "x": x,
        "y": y,
        "info": {"status_val": 2, "solve_time": 0.0, "setup_time": 0.0, "iter": 0, "pobj": 0.0},
    }


def _names(handed: Handover) -> tuple[str, ...]:
    """The entry of a variable that each column is, determined by leading back two points."""
    n, m = len(handed.data["c"]), len(handed.data["b"])
    names = [""] * n
    numbers = np.arange(1.0, n + 1.0)
    first, second = (
        handed.chain.invert(led_back(x, np.zeros(m)), handed.inverse).primal_vars
        for x in (numbers, numbers**2)
    )
    for name, variable in handed.lowered.variables.items():
        if variable.id not in first:  # no line has it
            continue
        value, square = np.asarray(first[variable.id]), np.asarray(second[variable.id])
        for place in np.ndindex(value.shape):
            number = value[place]
            # An entry that is a column has its number, and the square in the other point.
            if number in numbers and square[place] == number**2 and not names[int(number) - 1]:
                names[int(number) - 1] = f"{name}{list(place)}" if place else name
    return tuple(names)


KINDS = ("zero", "nonnegative", "second-order", "psd", "exponential", "power")
assert len(KINDS) == len(fields(Cones))
EXPECTED = "(x, y), or a dictionary with x and y (pydoc mmopt.solvers.conic_problem)"
WORDS = {"infeasible": Stop.INFEASIBLE, "unbounded": Stop.UNBOUNDED}


@dataclass(frozen=True)
class Answer:
    """The checked answer of a function: arrays of finite numbers, of the right length.

    iterations : since the answer before, None where it does not say. stop : it says there is no solution.
    is_last : no other follows. is_repeated : it is the answer before once more, as the last one.
    """

    x: Array
    y: Array
    iterations: int | None
    word: str
    stop: Stop | None
    is_last: bool = True
    is_repeated: bool = False


def name_of(function: Callable[..., Any]) -> str:
    """``module:function``, as the command line names it."""
    module = getattr(function, "__module__", None) or type(function).__module__
    return f"{module}:{getattr(function, '__qualname__', type(function).__qualname__)}"


def reference(function: Callable[..., Any]) -> str:
    """The name by which another process finds the function.

    Raises
    ------
    OptionError : it would not find it: a lambda, a function within a function or one typed in a notebook.
    """
    name = name_of(function)
    module, _, path = name.partition(":")
    target: Any = None if module == "__main__" else sys.modules.get(module)
    for part in path.split("."):
        target = getattr(target, part, None)
    if target is not function:
        raise OptionError(
            f"the solver '{name}' cannot be imported by another process, and each combination has its own",
            hint="write it into a file, own.py, and pass 'own:function'; mmopt.solve takes any function",
        )
    return name


def imported(name: str) -> Callable[[ConicProblem], Any]:
    """The function that ``module:function`` names, with modules of the current folder.

    Raises
    ------
    OptionError : there is no such module or function, or the name is not that of a function.
    SolverError : the module cannot be imported.
    """
    module_name, _, path = name.partition(":")
    folder = os.getcwd()
    if folder not in sys.path and "" not in sys.path:
        sys.path.append(folder)  # as python -m does; last, so that nothing is hidden by it
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module_name}.".startswith(f"{error.name}."):
            raise OptionError(
                f"there is no module '{error.name}' for the solver '{name}'",
                hint=f"it is looked for where Python looks, and in '{folder}'",
            ) from None
        raise SolverError(
            f"the module '{module_name}' of the solver '{name}' cannot be imported: {error}",
            hint="install what it needs in mmopt's environment",
        ) from None
    except Exception as error:
        raise SolverError(
            f"the module '{module_name}' of the solver '{name}' cannot be imported: {_error_text(error)}"
        ) from error
    function: Any = module
    for part in path.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        functions = sorted(
            n
            for n, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == module_name
        )
        raise OptionError(
            f"the module '{module_name}' has no function '{path}'",
            hint=f"its functions: {', '.join(functions)}" if functions else "",
        )
    return function  # type: ignore[no-any-return]


def answers(name: str, function: Callable[[ConicProblem], Any], problem: ConicProblem) -> Iterator[Answer]:
    """Call the function and check what it returns, or each of what it yields.

    Raises
    ------
    SolverError : it raised an error (with its place), or returned something unexpected.
    """
    try:
        returned = function(problem)
        if not inspect.isgenerator(returned):
            yield _checked(name, returned, problem)
            return
        last: Answer | None = None
        for each in returned:
            last = _checked(name, each, problem, is_last=False)
            yield last
        if last is None:
            raise _wrong(name, "yielded nothing")
        yield replace(last, iterations=0, is_last=True, is_repeated=True)
    except Error:
        raise
    except (Exception, SystemExit) as error:
        raise SolverError(f"the solver '{name}' raised {_error_text(error)}") from error


def _error_text(error: BaseException) -> str:
    """An error with the place in the user's file: the last place that is in no package."""

    frames_of_user = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if f.filename != __file__
        and "site-packages" not in f.filename
        and "importlib" not in f.filename
        and f.line
    ]
    where = (
        f" ({frames_of_user[-1].filename}, line {frames_of_user[-1].lineno}: {frames_of_user[-1].line})"
        if frames_of_user
        else ""
    )
    return f"{type(error).__name__}: {error}{where}"


def _checked(name: str, returned: Any, problem: ConicProblem, *, is_last: bool = True) -> Answer:
    """The returned value as an ``Answer``; SolverError tells what it was and what was expected."""
    if isinstance(returned, tuple | list) and len(returned) == 2:
        parts: Mapping[str, Any] = {"x": returned[0], "y": returned[1]}
    elif isinstance(returned, Mapping) and "x" in returned:
        parts = returned
    elif hasattr(returned, "x"):
        parts = {
            key: getattr(returned, key)
            for key in ("x", "y", "iterations", "status")
            if hasattr(returned, key)
        }
    else:
        raise _wrong(name, f"returned {_described(returned)}")
    word: Any = parts.get("status", "")
    if not isinstance(word, str):
        raise _wrong(name, f"returned {_described(word)} as status, which is a text")
    stop = WORDS.get(word.lower())
    iterations: Any = parts.get("iterations")
    if iterations is not None and (not isinstance(iterations, Integral) or iterations < 0):
        raise _wrong(name, f"returned {_described(iterations)} as iterations, which is a whole number")
    m, n = problem.A.shape
    is_without = stop is not None and parts["x"] is None
    x = np.zeros(n) if is_without else _vector(name, "x", parts["x"], n, "columns")
    return Answer(
        x,
        _vector(name, "y", parts.get("y"), m, "rows"),
        None if iterations is None else int(iterations),
        word or "returned",
        stop,
        is_last or stop is not None,
    )


def _vector(name: str, what: str, value: Any, length: int, of: str) -> Array:
    """The vector ``what`` of an answer, x or y, checked; ``of``: the side of A that its length is of."""
    expected = f"as {what}, which is {length} numbers (A has {length} {of})"
    try:
        raw = np.asarray(value)
    except ValueError:  # lists of unequal length
        raw = np.asarray(None)
    if raw.dtype.kind not in "biuf":
        raise _wrong(name, f"returned {_described(value)} {expected}")
    if raw.size != length or raw.ndim not in (1, 2):
        raise _wrong(name, f"returned an array of shape {raw.shape} {expected}")
    array = raw.astype(np.float64).reshape(-1)
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        what = f"{what}[{bad[0]}] = {array[bad[0]]}"
        raise _wrong(name, f"returned {what}; {len(bad)} of {length} are not finite numbers")
    return array


def _described(value: Any) -> str:
    """A value in words, for a message."""
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else f"{value[:40]}…")
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, Mapping):
        return f"a {type(value).__name__} with {', '.join(map(repr, list(value)[:5])) or 'no keys'}"
    return f"a {type(value).__name__}"


def _wrong(name: str, what: str) -> SolverError:
    """The error about an answer that is not what is expected; ``what`` it did, in words."""
    return SolverError(f"the solver '{name}' {what}", hint=f"expected {EXPECTED}")
