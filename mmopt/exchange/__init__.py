"""The compiled problem, for other programs and back. Solves nothing, judges nothing.

- ``export.py``: ``mmopt.export``, ``mmopt.cvxpy_problem``, and points led back
- ``file_parts.py``: what the forms of files share
- ``cbf.py``: Conic Benchmark Format
- ``sdpa.py``: SDPA sparse format
- ``mps.py``: free MPS
- ``npz.py``: numpy arrays
"""

from mmopt.exchange.export import FORMATS, Exported, cvxpy_problem, export, led_from_columns

__all__ = ["FORMATS", "Exported", "cvxpy_problem", "export", "led_from_columns"]
