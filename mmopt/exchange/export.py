"""``mmopt.export`` and ``mmopt.cvxpy_problem``: the compiled problem, for other programs; points led back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from mmopt.compiler import Instance, Lowered, bind, cones, lower, variables
from mmopt.driver.accepted_inputs import as_program, named_givens, within_range, workload_for
from mmopt.errors import OptionError, TooLargeError, suggest, whole
from mmopt.exchange import file_formats
from mmopt.language import Program, check
from mmopt.limits import fits_memory
from mmopt.numerics.arrays import Array
from mmopt.request import WorkloadLike, default_program
from mmopt.resources import version
from mmopt.solvers import refuse_too_large, solver_row
from mmopt.solvers.conic_problem import ConicProblem, Handover, conic_problem, hand_over, led_back


@dataclass(frozen=True)
class Format:
    """A form of file: its endings, its cones, its writer, and whether it has quadratic objectives."""

    name: str
    suffixes: tuple[str, ...]
    takes: frozenset[str]
    written: Callable[[ConicProblem, Sequence[str]], str | bytes]
    quadratic: bool = False


# In the order in which messages offer them in place of one that cannot express a program.
FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "cbf": Format("cbf", (".cbf",), file_formats.CBF_CONES, file_formats.cbf_text),
        "sdpa": Format("sdpa", (".dat-s", ".sdpa"), file_formats.SDPA_CONES, file_formats.sdpa_text),
        "mps": Format("mps", (".mps",), file_formats.MPS_CONES, file_formats.mps_text, quadratic=True),
        "npz": Format("npz", (".npz",), file_formats.CBF_CONES, file_formats.npz_bytes),
    }
)


@dataclass(frozen=True, eq=False)
class Exported:
    """A problem in a form of file: ``content`` is that of the file, ``problem`` the same as arrays."""

    format: str
    content: str | bytes = field(repr=False)
    problem: ConicProblem = field(repr=False)

    def save(self, path: str | Path) -> Path:
        """Write the file; one that exists is replaced."""
        path = Path(path)
        if isinstance(self.content, str):
            path.write_text(self.content, encoding="utf-8", newline="\n")
        else:
            path.write_bytes(self.content)
        return path


@within_range()
def export(
    workload: WorkloadLike | None,
    program: str | Path | Program | None = None,
    format: str = "cbf",
    *,
    givens: Mapping[str, Any] | None = None,
) -> Exported:
    """A convex program with a workload filled in, as a file for other solvers.

    It is the program as written, in its units: not reduced, not scaled. A point from elsewhere is led back
    and judged by ``mmopt.certify(workload, program=program, point={"columns": x})``.

    Parameters
    ----------
    workload, program, givens : as for ``solve``.
    format : "cbf" (all cones), "sdpa" (linear rows, second-order and psd cones), "mps" (linear rows, linear
        or quadratic objective) or "npz" (all cones; ``mmopt.exchange.file_formats`` names its arrays).

    Raises
    ------
    OptionError : an unknown format, one that cannot express the program, or a program that is not convex.
    TooLargeError : it would not fit in memory. mmopt.Error : as ``solve`` of program, workload and givens.
    """
    if format not in FORMATS:
        raise OptionError(f"there is no format '{format}'", hint=suggest(str(format), FORMATS))
    form = FORMATS[format]
    instance = _instance(workload, program, givens)
    problem = conic_problem(_handed(instance, quadratic=form.quadratic))
    lacking = sorted(problem.cones.kinds - form.takes)
    if lacking:
        able = [other.name for other in FORMATS.values() if problem.cones.kinds <= other.takes]
        raise OptionError(
            f"'{instance.program.name}' cannot be written as {form.name}, "
            f"which has no {' and no '.join(lacking)} cone",
            hint=f"these can say it: {', '.join(able)}",
        )
    return Exported(form.name, form.written(problem, _head(instance)), problem)


@within_range()
def cvxpy_problem(
    workload: WorkloadLike | None,
    program: str | Path | Program | None = None,
    *,
    givens: Mapping[str, Any] | None = None,
) -> Lowered:
    """The cvxpy problem of a convex program: ``.problem``, ``.variables`` and ``.constraints`` by its names.

    It is in the program's units: after ``.problem.solve()`` the point ``{name: variable.value}`` is judged by
    ``mmopt.certify(workload, program=program, point=point)``.

    Raises
    ------
    OptionError : the program is not convex. Others as ``export``.
    """
    return lower(_instance(workload, program, givens))


def led_from_columns(
    instance: Instance, x: Array, y: Array | None
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Variables and multipliers by the program's names, from columns x and rows y of an exported problem.

    Raises
    ------
    OptionError : vectors of another length.
    """
    lengths = []
    for quadratic in (False, True):
        handed = _handed(instance, quadratic=quadratic)
        m, n = handed.data["A"].shape
        lengths.append((n, m))
        if x.shape == (n,) and (y is None or y.shape == (m,)):
            variables, multipliers = handed.named(led_back(x, np.zeros(m) if y is None else y))
            return variables, {} if y is None else multipliers
    n, m = lengths[0]
    rows = "" if y is None else f" and {len(y)} rows"
    raise OptionError(
        f"the point has {len(x)} columns{rows}; "
        f"'{instance.program.name}' is written with {n} columns and {m} rows",
        hint="was it exported for this workload and program?",
    )


def _instance(
    workload: WorkloadLike | None, program: str | Path | Program | None, givens: Mapping[str, Any] | None
) -> Instance:
    """The instance, convex and small enough; errors as ``export``."""
    workload = workload_for(workload, program)
    named = as_program(default_program(workload)[0] if program is None else program)
    checked = check(named if isinstance(named, Program) else Program.load(named))
    written = checked.written
    if written.problem_class != "convex":
        raise OptionError(
            f"'{written.name}' is of class '{written.problem_class}', and a file holds convex programs only",
            hint="'mmopt programs' says which are convex; of a procedure, its convex steps can be exported",
        )
    if not fits_memory((workload.n,)):
        raise TooLargeError(
            f"a file of '{written.name}' lists the cells, and there are {whole(workload.n)}",
            hint="'mmopt solve' takes queries of few attributes over any number of cells; or group values of "
            "the attributes, so that there are fewer cells",
        )
    instance = bind(checked, workload, named_givens(givens, written, workload))
    sizes = instance.sizes()
    refuse_too_large(written.name, solver_row("scs"), cones(checked, sizes), variables(checked, sizes))
    return instance


def _handed(instance: Instance, *, quadratic: bool) -> Handover:
    return hand_over(lower(instance), "SCS", quadratic=quadratic)


def _head(instance: Instance) -> list[str]:
    program, workload = instance.program, instance.workload
    about = (
        f"{program.name}: {program.title}",
        f"of a workload of {workload.m} queries over {workload.n} cells, hash {workload.hash}",
        f"written by mmopt {version()}; the program says {program.sense}",
        f"mmopt certify WORKLOAD --program {program.name} --point FILE judges a point",
    )
    # The formats are ASCII, read by line.
    return [" ".join(line.split()).encode("ascii", "replace").decode() for line in about]
