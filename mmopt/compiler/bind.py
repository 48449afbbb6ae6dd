"""Binding: the givens of a program become numbers, from the workload or from the caller; matched programs.

**Matching.** Whether a program is another one under other names is decided by its tree, never by the name
of its file.

Variables, the objective and the constraints have to agree up to a renaming of givens, variables, dimensions
and indices, with transposes pushed to the leaves; neither the order of the constraints matters nor whether
one is written with ``<=`` or with ``>=``. Repairs, certificates and the meaning of the solution need not
agree: a point is scored against the user's program.

The test whether the proof of a shipped program also holds for another one is stricter (``is_shipped``).
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, cached_property, lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from mmopt.compiler.lines_and_cones import sizes_of_lines
from mmopt.errors import OptionError, ProgramError, TooLargeError, placed, suggest
from mmopt.language import (
    DECIDED,
    LARGEST_DIM,
    STRICT,
    Apply,
    Assignment,
    Checked,
    Constraint,
    Declaration,
    Dim,
    Entries,
    Expr,
    Index,
    Memo,
    Multiplier,
    Name,
    Number,
    Program,
    Relation,
    Shared,
    check,
    dimension,
    entry_indices,
    evaluate,
    evaluate_ball,
    excess_with_errors,
    is_rank,
    names_in,
    normal,
    number_of,
    program_names,
    rewrite,
    share,
    shipped,
    to_source,
    violation,
    walk,
)
from mmopt.limits import require_memory, time_not_counted
from mmopt.numerics import (
    BOUNDS,
    RANGE_TOLERANCE,
    Array,
    Level,
    Split,
    asymmetry,
    numbers,
    symmetric_part,
    unknown,
)
from mmopt.strategies import ADD_REMOVE, Neighbours
from mmopt.workloads import Workload, no_targets, undetermined

FLIPPED = {">=": "<=", "<<": ">>"}
MOST_PERMUTED = 4  # constraints whose orders are all tried


@dataclass
class Renaming:
    """Names of one program by those of another: variables and givens, dimensions, constraints."""

    names: dict[str, str] = field(default_factory=dict)
    dims: dict[str, str] = field(default_factory=dict)
    constraints: dict[str, str] = field(default_factory=dict)

    def pair(self, name: str, other: str, dims: bool = False) -> bool:
        """Note that two names mean the same; False when one already means something else."""
        pairs = self.dims if dims else self.names
        is_free = name in pairs or other not in pairs.values()
        return is_free and pairs.setdefault(name, other) == other

    def copy(self) -> "Renaming":
        return Renaming(dict(self.names), dict(self.dims), dict(self.constraints))


@lru_cache(maxsize=1024)
def match(source: Checked, target: Checked) -> Renaming | None:
    """The renaming that turns ``source`` into ``target``, or None when they are different problems.

    It is computed once for two programs, so the result must not be changed.
    """
    a, b = source.program, target.program
    if (
        a.problem_class != b.problem_class
        or a.sense != b.sense
        or len(a.choose) != len(b.choose)
        or len(a.constraints) != len(b.constraints)
    ):
        return None
    start = Renaming()
    if not _same(_plain(source, a.objective), _plain(target, b.objective), start):
        return None
    is_short = len(b.constraints) <= MOST_PERMUTED
    for order in itertools.permutations(b.constraints) if is_short else [b.constraints]:
        renaming = start.copy()
        pairs = zip(a.constraints, order, strict=True)
        if all(_same_line(source, x, target, y, renaming) for x, y in pairs) and _same_kinds(
            source, target, renaming
        ):
            return renaming
    return None


def _plain(checked: Checked, expr: Expr) -> Expr:
    """The expression with transposes at the leaves only, and none at what equals its transpose."""

    def symmetric(e: Expr) -> bool:
        """Whether the expression equals its transpose."""
        if isinstance(e, Number):
            return True
        inferred = checked.types.get(e.id) if isinstance(e, Name) else None
        return inferred is not None and (inferred.symmetric or inferred.psd or inferred.is_scalar)

    return normal(expr, symmetric)


def _same(a: Any, b: Any, renaming: Renaming) -> bool:
    """Whether two trees, or parts of trees, differ in names only."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Name):
        return renaming.pair(a.id, b.id)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(_same(x, y, renaming) for x, y in zip(a, b, strict=True))
    if is_dataclass(a):
        inner = [f.name for f in fields(a) if f.compare]
        return all(_same(getattr(a, name), getattr(b, name), renaming) for name in inner)
    return bool(a == b)


