"""A solver of one's own: one Python function from a :class:`ConicProblem` to a point and multipliers.

It returns x (n,) and y (m,), in the dual cones, with ``c + A.T @ y = 0`` (``P @ x`` added where there is a
P), as ``(x, y)``, or as a dictionary or object with ``x`` and ``y`` and, if it likes, ``iterations`` and
``status``. With status "infeasible" or "unbounded" x may be None; nothing of that is believed. A generator of
such answers is stopped after each, by the gap that is asked for, a time limit or Ctrl-C. Nothing stops
another function in a Python session: it looks at ``problem.options.time_limit`` itself. ``mmopt compare``
ends its process.

``problem.options.tolerance`` is the gap asked for, as ``mmopt.solve(…, tolerance=…)`` or ``--tolerance``
says, else 1e-6. It is proved of the repaired point, so solve somewhat more exactly: where a program has no
repair, a point that misses a line by more than rounding, 1e-10 of its size, may be refused. The function is
called once for every problem that a solve makes, which may be many: each part of a reduction (at nine tenths
of its share of the tolerance), each step of a procedure, each round of a search; and perhaps once more at a
smaller tolerance.

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

``mmopt.solve(workload, program, solver=simplex)``, ``mmopt solve … --solver own:simplex``. ``cones`` names
what it takes (:class:`Cones`), by default all; ``quadratic = True`` beside it asks for a quadratic objective
as P. A ``__version__`` of its module is printed with the result.
"""

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Integral
from typing import Any

import numpy as np

from mmopt.errors import Error, OptionError, SolverError
from mmopt.numerics.arrays import Array
from mmopt.reasons_to_stop import Stop
from mmopt.solvers.conic_problem import Cones, ConicProblem

KINDS = ("zero", "nonnegative", "second-order", "psd", "exponential", "power")
assert len(KINDS) == len(fields(Cones))
EXPECTED = "(x, y), or a dictionary with x and y (pydoc mmopt.solvers.function_solver)"
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
            hint="install what it needs beside mmopt",
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
        raise _wrong(name, f"returned {what}; {len(bad)} of {length} are no finite numbers")
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
