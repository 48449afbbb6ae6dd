"""``python -m mmopt.cli``."""

from mmopt.cli import main

main()
