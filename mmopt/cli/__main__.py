"""``python -m mmopt.cli``."""

from mmopt.cli import main

if __name__ == "__main__":
    main()
