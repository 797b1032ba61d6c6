"""Benchmarks of spanwise and its peers on the same work in the same run: `python -m benchmarks`."""
