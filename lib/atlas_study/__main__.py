"""The command line as a module: `python -m atlas_study` is the command `babelatlas`."""

import sys

from atlas_study.commands.main import main

if __name__ == "__main__":
    sys.exit(main())
