"""Tuples of mentions: relations, events, links and attributes, matched and scored on the same counts."""
