"""From scores to the chance that a document answers, and the line below which nothing answers (R-05).

The weights are logistic regressions on 100 questions about 50 facts of coding projects and on 25 that none
of them answers, with "the same question, its fact taken away" as further unanswerable ones (a quarter of
the weight each). The measurements of quality fit them again, each fact's questions left out in turn, and say
how often an unanswerable question is refused and an answer lost. A threshold is the place where about 3 of
100 answers are lost.
"""

from __future__ import annotations

import math

import msgspec

_LOGIT_MAX = 40.0


class Logistic(msgspec.Struct, frozen=True):
    """A chance from named scores: 1 / (1 + exp(-(bias + sum of weight x score)))."""

    weights: dict[str, float]
    bias: float
    threshold: float
    """A chance below this is no answer."""

    def chance(self, scores: dict[str, float]) -> float:
        """The chance, 0 to 1. Every weight needs its score; a score that is not finite counts as 0."""
        logit = self.bias
        for name, weight in self.weights.items():
            score = scores[name]
            logit += weight * score if math.isfinite(score) else 0.0
        return 1 / (1 + math.exp(-min(max(logit, -_LOGIT_MAX), _LOGIT_MAX)))


SEMANTIC = Logistic({"cosine": 6.99, "late": 4.25, "unnamed": -2.38}, bias=-4.00, threshold=0.369)
"""The packaged encoder."""

COSINE = Logistic({"cosine": 9.5, "unnamed": -2.3}, bias=-3.13, threshold=0.38)
"""Encoders without token states, their cosines brought to the packaged one's scale (`recall.scale`): between
the weights of the packaged one without its states and those of a static encoder of another maker.
"""

LEXICAL = Logistic({"words": 3.08, "grams": 5.03}, bias=-2.67, threshold=0.332)
"""By words alone."""

HOLOGRAPHIC = Logistic({"cosine": 17.27}, bias=-3.08, threshold=0.305)
"""By superposed cues alone."""
