"""A program explained: facts first (plain frozen data), then text, LaTeX or HTML made of them.

Nothing is solved here.

- ``gather_facts.py``: ``mmopt.explain``: all facts of a program, a workload and a solution
- ``explained_facts.py``: what facts there are
- ``as_written.py``: facts of the program alone
- ``as_compiled.py``: facts with a workload's numbers
- ``as_solved.py``: facts at a solution
- ``explanation.py``: the facts as sections, for every output alike
- ``explanation_text.py``: for a terminal
- ``explanation_latex.py``: as a LaTeX document
- ``explanation_html.py``: as an HTML page
- ``latex_to_mathml.py``: the formulas of that page
"""

from mmopt.report.explain.explained_facts import Step
from mmopt.report.explain.gather_facts import Explanation, explain

__all__ = ["Explanation", "Step", "explain"]
