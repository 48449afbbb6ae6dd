"""Arguments for the atoms, of every kind that a row's rule takes, and what each atom means at fifty digits.

An atom is tried on all kinds of argument; its own rule refuses those that it does not take. Its meaning is
written here a second time, on object arrays of python-flint's ``arb``: a row without one fails the law.
"""

import functools
import itertools
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import acb_mat, arb, arb_mat

from mmopt.language import ATOMS
from mmopt.language.atoms.atom import Atom
from mmopt.language.atoms.expression_types import Curvature, Dim, RuleError, Type

R, N = 2, 3
SIZES = {"r": R, "n": N}
r, n = Dim.of("r"), Dim.of("n")
EXPONENTS = (2.0, 3.0, 1.0, 0.5, 0.3, 1.5, -1.0, -0.5, -2.0, 0.0)


@dataclass(frozen=True)
class Kind:
    """A type of argument; ``count`` is a whole number that no unit belongs to."""

    known: Type
    count: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(d.value(SIZES) for d in self.known.dims)


_SHAPES = ((), (r,), (n,), (r, n), (n, r), (n, n))
KINDS = (
    *(Kind(Type(dims, sign=sign)) for dims in _SHAPES for sign in (0, 1, -1)),
    *(Kind(Type((d,), True, sign)) for d in (r, n) for sign in (0, 1)),
    *(Kind(Type((n, n), sign=sign, symmetric=True, psd=psd)) for sign in (0, 1) for psd in (False, True)),
)
COUNT = Kind(Type((), sign=1), count=True)
COUNTED = (
    "consecutive",
    "leading",
    "windows",
    "sum_largest",
    "lambda_sum_largest",
)  # their second argument is a count
BENT = {
    False: [(c, False) for c in (Curvature.CONSTANT, Curvature.AFFINE, Curvature.CONVEX, Curvature.CONCAVE)],
    True: [(Curvature.CONVEX, True), (Curvature.CONCAVE, True)],
}


@dataclass(frozen=True)
class Call:
    """An atom on kinds of argument that it takes; ``options`` are the axis, ``exponent`` that of a power."""

    kinds: tuple[Kind, ...]
    options: Mapping[str, int]
    exponent: float | None
    positive: bool  # arguments of unknown sign have to be drawn positive: the atom's domain

    def out(self, atom: Atom, kinds: tuple[Kind, ...] | None = None) -> Type:
        types = [kind.known for kind in kinds or self.kinds]
        more = {} if self.exponent is None else {"exponent": self.exponent}
        return atom.rule(*types, **self.options, **more)

    def draw(self, rng: np.random.Generator) -> tuple[Any, ...]:
        drawn = [draw(kind, rng, self.positive) for kind in self.kinds]
        return (drawn[0], self.exponent) if self.exponent is not None else tuple(drawn)

    def curved(self, atom: Atom) -> Iterator[tuple[tuple[Kind, ...], Type]]:
        """The kinds with every curvature on which the rule claims one of the value."""
        for bents in itertools.product(*(_bent(kind) for kind in self.kinds)):
            if self.exponent is not None and bents[1].known.curvature is not Curvature.CONSTANT:
                continue
            out = self.out(atom, bents)
            if out.curvature not in (Curvature.CONSTANT, Curvature.UNKNOWN):
                yield bents, out

    def claims(self, atom: Atom) -> bool:
        return any(self.curved(atom))


def _bent(kind: Kind) -> list[Kind]:
    if kind.count:
        return [kind]
    bents = BENT[False] + (BENT[True] if kind.known.symmetric else [])
    return [replace(kind, known=replace(kind.known, curvature=c, loewner=w)) for c, w in bents]


@functools.cache
def taken(name: str, most: int | None = None) -> tuple[Call, ...]:
    """Ways in which the rule takes the kinds, where the atom has a value for them: so many, drawn, or all."""
    atom = ATOMS[name]
    rng = np.random.default_rng([int(os.environ["MMOPT_SEED"]), zlib.crc32(name.encode())])
    if atom.takes_dim:
        return (Call((Kind(Type((n,)), count=True),), {}, None, False),)
    axes: list[dict[str, int]] = [{}, {"axis": 0}, {"axis": 1}] if atom.axis else [{}]
    exponents: tuple[float | None, ...] = EXPONENTS if name == "pow" else (None,)
    sides = [(COUNT,) if at == 1 and name in (*COUNTED, "pow") else KINDS for at in range(atom.arity)]
    ways = list(itertools.product(itertools.product(*sides), axes, exponents))
    found: list[Call] = []
    for way in rng.permutation(len(ways)):
        if len(found) == most:
            break
        for positive in (False, True):
            call = Call(*ways[way], positive)
            try:
                call.out(atom)
            except RuleError:
                break
            if _has_values(atom, call, rng):
                found.append(call)
                break
    assert found, f"'{name}' takes no kind of argument that tests/language/atom_cases.py can make"
    return tuple(found)


