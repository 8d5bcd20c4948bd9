"""Attacks, each with its benign twin: what stops an attack is a check that is no model (feature A14.6)."""