def _same_line(source: Checked, a: Constraint, target: Checked, b: Constraint, renaming: Renaming) -> bool:
    """Whether two lines differ in names only; the names are entered in ``renaming``."""
    renaming.constraints[a.name] = b.name
    if (a.family is None) != (b.family is None):
        return False
    local = renaming.copy()  # the index of a family exists in its line only
    if a.family is not None and b.family is not None:
        local.names.pop(a.family.index, None)
        if not (
            _same_dim(a.family.dim, b.family.dim, renaming) and local.pair(a.family.index, b.family.index)
        ):
            return False
    (left, op, right), (first, other, second) = _sides(source, a), _sides(target, b)
    if op != other or not (_same(left, first, local) and _same(right, second, local)):
        return False
    if a.family is not None:
        local.names.pop(a.family.index)
    renaming.names.update(local.names)
    return True


def _sides(checked: Checked, line: Constraint) -> tuple[Expr, str, Expr]:
    """The sides of a line and the sign between them, turned to ``<=``, ``>>`` or ``==``."""
    r = line.relation
    left, right = _plain(checked, r.left), _plain(checked, r.right)
    return (right, FLIPPED[r.op], left) if r.op in FLIPPED else (left, r.op, right)


def _same_dim(a: Dim, b: Dim, renaming: Renaming) -> bool:
    """Whether two dimensions are one symbol each, and may be renamed, or are written alike."""
    return bool(b.name) and renaming.pair(a.name, b.name, dims=True) if a.name else a == b


def _same_kinds(source: Checked, target: Checked, renaming: Renaming) -> bool:
    """Whether variables agree in both, with the same kind and sign, and givens have the same shape."""
    chosen, others = (
        {d.name: (d.kind, d.sign) for d in checked.program.choose} for checked in (source, target)
    )
    for x, y in renaming.names.items():
        if chosen.get(x) != others.get(y):
            return False
        a, b = source.types.get(x), target.types.get(y)
        if a is not None and b is not None and (len(a.dims) != len(b.dims) or (a.sign and a.sign != b.sign)):
            return False
    return set(chosen) <= set(renaming.names)


# Fields of a program that decide nothing that is claimed of a point; nor do those that are never compared:
# where it was read, and its prose.
NO_CLAIM = (
    # Words; a saved solution has the first two, which are compared apart.
    *("title", "cite", "formulation_of"),
    *("starts", "search", "repair"),  # how a point comes about: it is judged as it came out
    "adoption",  # how a strategy from elsewhere becomes a point, likewise
)
FIELDS_OF_CLAIMS = tuple(f.name for f in fields(Program) if f.compare and f.name not in NO_CLAIM)
# The fields that a proof may use: a bound is on the objective, whatever value and strategy a point means.
FIELDS_OF_MEANING = ("meaning", "neighbours")
FIELDS_OF_PROOF = tuple(n for n in FIELDS_OF_CLAIMS if n not in ("name", "value", *FIELDS_OF_MEANING))
FIELDS_OF_NAMES = ("name", "id", "index", "basis")  # fields of the tree that hold a name of the author's


@lru_cache(maxsize=256)
def is_shipped(checked: Checked, *, meaning: bool = False) -> bool:
    """Whether this program is a shipped one up to names, so that its proof holds for it.

    All lines that a proof may use have to agree, in their order and as they are written, up to names; the
    names of constraints and where multipliers start do not matter. ``meaning``: the meaning of a solution has
    to agree too.
    """
    program = checked.written
    is_same = program.name in program_names() and program == shipped(program.name).written
    return is_same or _form(program, meaning) in _shipped_forms(meaning)


@cache
@time_not_counted("the shipped programs, for comparison")
def _shipped_forms(meaning: bool) -> frozenset[Any]:
    """The ``_form`` of every shipped program."""
    return frozenset(_form(Program.load(name), meaning) for name in program_names())


