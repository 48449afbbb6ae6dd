"""``mmopt.export`` and ``mmopt.cvxpy_problem``: the compiled problem, for other programs; points led back.

Files have one of four forms: CBF, MPS, SDPA and npz.

**CBF**, the Conic Benchmark Format, version 3 (https://cblib.zib.de/format.html), has all cones. Every column
is a free variable, every row a constraint ``b - A @ x`` in its cone: in CON, psd blocks in PSDCON. The
exponential cone of CBF has its entries in the opposite order.

**Free MPS** (with QUADOBJ for a quadratic objective) has linear rows, and columns X0, X1, … without bounds.
MPS minimizes, and a constant of the objective is minus its right-hand side. Where a program maximizes, the
comment says that its value is minus the optimum.

**npz** has the problem as numpy arrays, in the terms of
:class:`~mmopt.solvers.conic_problem.ConicProblem`: ``A_data``, ``A_indices``, ``A_indptr``, ``A_shape`` (for
``scipy.sparse.csc_array``), ``b``, ``c``, ``offset``, ``sense``, ``zero``, ``nonnegative``, ``second_order``,
``psd``, ``exponential``, ``power``, ``names`` of the columns, ``about`` (lines). ``numpy.load(file)`` reads
it without pickles.

**SDPA** sparse format (.dat-s) has matrix inequalities: minimize c @ x subject to Σ x_k F_k - F_0 psd. Linear
rows are one diagonal block, an equality as two of its entries: then no point is strictly inside. A
second-order cone (t, u) with two numbers u is [[t + u1, u2], [u2, t - u1]]; with more numbers it is t I
bordered by u. A constant of the objective, and that a program maximizes, are in the comment: the format has
no place for them.
"""

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp

from mmopt.compiler import Instance, Lowered, bind, lower
from mmopt.driver.accepted_options_and_inputs import as_program, named_givens, within_range, workload_for
from mmopt.errors import OptionError, TooLargeError, suggest, whole
from mmopt.installation_and_files import version
from mmopt.language import Program, check
from mmopt.limits import fits_memory
from mmopt.numerics.arrays import Array
from mmopt.request import WorkloadLike, default_program
from mmopt.solvers import conic_solver
from mmopt.solvers.conic_problem import ConeBlock, ConicProblem, Handover, conic_problem, hand_over, led_back

Entry = tuple[int, int, float]  # row, column, coefficient

ROOT = math.sqrt(2.0)


def number(value: float) -> str:
    """The shortest decimal that reads as the same double: 17 digits at most."""
    return repr(float(value))


def entries(problem: ConicProblem, block: ConeBlock) -> Iterator[Entry]:
    """(row of A, column, coefficient) of a block, row by row, without zeros; column n is b."""
    part = sp.coo_array(sp.csr_array(problem.A)[block.first : block.end])
    rows = [*part.row, *range(block.end - block.first)]
    columns = [*part.col, *[problem.A.shape[1]] * (block.end - block.first)]
    for row, column, value in sorted(
        zip(rows, columns, [*part.data, *problem.b[block.first : block.end]], strict=True)
    ):
        if value != 0:
            yield block.first + int(row), int(column), float(value)


def psd_entries(problem: ConicProblem, block: ConeBlock) -> Iterator[tuple[int, int, int, float]]:
    """(i, j, column, coefficient) of a psd block's matrix, i >= j: without the √2 of the rows.

    Of the doubles whose product with √2 is the coefficient, the one with the shortest decimal.
    """
    places = [(i, j) for j in range(block.size) for i in range(j, block.size)]
    for row, column, value in entries(problem, block):
        i, j = places[row - block.first]
        yield i, j, column, value if i == j else _without_root(value)


def _without_root(value: float) -> float:
    """A double whose product with √2 is the value, if there is one: that of the shortest decimal.

    It is the quotient by √2, or one of the two doubles on either side.
    """
    quotient = value / ROOT
    below, above = (math.nextafter(quotient, end) for end in (-math.inf, math.inf))
    near = (quotient, below, math.nextafter(below, -math.inf), above, math.nextafter(above, math.inf))
    exact = [each for each in near if each * ROOT == value]
    return min(exact, key=lambda each: (len(repr(each)), abs(each - quotient)), default=quotient)


def column_names(problem: ConicProblem) -> Sequence[str]:
    """A line for each column that is an entry of a chosen variable: ``column 6: X[0, 0]``."""
    return [f"column {j}: {name}" for j, name in enumerate(problem.names) if name]


