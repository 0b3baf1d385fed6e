"""Checkers of the exercises, one module a chapter."""
