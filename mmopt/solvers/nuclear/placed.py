"""A problem as arrays of another library (on a GPU, say), and its iterates back as numpy's."""

from __future__ import annotations

import importlib
from dataclasses import replace

import array_api_compat
import numpy as np

from mmopt.errors import OptionError
from mmopt.solvers.nuclear.problem import Array, Problem
from mmopt.solvers.nuclear.spectrum import Iterate, Spectrum

__all__ = ["back", "fetched", "placed"]


def placed(problem: Problem, library: str | None) -> Problem:
    """The problem with its arrays made by a library that follows the array API standard.

    ``library`` is the name of its module, with a device after a colon where one is chosen: ``cupy``,
    ``torch:cuda``. None: as they are.

    Raises
    ------
    OptionError : the library is not installed, or makes no arrays.
    """
    if library is None or library == "numpy":
        return problem
    name, _, device = library.partition(":")
    try:
        make = importlib.import_module(name).asarray
    except (ImportError, AttributeError):
        raise OptionError(
            f"no library of arrays '{name}' is installed here",
            hint="known: numpy, cupy, torch, torch:cuda; install it, or leave --arrays out",
        ) from None
    where = {"device": device} if device else {}

    def put(array: Array) -> Array:
        return None if array is None else make(np.asarray(array), **where)

    parts = tuple(
        replace(p, rows=put(p.rows), cells=put(p.cells), queries=put(p.queries)) for p in problem.parts
    )
    fields = {"cells": put(problem.cells), "targets": put(problem.targets), "floors": put(problem.floors)}
    return replace(problem, parts=parts, **fields)


def fetched(at: Iterate) -> Iterate:
    """The iterate with numpy's arrays."""
    spectra = tuple(Spectrum(back(s.values), back(s.left), back(s.right)) for s in at.spectra)
    return replace(
        at,
        cells=back(at.cells),
        queries=back(at.queries),
        weights=back(at.weights),
        spectra=spectra,
        cost=back(at.cost),
        variance=back(at.variance),
    )


def back(array: Array) -> Array:
    """An array of any library as numpy's; None stays None."""
    if array is None or isinstance(array, np.ndarray):
        return array
    if array_api_compat.is_cupy_array(array):
        return array.get()
    if array_api_compat.is_torch_array(array):
        return array.detach().cpu().numpy()
    return np.asarray(array)
