"""A point, or multipliers, from anywhere, read by the names of a program.

A point is given by the names of its variables, or as columns of a file. Multipliers are not trusted: a bound
is read off the program's lines at them.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.driver.judge.assemble_solution import Ending
from mmopt.driver.judge.proved_bounds import Derived, level_above, reader
from mmopt.driver.judge.score_point import Candidate, charged, improves, meaning, named_multipliers
from mmopt.driver.judge.violations import asymmetric, worst_line
from mmopt.errors import Error, OptionError, suggest
from mmopt.exchange import led_from_columns
from mmopt.language.syntax.syntax_tree import names_in
from mmopt.numerics.arrays import Array
from mmopt.numerics.outward import rounded
from mmopt.results.npz_file import parsed
from mmopt.strategies import Strategy, as_dense
from mmopt.workloads.python_forms import read_array


def with_given(
    instance: Instance, point: Candidate, ending: Ending, passed: Mapping[str, Any], is_last: bool
) -> Ending:
    """The ending with the bound that the multipliers prove, and with the point's misses charged by them.

    is_last : no solve follows, so that a warning is due where they prove nothing.
    passed : by the names of constraints, for a program without a certificate; either sign for equations.

    Raises
    ------
    OptionError : multipliers of no constraint, of another shape, or that are not finite numbers.
    """
    try:
        read = reader(instance, point.variables, level_above(instance, point.objective))
    except Error as error:
        return _unproved(ending, error.message) if is_last else ending
    shapes = read.nodes.shapes_of_multipliers()
    multipliers = _checked(instance, passed, shapes)
    equations = {c.name for c in instance.program.constraints if c.relation.op == "=="}
    turned = {name: -y if name in equations else y for name, y in multipliers.items()}
    objective = charged(instance, point, multipliers).objective
    ending = replace(ending, objective=objective, multipliers=multipliers)
    best = better_of(instance, read.derived(multipliers, {}), read.derived(turned, {}))
    if best is None or best.bound is None:
        return _unproved(ending, best.why) if is_last and best is not None else ending
    return replace(ending, derived=best)


def better_of(instance: Instance, one: Derived | None, other: Derived | None) -> Derived | None:
    """The better of two bounds, or the one that there is."""
    if one is None or one.bound is None or other is None or other.bound is None:
        return one if one is not None and (one.bound is not None or other is None) else other
    return other if improves(one.bound, other.bound, instance.program.sense) else one


def _unproved(ending: Ending, why: str) -> Ending:
    warning = (
        f"the multipliers given prove no bound by the lines: {why}; without solve=False a solve may prove one"
    )
    return replace(ending, warnings=(*ending.warnings, warning))


def _checked(
    instance: Instance, passed: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, Array]:
    """The multipliers as numbers, of the shapes of their lines; those of lines without one are left out."""
    checked: dict[str, Array] = {}
    names = [c.name for c in instance.program.constraints]
    for name, value in passed.items():
        if name not in names:
            raise OptionError(f"no constraint has the multiplier '{name}'", hint=suggest(name, names))
        array = np.asarray(value)
        if name not in shapes:
            continue
        fits = array.shape == shapes[name] or array.size == 1 == int(np.prod(shapes[name]))
        if array.dtype.kind not in "biuf" or not fits or not np.isfinite(array).all():
            raise OptionError(
                f"the multiplier '{name}' has shape {array.shape}, expected finite numbers of shape "
                f"{shapes[name]}"
            )
        checked[name] = array.astype(np.float64).reshape(shapes[name])
    return checked


COLUMNS, ROWS = "columns", "rows"
HINT = (
    f"expected the variables by name, or '{COLUMNS}' (x) and '{ROWS}' (y, optional) of the exported problem"
)


def given_point(instance: Instance, point: Any) -> tuple[dict[str, Array], dict[str, Array]]:
    """The chosen variables, and multipliers where the point has some, as numbers of the right shapes.

    ``point`` : a mapping of names, a vector of columns, or a path (.json or .npz of names, .npy of columns).

    Raises
    ------
    OptionError : a file that cannot be read, an unknown or missing name, no numbers, another shape, or a
        matrix that is declared symmetric or psd and is not symmetric.
    """
    given = _read(Path(point)) if isinstance(point, str | Path) else point
    if not isinstance(given, Mapping):
        given = {COLUMNS: given}
    program, sizes = instance.program, instance.sizes()
    chosen = {d.name: d.shape(sizes) for d in program.choose}
    multipliers = _keys(instance) | {m.declaration.name for m in program.multipliers}
    if COLUMNS in given and COLUMNS not in chosen:
        return _from_columns(instance, given)
    for name in given:
        if name not in chosen and name not in multipliers:
            raise OptionError(
                f"'{program.name}' has no variable '{name}'",
                hint=suggest(str(name), [*chosen, *multipliers, COLUMNS]),
            )
    missing = [name for name in chosen if name not in given]
    if missing:
        raise OptionError(f"the point has no '{missing[0]}', which '{program.name}' chooses", hint=HINT)
    values = {name: _numbers(f"'{name}'", given[name]) for name in chosen}
    for name, value in values.items():
        if value.shape != chosen[name]:
            raise OptionError(f"'{name}' of the point has shape {value.shape}, expected {chosen[name]}")
    if off := asymmetric(instance, values):
        raise OptionError(f"{off}, in the point", hint="give a symmetric one, (X + X.T) / 2, say")
    return values, {name: given[name] for name in given if name not in chosen}


def _from_columns(instance: Instance, given: Mapping[str, Any]) -> tuple[dict[str, Array], dict[str, Array]]:
    others = [name for name in given if name not in (COLUMNS, ROWS)]
    if others:
        raise OptionError(f"the point has '{others[0]}' beside '{COLUMNS}'", hint=HINT)
    x = _numbers(f"'{COLUMNS}'", given[COLUMNS]).reshape(-1)
    y = _numbers(f"'{ROWS}'", given[ROWS]).reshape(-1) if ROWS in given else None
    variables, multipliers = led_from_columns(instance, x, y)
    for d in instance.program.choose:  # those that no line has
        variables.setdefault(d.name, np.zeros(d.shape(instance.sizes())))
    useful = _keys(instance)
    return variables, {name: value for name, value in multipliers.items() if name in useful}


def _keys(instance: Instance) -> set[str]:
    """The names of useful multipliers: those of the certificate; without one those of all lines."""
    program = instance.program
    if program.certificate is None and not program.bound and program.problem_class == "convex":
        return {c.name for c in program.constraints}
    return {m.key for m in program.multipliers}


def _read(path: Path) -> Any:
    """The contents of a file; a vector of columns for a .npy or .csv file."""
    suffix = path.suffix.lower()
    if suffix not in (".json", ".npz"):
        return read_array(path, "the point").reshape(-1)
    if not path.is_file():
        raise OptionError(f"there is no file '{path}' for the point")
    try:
        if suffix == ".npz":
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
        point = parsed(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        kind = "an archive of NumPy arrays" if suffix == ".npz" else "JSON"
        reason = str(error).split("\n", maxsplit=1)[0]
        raise OptionError(f"the file '{path}' for the point is not {kind}: {reason}") from None
    if not isinstance(point, dict):
        raise OptionError(f"the file '{path}' for the point holds no object of names", hint=HINT)
    return point


def _numbers(what: str, value: Any) -> Array:
    try:
        array = np.asarray(value)
    except ValueError:  # lists of unequal length
        array = np.asarray(None)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise OptionError(f"{what} of the point is no array of finite numbers", hint=HINT)
    return array.astype(np.float64)


def meant_by(instance: Instance, point: Candidate, multipliers: Mapping[str, Any]) -> Strategy | None:
    """The strategy that the point means; None where multipliers that it is made of are missing."""
    needed = names_in(instance.program.meaning.expr)
    by_name = named_multipliers(instance, multipliers)
    if any(
        m.declaration.name in needed and m.declaration.name not in by_name
        for m in instance.program.multipliers
    ):
        return None
    return as_dense(meaning(instance, point.env, multipliers)[0])


def check_meant(instance: Instance, point: Candidate, multipliers: Mapping[str, Any]) -> None:
    """Refuse a point without the multipliers from which the program makes its strategy."""
    if meant_by(instance, point, multipliers) is None:
        raise OptionError(
            f"the strategy of '{instance.program.name}' is made of multipliers, and the point comes without",
            hint=f"add them to the point, by their names or as '{ROWS}'",
        )


def missed_as_given(instance: Instance, values: Mapping[str, Array]) -> list[str]:
    """In words, the worst miss of a point as given; nothing where it is feasible."""
    worst = worst_line(instance, {**instance.env, **values})
    if worst is None:
        return []
    off = rounded(worst.amount, 2, up=True, layout="e")
    return [f"as given the point {worst.missed(instance, off)}: it was repaired"]