CBF_CONES = frozenset({"zero", "nonnegative", "second-order", "psd", "exponential", "power"})
CBF_WORDS = {"zero": "L=", "nonnegative": "L+", "second-order": "Q", "exponential": "EXP"}


def cbf_lines(problem: ConicProblem, head: Sequence[str]) -> Iterator[str]:
    """The lines of a CBF file; ``head`` becomes its comment. A program that maximizes is written so (MAX)."""
    n = problem.A.shape[1]
    blocks = problem.cones.blocks
    scalar = [block for block in blocks if block.kind != "psd"]
    psd = [block for block in blocks if block.kind == "psd"]
    yield from (f"# {line}" for line in (*head, *column_names(problem)))
    yield from ("VER", "3", "")
    if alphas := problem.cones.power:
        yield from ("POWCONES", f"{len(alphas)} {2 * len(alphas)}")
        for alpha in alphas:
            yield from ("2", number(alpha), number(1.0 - alpha))
        yield ""
    yield from ("OBJSENSE", "MAX" if problem.sense == "maximize" else "MIN", "")
    yield from ("VAR", f"{n} 1", f"F {n}", "")
    if psd:
        yield from ("PSDCON", str(len(psd)), *(str(block.size) for block in psd), "")
    if scalar:
        yield from ("CON", f"{sum(block.end - block.first for block in scalar)} {len(scalar)}")
        powers = 0
        for block in scalar:
            word = CBF_WORDS.get(block.kind) or f"@{powers}:POW"
            powers += block.kind == "power"
            yield f"{word} {block.end - block.first}"
        yield ""
    sign = -1.0 if problem.sense == "maximize" else 1.0
    yield from _part("OBJACOORD", (f"{j} {number(sign * v)}" for j, v in enumerate(problem.c) if v != 0))
    if problem.offset:
        yield from ("OBJBCOORD", number(sign * problem.offset), "")
    rows, at = [], 0
    for block in scalar:
        for row, column, value in entries(problem, block):
            place = row - block.first
            rows.append((at + (2 - place if block.kind == "exponential" else place), column, value))
        at += block.end - block.first
    rows.sort()
    yield from _part("ACOORD", (f"{i} {j} {number(-v)}" for i, j, v in rows if j < n))
    yield from _part("BCOORD", (f"{i} {number(v)}" for i, j, v in rows if j == n))
    cells = [(k, c, i, j, v) for k, block in enumerate(psd) for i, j, c, v in psd_entries(problem, block)]
    yield from _part("HCOORD", (f"{k} {c} {i} {j} {number(-v)}" for k, c, i, j, v in sorted(cells) if c < n))
    yield from _part("DCOORD", (f"{k} {i} {j} {number(v)}" for k, c, i, j, v in cells if c == n))