def _form(program: Program, meaning: bool) -> Any:
    """The program as nested tuples, with numbers for names in the order in which they appear."""
    names: dict[str, int] = {}
    numbers = itertools.count()

    def number(name: str) -> Any:
        """The number that stands for a name, and what follows it after a point."""
        base, *rest = name.split(".")  # ``step.variable``: only the step is named by the author
        if base not in names:
            names[base] = next(numbers)
        return (names[base], *rest)

    def plain(value: Any) -> Any:
        """A part of the program as nested tuples."""
        if isinstance(value, Dim):
            return frozenset((tuple(sorted(map(number, symbols))), times) for symbols, times in value.terms)
        if isinstance(value, Multiplier):
            return plain(value.declaration)
        if isinstance(value, tuple):
            return tuple(map(plain, value))
        if not is_dataclass(value):
            return value
        unnamed = isinstance(value, Constraint)
        form: list[Any] = [type(value).__name__]
        for f in sorted((f for f in fields(value) if f.compare), key=lambda f: f.name != "family"):
            inner = getattr(value, f.name)
            if f.name in FIELDS_OF_NAMES:
                form.append(None if unnamed else number(inner))
            else:
                form.append(plain(inner))
        if isinstance(value, Constraint) and value.family is not None:
            names.pop(value.family.index)  # exists in its line only
        return tuple(form)

    return tuple(plain(getattr(program, name)) for name in (*FIELDS_OF_PROOF, *FIELDS_OF_MEANING * meaning))


# A requirement on the givens (say W Q⁺ Q = W) holds when it is off by less than ``RANGE_TOLERANCE``,
# relatively; by up to this where its own rounding may be all that it is off by.
REQUIREMENT_TOLERANCE = 1e-8


@dataclass(frozen=True)
class Instance:
    """A checked program with numbers for its givens, dimensions and lets in ``env``, by name.

    error_bound : a bound on the total error of every strategy for the workload, to its neighbours, and its
        multipliers (n,), where they are known already.
    """

    checked: Checked
    workload: Workload
    env: Mapping[str, Any]
    passed: frozenset[str]  # givens that the caller passed
    error_bound: tuple[float, Array] | None = None

    @property
    def program(self) -> Program:
        return self.checked.program

    @cached_property
    def neighbours(self) -> Neighbours:
        """The set that its guarantee is for, over the workload.

        Raises
        ------
        OptionError, PrivacyError : numbers, or a workload, for which there is none; with the place.
        """
        declared = self.program.neighbours
        if declared is None:
            return ADD_REMOVE
        numbers = [dimension(e, self.checked.scope).value(self.sizes()) for e in declared.numbers]
        with placed(self.program.source.locate(declared.span)):
            at_most, separation, *_ = (*reversed(numbers), 1, 1)  # of b and k the last
            return Neighbours(declared.kind, at_most, separation).over(self.workload)

    @property
    def reads_workload(self) -> bool:
        """Whether numbers are read off the workload, or what is found is a strategy for it."""
        read = [d.name for d in self.program.givens if d.source and d.name not in self.passed]
        return bool(read) or self.program.meaning.kind != "none"

    def sizes(self) -> dict[str, int]:
        """The dimensions by name."""
        return {name: value for name, value in self.env.items() if isinstance(value, int)}

    def largest(self) -> int:
        """The columns of the largest matrix: of a component where givens are split, else the cells."""
        split = [value.columns.largest for value in self.env.values() if isinstance(value, Split)]
        return max(split, default=self.workload.n)


def _targets(workload: Workload) -> Array:
    """The targets of the queries that have one; WorkloadError where none has."""
    targets = workload.targets[np.isfinite(workload.targets)]
    if not len(targets):
        raise no_targets()
    return targets


def _representation(workload: Workload) -> Array:
    """The representation of the queries that have a target; WorkloadError where it leaves others open."""
    _targets(workload)  # refuses a workload without targets
    has_target = np.isfinite(workload.targets)
    rows = workload.representation if has_target.all() else workload.representation[has_target]
    if len(rows) < workload.m and np.linalg.matrix_rank(rows) < workload.rank:
        raise undetermined(workload.m - len(rows), workload.m)
    return rows


