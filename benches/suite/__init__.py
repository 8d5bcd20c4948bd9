"""One module per benchmark: what is asked of every side, and which ratio is the goal."""
