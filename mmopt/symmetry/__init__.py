"""Symmetries of workloads: value symmetry, reflection, independent blocks, and matrices split by them.

- ``find_symmetries.py``: a search for the symmetries of a workload
- ``attribute_queries.py``: the queries on one attribute, and the swaps of its values that do not change them
- ``components.py``: the components of one attribute, and of several together
- ``workload_by_component.py``: Gram matrices and targets of a workload by components, and the rows of any
  queries on them

The theorem. Let a group of permutations of the cells leave the workload's Gram matrix unchanged (for accuracy
targets: map the pairs of query and target to themselves, up to the signs of the queries). A convex program
over all strategies, whose objective and constraints depend on nothing else, has with X every image of X as a
point of the same value, so by convexity their average is no worse: the group leaves some optimal X, and
likewise some optimal multipliers, unchanged. One matrix per component determines such an X, and one number
per orbit such multipliers. The same holds for sign flips of basis vectors that the Gram matrix does not
connect.

The groups found here are products over the attributes: of all swaps of the values of a class (*value
symmetry*) and of the reversal of the order of the values (*reflection*). Each has to leave every factor of
every product unchanged, not only the sum.
"""

from mmopt.symmetry.find_symmetries import SymmetricWorkload, symmetry
from mmopt.symmetry.workload_by_component import representation_rounding, root_rounding

__all__ = ["SymmetricWorkload", "representation_rounding", "root_rounding", "symmetry"]
