"""The compiled problem in files of other formats, and points led back. Solves nothing, judges nothing.

- ``export.py``: ``mmopt.export``, ``mmopt.cvxpy_problem``, and points led back
- ``file_formats.py``: the written forms of a compiled problem: CBF, MPS, SDPA and npz
"""

from mmopt.exchange.export import FORMATS, Exported, cvxpy_problem, export, led_from_columns

__all__ = ["FORMATS", "Exported", "cvxpy_problem", "export", "led_from_columns"]
