"""The catalogue of diagnostics, one module for each area of codes."""
