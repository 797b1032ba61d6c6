"""What spanwise costs, measured beside its peers on the same work in the same run: `python -m benchmarks`."""
