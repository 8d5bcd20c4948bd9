from tests.connectors.bases import base, place, server

__all__ = ["base", "place", "server"]
