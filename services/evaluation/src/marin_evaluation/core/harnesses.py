"""The harnesses: where their environments and driver scripts are, and what a driver process may see of this machine."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from marin_chassis.engine import EngineError

_SERVICE = Path(__file__).resolve().parents[3]
_REPOSITORY = _SERVICE.parents[1]
# What a driver process inherits. Everything else could change results or leak: proxies, hub tokens, real API keys.
_INHERITED = ("PATH", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "TZ")


@dataclass(frozen=True)
class Harness:
    """``enum`` is its value in the spec. The environment's lock pins ``version``; results of others are refused."""

    name: str
    enum: str
    version: str
    folder: str

    @property
    def environment(self) -> str:
        return f"harness-{self.name}"

    @property
    def driver(self) -> Path:
        return _SERVICE / "harnesses" / self.folder / "driver.py"

    @property
    def install(self) -> str:
        return f"./tools/marin env install {self.environment}"

    def python(self, env: Mapping[str, str] = os.environ) -> Path:
        """The interpreter of the harness's environment. Raises EngineError where there is none."""
        variable = f"MARIN_HARNESS_{self.folder.upper()}_PYTHON"
        default = Path(env.get("MARIN_ENVS_DIR") or _REPOSITORY / ".envs") / self.environment / "bin" / "python"
        path = Path(env.get(variable) or default)
        if not os.access(path, os.X_OK):
            raise EngineError(
                f"{self.name} cannot run: there is no interpreter at {path}",
                hint=f"install its environment with `{self.install}`, or set {variable}",
                reason="HARNESS_NOT_INSTALLED",
                code="FAILED_PRECONDITION",
            )
        return path

    def check_version(self, found: str) -> None:
        """Refuses results of another version than the pinned one, which is part of the artifact's identity."""
        if found != self.version:
            raise EngineError(
                f"the environment {self.environment} holds {self.name} {found}, and the service needs {self.version}",
                hint=f"install it again with `{self.install}`",
                reason="HARNESS_VERSION",
                code="FAILED_PRECONDITION",
            )


LM_EVAL = Harness("lm-eval", "HARNESS_LM_EVAL", "0.4.13", "lm_eval")
HARBOR = Harness("harbor", "HARNESS_HARBOR", "0.25.0", "harbor")
HARNESSES = (LM_EVAL, HARBOR)


def driver_environment(home: Path, parent: int) -> dict[str, str]:
    """Environment variables of a driver process: offline, without telemetry, with caches of its own below ``home``."""
    return {
        **{name: os.environ[name] for name in _INHERITED if name in os.environ},
        "HOME": str(home),
        "HF_HOME": str(home / "huggingface"),
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HARBOR_TELEMETRY": "0",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "OPENAI_API_KEY": "none",  # libraries want one to be set; the served policy asks for none
        "NO_PROXY": "*",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUNBUFFERED": "1",
        "MARIN_PARENT_PID": str(parent),
    }
