"""The command line in a folder with a small evaluation."""

from tests.cli.conftest import ael

__all__ = ["ael"]