_SOURCES: Mapping[str, Callable[[Workload], Array]] = MappingProxyType(
    {
        "workload.matrix": lambda w: w.matrix,
        "workload.root": lambda w: w.root,
        "workload.gram": lambda w: w.gram,
        "workload.weights": lambda w: w.weights,
        "workload.targets": _targets,
        "workload.basis": lambda w: w.basis,
        "workload.representation": _representation,
        "workload.eigenqueries": lambda w: w.eigenqueries,
        "workload.eigenvalues": lambda w: w.eigenvalues,
        "workload.dropped": lambda w: w.dropped,
    }
)


def bind(
    program: Program | Checked,
    workload: Workload,
    givens: Mapping[str, Any] | None = None,
    sources: Mapping[str, Split | Level] | None = None,
) -> Instance:
    """Check the program and fill in its givens.

    ``givens`` passes arrays (or numbers) by name, in place of a source or for a given without one.
    ``sources`` has the workload's arrays by component (``mmopt.symmetry``), all that the program takes.

    Raises
    ------
    ProgramError : the program does not check.
    OptionError : a given that the program does not have, that is missing, or of the wrong shape; a size
        that lines cannot have (``sizes_of_lines``).
    WorkloadError : the workload lacks what the program needs (accuracy targets).
    TooLargeError : a source that would not fit in memory.
    PrivacyError : neighbours that the workload cannot have.
    """
    checked = program if isinstance(program, Checked) else check(program)
    program = checked.program
    passed = dict(givens or {})
    names = [d.name for d in program.givens] + [p.name for p in program.changeable]
    for name in passed:
        if name not in names:
            raise OptionError(f"'{program.name}' has no given '{name}'", hint=suggest(name, names))
    env: dict[str, Any] = {}
    # Of a shape such as (m, n + 1) only those after another one that says n.
    for d in sorted(program.givens, key=lambda d: not all(dim.name for dim in d.dims)):
        if sources is not None and d.name not in passed:
            env[d.name] = sources[d.source]
            _enter_sizes(d.dims, env[d.name].shape, env)
        else:
            env[d.name] = _given(program, d, workload, passed, env)
    for parameter in program.changeable:
        env[parameter.name] = _parameter(checked, parameter, passed, env)
    shared = share(program)
    env = _with_lets(program, shared, env)
    computed = [*shared.lets]
    if not is_shipped(checked):  # of a shipped one any parameters do: its certificate holds for them
        computed[:0] = [p for p in program.parameters if p.name not in passed and not _is_dim(p)]
        env |= sizes_of_lines(checked, env)
    env[DECIDED] = Memo()
    env[BOUNDS] = _balls(checked, computed, dict(env))
    for entries in program.conditions:
        with placed(program.source.locate(entries.span)):
            # One inside another has an index of that one, and is decided where it is evaluated.
            if names_in(entries) <= set(env):
                entry_indices(entries, env)
    if not is_shipped(checked):
        _refuse_infinite(program, env)
    # A line without variables holds for the givens, or for no point at all.
    fixed = [c for c in program.constraints if all(t.is_constant for t in checked.constraints[c.name])]
    for line in checked.to_prove:
        with placed(program.source.locate(line.span)):
            _require_proved(line, env)
    for constraint in (*(c for c in shared.requires if c.relation.op not in STRICT), *fixed):
        with placed(program.source.locate(constraint.span)):
            off = _missed(constraint, env)
        if off > RANGE_TOLERANCE:
            raise OptionError(
                f"'{program.name}' requires '{constraint.name}' of its data, and it is off by {off:.1e}",
                where=program.source.locate(constraint.span),
                hint="the constraint contains no variable"
                if constraint in fixed
                else f"pass other values of {', '.join(sorted(alone))}"
                if (alone := _passed_alone(program, constraint))
                else "give other design queries: independent rows from which every query can be derived",
            )
    lasting = {name: value for name, value in env.items() if name not in shared.passing}
    numbered = _with_exponents(checked, passed, env)
    instance = Instance(numbered, workload, MappingProxyType(lasting), frozenset(passed))
    _ = instance.neighbours  # refused here, before any work
    return instance


