"""A program explained: facts first (plain frozen data), then text, LaTeX or HTML made of them.

Nothing is solved here.

- ``gather.py``: ``mmopt.explain``: all facts of a program, a workload and a solution
- ``facts.py``: what facts there are
- ``as_written.py``: facts of the program alone
- ``as_compiled.py``: facts with a workload's numbers
- ``as_solved.py``: facts at a solution
- ``document.py``: the facts as sections, for every output alike
- ``text.py``: for a terminal
- ``latex.py``: as a LaTeX document
- ``page.py``: as an HTML page
- ``mathml.py``: the formulas of that page
"""

from mmopt.report.explain.facts import Step
from mmopt.report.explain.gather import Explanation, explain

__all__ = ["Explanation", "Step", "explain"]
