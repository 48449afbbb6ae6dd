"""Answers at a stated privacy: what a release gives back, kept in a folder and read again.

- ``release_result.py``: ``Release``: the answers, how they were got, and how their errors go together
- ``read_folder.py``: the folder of a release, read back and checked against its manifest
"""

from mmopt.answers.release_result import Release, load_release
from mmopt.results import Frame

__all__ = ["Frame", "Release", "load_release"]
