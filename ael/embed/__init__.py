"""AEL inside of a Python program: what `import ael` gives (docs/embedding.md). The names are in `ael/__init__.py`, loaded when used."""
