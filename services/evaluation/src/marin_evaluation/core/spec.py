"""Checks of an EvaluateSpec, and the tasks that it stands for with defaults filled in. Needs nothing but the spec."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from marin_chassis.engine import EngineError
from marin_evaluation.core.harnesses import HARNESSES
from marin_evaluation.core.tasksets import TASK_SETS, TaskSet

DEFAULT_MAX_GEN_TOKENS = 256


@dataclass(frozen=True)
class Task:
    """One task set, asked in one way. ``n_attempted`` is how many samples it must account for."""

    name: str
    task_set: TaskSet
    limit: int
    num_fewshot: int
    max_gen_tokens: int
    seed: int
    temperature: float

    @property
    def n_attempted(self) -> int:
        return min(self.limit or self.task_set.size, self.task_set.size)

    @property
    def capped(self) -> bool:
        return self.n_attempted < self.task_set.size

    def settings(self) -> dict[str, Any]:
        """How it is asked, for drivers and for the configuration hash."""
        return {
            "limit": self.limit,
            "num_fewshot": self.num_fewshot,
            "max_gen_tokens": self.max_gen_tokens,
            "seed": self.seed,
            "temperature": self.temperature,
        }


@dataclass(frozen=True)
class Plan:
    """A spec with its defaults filled in. Seconds and shares as in the proto."""

    tasks: tuple[Task, ...]
    max_model_len: int
    apply_chat_template: bool
    num_concurrent: int
    min_coverage: float
    task_timeout_s: int
    endpoint_patience_s: int


def check_evaluate(spec: Mapping[str, Any], roles: Mapping[str, str]) -> None:
    """Refuses an EvaluateSpec that cannot be run. ``roles`` maps input roles to addresses."""
    if set(roles) != {"policy"}:
        raise _invalid(
            f"the inputs have the roles {sorted(roles) or 'none'}, and an evaluation reads 'policy'",
            "connect one artifact that holds an export (a checkpoint or a policy) as 'policy'",
            "WRONG_INPUTS",
        )
    plan_of(spec)


def plan_of(spec: Mapping[str, Any]) -> Plan:
    """The plan that a spec stands for. Raises EngineError (INVALID_ARGUMENT) that names the field."""
    if not spec["tasks"]:
        raise _invalid("tasks is empty", f"give at least one task; task sets are: {', '.join(TASK_SETS)}", "NO_TASKS")
    tasks = tuple(_task(i, t) for i, t in enumerate(spec["tasks"]))
    names = [t.name for t in tasks]
    for name in names:
        if names.count(name) > 1:
            raise _invalid(f"two tasks are named {name!r}", "give each a name of its own", "DUPLICATE_TASK")
    for field in ("max_model_len", "num_concurrent", "task_timeout_s", "endpoint_patience_s"):
        if spec[field] < 0:
            raise _invalid(
                f"{field} is {spec[field]}", "leave it out for the default, or make it positive", "BAD_VALUE"
            )
    if not 0 <= spec["min_coverage"] <= 1:
        raise _invalid(f"min_coverage is {spec['min_coverage']}", "it is a share from 0 to 1", "BAD_VALUE")
    return Plan(
        tasks=tasks,
        max_model_len=spec["max_model_len"],
        apply_chat_template=spec["apply_chat_template"],
        num_concurrent=spec["num_concurrent"] or 8,
        min_coverage=spec["min_coverage"] or 0.5,
        task_timeout_s=spec["task_timeout_s"] or 3600,
        endpoint_patience_s=spec["endpoint_patience_s"] or 30,
    )


def _task(index: int, given: Mapping[str, Any]) -> Task:
    where = f"tasks[{index}]"
    task_set = TASK_SETS.get(given["task_set"])
    if task_set is None:
        raise _invalid(
            f"{where}.task_set is {given['task_set']!r}, which is not known",
            f"choose from: {', '.join(TASK_SETS)}",
            "UNKNOWN_TASK_SET",
        )
    known = {h.enum: h for h in HARNESSES}
    if given["harness"] not in ("HARNESS_UNSPECIFIED", task_set.harness.enum):
        named = known[given["harness"]].name if given["harness"] in known else given["harness"]
        raise _invalid(
            f"{where}.harness is {named}, and {task_set.name} is written for {task_set.harness.name}",
            f"set it to {task_set.harness.enum} or leave it out",
            "WRONG_HARNESS",
        )
    for field in ("limit", "num_fewshot", "max_gen_tokens", "seed"):
        if given[field] < 0:
            raise _invalid(f"{where}.{field} is {given[field]}", "it must not be negative", "BAD_VALUE")
    if given["num_fewshot"] > task_set.max_fewshot:
        raise _invalid(
            f"{where}.num_fewshot is {given['num_fewshot']}, and {task_set.name} has {task_set.max_fewshot} examples",
            f"set it to {task_set.max_fewshot} or less",
            "TOO_MANY_EXAMPLES",
        )
    if not (math.isfinite(given["temperature"]) and given["temperature"] >= 0):
        raise _invalid(
            f"{where}.temperature is {given['temperature']}", "it is 0 for greedy, or a positive number", "BAD_VALUE"
        )
    return Task(
        name=given["name"] or task_set.name,
        task_set=task_set,
        limit=given["limit"],
        num_fewshot=given["num_fewshot"],
        max_gen_tokens=given["max_gen_tokens"] or DEFAULT_MAX_GEN_TOKENS,
        seed=given["seed"],
        temperature=given["temperature"],
    )


def _invalid(message: str, hint: str, reason: str) -> EngineError:
    return EngineError(message, hint=hint, reason=reason)
