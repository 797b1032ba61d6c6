"""Readers of tuples in the files of other programs, one module per family of formats."""
