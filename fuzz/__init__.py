"""Reproducible attacks: thousands of hostile inputs, and processes killed while they work."""
