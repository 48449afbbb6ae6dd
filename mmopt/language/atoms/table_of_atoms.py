"""The table of atoms: every function and operator of the language, one row each.

A row says all there is to say of an atom: how many arguments, its rule (shape, sign, curvature), its
numpy form, its form with error bounds (``ball``; absent for atoms that only prepare data), its cvxpy
form (absent where the lowering treats the atom itself, or where it only prepares data), its gradient, how
it is printed, and one sentence. Adding an atom is adding a row: in ``function_atoms.py``, in
``data_atoms.py`` (for data and results only) or, an operator, in ``operator_atoms.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mmopt.language.atoms.atom import Atom, PrintedForm
from mmopt.language.atoms.data_atoms import PREPARING
from mmopt.language.atoms.function_atoms import FUNCTIONS_OF_CHOSEN
from mmopt.language.atoms.norm_atoms import NORMS
from mmopt.language.atoms.operator_atoms import OPERATORS

__all__ = ["ATOMS", "FUNCTIONS", "Atom", "PrintedForm"]

_CALLED = (*FUNCTIONS_OF_CHOSEN, *NORMS, *PREPARING)

ATOMS: Mapping[str, Atom] = MappingProxyType({atom.name: atom for atom in (*OPERATORS, *_CALLED)})

# The names that can be called; other atoms are operators, or one of these with other arguments.
FUNCTIONS = tuple(dict.fromkeys(atom.text.partition("(")[0] for atom in _CALLED))
