"""A page to play with programs in a browser, served on this machine: ``mmopt studio``.

The server passes what a page asks to processes that can be killed, and never reads a program itself; no text
is executed, and nothing is written to disk.

- ``calls.py``: what a page can ask for, answered in plain data within limits
- ``lanes.py``: the processes that answer, two for each page at work
- ``server.py``: the page and its calls by HTTP, for this machine and one token alone

The page itself, in plain JavaScript modules, is in the folder ``page``, the programs of its quiz in ``quiz``,
others from textbooks in ``textbook``.
"""

from mmopt.studio.server import PORT, serve

__all__ = ["PORT", "serve"]
