"""Bringing the cosines of any encoder to the scale of the packaged one, for which chances are calibrated.

Encoders differ in what a cosine of 0.4 means. Each is shown the same few questions with their answers. The
mean cosine of what belongs together and the mean of what does not are two fixed points, and a straight line
brings both to where the packaged encoder has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from perdure.recall.encoder import Encoder

# NumPy is loaded by the first search with an encoder.
if TYPE_CHECKING:
    from perdure.recall.encoder import Floats

QUESTIONS = (
    "how warm does the water have to be for green tea?",
    "who repairs bicycles in our street?",
    "when does the library close on Saturdays?",
    "which colour did we paint the kitchen?",
    "how do I start the washing machine?",
    "where are the spare keys?",
    "what does the cat eat?",
    "how long is the flight to Lisbon?",
)
ANSWERS = (
    "Green tea is brewed at 75 degrees.",
    "The shop at number 12 repairs bicycles.",
    "On Saturdays the library closes at two in the afternoon.",
    "The kitchen is painted light yellow.",
    "The washing machine starts when its door is shut and the round button is pressed.",
    "The spare keys are in the blue box in the hall.",
    "The cat eats dry food in the morning and fish in the evening.",
    "A flight to Lisbon takes three hours.",
)
TOGETHER, APART = 0.766, 0.051
"""Means of the packaged encoder."""

_LEAST = 0.05
"""An encoder that hardly tells what belongs together is not stretched further than this."""


class Scale(msgspec.Struct, frozen=True):
    """The two means of an encoder."""

    together: float
    apart: float

    def packaged(self, cosine: float) -> float:
        """Bring a cosine to the packaged encoder's scale, -1 to 1."""
        share = (cosine - self.apart) / max(self.together - self.apart, _LEAST)
        return min(max(APART + share * (TOGETHER - APART), -1.0), 1.0)

    def own(self, packaged: float) -> float:
        """The cosine of this encoder that stands where the packaged one's is `packaged`."""
        share = (packaged - APART) / (TOGETHER - APART)
        return self.apart + share * (self.together - self.apart)


def scale_of(encoder: Encoder) -> Scale:
    """Measure an encoder: it encodes 16 short sentences."""
    vectors: Floats = encoder.encode([*QUESTIONS, *ANSWERS])
    count = len(QUESTIONS)
    table = vectors[:count] @ vectors[count:].T
    together = float(table.trace()) / count
    apart = (float(table.sum()) - count * together) / (count * (count - 1))
    return Scale(together=together, apart=apart)
