"""What the page of suspects shows: each place with gold's reading, the proposal and the evidence."""

from __future__ import annotations

from spanwise.document.dataset import Suspect, Suspects
from spanwise.reports.html._marking import Piece, marked


def parts(document: Suspects) -> dict[str, object]:
    """Everything that the template asks for."""
    effects = {name: {effect.k: effect.f1 for effect in row} for name, row in document.effects.items()}
    steps = sorted({k for row in effects.values() for k in row})
    return {
        "template": "suspects.html.jinja",
        "title": "suspects",
        "data": None,
        "steps": steps,
        "effects": effects,
        "readings": [readings(suspect) for suspect in document.suspects],
    }


def readings(suspect: Suspect) -> dict[str, list[Piece]]:
    """The sentence as gold has it and as it is proposed; nothing where the text is left out."""
    if not suspect.tokens:
        return {"gold": [], "proposal": []}
    return {
        "gold": marked(suspect.tokens, [suspect.gold] if suspect.gold else []),
        "proposal": marked(suspect.tokens, [suspect.proposal] if suspect.proposal else []),
    }
