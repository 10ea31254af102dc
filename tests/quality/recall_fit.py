"""What the measurements of recall fit and how sure they are: regressions, thresholds, intervals."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_ROUNDS = 2_000
_STEPS = 60


class Fitted(msgspec.Struct, frozen=True):
    """A logistic regression: the chance is 1 / (1 + exp(-(signals . weights + bias)))."""

    weights: Numbers
    bias: float

    def chances(self, signals: Numbers) -> Numbers:
        """Chances [cases] of signals [cases, signals]."""
        chances: Numbers = 1 / (1 + np.exp(-np.clip(signals @ self.weights + self.bias, -40, 40)))
        return chances


class Training(msgspec.Struct, frozen=True):
    """Cases to fit on: signals [cases, signals], answered [cases] of 0 and 1, weights [cases]."""

    signals: Numbers
    answered: Numbers
    weights: Numbers

    def beside(self, other: Training) -> Training:
        """These cases and others, which together weigh as much as these."""
        scale = self.weights.sum() / other.weights.sum()
        return Training(
            signals=np.vstack([self.signals, other.signals]),
            answered=np.concatenate([self.answered, other.answered]),
            weights=np.concatenate([self.weights, scale * other.weights]),
        )


def fit_logistic(signals: Numbers, answered: Numbers, *, case_weights: Numbers, ridge: float = 4.0) -> Fitted:
    """Fit by Newton's steps; the ridge is on standardised weights, the bias is free.

    `signals` [cases, signals], `answered` [cases] of 0 and 1.
    """
    mean, scale = signals.mean(0), signals.std(0) + 1e-9
    table = np.hstack([(signals - mean) / scale, np.ones((len(signals), 1))])
    weights = np.zeros(table.shape[1])
    penalty = np.diag([*[ridge] * signals.shape[1], 1e-6])
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-np.clip(table @ weights, -40, 40)))
        gradient = table.T @ (case_weights * (chances - answered)) + penalty @ weights
        curvature = (table * (case_weights * chances * (1 - chances))[:, None]).T @ table + penalty
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step
        if float(np.abs(step).max()) < 1e-9:
            break
    plain = weights[:-1] / scale
    return Fitted(weights=plain, bias=float(weights[-1] - plain @ mean))


def threshold_that_keeps(chances: Numbers, lost: int) -> float:
    """The largest threshold at which at most `lost` of these chances are below it."""
    ordered = np.sort(chances)
    return float(ordered[min(lost, len(ordered) - 1)]) if len(ordered) else 0.5


def interval(values: Sequence[float] | Numbers, *, seed: int = 1) -> tuple[float, float]:
    """The 95% bootstrap interval of the mean of values: the percentiles of resampled means."""
    table = np.asarray(values, np.float64)
    chance = np.random.default_rng(seed)
    means = [table[chance.integers(0, len(table), len(table))].mean() for _ in range(_ROUNDS)]
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def told(values: Sequence[float] | Numbers, *, scale: float = 100.0, digits: int = 0) -> str:
    """A mean with its interval, as "68 [54, 80]"."""
    low, high = (each * scale for each in interval(values))
    mean = float(np.mean(values)) * scale
    return f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def area_under_curve(right: Numbers, wrong: Numbers) -> float:
    """The chance that a right case scores above a wrong one; ties count half."""
    above = (right[:, None] > wrong[None]).mean() + 0.5 * (right[:, None] == wrong[None]).mean()
    return float(above)


def fit_listwise(
    examples: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]],
    floors: Numbers,
    *,
    ridge: float = 0.002,
    steps: int = 120,
) -> Numbers:
    """Weights of least cross-entropy between softmax(signals . weights) and the target shares (Adam).

    An example is a question: signals [lines, signals] and shares [lines]. No weight falls below its floor.
    """
    weights: Numbers = np.maximum(np.full(len(floors), 0.2), floors)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, steps + 1):
        gradient = ridge * weights
        for signals, shares in examples:
            scores = signals @ weights.astype(np.float32)
            odds = np.exp(scores - scores.max())
            gradient = gradient + (odds / odds.sum() - shares) @ signals / len(examples)
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        pace = 0.1 if step < steps * 2 // 3 else 0.03
        move = (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        weights = np.maximum(weights - pace * move, floors)
    return weights
