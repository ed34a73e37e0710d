"""Speaks to the supervisor of a workspace, and starts it when there is none."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from marin.local.errors import LocalError
from marin.local.workspace import Workspace

POLL_SECONDS = 0.01
PATIENCE_SECONDS = 60.0
COMMAND = (sys.executable, "-P", "-m", "marin.local.supervisor")


class _Gone(Exception):
    """The supervisor ended, or is ending."""


class LocalSystem:
    """The processes of one workspace. Use it from one thread at a time.

    While it is open it holds an ephemeral supervisor; :meth:`close` gives it up. Every method raises LocalError.
    """

    def __init__(self, workspace: Workspace, start: Sequence[str] | None) -> None:
        self.workspace, self._start = workspace, start
        self._endpoints: dict[str, str] = {}
        self._socket: socket.socket | None = None
        self._connect()

    def ensure(self, names: Sequence[str]) -> dict[str, str]:
        """Starts the services and what they need; returns ``{name: endpoint}`` of all these when they are ready.

        Starts the supervisor again if that was killed.
        """
        reply = self._ask({"op": "ensure", "names": list(names)}, again=True)
        self._endpoints |= reply["endpoints"]
        return reply["endpoints"]

    def endpoint(self, name: str) -> str:
        """``host:port`` of a service (or the URL of ``nats``); started first if it is not yet known to run."""
        return self._endpoints[name] if name in self._endpoints else self.ensure([name])[name]

    def status(self) -> dict[str, Any]:
        """``{"pid", "base", "ephemeral", "services": [{name, state, pid, port, restarts, seconds, log, error}]}``."""
        return self._ask({"op": "status"}, again=True)

    def keep(self) -> None:
        """Lets the supervisor go on after this process, even if it was started as ephemeral."""
        self._ask({"op": "keep"}, again=True)

    def stop(self) -> None:
        """Ends all processes of the workspace; returns when they have ended."""
        self._last({"op": "stop"})

    def close(self) -> None:
        """Gives up the hold. If it was the last of an ephemeral supervisor, returns when all processes have ended."""
        self._last({"op": "release"})

    def __enter__(self) -> "LocalSystem":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _last(self, request: dict[str, Any]) -> None:
        try:
            if self._socket:
                self._ask(request, again=False)
        except _Gone:
            pass
        finally:
            self._drop()

    def _ask(self, request: dict[str, Any], again: bool) -> dict[str, Any]:
        for _ in range(3):
            try:
                if self._socket is None:
                    self._connect()
                reply = self._exchange(request)
                break
            except _Gone:
                self._drop()
                self._endpoints.clear()
                if not again:
                    raise
        else:
            raise LocalError(
                f"the supervisor of {self.workspace.path} keeps ending",
                f"read its log, {self.workspace.log('supervisor')}",
            )
        if not reply["ok"]:
            raise LocalError(reply["error"], reply["hint"])
        return reply

    def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            line = self._reader.readline()
        except OSError as e:
            raise _Gone from e
        if not line.endswith(b"\n"):
            raise _Gone
        reply = json.loads(line)
        if reply.get("stopping"):
            raise _Gone
        return reply

    def _connect(self) -> None:
        """Connects, and starts a supervisor when none has the workspace's lock; waits for one that is just ending."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if self._dial():
                return
            lock = self.workspace.lock()
            if lock is None:
                time.sleep(POLL_SECONDS)
                continue
            lock.close()
            if self._start is None:
                break
            _start(list(self._start), self.workspace)
        else:
            raise LocalError(
                f"the supervisor of {self.workspace.path} holds its lock and does not answer",
                f"read its log, {self.workspace.log('supervisor')}, and end process "
                f"{self.workspace.read_state().get('supervisor')}",
            )
        raise LocalError(f"nothing runs in the workspace {self.workspace.path}", "start it with `marin up`")

    def _dial(self) -> bool:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            s.connect(str(self.workspace.control_path()))
            self._socket, self._reader = s, s.makefile("rb")
            self._exchange({"op": "hold"})
        except (OSError, _Gone):
            s.close()
            self._socket = None
            return False
        return True

    def _drop(self) -> None:
        if self._socket:
            self._reader.close()
            self._socket.close()
            self._socket = None


def connect_or_start(
    workspace: str | Path, ephemeral: bool = True, port_base: int | None = None, command: Sequence[str] = COMMAND
) -> LocalSystem:
    """The system of a workspace, started if there is none.

    An ephemeral one ends with the last client that holds it. ``port_base`` (default: ``MARIN_PORT_BASE``) asks for
    exactly these ports. Raises LocalError if the workspace cannot be written, or a port that was asked for is taken.
    """
    place = Workspace.at(workspace)
    place.create()
    wanted = port_base if port_base is not None else _port_base_from_environment()
    start = [*command, "--workspace", str(place.path)]
    start += ["--ephemeral"] if ephemeral else []
    start += ["--port-base", str(wanted)] if wanted is not None else []
    system = LocalSystem(place, start)
    if not ephemeral:
        system.keep()
    return system


def connect(workspace: str | Path, command: Sequence[str] = COMMAND) -> LocalSystem | None:
    """The system of a workspace if it runs, else None. Processes whose supervisor was killed get a new one."""
    place = Workspace.at(workspace)
    if not place.run.is_dir():
        return None
    try:
        return LocalSystem(place, [*command, "--workspace", str(place.path), "--ephemeral"] if place.living() else None)
    except LocalError:
        return None


def _port_base_from_environment() -> int | None:
    text = os.environ.get("MARIN_PORT_BASE")
    if not text:
        return None
    try:
        return int(text)
    except ValueError as e:
        raise LocalError(
            f"MARIN_PORT_BASE is '{text}', which is no number", "set it to a port like 7000, or unset it"
        ) from e


def _start(command: list[str], workspace: Workspace) -> None:
    """Starts a detached supervisor and waits for its word."""
    read, write = os.pipe()
    try:
        with open(workspace.log("supervisor"), "ab") as log:
            process = subprocess.Popen(
                [*command, "--ready-fd", str(write)],
                cwd=workspace.path,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=(write,),
            )
        os.close(write)
        with open(read, "rb", closefd=False) as outcome:
            line = outcome.readline()
    finally:
        os.close(read)
    reply = (
        json.loads(line) if line else {"ok": False, "error": f"the supervisor ended at once (status {process.wait()})"}
    )
    if reply["ok"] or (reply.get("error", "").endswith("already has a supervisor")):
        return
    raise LocalError(reply["error"], reply.get("hint", f"read its log, {workspace.log('supervisor')}"))
