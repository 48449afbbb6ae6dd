"""A program explained: facts first (plain frozen data), then text, LaTeX or HTML made of them."""

from mmopt.report.explain.facts import Step
from mmopt.report.explain.gather import Explanation, explain

__all__ = ["Explanation", "Step", "explain"]
