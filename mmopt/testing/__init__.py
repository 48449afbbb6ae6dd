"""Conformance checks for whoever writes a program or adds a solver."""

from mmopt.testing.weak_duality import Finding, WeakDualityReport, check_program

__all__ = ["Finding", "WeakDualityReport", "check_program"]
