"""Runs that survive: executed from their store, worked on by fleets, decided by people, forked."""
