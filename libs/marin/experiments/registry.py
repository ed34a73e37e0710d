"""The experiments that `marin run NAME` knows, and the choice of profile."""

import difflib
import importlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from marin.client.errors import MarinError
from marin.execution.lazy import ArtifactStep, graph
from marin.workflow.v1 import workflow_pb2 as wf

EXPERIMENTS = {"iceball-micro": "experiments.post_training.iceball_micro"}
PROFILES = ("cpu", "gb200")
DEFAULT_VERSION = "v1"


def default_profile() -> str:
    """``gb200`` where NVIDIA accelerators are found, else ``cpu``."""
    return "gb200" if shutil.which("nvidia-smi") and any(Path("/dev").glob("nvidia[0-9]*")) else "cpu"


def build(
    name: str,
    version: str | None = None,
    profile: str | None = None,
    stage: str | None = None,
    project: str = "default",
    corpus: Sequence[str] = (),
) -> wf.Graph:
    """The graph of an experiment, up to ``stage`` if given. Raises MarinError for an unknown name, profile or stage."""
    module = importlib.import_module(EXPERIMENTS[_choose(name, list(EXPERIMENTS), "experiment")])
    profile = _choose(profile or default_profile(), list(PROFILES), "profile")
    workflow = module.build_workflow(version or DEFAULT_VERSION, profile, corpus)
    steps: dict[str, ArtifactStep] = workflow.stages()
    wanted = _choose(stage, list(steps), "stage") if stage else list(steps)[-1]
    return graph(name, [steps[wanted]], project)


def _choose(value: str, known: list[str], what: str) -> str:
    if value in known:
        return value
    close = difflib.get_close_matches(value, known, 1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    raise MarinError(
        f"there is no {what} '{value}'", f"{hint}{what}s are: {', '.join(known)}", f"UNKNOWN_{what.upper()}"
    )
