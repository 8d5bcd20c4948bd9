from tests.journal.places import place, server

__all__ = ["place", "server"]
