"""From a table to a data vector of counts, which is confidential, and to a draft of its workload file.

No strategies, no noise.

- ``table_files_and_connections.py``: files that hold tables (text, Parquet, DuckDB and SQLite), the embedded
  DuckDB, connections to servers, and their errors
- ``open_table.py``: any table, opened: its columns by name, and its rows; data frames
- ``draft_workload.py``: a first workload file, drafted from the columns of a table
- ``cell_codes.py``: the cell of a row along one attribute, as an expression of the database; numbers and days
  in texts
- ``counted_rows.py``: the rows that are counted, as codes of cells: rules, persons, parts and weights
- ``counts.py``: counts of a table: one per cell, or by few attributes
"""

from mmopt.data.counted_rows import Part
from mmopt.data.counts import (
    DataVector,
    MarginalCounts,
    check_columns,
    counting_words,
    data_vector,
    marginal_counts,
)
from mmopt.data.draft_workload import public_forms, schema_columns
from mmopt.data.table_files_and_connections import shown_source

__all__ = [
    "DataVector",
    "MarginalCounts",
    "Part",
    "check_columns",
    "counting_words",
    "data_vector",
    "marginal_counts",
    "public_forms",
    "schema_columns",
    "shown_source",
]