def _has_values(atom: Atom, call: Call, rng: np.random.Generator) -> bool:
    """Whether the atom has a value wherever the kinds allow: entries of either sign, any eigenvalues."""
    with np.errstate(all="ignore"):
        return all(
            np.isfinite(atom.numpy(*args, **call.options)).all()
            for _ in range(8)
            for args in itertools.product(
                *(_signed(kind, a, call.positive) for kind, a in zip(call.kinds, call.draw(rng), strict=True))
            )
        )


def _signed(kind: Kind, value: Any, positive: bool) -> list[Any]:
    if kind.count or kind.known.sign or positive:
        return [value]
    if kind.known.psd:
        return [value * np.outer(d, d) for d in ([1, 1, 1], [1, -1, 1], [1, 1, -1])]
    return [value, -value]


def draw(kind: Kind, rng: np.random.Generator, positive: bool = False) -> Any:
    """A value of the kind, of order one, and far from singular."""
    known = kind.known
    if kind.count:
        return N if known.dims else int(rng.integers(1, N))
    if known.psd:
        root = rng.normal(size=(N, N))
        root = np.abs(root) if known.sign else root
        return root.T @ root + N * np.eye(N) + float(known.sign)
    sign = known.sign or (1 if positive else rng.choice([-1, 1], kind.shape))
    out = sign * rng.uniform(0.3, 3.0, kind.shape)
    if np.ndim(out) < 2:
        return out if np.ndim(out) else float(out)
    out = np.tril(out) + np.tril(out, -1).T if known.symmetric else out
    return out if np.linalg.svd(out, compute_uv=False)[-1] > 0.3 else draw(kind, rng, positive)


def curve(kind: Kind, rng: np.random.Generator, positive: bool) -> Callable[[float], Any]:
    """A function of a number in [-1, 1] with values of the kind, that is curved as the kind says."""
    known = kind.known
    base = draw(kind, rng, positive)
    if known.is_constant:
        return lambda t: base
    slope, bow = rng.uniform(-0.1, 0.1, kind.shape), rng.uniform(0.0, 0.1, kind.shape)
    if known.loewner:
        bow = bow @ bow.T
    if known.symmetric:
        slope, bow = (slope + slope.T) / 2, (bow + bow.T) / 2
    bend = {Curvature.CONVEX: 1.0, Curvature.CONCAVE: -1.0}.get(known.curvature, 0.0)
    return lambda t: base + t * slope + bend * t * t * bow


# -- what the atoms mean, at fifty digits


def arbs(value: Any) -> Any:
    """Floats (which are exact) as an object array of arb."""
    found = np.vectorize(lambda x: arb(float(x)), otypes=[object])(np.asarray(value, dtype=float))
    return found if found.ndim else found[()]


def _matrix(a: Any) -> Any:
    return arb_mat([list(row) for row in a])


def _array(m: Any) -> Any:
    return np.array([[m[i, j] for j in range(m.ncols())] for i in range(m.nrows())], dtype=object)


def _inv(a: Any) -> Any:
    return _array(_matrix(a).inv())


def _psd_root(a: Any) -> Any:
    values, vectors = acb_mat(_matrix(a)).eig(right=True)
    middle = acb_mat(len(values), len(values), 0)
    for i, value in enumerate(values):
        middle[i, i] = value.real.sqrt()
    whole = vectors * middle * vectors.inv()
    return np.array([[whole[i, j].real for j in range(len(a))] for i in range(len(a))], dtype=object)


def _nuclear(a: Any) -> Any:
    wide = a if a.shape[0] <= a.shape[1] else a.T
    return _psd_root(wide @ wide.T).trace()


def _pinv(a: Any) -> Any:
    return a.T @ _inv(a @ a.T) if a.shape[0] <= a.shape[1] else _pinv(a.T).T


def _along(a: Any, axis: int | None, take: Callable[[list[Any]], Any]) -> Any:
    a = np.asarray(a, dtype=object)
    if axis is None:
        return take(list(a.ravel()))
    return np.array([take(list(line)) for line in (a.T if axis == 0 else a)], dtype=object)


