"""Files of one workspace directory that the local runtime reads and writes."""

import fcntl
import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from marin.local import processes
from marin.local.errors import LocalError

_LONGEST_SOCKET_PATH = 100  # the kernel allows 107 bytes


@dataclass(frozen=True)
class Workspace:
    """``DIR/run`` holds what lives with the processes, ``DIR/logs`` their output, ``DIR/nats`` the bus."""

    path: Path

    @classmethod
    def at(cls, path: str | Path) -> "Workspace":
        return cls(Path(path).absolute())

    @property
    def run(self) -> Path:
        return self.path / "run"

    @property
    def state_file(self) -> Path:
        return self.run / "processes.json"

    def log(self, name: str) -> Path:
        return self.path / "logs" / f"{name}.log"

    def ready_file(self, name: str) -> Path:
        return self.run / f"{name}.ready"

    def create(self) -> None:
        """Makes the directories. Raises LocalError if that place cannot be written."""
        try:
            for folder in (self.run, self.path / "logs", self.path / "nats"):
                folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.run):
                pass
        except OSError as e:
            raise LocalError(
                f"the workspace {self.path} cannot be written: {e.strerror} ({e.filename or self.run})",
                "choose a directory you may write to with --workspace DIR, or change the permissions of this one",
            ) from e

    def control_path(self) -> Path:
        """Where the supervisor listens: in the workspace, or, if that path is too long for a socket, where it says."""
        inside = self.run / "control.sock"
        if len(os.fsencode(inside)) <= _LONGEST_SOCKET_PATH:
            return inside
        try:
            return Path((self.run / "control.path").read_text())
        except OSError:
            return self._short_control_path()

    def record_control_path(self) -> Path:
        """The control path, recorded for clients with another environment, its folder made for this user alone."""
        path = self.control_path()
        if path.parent != self.run:
            path = self._short_control_path()
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if path.parent.stat().st_uid != os.getuid():
                raise LocalError(
                    f"{path.parent} is another user's, and the path of {self.path} is too long for a control socket",
                    "set XDG_RUNTIME_DIR to a directory of yours, or use a workspace with a shorter path",
                )
            (self.run / "control.path").write_text(str(path))
        return path

    def _short_control_path(self) -> Path:
        place = os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/marin-{os.getuid()}"
        return Path(place) / f"marin-{hashlib.sha256(os.fsencode(self.path)).hexdigest()[:16]}.sock"

    def lock(self) -> IO[str] | None:
        """The lock that the one supervisor of this workspace holds; None while another has it."""
        f = open(self.run / "supervisor.lock", "w")  # noqa: SIM115 - held open by the caller
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            f.close()
            return None
        return f

    def read_state(self) -> dict[str, Any]:
        """What was recorded: ``supervisor``, ``base``, ``external_nats``, ``tied`` and ``processes``; or empty."""
        try:
            return json.loads(self.state_file.read_text())
        except (OSError, ValueError):
            return {}

    def living(self) -> dict[str, dict[str, Any]]:
        """The recorded processes that still run."""
        recorded = self.read_state().get("processes", {})
        return {n: p for n, p in recorded.items() if processes.is_same(p["pid"], p["started"])}

    def write_state(self, state: dict[str, Any]) -> None:
        tmp = self.state_file.with_suffix(".tmp")
        tmp.write_text(json.dumps(state, indent=1))
        os.replace(tmp, self.state_file)
