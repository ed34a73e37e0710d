"""Service configuration: a YAML file (``--config``), then the environment, then flags; the later one wins."""

import argparse
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from marin_chassis.engine import EngineError

_SECRET = ("token", "password", "secret", "key")


@dataclass(frozen=True)
class ServiceConfig:
    """What every service can be told. Environment: ``MARIN_<FIELD>``, or ``MARIN_<SERVICE>_<FIELD>`` for one service alone."""

    host: str = "127.0.0.1"
    port: int = 0
    metrics_port: int = 0
    workspace: str = ".marin"
    store: str = ""
    catalog: str = "127.0.0.1:7001"
    nats_url: str = ""
    ready_file: str = ""
    drain_seconds: float = 1.0
    lease_seconds: float = 10.0
    reflection: bool = True

    @property
    def store_root(self) -> Path:
        """Directory below which artifacts live."""
        return Path(self.store or Path(self.workspace) / "store").resolve()

    def redacted(self) -> dict[str, Any]:
        """For the log: values of secret-looking fields and passwords in URLs are hidden."""
        shown = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if value and any(word in f.name for word in _SECRET):
                value = "***"
            elif isinstance(value, str) and "@" in value and "://" in value:
                value = value.split("://")[0] + "://***@" + value.rsplit("@", 1)[1]
            shown[f.name] = value
        return shown

    @classmethod
    def load(cls, service: str, default_port: int, argv: list[str] | None = None) -> Self:
        """Reads file, environment and flags. Raises EngineError naming the source of an unknown key or bad value."""
        parser = argparse.ArgumentParser(prog=f"python -m marin_{service}", description=f"The Marin {service} service.")
        parser.add_argument("--config", help="YAML file with any of the settings below")
        for f in fields(cls):
            parser.add_argument(f"--{f.name.replace('_', '-')}", dest=f.name, metavar=str(f.default) or f.name.upper())
        flags = vars(parser.parse_args(argv))
        values: dict[str, tuple[str, Any]] = {"port": ("default", default_port)}
        if path := flags.pop("config"):
            values |= {k: (path, v) for k, v in _read(path).items()}
        for f in fields(cls):
            for name in (f"MARIN_{f.name}".upper(), f"MARIN_{service}_{f.name}".upper()):
                if name in os.environ and not (f.name == "port" and name == "MARIN_PORT"):
                    values[f.name] = (name, os.environ[name])
        values |= {k: (f"--{k.replace('_', '-')}", v) for k, v in flags.items() if v is not None}
        known = {f.name: f for f in fields(cls)}
        if unknown := sorted(values.keys() - known.keys()):
            raise EngineError(
                f"{values[unknown[0]][0]}: unknown setting '{unknown[0]}'",
                hint=f"known settings are {', '.join(sorted(known))}",
                reason="UNKNOWN_SETTING",
            )
        return cls(**{k: _convert(k, source, value, type(known[k].default)) for k, (source, value) in values.items()})


def _read(path: str) -> dict[str, Any]:
    import yaml  # costs 50 ms that a start without a file need not pay

    try:
        raw = yaml.safe_load(Path(path).read_text()) or {}
    except (OSError, yaml.YAMLError) as e:
        raise EngineError(
            f"the config file {path} cannot be read: {e}", hint="give a readable YAML file", reason="BAD_CONFIG"
        ) from e
    return {k.replace("-", "_"): v for k, v in raw.items()}


def _convert(name: str, source: str, value: Any, wanted: type) -> Any:
    try:
        if wanted is bool:
            return (
                value
                if isinstance(value, bool)
                else {"true": True, "1": True, "false": False, "0": False}[str(value).lower()]
            )
        return wanted(value)
    except (ValueError, KeyError) as e:
        raise EngineError(
            f"{source}: '{value}' is no {wanted.__name__} for '{name}'",
            hint=f"give '{name}' a value of type {wanted.__name__}",
            reason="BAD_SETTING",
        ) from e
