"""Tests of the run time."""
