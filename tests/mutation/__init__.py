"""Mutations: for each kind of fault a guard that is taken away, and the tests that must notice."""
