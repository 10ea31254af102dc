"""From scores to the chance that a document answers, and the line below which nothing answers (R-05).

The weights are logistic regressions on two bodies of questions that weigh the same: those of our own, about
134 invented facts of coding projects with 156 that none of them answers (`tests/quality/recall_own.py`), and
100 about 50 other facts with 25 that none answers. In both, "the same question, its fact taken away" stands
for further unanswerable ones, at a quarter of the weight. A threshold is where 3 of the 100 are lost.
The measurements of quality fit them again with questions left out in turn, and say how often an unanswerable
question is refused and an answer lost. `recall.doubts` says what "digits" and "kind" are.
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


SEMANTIC = Logistic(
    {"cosine": 7.83, "late": 3.28, "unnamed": -2.42, "digits": -3.79, "kind": -3.33},
    bias=-4.19,
    threshold=0.312,
)
"""The packaged encoder."""

COSINE = Logistic(
    {"cosine": 10.52, "unnamed": -2.48, "digits": -3.35, "kind": -3.19}, bias=-3.74, threshold=0.323
)
"""Encoders without token states, their cosines brought to the packaged one's scale (`recall.scale`)."""

STATIC = Logistic(
    {"cosine": 5.81, "words": 2.41, "grams": 1.20, "digits": -3.35, "kind": -3.94}, bias=-3.37, threshold=0.24
)
"""The static encoder, on its own cosines; fitted on our own questions alone. It takes a word for the same in
every context, so that the words that are shared count beside it. The threshold is where it refuses no less of
our own than words alone do; at the loss of 3 in 100 it would refuse less.
"""

LEXICAL = Logistic(
    {"words": 3.72, "grams": 4.16, "digits": -2.67, "kind": -2.49}, bias=-2.72, threshold=0.307
)
"""By words alone."""

HOLOGRAPHIC = Logistic({"cosine": 19.07, "digits": -2.54, "kind": -2.41}, bias=-3.58, threshold=0.250)
"""By superposed cues alone."""
