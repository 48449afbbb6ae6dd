"""Mean relative errors of strategies on a table, after Figure 3 of PVLDB 2012: ``study.py WORKLOAD FILE``.

The best strategies for the queries as they are and for queries scaled to unit length (``normalise: rows``),
beside the hierarchy and the wavelet over each attribute. Not private: for data that may be seen.
"""

from __future__ import annotations

import sys

import mmopt
from mmopt.mechanism.measured_and_simulated_releases import simulate_errors

EPSILONS = (0.1, 0.5, 1.0, 2.5)
DELTA = 1e-4
TRIALS = 50


def strategies(workload: mmopt.Workload) -> dict[str, mmopt.Strategy]:
    """Each by its name in the table."""
    found = {}
    for name in ("l2_strategy", "eigen_design"):
        found[name] = mmopt.solve(workload, name).strategy
        found[f"{name}, normalised"] = mmopt.solve(workload.normalised(), name).strategy
    if workload.n > 512:  # marginals: nobody would take these
        return found
    return found | {name: mmopt.baseline(name, workload) for name in ("hierarchy", "wavelet")}


def main() -> None:
    request = mmopt.load_request(sys.argv[1])
    counts = mmopt.data_vector(sys.argv[2], request.workload.domain).counts
    privacies = [mmopt.Privacy(epsilon=e, delta=DELTA) for e in EPSILONS]
    print("| strategy |", " | ".join(f"ε = {e:g}" for e in EPSILONS), "| rmse at ε = 0.5 |")
    print("|---|", "---:|" * (len(EPSILONS) + 1), sep="")
    for name, strategy in strategies(request.workload).items():
        plans = [mmopt.plan(request.workload, strategy, privacy) for privacy in privacies]
        runs = simulate_errors(request.workload, strategy, counts, plans, trials=TRIALS)
        errors = " | ".join(f"{run.whole.relative:.4f}" for run in runs)
        print(f"| {name} | {errors} | {runs[1].whole.predicted:.2f} |", flush=True)


if __name__ == "__main__":
    main()
