"""What a row space is made of: functions of attributes, the queries, squared lengths.

- ``attribute_bases.py``: the functions of one attribute, and what a factor asks in them
- ``functions_of_few.py``: those of several; ``sector_roots.py``: the queries on a component
- ``profile_tables.py``: squared lengths as sums of tables over few attributes; ``profile_functions.py``: in
  orthonormal coordinates
- ``mixture_moments.py``: moments of mixtures of products; ``moments_rounding.py``: what they are off by
"""
