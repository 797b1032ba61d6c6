"""Attacks that anyone can repeat: hostile inputs by the thousand, and processes killed at work."""
