"""SDPA in 200 bits (pypi.org/project/sdpa-multiprecision). ``--solver by_sdpa_multiprecision:solve``"""

import importlib.metadata

import numpy as np
import scipy.sparse as sp
import sdpap  # sdpa-python has a module of this name too: install one of both

NAMES = ("sdpa-multiprecision", "sdpa-python")
FOUND = [d for d in importlib.metadata.distributions() if d.metadata["Name"] in NAMES]
__version__ = " and ".join(sorted(f"{d.metadata['Name']} {d.version}" for d in FOUND))


def whole(block):
    """The map from the rows of a block to what SDPA takes: of a psd block the whole matrix."""
    if block.kind != "psd":
        return sp.identity(block.end - block.first)
    places = [(i, j) for j in range(block.size) for i in range(j, block.size)]
    found = sp.lil_array((block.size**2, len(places)))
    for k, (i, j) in enumerate(places):
        found[[i * block.size + j, j * block.size + i], k] = 1.0 if i == j else np.sqrt(0.5)
    return found


def solve(problem):
    """The least of -b @ y over A.T @ y = -c, y in the (self-dual) cones: its multipliers are x."""
    k, wanted = problem.cones, problem.options
    widen = sp.block_diag([whole(block) for block in k.blocks], format="csr")
    a, b = sp.csc_matrix(widen @ problem.A), sp.csc_matrix((widen @ problem.b).reshape(-1, 1))
    cones = sdpap.SymCone(f=k.zero, l=k.nonnegative, s=tuple(k.psd))
    is_long = sdpap.sdpacall.sdpacall.get_backend_info()["gmp"]
    accuracy = wanted.tolerance * (1e-6 if is_long else 1e-1)
    option = {
        "print": "display" if wanted.verbose else "no",
        "epsilonStar": accuracy,
        "epsilonDash": accuracy,
        "maxIteration": wanted.max_iterations or 200,
        "numThreads": wanted.threads or 1,
    }
    c = sp.csc_matrix(-problem.c.reshape(-1, 1))
    z, x, info, _, more = sdpap.solve(a.T.tocsc(), c, b, cones, sdpap.SymCone(f=len(problem.c)), option)
    y = widen.T @ np.asarray(z.todense()).ravel()
    x = np.asarray(x.todense()).ravel()
    return {"x": x, "y": y, "iterations": int(more["iteration"]), "status": info["phasevalue"]}


solve.cones = {"zero", "nonnegative", "psd"}
