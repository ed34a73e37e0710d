"""One supervised process: started, watched, restarted with backoff, given up on, ended."""

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from marin.local import processes
from marin.local.errors import LocalError
from marin.local.ports import HOST
from marin.local.services import Service, Setting, child_environ

POLL_SECONDS = 0.01
START_SECONDS = 180.0
DEATHS, WITHIN_SECONDS = 5, 60.0
BACKOFF_SECONDS = (0.0, 0.1, 0.4, 1.0, 2.0)
BAD_START = 2  # the exit status by which a service says that trying again is no use
TAIL_LINES = 25


class Supervised:
    """``state`` is one of stopped, starting, ready, waiting (to start again), failed, stopping."""

    def __init__(
        self, service: Service, setting: Setting, tied: bool, grace: float, changed: Callable[[], None]
    ) -> None:
        self.service, self.setting, self.tied, self.grace = service, setting, tied, grace
        self.state, self.pid, self.started, self.restarts = "stopped", 0, "", 0
        self.since, self.error = 0.0, None
        self._changed = changed
        self._deaths: deque[float] = deque(maxlen=DEATHS)
        self._popen: subprocess.Popen | None = None
        self._settled = asyncio.Event()
        self._task: asyncio.Task | None = None
        self._log_from = 0

    @property
    def name(self) -> str:
        return self.service.name

    @property
    def port(self) -> int:
        return self.setting.ports[self.name]

    async def ensure(self) -> None:
        """Returns when the process is ready; starts it if need be. Raises LocalError with its log tail if it fails."""
        if self.state in ("stopped", "failed"):
            self._deaths.clear()
            self._begin(self._keep_alive())
        await self._settled.wait()
        if self.error:
            raise self.error

    def adopt(self, pid: int, started: str) -> None:
        """Takes over a ready process that an earlier supervisor started."""
        self.pid, self.started, self.since = pid, started, time.time()
        self._set("ready")
        self._settled.set()
        self._begin(self._keep_alive())

    async def stop(self) -> None:
        """Ends the process: SIGTERM, then SIGKILL for whatever of its group is left after the grace."""
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        if self.pid:
            self._set("stopping")
            await processes.end(self.pid, self.grace)
            self._reap()
        self._fail(LocalError(f"{self.name} was stopped", "start it again with `marin up`"), "stopped")

    def row(self) -> dict[str, object]:
        """What ``status`` tells about it."""
        return {
            "name": self.name,
            "state": self.state,
            "pid": self.pid,
            "port": self.port,
            "restarts": self.restarts,
            "seconds": round(time.time() - self.since, 1) if self.pid else 0.0,
            "log": str(self.setting.workspace.log(self.name)),
            "error": self.error.message if self.error and self.state == "failed" else "",
        }

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self.error = None
        if self.state != "ready":
            self._settled.clear()
            self.state = "starting"
        self._task = asyncio.create_task(work)

    async def _keep_alive(self) -> None:
        try:
            while True:
                if not self.pid:
                    self._spawn()
                    await self._until_ready()
                await processes.wait_end(self.pid)
                if not await self._after_death():
                    return
        except LocalError as e:
            self._fail(e, "failed")
        except OSError as e:
            error = LocalError(
                f"{self.name} could not be started: {e}", "see that the workspace and the environment are in order"
            )
            self._fail(error, "failed")

    def _spawn(self) -> None:
        workspace = self.setting.workspace
        workspace.ready_file(self.name).unlink(missing_ok=True)
        log = workspace.log(self.name)
        self._log_from = log.stat().st_size if log.exists() else 0
        command = self.service.command(self.setting)
        env = child_environ(self.service, self.setting)
        self._popen = processes.spawn(command, env, workspace.path, log, self.tied)
        self.pid = self._popen.pid
        self.started, self.since = processes.identity(self.pid) or "", time.time()
        self._set("starting")

    async def _until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while self._popen and self._popen.poll() is None:
            if await self.is_ready():
                self._set("ready")
                self._settled.set()
                return
            if time.monotonic() > deadline:
                processes.signal_group(self.pid, signal.SIGKILL)
                raise LocalError(
                    f"{self.name} did not become ready within {START_SECONDS:.0f} s{self._tail()}",
                    f"read its log, {self.setting.workspace.log(self.name)}",
                )
            await asyncio.sleep(POLL_SECONDS)

    async def is_ready(self) -> bool:
        """By the file the service writes when it serves, or (for the bus) by its greeting."""
        if self.service.ready_file:
            return self.setting.workspace.ready_file(self.name).exists()
        try:
            reader, writer = await asyncio.open_connection(HOST, self.port)
        except OSError:
            return False
        with contextlib.suppress(OSError, TimeoutError):
            greeting = await asyncio.wait_for(reader.readline(), 1)
            writer.close()
            return greeting.startswith(b"INFO")
        return False

    async def _after_death(self) -> bool:
        """Cleans up, and waits before the next start. False when it has died too often or says that it cannot run."""
        was_ready, status = self.state == "ready", self._reap()
        now = time.monotonic()
        self._deaths.append(now)
        often = len(self._deaths) == DEATHS and now - self._deaths[0] < WITHIN_SECONDS
        if often or (status == BAD_START and not was_ready):
            times = f"{DEATHS} times within {WITHIN_SECONDS:.0f} s" if often else "at its start"
            raise LocalError(
                f"{self.name} ended {times} (last: {_how(status)}){self._tail()}",
                f"mend what the lines above name (all are in {self.setting.workspace.log(self.name)}), run it again",
            )
        self.restarts += 1
        self._settled.clear()
        self._set("waiting")
        recent = sum(now - t < WITHIN_SECONDS for t in self._deaths)
        await asyncio.sleep(BACKOFF_SECONDS[min(recent, len(BACKOFF_SECONDS)) - 1])
        return True

    def _reap(self) -> int | None:
        """Ends what the dead process left in its group; returns its exit status, or None for an adopted one."""
        processes.signal_group(self.pid, signal.SIGKILL)
        status = self._popen.wait() if self._popen else None
        self.pid, self.started, self._popen = 0, "", None
        return status

    def _set(self, state: str) -> None:
        self.state = state
        number = f" (pid {self.pid}, port {self.port})" if self.pid else ""
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {self.name}: {state}{number}", flush=True)
        self._changed()

    def _fail(self, error: LocalError, state: str) -> None:
        if self.pid:
            self._reap()
        self.error = error
        self._set(state)
        self._settled.set()

    def _tail(self) -> str:
        """The last lines that the process wrote since it was started."""
        try:
            with open(self.setting.workspace.log(self.name), "rb") as f:
                f.seek(max(self._log_from, os.fstat(f.fileno()).st_size - 8192))
                lines = f.read().decode(errors="replace").splitlines()[-TAIL_LINES:]
        except OSError:
            lines = []
        return ":\n    " + "\n    ".join(lines) if lines else ", with nothing in its log"


def _how(status: int | None) -> str:
    if status is None:
        return "cause unknown"
    if status < 0:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"
