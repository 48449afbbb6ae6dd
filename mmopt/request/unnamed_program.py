"""The program that is solved when none is named."""

from __future__ import annotations

from mmopt.privacy import Privacy
from mmopt.privacy.table_of_noises import GAUSSIAN, LAPLACE
from mmopt.workloads import Workload

__all__ = ["default_program", "default_words"]


def default_program(workload: Workload, pure: bool = False) -> tuple[str, str]:
    """The program used when none is named, and why.

    pure : for Laplace noise, which epsilon without delta asks for.
    """
    if pure:
        return "p_identity", "epsilon without delta asks for Laplace noise"
    if workload.has_all_targets:
        return "fitness_for_use", "every query has a target (max_variance)"
    return "l2_strategy", "not every query has a target, so total error is what can be least"


def default_words(workload: Workload, privacy: Privacy | None) -> str:
    """What is solved when no program is named, and why, in words."""
    name, why = default_program(workload, privacy is not None and privacy.is_pure)
    if privacy is None or not (GAUSSIAN.takes(privacy) and LAPLACE.takes(privacy)):
        return f"{name}: {why}"
    least = "privacy cost for the targets" if workload.has_all_targets else "predicted error"
    return f"{name} (Gaussian noise) or p_identity (Laplace noise): the one of least {least}"
