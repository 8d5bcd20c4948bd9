"""`python -m ael` is the command `ael`."""

from __future__ import annotations

import sys

from ael.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
