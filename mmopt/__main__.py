"""``python -m mmopt``: the command line."""

from mmopt.cli import main

if __name__ == "__main__":
    main()
