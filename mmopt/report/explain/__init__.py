"""A program explained: facts first (plain frozen data), then text, LaTeX or HTML made of them.

Nothing is solved here. Facts come from a program (``reading``), its numbers (``compiled``) and its solution
(``solved``); ``document`` arranges them once for the three that write.
"""

from mmopt.report.explain.facts import Step
from mmopt.report.explain.gather import Explanation, explain

__all__ = ["Explanation", "Step", "explain"]
