"""AEL, the Agent Engineering Language."""

__version__ = "0.1.0"
