"""The compiled problem in files of other formats, and points led back. Solves nothing, judges nothing.

- ``export.py``: ``mmopt.export`` to CBF, MPS, SDPA and npz, ``mmopt.cvxpy_problem``, and points led back
"""

from mmopt.exchange.export import FORMATS, Exported, cvxpy_problem, export, led_from_columns

__all__ = ["FORMATS", "Exported", "cvxpy_problem", "export", "led_from_columns"]
