"""From a table to a data vector of counts. No strategies, no noise: all of it is confidential.

- ``table_file.py``: a file: its kind, and whether it changed
- ``text_file.py``: text: its delimiter, its header, its rows in an embedded DuckDB
- ``connection.py``: a URL or a connection to a database server; no word of its credentials
- ``database_file.py``: databases, DuckDB and SQLite: their tables, and the columns of one
- ``column_streams.py``: data frames and dictionaries of columns
- ``engine.py``: the embedded DuckDB; errors of engines, without the rows that they quote
- ``open_table.py``: any of these, or an Ibis table, opened: its columns by name
- ``draft_columns.py``: columns by name and type, for a first workload file
- ``spelled_values.py``: numbers and days that a text spells, the same on every engine
- ``cell_codes.py``: the cell of a row along one attribute, as an expression of the database
- ``weight_column.py``: for how many rows a line of an aggregated table stands
- ``part_of_rows.py``: the rows with one value of a column
- ``person_rows.py``: of each person at most k rows, chosen by that person's rows alone
- ``coded_rows.py``: the rows as codes of cells, and groups of them counted
- ``row_rules.py``: which columns are read, where a code counts, which rows are refused
- ``data_vector.py``: ``data_vector``: one count per cell, and what was left out
- ``grouped_sets.py``: which sets of attributes are counted, and which by one query
- ``marginal_counts.py``: ``marginal_counts``: counts by few attributes, over any number of cells
"""

from mmopt.data.connection import shown_source
from mmopt.data.data_vector import DataVector, check_columns, data_vector
from mmopt.data.draft_columns import column_kinds, public_forms
from mmopt.data.marginal_counts import MarginalCounts, marginal_counts
from mmopt.data.part_of_rows import Part

__all__ = [
    "DataVector",
    "MarginalCounts",
    "Part",
    "check_columns",
    "column_kinds",
    "data_vector",
    "marginal_counts",
    "public_forms",
    "shown_source",
]