def is_proved(line: Constraint, env: Mapping[str, Any]) -> bool:
    """Whether an order of numbers holds with the errors of names and of evaluation."""
    r = relation = line.relation
    if r.op in STRICT:  # the difference is at least the smallest number beside 0
        beyond = Number(float(np.nextafter(0.0, 1.0 if r.op == ">" else -1.0)), r.span)
        relation = Relation(Apply("sub", (r.left, r.right), r.span), f"{r.op}=", beyond, r.span)
    return not excess_with_errors(replace(line, relation=relation), env)


def _require_proved(line: Constraint, env: Mapping[str, Any]) -> None:
    """OptionError unless an order of numbers is proved: signs may rest on it.

    The numbers of the workload count as exact here; bounds that rest on signs are graded by their rounding.
    """
    r = line.relation
    if not is_proved(line, env):
        left, right = np.broadcast_arrays(evaluate(r.left, env), evaluate(r.right, env))
        at = np.argmax(left - right if r.op[0] == "<" else right - left)
        raise OptionError(
            f"{to_source(r.left)} {r.op} {to_source(r.right)} is required of the data, but the sides "
            f"are {float(left.flat[at])!r} and {float(right.flat[at])!r}",
            hint="signs may depend on it, so it has to hold exactly, not only up to rounding",
        )


def _with_exponents(checked: Checked, passed: Mapping[str, Any], env: Mapping[str, Any]) -> Checked:
    """The program with numbers in exponents of what is chosen, which cones, bounds and units need."""
    program, chosen = checked.program, {d.name for d in checked.program.choose}
    written = {let.name: let.expr for let in program.lets}
    written |= {p.name: p.expr for p in program.parameters if p.name not in passed and not _is_dim(p)}

    def number(e: Expr) -> Expr | None:
        if not isinstance(e, Name):
            return None
        return rewrite(written[e.id], number) if e.id in written else Number(float(env[e.id]), e.span)

    def change(e: Expr) -> Expr | None:
        if not (isinstance(e, Apply) and e.atom == "pow" and names_in(e.args[0]) & chosen):
            return None
        base, exponent = rewrite(e.args[0], change), rewrite(e.args[1], number)
        if number_of(exponent) is None:
            program.source.fail(e.args[1].span, "this exponent is not made of numbers by + - * /")
        return base if number_of(exponent) == 1 else replace(e, args=(base, exponent))

    def put(r: Relation) -> Relation:
        return replace(r, left=rewrite(r.left, change), right=rewrite(r.right, change))

    objective = rewrite(program.objective, change) if chosen else program.objective
    lines = [replace(c, relation=put(c.relation)) for c in program.constraints]
    numbered = replace(program, objective=objective, constraints=tuple(lines))
    return checked if numbered == program else replace(checked, program=numbered)


def _passed_alone(program: Program, constraint: Constraint) -> set[str]:
    """The givens that a line is about, where none of them has a source: the caller passes them."""
    names = names_in(constraint.relation.left) | names_in(constraint.relation.right)
    about = [d for d in program.givens if d.name in names]
    return set() if any(d.source for d in about) else {d.name for d in about}


def _balls(checked: Checked, computed: Sequence[Assignment], env: Mapping[str, Any]) -> Callable[[str], Any]:
    """The ball of a name of ``computed``: parameters, then lets, in order, evaluated on first use.

    It is infinite where there is no error bound, and None for every other name: its value counts as exact
    (``balls.named``). So does the measured expression of a shipped closed form: figures are of the strategy
    as computed.
    """
    is_measured = checked.written.problem_class == "closed form" and is_shipped(checked, meaning=True)
    exact = names_in(checked.written.meaning.expr) if is_measured else frozenset()
    expressions = {one.name: one.expr for one in computed if one.name not in exact}

    @cache
    def ball(name: str) -> Any:
        if name not in expressions:
            return None
        try:
            return evaluate_ball(expressions[name], {**env, BOUNDS: ball})
        except ProgramError:
            return unknown(evaluate(expressions[name], env))

    @cache
    def after_what_it_uses(name: str) -> Any:
        needed = {name}
        for earlier in reversed(expressions):
            if earlier in needed:
                needed |= names_in(expressions[earlier])
        for one in expressions:  # in order: a chain of lets is no chain of calls, which Python limits
            if one in needed:
                ball(one)
        return ball(name)

    return after_what_it_uses


