"""From a table to a data vector of counts. No strategies, no noise: all of it is confidential.

- ``table_file.py``: the file: its kind, its header, its columns in an embedded DuckDB
- ``cell_codes.py``: the cell of a row along one attribute, as an expression of the database
- ``data_vector.py``: ``data_vector``: one count per cell, and what was left out
"""

from mmopt.data.data_vector import DataVector, data_vector

__all__ = ["DataVector", "data_vector"]
