"""Errors of refined answers beside the unrefined, over simulated releases: ``study.py WORKLOAD DATA [...]``.

Of each workload file and table 200 releases with simulated noise (``--trials``) are refined: non-negative;
with the number of rows known; and whole. NOT private: for data that may be seen.

The refined answers are unique, so that any exact method has the same ones. Here they are found by scipy's
``nnls``, the known total as a row of weight 10,000; those of the first release are found by the program too,
which proves them, and the largest difference is printed.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.optimize import nnls

import mmopt
from mmopt.answers.private_release import Release
from mmopt.answers.refined_answers import whole_counts
from mmopt.mechanism import build_manifest, measure

WEIGHT = 1e4  # of the row that says the total, in standard errors
PRIVACY = mmopt.Privacy(epsilon=1.0, delta=1e-6)  # where the file has none


def nearest(queries: np.ndarray, answers: np.ndarray, errors: np.ndarray, total: float | None) -> np.ndarray:
    """Counts (n,) >= 0 whose answers are nearest, each distance in standard errors (m,)."""
    rows, values = queries / errors[:, None], answers / errors
    triangle = np.linalg.qr(np.column_stack([rows, values]), mode="r")
    rows, values = triangle[:, :-1], triangle[:, -1]
    if total is not None:
        rows = np.vstack([rows, np.full(queries.shape[1], WEIGHT / errors.min())])
        values = np.append(values, total * WEIGHT / errors.min())
    return nnls(rows, values, maxiter=50 * rows.shape[1])[0]


def study(file: str, data: str, trials: int) -> None:
    request = mmopt.load_request(file)
    workload = request.workload
    counts = mmopt.data_vector(data, workload.domain, workload=workload).counts
    planned = mmopt.accuracy(request, None if request.privacy else PRIVACY)
    plan, queries, errors = planned.plan, workload.queries, planned.plan.standard_errors
    true, rows = queries @ counts, float(counts.sum())
    ones = np.ones((1, workload.n))
    first = measure(plan, counts, 0)
    release = Release.of(plan, first, build_manifest(plan, first))
    squares: dict[str, list[tuple[float, float]]] = {}
    off, above = 0.0, 0
    for seed in range(trials):
        answers = measure(plan, counts, seed).estimates
        found = {name: nearest(queries, answers, errors, total) for name, total in (("", None), ("t", rows))}
        whole = whole_counts(found["t"], queries, ones, np.array([rows])).answers
        refined = {
            "unrefined": answers,
            "non-negative": queries @ found[""],
            "and the total known": queries @ found["t"],
            "and whole": whole,
        }
        for name, values in refined.items():
            own = float(np.sum(((values - true) / errors) ** 2)), float(np.sum((values - true) ** 2))
            squares.setdefault(name, []).append(own)
        above += squares["non-negative"][-1][0] > squares["unrefined"][-1][0] * (1 + 1e-9)
        if seed == 0:
            for name, total in (("non-negative", None), ("and the total known", rows)):
                by_program = release.refine(totals=total).answers["refined"]
                off = max(off, float(np.max(np.abs(by_program - refined[name]) / errors)))
    print(
        f"\n{file}: {workload.m:,} queries over {workload.n:,} cells, {plan.kind} noise, {trials} releases\n"
    )
    print("| answers | squared error in standard errors | ratio | squared error in counts | ratio |")
    print("|---|---:|---:|---:|---:|")
    start = np.mean(squares["unrefined"], axis=0)
    for name, seen in squares.items():
        scaled, plain = np.mean(seen, axis=0)
        print(f"| {name} | {scaled:.2f} | {scaled / start[0]:.4f} | {plain:.1f} | {plain / start[1]:.4f} |")
    print(
        f"\nabove the unrefined, of non-negative answers, in standard errors: {above} of {trials} releases;"
    )
    print(f"from those of the program at most {off:.1e} standard errors", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", help="workload files and tables, in turn")
    parser.add_argument("--trials", type=int, default=200)
    given = parser.parse_args()
    if len(given.files) % 2:
        parser.error("each workload file is followed by its table")
    for file, data in zip(given.files[::2], given.files[1::2], strict=True):
        study(file, data, given.trials)


if __name__ == "__main__":
    main()