def _missed(constraint: Constraint, env: Mapping[str, Any]) -> float:
    """The relative error of a requirement; 0 where it may be rounding alone."""
    off = violation(constraint, env)
    if not RANGE_TOLERANCE < off <= REQUIREMENT_TOLERANCE or is_rank(constraint):
        return off
    left, right = (evaluate_ball(e, env) for e in (constraint.relation.left, constraint.relation.right))
    return 0.0 if (np.abs(left.mid - right.mid) <= left.rad + right.rad).all() else off


def _enter_sizes(dims: Sequence[Dim], shape: Sequence[int], env: dict[str, Any]) -> None:
    """Enter the sizes of dimensions that are a name each, from a shape."""
    for dim, size in zip(dims, shape, strict=True):
        if dim.name:
            env.setdefault(dim.name, int(size))


def with_lets(checked: Checked, env: Mapping[str, Any]) -> dict[str, Any]:
    """The environment with every ``let`` computed, and the dimensions that typed lets introduce."""
    shared = share(checked.program)
    filled = _with_lets(checked.program, shared, env)
    return {n: value for n, value in filled.items() if n not in shared.passing}


def _refuse_infinite(program: Program, env: Mapping[str, Any]) -> None:
    """OptionError where what is given in a line or the objective is not finite, or is 0 and a divisor."""
    memo = Memo()
    sides = (side for c in program.constraints for side in (c.relation.left, c.relation.right))
    parts = [*itertools.chain.from_iterable(map(walk, (program.objective, *sides)))]
    families = [
        (part, family) for family in parts if isinstance(family, Entries) for part in walk(family.body)
    ]
    for part, family in [*((part, None) for part in parts), *families]:
        divisor = part.args[1] if isinstance(part, Apply) and part.atom == "div" else None
        for one, words in ((divisor, "is 0, and something is divided by it"), (part, "has no finite value")):
            if not isinstance(one, Name | Number | Apply | Index):
                continue
            whole = one if family is None else replace(family, body=one)
            if not names_in(whole) <= env.keys():
                continue
            value = evaluate(whole, env, memo)
            if family is not None:
                value = value.ravel()[entry_indices(family, env).places]
            if isinstance(value, int | float | np.ndarray) and not (
                np.all(value) if one is divisor else np.all(np.isfinite(value))
            ):
                raise OptionError(
                    f"'{to_source(one)}' {words}",
                    where=program.source.locate(one.span),
                    hint="change the numbers that it is made of",
                )


def _with_lets(program: Program, shared: Shared, env: Mapping[str, Any]) -> dict[str, Any]:
    """``with_lets``, with the values that only lets and requirements need (``Shared.passing``)."""
    out = dict(env)
    for let in shared.lets:
        with placed(program.source.locate(let.span)):
            value = evaluate(let.expr, out)
            require_memory((sum(map(np.size, out.values())), 1), "sum of all arrays of the program")
        out[let.name] = value
        if let.declared:
            _enter_sizes(let.declared.dims, np.shape(value), out)
    return out


def _given(
    program: Program, d: Declaration, workload: Workload, passed: Mapping[str, Any], env: dict[str, Any]
) -> Any:
    """The value of a given: passed by the caller, or from its source."""
    if d.name in passed:
        value = passed[d.name]
    elif d.source:
        value = _SOURCES[d.source](workload)
    else:
        raise OptionError(
            f"'{program.name}' needs the given '{d.name}'" + (f" ({d.doc})" if d.doc else ""),
            where=program.source.locate(d.span),
            hint=f"pass it: givens={{'{d.name}': …}} or --given {d.name}=FILE; "
            "numbers can also stand in the text, under let: A = [[1, 2], [3, 4]]",
        )
    return _fitted(program, d, numbers(f"the given '{d.name}'", value), env)


