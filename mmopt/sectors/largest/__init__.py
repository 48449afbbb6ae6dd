"""The largest value of a sum of tables over few attributes, over all cells: proved.

- ``largest_length.py``: by elimination, else by branching
- ``table_sums.py``: such sums; ``shifted_tables.py``: with smaller largest entries;
  ``table_elimination.py``: one attribute after the other
- ``local_search.py``: cells where the sum is large, found
"""
