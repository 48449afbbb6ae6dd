"""moreau (https://pypi.org/project/moreau): interior point on CPU and CUDA. ``--solver by_moreau:solve``"""

import math

import moreau
import numpy as np
import scipy.sparse as sp

__version__ = moreau.__version__


def upper(block):
    """The rows of a psd block in moreau's order, the upper triangle column by column."""
    places = [(i, j) for j in range(block.size) for i in range(j, block.size)]
    return [block.first + places.index((j, i)) for j in range(block.size) for i in range(j + 1)]


def solve(problem):
    k = problem.cones
    rows = [r for b in k.blocks for r in (upper(b) if b.kind == "psd" else range(b.first, b.end))]
    cones = moreau.Cones(
        num_zero_cones=k.zero,
        num_nonneg_cones=k.nonnegative,
        so_cone_dims=list(k.second_order),
        psd_dims=list(k.psd),
        num_exp_cones=k.exponential,
        power_alphas=list(k.power),
    )
    wanted = problem.options
    gap = max(wanted.tolerance * 1e-3, 1e-11)
    accuracy = moreau.IPMSettings(tol_gap_abs=gap, tol_gap_rel=gap, tol_feas=gap)
    limit = {} if math.isinf(wanted.time_limit) else {"time_limit": wanted.time_limit}
    settings = moreau.Settings(
        device="cpu", solver="ipm", max_iter=wanted.max_iterations or 200, ipm_settings=accuracy, **limit
    )
    quadratic = sp.csr_array((len(problem.c),) * 2) if problem.P is None else sp.csr_array(problem.P)
    a = sp.csr_array(problem.A)[rows]
    solver = moreau.Solver(quadratic, problem.c, a, problem.b[rows], cones, settings)
    found = solver.solve()
    y = np.empty(len(rows))
    y[rows] = found.z
    return {
        "x": found.x,
        "y": y,
        "iterations": int(solver.info.iterations),
        "status": str(solver.info.status),
    }


solve.quadratic = True