def _entrywise(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(a: Any) -> Any:
        return np.vectorize(f, otypes=[object])(a) if np.ndim(a) else f(a)

    return apply


def _largest(line: list[Any]) -> Any:
    out = line[0]
    for x in line[1:]:
        out = x if x > out else out
    return out


def _flat(a: Any) -> list[Any]:
    return list(np.ravel(np.asarray(a, dtype=object)))


def _sum(line: Iterable[Any]) -> Any:
    return sum(line, arb(0))


def _first(line: list[Any], k: float) -> Any:
    ordered = sorted(line, key=lambda x: -float(x))
    return _sum(min(max(k - i, 0.0), 1.0) * x for i, x in enumerate(ordered))


def _pairwise(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        return np.vectorize(f, otypes=[object])(a, b) if np.ndim(a) or np.ndim(b) else f(a, b)

    return apply


def _length(line: list[Any]) -> Any:
    return sum((x * x for x in line), arb(0)).sqrt()


def _eigenvalues(a: Any) -> list[Any]:
    return [value.real for value in acb_mat(_matrix(a)).eig()]


def _groups(kind: str) -> Callable[[Any, Any], Any]:
    def rows(a: Any, size: Any) -> Any:
        size = int(float(size))
        ends = list(range(0, len(a), size)) if kind == "consecutive" else list(range(min(size + 1, len(a))))
        return arbs([[e <= i < f for i in range(len(a))] for e, f in itertools.pairwise([*ends, len(a)])])

    return rows


MEANINGS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "neg": lambda a: -a,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: _entrywise(lambda x: x.sqrt() if b == 0.5 else x ** arb(b))(a),
    "matmul": lambda a, b: a @ b,
    "transpose": lambda a: a.T if np.ndim(a) else a,
    "sum": lambda a, axis=None: _along(a, axis, lambda line: sum(line, arb(0))),
    "max": lambda a, axis=None: _along(a, axis, _largest),
    "min": lambda a, axis=None: _along(a, axis, lambda line: -_largest([-x for x in line])),
    "abs": _entrywise(abs),
    "sqrt": _entrywise(lambda x: x.sqrt()),
    "exp": _entrywise(lambda x: x.exp()),
    "log": _entrywise(lambda x: x.log()),
    "logistic": _entrywise(lambda x: (1 + x.exp()).log()),
    "logsumexp": lambda a, axis=None: _along(
        a, axis, lambda line: sum((x.exp() for x in line), arb(0)).log()
    ),
    "trace": lambda a: sum((a[i, i] for i in range(len(a))), arb(0)),
    "diag": lambda a: (
        np.array([a[i, i] for i in range(len(a))])
        if a.ndim == 2
        else np.array([[x if i == j else arb(0) for j in range(len(a))] for i, x in enumerate(a)])
    ),
    "inv": _inv,
    "nuclear": _nuclear,
    "root": _psd_root,
    "entrywise max": lambda a, b: _pairwise(lambda x, y: x if x > y else y)(a, b),
    "entrywise min": lambda a, b: _pairwise(lambda x, y: y if x > y else x)(a, b),
    "norm 2": lambda a, axis=None: _along(a, axis, _length),
    "norm 1": lambda a, axis=None: _along(a, axis, lambda line: sum((abs(x) for x in line), arb(0))),
    "norm inf": lambda a, axis=None: _along(a, axis, lambda line: _largest([abs(x) for x in line])),
    "norm fro": lambda a: _along(a, None, _length),
    "sigma_max": lambda a: _largest(_eigenvalues(a.T @ a)).sqrt(),
    "lambda_max": lambda a: _largest(_eigenvalues(a)),
    "lambda_min": lambda a: -_largest([-x for x in _eigenvalues(a)]),
    "logdet": lambda a: _matrix(a).det().log(),
    "huber": lambda a, m: _entrywise(lambda x: x * x if abs(x) < m else m * (2 * abs(x) - m))(a),
    "entropy": _entrywise(lambda x: -x * x.log()),
    "rel_entropy": lambda a, b: _pairwise(lambda x, y: x * (x / y).log())(a, b),
    "quad_over_lin": lambda a, b: _sum(x * x for x in _flat(a)) / (b if b > 0 else arb("nan")),
    "matrix_frac": lambda a, b: _sum(x * y for x, y in zip(_flat(a), _flat(_inv(b) @ a), strict=True)),
    "geo_mean": lambda a: (_sum(x.log() for x in _flat(a)) / np.size(a)).exp(),
    "sum_largest": lambda a, k: _first(_flat(a), float(k)),
    "lambda_sum_largest": lambda a, k: _first(_eigenvalues(a), float(k)),
    "kron": lambda a, b: np.kron(a, b),
    "cumsum": lambda a: np.cumsum(a),
    "diff": lambda a: a[1:] - a[:-1],
    "polar": lambda a: a @ _inv(_psd_root(a.T @ a)),
    "pinv": _pinv,
    "rank": lambda a: arb(min(a.shape)),  # what is drawn has full rank
    "stack": lambda a, b: np.vstack([a, b]),
    "used_rows": lambda a, b: a[[x > 0 for x in b]],
    # Up to a rotation from the left, too: what makes A Nᵀ orthogonal, where it is not the identity.
    "row_basis": lambda a: _pinv(a) @ _pinv(a).T * arb(float(np.linalg.norm(a.astype(float), 2)) ** 2),
    "consecutive": _groups("consecutive"),
    "leading": _groups("leading"),
    "toeplitz": lambda a: np.array(
        [[a[i - j] if i >= j else arb(0) for j in range(len(a))] for i in range(len(a))]
    ),
    "windows": lambda a, b: arbs(
        [
            [i <= j < i + min(int(float(b)), len(a)) for j in range(len(a))]
            for i in range(max(1, len(a) - int(float(b)) + 1))
        ]
    ),
    "support": lambda a: arbs([x > 0 and 1000 * x > _largest(list(a)) for x in a]),
    "eye": lambda size: arbs(np.eye(int(float(size)))),
    "ones": lambda size: arbs(np.ones(int(float(size)))),
    # Only up to an orthogonal matrix from the left: its Gram matrix is what is meant.
    "factor": lambda a: a,
}
