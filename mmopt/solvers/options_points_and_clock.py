"""The options, points and clock that all solvers share."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, NamedTuple

from mmopt.errors import OptionError
from mmopt.limits import Stop, time_left
from mmopt.numerics.arrays import Array


@dataclass(frozen=True)
class Options:
    """Options of a solve.

    tolerance : certified gap asked for (objective / bound - 1).
    time_limit : seconds until the solver is to stop.
    max_iterations : iterations of the solver in all; in the trace heuristic (class rank) rounds of a start.
    threads : threads of the solver where it has a setting for them.
    verbose : print what the solver prints.
    history : keep the solver's own count of its iterations also where that takes time: where it is read from
        a log or from printed output.
    starts : how many starts a search makes (classes rank and smooth).
    seed : of the random numbers of such a search.
    arrays : library whose arrays a kernel computes with, with a device after a colon ("cupy", "torch:cuda").
    """

    tolerance: float = 1e-6
    time_limit: float = math.inf
    max_iterations: int | None = None
    threads: int | None = None
    verbose: bool = False
    history: bool = False
    starts: int | None = None
    seed: int | None = None
    arrays: str | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in vars(self).items() if value is not None}
        for name, (kind, words, _, _) in OPTION_LIMITS.items():
            is_bool = isinstance(given.get(name), bool)
            if name in given and not (isinstance(given[name], kind) and is_bool == (kind is bool)):
                raise OptionError(f"'{name}' is {words}, not {given[name]!r}")
        for name, (_, _, is_within, limit) in OPTION_LIMITS.items():
            if name in given and not is_within(given[name]):
                raise OptionError(f"{limit}, not {given[name]}")


def _is_positive(value: float) -> bool:
    return value > 0


# By option: its type, that in words, a test of its values, and what the test wants, in words.
OPTION_LIMITS: Mapping[str, tuple[type, str, Callable[[Any], bool], str]] = MappingProxyType(
    {
        "tolerance": (Real, "a number", lambda value: 0 < value < 1, "a tolerance lies between 0 and 1"),
        "time_limit": (Real, "a number", _is_positive, "a time limit is a positive number of seconds"),
        "seed": (Integral, "a whole number", lambda value: value >= 0, "a seed is at least 0"),
        "max_iterations": (Integral, "a whole number", _is_positive, "'max_iterations' is at least 1"),
        "threads": (Integral, "a whole number", _is_positive, "'threads' is at least 1"),
        "starts": (Integral, "a whole number", _is_positive, "'starts' is at least 1"),
        "verbose": (bool, "True or False", lambda value: True, ""),
        "history": (bool, "True or False", lambda value: True, ""),
        "arrays": (str, "a text", lambda value: True, ""),
    }
)


def total(counts: Iterable[int | None]) -> int | None:
    """The sum of counts of iterations; None where one of them is None."""
    listed = list(counts)
    return None if None in listed else sum(count or 0 for count in listed)


@dataclass(frozen=True)
class Iteration:
    """One iteration by a solver's own count, unchecked; None where it does not say.

    number : counted from the start of the solve. seconds : of the clock. objective, bound : of the problem as
    it was handed over. primal, dual : residuals as the solver measures them. run : of a solver that is run
    again and again, from 1; else 0.
    """

    number: int | None
    seconds: float | None = None
    objective: float | None = None
    bound: float | None = None
    primal: float | None = None
    dual: float | None = None
    run: int = field(default=0, kw_only=True)

    def placed(self, before: int, run: int, sign: float, offset: float = 0.0) -> Iteration:
        """The iteration in a run after ``before`` others, objective and bound ``sign * (value + offset)``."""
        values = [None if v is None else sign * (v + offset) for v in (self.objective, self.bound)]
        return replace(
            self, number=total([before, self.number]), objective=values[0], bound=values[1], run=run
        )

    def row(self, before: float, *, certified: bool) -> dict[str, float | bool]:
        """The row of a history, where the clock began ``before`` seconds after the solve."""
        values = {
            "run": self.run or None,
            "iteration": self.number,
            "seconds": None if self.seconds is None else before + self.seconds,
            "objective": self.objective,
            "bound": self.bound,
            "primal residual": self.primal,
            "dual residual": self.dual,
        }
        row: dict[str, float | bool] = {
            name: value for name, value in values.items() if value is not None and math.isfinite(value)
        }
        return {**row, "certified": certified}


@dataclass(frozen=True)
class Vectors:
    """A solver's own vectors: unknowns x and multipliers y of ``handed`` (a ``Handover``), as it holds them.

    Where a solver calls the problem infeasible, y is the ray that should prove it.
    """

    handed: Any
    x: Array
    y: Array


@dataclass(frozen=True)
class Point:
    """A solver's offer after some work: never trusted, always repaired and certified.

    ``variables`` and ``multipliers`` are by the program's names, in the scale in which the problem was handed
    over. ``iterations`` are those so far, None where it does not say. ``raw`` is the solver's own word.
    ``stop`` says why the solver has nothing more to give; None while it has. ``summary`` has a search's own
    words for that, if any. ``polar`` is nearly the polar factor of the matrix whose nuclear norm the
    certificate takes at the multipliers, of every part where values are by component; None where there is
    none.
    """

    variables: Mapping[str, Array]
    multipliers: Mapping[str, Array]
    iterations: int | None
    raw: str
    stop: Stop | None = None
    vectors: Vectors | None = None  # where the solver is called directly
    # Objective and bound by a kernel's own count while no point is worth scoring: for a display only.
    estimate: tuple[float, float | None] | None = None
    polar: Any = None
    summary: str = ""
    # The solver's own count of its iterations since the point before, and in which of its runs.
    counted: Sequence[Iteration] = ()
    run: int = 0


def local_optimum(starts: int, ends: Sequence[float], best: float) -> str:
    """``local optimum, 18 starts, 6 followed, spread 1.2e-03``: of the worst end over the best, relatively.

    starts : so many, of which those that were followed have ``ends``.
    """
    text = f"{Stop.LOCAL}, {starts} start{'s' * (starts != 1)}"
    if len(ends) < 2:
        return text
    followed = f", {len(ends)} followed" * (len(ends) < starts)
    return f"{text}{followed}, spread {(max(ends) - best) / max(abs(best), 1e-300):.1e}"


@dataclass
class Clock:
    """The time left, and whether Ctrl-C was pressed: the best certified point so far is then the result."""

    limit: float
    started: float = field(default_factory=time.monotonic)
    interrupted: bool = False
    compiling: bool = False  # whether no solver has begun, which could hand over a point
    handed_over: float = 0.0  # seconds until the solver had the problem: the rest of compiling
    handed: Mapping[str, str | int] = field(default_factory=dict)  # what it got, as ``Handover.figures``
    solving: float = 0.0  # seconds by the solver's own clock, where it has one
    _before: Any = None  # the handler of Ctrl-C before

    def __enter__(self) -> Clock:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, lambda *_: self.press())
        return self

    def __exit__(self, *_: object) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._before)

    def press(self) -> None:
        """Stop and keep the best point; KeyboardInterrupt while none can be there, and the second time."""
        is_second, self.interrupted = self.interrupted, True  # also where a ``__del__`` loses the exception
        if is_second or self.compiling:
            raise KeyboardInterrupt

    def hand_over(self, figures: Mapping[str, str | int]) -> None:
        """Note that the solver has the problem now; ``figures`` : what it got (``Handover.figures``)."""
        self.handed = figures
        self.handed_over, self.compiling = self.elapsed, False

    def watch(self, intermediate_result: Any) -> None:
        """The callback of a search by scipy, which ends it when the time is over."""
        if self.is_over:
            raise StopIteration

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.started

    @property
    def left(self) -> float:
        return min(max(0.0, self.limit - self.elapsed), time_left())

    @property
    def is_over(self) -> bool:
        return self.interrupted or self.left <= 0

    def stop(self, *, spent: bool = False, done: bool = False) -> Stop | None:
        """Why work ends here: the time is over, iterations are spent, all is done; None while it goes on."""
        if self.is_over:
            return Stop.STOPPED
        return Stop.ITERATIONS if spent else Stop.SOLVED if done else None


class KernelStep(NamedTuple):
    """One step of a kernel: its number, and the gap by its own count.

    estimate : as of a ``Point``. point : makes the point, from the reason to stop or None.
    done : nothing more is in reach. stop : another reason to end here.
    """

    number: int
    gap: float
    estimate: tuple[float, float | None] | None
    point: Callable[[Stop | None], Point]
    done: bool = False
    stop: Stop | None = None


@dataclass
class Pace:
    """The pace of a kernel: to a gap by its own count, then to ever smaller ones, until it has to end.

    wanted : the gap at which the next point is offered. finer : its factor from one point to the next.
    finest : below it floating point sees no gap. limit : of the iterations.
    """

    clock: Clock
    wanted: float
    limit: float
    finer: float
    finest: float = 0.0
    is_first: bool = True

    @classmethod
    def of(
        cls,
        options: Options,
        clock: Clock,
        share: float,
        finer: float,
        *,
        most: float = math.inf,
        finest: float = 0.0,
    ) -> Pace:
        """The pace that options ask for.

        share : of the gap asked for, as the program's own evaluation rounds to the worse side.
        most : iterations, unless an option says otherwise.
        """
        return cls(clock, share * options.tolerance, options.max_iterations or most, finer, finest)

    def points(self, steps: Iterable[KernelStep]) -> Generator[Point, None, None]:
        """Points where steps reach the gap that is wanted, and at the end; between them estimates."""
        for step in steps:
            stop = self.stop(step.number, done=step.done) or step.stop
            if stop or step.gap <= self.wanted:
                yield step.point(stop)
                if stop:
                    return
                self.tighten()
            else:
                yield Point({}, {}, step.number, "", estimate=step.estimate)

    def stop(self, count: int, *, done: bool = False) -> Stop | None:
        """Why the kernel ends after so many iterations; None while it goes on."""
        return self.clock.stop(spent=count >= self.limit, done=done or self.wanted < self.finest)

    def tighten(self) -> None:
        """Lower the gap, after a point has been offered and another one is wanted."""
        self.wanted, self.is_first = self.wanted * self.finer, False