def _fitted(program: Program, d: Declaration, array: Array, env: dict[str, Any]) -> Any:
    """An array, or number, as declared; its dimensions are entered in ``env``. OptionError if it is not."""
    if fault := _fault(d, array, env):
        raise OptionError(f"the given '{d.name}' {fault}", where=program.source.locate(d.span))
    if d.kind in ("psd", "symmetric"):
        array = symmetric_part(array)  # removes rounding
    return array if array.ndim else float(array)


def _fault(d: Declaration, array: Array, env: dict[str, Any]) -> str:
    """Why an array is not as declared, "" if it is; its dimensions are entered in ``env``."""
    if array.ndim != len(d.dims):
        is_line = len(d.dims) == 1 and array.ndim > 1 and max(array.shape) == array.size
        flat = f"; flatten it ({d.name}.ravel())" * is_line
        return f"has shape {array.shape}, a {d.kind} is declared{flat}"
    if not array.size:
        return f"has no entries, its shape is {array.shape}"
    for dim, size in zip(d.dims, array.shape, strict=True):
        new = dim.symbols - set(env)
        if new and len(dim.terms) == 1 and len(dim.symbols) == 1:
            env[next(iter(new))] = int(size)
        elif dim.value(env) != size:
            return f"has shape {array.shape}; {dim} is {dim.value(env)} here, not {size}"
    for at in np.argwhere(~np.isfinite(array)):
        entry = f": entry {', '.join(map(str, at))} is {array[*at]}" if array.ndim else f": {array}"
        return f"has entries that are NaN or infinite{entry}"
    if d.sign and (array.min(initial=1.0) < 0 or (d.sign == ">" and array.min(initial=1.0) <= 0)):
        return f"is declared {d.sign} 0, its smallest entry is {array.min():g}"
    if d.kind in ("psd", "symmetric") and (off := asymmetry(array, RANGE_TOLERANCE)):
        return f"is declared {d.kind} and {off}"
    if d.kind == "psd":
        values = np.linalg.eigvalsh(symmetric_part(array))
        if values[0] < -1e-9 * max(values[-1], 0.0):
            return "is declared psd and is not"
    return ""


def _is_dim(parameter: Assignment) -> bool:
    """Whether a parameter is declared to be a dimension."""
    return parameter.declared is not None and parameter.declared.kind == "dim"


def _parameter(
    checked: Checked, parameter: Assignment, passed: Mapping[str, Any], env: dict[str, Any]
) -> float | int | Array:
    """The value that the caller passes, or the default."""
    program, value, name = checked.program, passed.get(parameter.name), parameter.name
    is_dim, place = _is_dim(parameter), program.source.locate(parameter.span)
    if value is None:
        # A dimension is computed in whole numbers of any length.
        expr = parameter.expr
        with placed(place):
            value = dimension(expr, checked.scope).value(env) if is_dim else evaluate(expr, env)
    if is_dim and isinstance(value, int) and value > LARGEST_DIM:
        raise TooLargeError(f"the dimension '{name}' is more than 2**53, {LARGEST_DIM:,}", where=place)
    array = numbers(f"the parameter '{name}'", value)
    if parameter.declared is not None and parameter.declared.dims:
        return np.asarray(_fitted(program, parameter.declared, array, env))
    if array.ndim or not np.isfinite(array):
        raise OptionError(f"the parameter '{name}' is one finite number, not {value}")
    if parameter.declared is not None:
        _fitted(program, parameter.declared, array, env)  # its sign
    number = float(array)
    if parameter.declared is None and number * checked.scope.types[name].sign < 0:
        default = float(evaluate(parameter.expr, env))
        raise OptionError(  # the curvature of lines may rest on it
            f"the parameter '{name}' is {number:g}, of another sign than its default {default:g}",
            where=place,
            hint=f"write its kind, and any sign may be passed: {name}: scalar = {default:g}"
            if parameter not in checked.program.search
            else "the search takes no other sign",
        )
    if is_dim and (number != int(number) or not 1 <= number <= LARGEST_DIM):
        raise OptionError(f"the parameter '{name}' is a dimension, not {number:g}")
    return int(number) if is_dim else number
