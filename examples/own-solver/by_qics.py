"""QICS (pypi.org/project/qics): interior point, for quantum entropies too. ``--solver by_qics:solve``"""

import numpy as np
import qics
import scipy.sparse as sp
from qics.cones import NonNegOrthant, PosSemidefinite, SecondOrder

__version__ = qics.__version__
KINDS = {"nonnegative": NonNegOrthant, "second-order": SecondOrder, "psd": PosSemidefinite}


def whole(block):
    """The map from the rows of a block to what QICS takes: of a psd block the whole matrix."""
    if block.kind != "psd":
        return sp.identity(block.end - block.first)
    places = [(i, j) for j in range(block.size) for i in range(j, block.size)]
    found = sp.lil_array((block.size**2, len(places)))
    for k, (i, j) in enumerate(places):
        found[[i * block.size + j, j * block.size + i], k] = 1.0 if i == j else np.sqrt(0.5)
    return found


def solve(problem):
    z, n = problem.cones.zero, len(problem.c)
    blocks = [block for block in problem.cones.blocks if block.kind != "zero"]
    widen = sp.csr_matrix(sp.block_diag([whole(block) for block in blocks]))
    a = sp.csr_matrix(problem.A)  # QICS asks sparse arrays for what only matrices have
    model = qics.Model(
        problem.c.reshape(n, 1),
        a[:z] if z else None,
        problem.b[:z].reshape(z, 1) if z else None,
        widen @ a[z:],
        (widen @ problem.b[z:]).reshape(-1, 1),
        [KINDS[block.kind](block.size - (block.kind == "second-order")) for block in blocks],
    )
    wanted = problem.options
    gap = max(wanted.tolerance * 1e-3, 1e-10)
    found = qics.Solver(
        model,
        max_iter=wanted.max_iterations or 100,
        max_time=min(wanted.time_limit, 1e9),
        tol_gap=gap,
        tol_feas=gap,
        verbose=2 * wanted.verbose,
    ).solve()
    y = [*found["y_opt"].ravel(), *(widen.T @ found["z_opt"].vec.ravel())]
    return {"x": found["x_opt"], "y": y, "iterations": found["num_iter"], "status": found["sol_status"]}


solve.cones = {"zero", *KINDS}
