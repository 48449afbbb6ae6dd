"""Whether a program is another one under other names: by its tree, never by the name of its file.

Variables, the objective and the constraints have to agree up to a renaming of givens, variables, dimensions
and indices, with transposes pushed to the leaves; neither the order of the constraints matters nor whether
one is written with ``<=`` or with ``>=``. Repairs, certificates and the meaning of the solution need not
agree: a point is scored against the user's program.

The test whether the proof of a shipped program also holds for another one is stricter (``is_shipped``).
"""

import itertools
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, lru_cache
from typing import Any

from mmopt.language import Checked, Program, program_names, shipped
from mmopt.language.atoms.expression_types import Dim
from mmopt.language.syntax.exact_rewriting import normal
from mmopt.language.syntax.syntax_tree import Constraint, Expr, Multiplier, Name, Number
from mmopt.limits import time_not_counted

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
@time_not_counted("the shipped programs, to compare with")
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
