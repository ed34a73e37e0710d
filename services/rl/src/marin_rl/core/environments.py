"""Environments: from a completion to a reward. Rule environments are skyrl-gym's own."""

import math
from collections.abc import Mapping
from typing import Any, Protocol

import skyrl_gym

from marin_chassis.engine import EngineError
from marin_rl.core.problems import Problem
from marin_rl.core.spec import Grpo


class Environment(Protocol):
    """Scores single-turn completions."""

    def check(self, problem: Problem) -> None:
        """Raises :class:`EngineError` if the problem lacks what the environment scores with."""
        ...

    def score(self, problem: Problem, response_ids: tuple[int, ...], text: str) -> float:
        """Reward of one completion: always finite."""
        ...


class GymEnvironment:
    """A single-turn text environment of skyrl-gym, for example ``gsm8k``: exact match of the number after ``####``."""

    def __init__(self, env_class: str) -> None:
        self._env_class = env_class

    def check(self, problem: Problem) -> None:
        truth = (problem.extras.get("reward_spec") or {}).get("ground_truth")
        if not isinstance(truth, str) or not truth.strip():
            raise EngineError(
                f"train.parquet, row {problem.index}: reward_spec.ground_truth is {truth!r}, and {self._env_class} "
                "compares with a text",
                hint="rebuild the problems artifact",
                reason="BAD_PROBLEM",
                row=str(problem.index),
            )

    def score(self, problem: Problem, response_ids: tuple[int, ...], text: str) -> float:
        env = skyrl_gym.make(self._env_class, extras=problem.extras)
        return _finite(env.step(text)["reward"], self._env_class, problem)


class TokenShareEnvironment:
    """Share of sampled tokens that lie in a set: a toy with a known optimum of 1, for checks of the whole loop."""

    def __init__(self, target_token_ids: frozenset[int]) -> None:
        self._targets = target_token_ids

    def check(self, problem: Problem) -> None:
        pass

    def score(self, problem: Problem, response_ids: tuple[int, ...], text: str) -> float:
        return sum(token in self._targets for token in response_ids) / len(response_ids)


def make_environment(grpo: Grpo) -> Environment:
    if grpo.env_class == "token_share":
        return TokenShareEnvironment(grpo.target_token_ids)
    return GymEnvironment(grpo.env_class)


def _finite(reward: Any, env_class: str, problem: Problem) -> float:
    """One reward that is not finite would turn its whole group, and then the weights, into NaN."""
    if isinstance(reward, Mapping) or not math.isfinite(float(reward)):
        raise EngineError(
            f"environment '{env_class}' gave reward {reward!r} for row {problem.index}: not a finite number",
            hint="repair the environment or leave the problem out",
            reason="NON_FINITE_REWARD",
            row=str(problem.index),
        )
    return float(reward)
