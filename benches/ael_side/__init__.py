"""AEL's side of each benchmark: the only modules here that import ``ael``."""
