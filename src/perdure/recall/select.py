"""What an entry is worth to a prompt: importance and relevance as one number (I-02).

An entry is worth the chance that the turn needs it. Before anything is asked that chance is a prior by
importance; a relevance, which recall gives as the chance that the entry answers the prompt, is a second,
independent reason to need it: worth = 1 - (1 - prior) (1 - relevance), so that an important entry is never
worth less than its prior and a relevant one passes it. A block takes entries in the order of their worth.
"""

from __future__ import annotations

PRIORS = {"high": 0.35, "normal": 0.1, "low": 0.03}
"""Chances that a turn needs an entry of which nothing else is known: an assumption, not a measurement."""


def worth(importance: str, relevance: float) -> float:
    """The chance, 0 to 1, that a turn needs an entry of this importance and relevance (0 to 1)."""
    prior = PRIORS.get(importance, PRIORS["normal"])
    bounded = min(max(relevance, 0.0), 1.0)
    return 1.0 - (1.0 - prior) * (1.0 - bounded)