def _part(name: str, lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    """A section with its number of lines; nothing where it is empty."""
    if section := list(lines):
        yield from (name, str(len(section)), *section, "")


MPS_CONES = frozenset({"zero", "nonnegative"})
MPS_LETTERS = {"zero": "E", "nonnegative": "L"}


def mps_lines(problem: ConicProblem, head: Sequence[str]) -> Iterator[str]:
    """The lines of an MPS file; ``head`` becomes its comment."""
    turned = ["the program maximizes: its value is minus the optimum here"]
    yield from (
        f"* {line}" for line in (*head, *turned * (problem.sense == "maximize"), *column_names(problem))
    )
    yield from ("NAME mmopt", "ROWS", " N COST")
    for block in problem.cones.blocks:
        yield from (f" {MPS_LETTERS[block.kind]} R{row}" for row in range(block.first, block.end))
    yield "COLUMNS"
    columns = sp.csc_array(problem.A)
    for j, cost in enumerate(problem.c):
        first, end = columns.indptr[j], columns.indptr[j + 1]
        pairs = sorted(zip(columns.indices[first:end], columns.data[first:end], strict=True))
        # A column without any coefficient still needs a line.
        if cost != 0 or not pairs:
            yield f" X{j} COST {number(cost)}"
        yield from (f" X{j} R{row} {number(value)}" for row, value in pairs if value != 0)
    yield "RHS"
    if problem.offset:
        yield f" RHS COST {number(-problem.offset)}"
    yield from (f" RHS R{row} {number(value)}" for row, value in enumerate(problem.b) if value != 0)
    yield "BOUNDS"
    yield from (f" FR BOUND X{j}" for j in range(len(problem.c)))
    if problem.P is not None and problem.P.nnz:
        yield "QUADOBJ"
        lower = sp.coo_array(sp.tril(problem.P))
        triples = sorted(zip(lower.col, lower.row, lower.data, strict=True))
        yield from (f" X{j} X{i} {number(value)}" for j, i, value in triples if value != 0)
    yield "ENDATA"


def npz_bytes(problem: ConicProblem, head: Sequence[str]) -> bytes:
    """The bytes of an npz file; ``head`` becomes ``about``."""
    a = problem.A
    cones = {f.name: np.asarray(getattr(problem.cones, f.name)) for f in fields(problem.cones)}
    texts = {"sense": problem.sense, "names": problem.names, "about": list(head)}
    arrays: dict[str, Any] = {
        **cones,
        **{name: cones[name].astype(np.int64) for name in ("second_order", "psd")},  # () would be floats
        "A_data": a.data,
        "A_indices": a.indices,
        "A_indptr": a.indptr,
        "A_shape": np.asarray(a.shape),
        "b": problem.b,
        "c": problem.c,
        "offset": np.asarray(problem.offset),
        **{name: np.asarray(value, dtype=str) for name, value in texts.items()},
    }
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


SDPA_CONES = frozenset({"zero", "nonnegative", "second-order", "psd"})


def sdpa_lines(problem: ConicProblem, head: Sequence[str]) -> Iterator[str]:
    """The lines of an SDPA file; ``head`` becomes its comment."""
    n = problem.A.shape[1]
    linear = 2 * problem.cones.zero + problem.cones.nonnegative
    wide = [block for block in problem.cones.blocks if block.kind in ("second-order", "psd")]
    # The sides of the psd matrices that stand for cones.
    sides = ([-linear] if linear else []) + [
        2 if block.kind == "second-order" and block.size == 3 else block.size for block in wide
    ]
    yield from (f'"{line}' for line in (*head, *_conventions(problem), *column_names(problem)))
    yield from (str(n), str(len(sides)), " ".join(str(side) for side in sides))
    yield " ".join(number(value) for value in problem.c)
    # F_k has minus the coefficients of column k - 1, F_0 minus b: s = b - A @ x = Σ x_k F_k - F_0.
    matrix_entries = [(n, 1, *entry) for entry in _diagonal(problem)]
    for place, block in enumerate(wide, 1 + bool(linear)):
        matrix_entries += [(n, place, *entry) for entry in _matrix(problem, block)]
    rows = [
        (0 if c == n else c + 1, place, i + 1, j + 1, -value) for n, place, i, j, c, value in matrix_entries
    ]
    yield from (f"{k} {place} {i} {j} {number(value)}" for k, place, i, j, value in sorted(rows))


def _conventions(problem: ConicProblem) -> Iterator[str]:
    """A line of the comment on sign and constant of the objective, where the format has no place for them."""
    sign = "-" if problem.sense == "maximize" else ""
    offset = f" + {number(problem.offset)}" if problem.offset else ""
    if sign or offset:
        yield f"the program's value is {sign}(the optimum here{offset})"


def _diagonal(problem: ConicProblem) -> Iterator[tuple[int, int, int, float]]:
    """(i, i, column, coefficient) of the linear rows; an equality is followed by its opposite."""
    zero = problem.cones.zero
    for block in problem.cones.blocks:
        if block.kind == "zero":
            for row, column, value in entries(problem, block):
                yield 2 * row, 2 * row, column, value
                yield 2 * row + 1, 2 * row + 1, column, -value
        elif block.kind == "nonnegative":
            for row, column, value in entries(problem, block):
                yield row + zero, row + zero, column, value


def _matrix(problem: ConicProblem, block: ConeBlock) -> Iterator[tuple[int, int, int, float]]:
    """(i, j, column, coefficient), i <= j, of a matrix that is psd where the block is in its cone."""
    if block.kind == "psd":
        yield from ((j, i, column, value) for i, j, column, value in psd_entries(problem, block))
    elif block.size == 3:
        yield from _pair(problem, block)
    else:
        for row, column, value in entries(problem, block):
            if row == block.first:
                yield from ((i, i, column, value) for i in range(block.size))
            else:
                yield 0, row - block.first, column, value


def _pair(problem: ConicProblem, block: ConeBlock) -> Iterator[tuple[int, int, int, float]]:
    """``_matrix`` of a cone (t, u) with two numbers u: [[t + u1, u2], [u2, t - u1]], made of sums of rows."""
    sums: dict[tuple[tuple[int, int], int], float] = {}
    signs = {0: (((0, 0), 1.0), ((1, 1), 1.0)), 1: (((0, 0), 1.0), ((1, 1), -1.0)), 2: (((0, 1), 1.0),)}
    for row, column, value in entries(problem, block):
        for place, sign in signs[row - block.first]:
            sums[place, column] = sums.get((place, column), 0.0) + sign * value
    yield from ((*place, column, value) for (place, column), value in sums.items() if value != 0)


@dataclass(frozen=True)
class Format:
    """A form of file: endings, cones, writer (of lines or bytes), and whether it has quadratic objectives."""

    name: str
    suffixes: tuple[str, ...]
    takes: frozenset[str]
    writer: Callable[[ConicProblem, Sequence[str]], Iterator[str] | bytes]
    quadratic: bool = False


# In the order in which messages offer them in place of one that cannot express a program.
FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "cbf": Format("cbf", (".cbf",), CBF_CONES, cbf_lines),
        "sdpa": Format("sdpa", (".dat-s", ".sdpa"), SDPA_CONES, sdpa_lines),
        "mps": Format("mps", (".mps",), MPS_CONES, mps_lines, quadratic=True),
        "npz": Format("npz", (".npz",), CBF_CONES, npz_bytes),
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
        path, content = Path(path), self.content
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


@within_range()
def export(
    workload: "WorkloadLike | None",
    program: str | Path | Program | None = None,
    format: str = "cbf",
    *,
    givens: Mapping[str, Any] | None = None,
) -> Exported:
    """A convex program with a workload filled in, as a file for other solvers.

    It is the program as written, in its units: not reduced, not scaled. A point found elsewhere is mapped
    back and checked by ``mmopt.certify(workload, program=program, point={"columns": x})``.

    Parameters
    ----------
    workload, program, givens : as for ``solve``.
    format : "cbf" (all cones), "sdpa" (linear rows, second-order and psd cones), "mps" (linear rows, linear
        or quadratic objective) or "npz" (all cones; ``mmopt.exchange.export`` names its arrays).

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
    if lacking := sorted(problem.cones.kinds - form.takes):
        able = [other.name for other in FORMATS.values() if problem.cones.kinds <= other.takes]
        raise OptionError(
            f"'{instance.program.name}' cannot be written as {form.name}, "
            f"which has no {' and no '.join(lacking)} cone",
            hint=f"these can say it: {', '.join(able)}",
        )
    parsed, queries = instance.program, instance.workload
    about = (
        f"{parsed.name}: {parsed.title}",
        f"of a workload of {queries.m} queries over {queries.n} cells, hash {queries.hash}",
        f"written by mmopt {version()}; the program says {parsed.sense}",
        f"mmopt certify WORKLOAD --program {parsed.name} --point FILE judges a point",
    )
    # The formats are ASCII, read by line.
    head = [" ".join(line.split()).encode("ascii", "replace").decode() for line in about]
    written = form.writer(problem, head)
    return Exported(form.name, written if isinstance(written, bytes) else "\n".join(written) + "\n", problem)


@within_range()
def cvxpy_problem(
    workload: "WorkloadLike | None",
    program: str | Path | Program | None = None,
    *,
    givens: Mapping[str, Any] | None = None,
) -> Lowered:
    """The cvxpy problem of a convex program: ``.problem``, ``.variables`` and ``.constraints`` by its names.

    It is in the program's units: after ``.problem.solve()`` the point ``{name: variable.value}`` can be
    checked by ``mmopt.certify(workload, program=program, point=point)``.

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
    workload: "WorkloadLike | None", program: str | Path | Program | None, givens: Mapping[str, Any] | None
) -> Instance:
    """The instance, convex and small enough; errors as ``export``."""
    workload = workload_for(workload, program)
    checked = check(as_program(default_program(workload)[0] if program is None else program))
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
    conic_solver(instance, "scs")  # refuses a problem that is too large
    return instance


def _handed(instance: Instance, *, quadratic: bool) -> Handover:
    """The instance's problem handed over for SCS, whose order of rows a ``ConicProblem`` has."""
    return hand_over(lower(instance), "SCS", quadratic=quadratic)
