"""A program explained: facts first (plain frozen data), then text, LaTeX or HTML made of them.

Nothing is solved here.

- ``gather_facts.py``: ``mmopt.explain``: all facts of a program, a workload and a solution
- ``explained_facts.py``: the facts of a program as plain data, and those of its own text
- ``as_compiled.py``: a program as compiled for a workload, and its solution line by line
- ``explanation.py``: an explanation arranged, and printed in a terminal
- ``explanation_latex.py``: as a LaTeX document
- ``explanation_html.py``: an explanation as one HTML page, its formulas in MathML
"""

from mmopt.report.explain.explained_facts import Step
from mmopt.report.explain.gather_facts import Explanation, explain

__all__ = ["Explanation", "Step", "explain"]
