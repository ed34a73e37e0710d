"""The supervisor of one workspace: a process that starts the bus and the services on demand and keeps them alive.

Clients speak to it over a unix socket, one JSON object a line each way (:mod:`marin.local.client` is that client):

* ``{"op": "hold"}``: this connection keeps an ephemeral supervisor alive, until it closes
* ``{"op": "ensure", "names": [...]}``: starts them and what they need; answers ``endpoints`` when all are ready
* ``{"op": "status"}``, ``{"op": "keep"}`` (an ephemeral one stays from now on)
* ``{"op": "release"}``: gives up the hold; when it was the last of an ephemeral one, answers after everything has ended
* ``{"op": "stop"}``: ends everything, then answers

An ephemeral supervisor belongs to a command: its processes are ended by the kernel if it dies, whatever the cause.
The processes of one that stays (``marin up``) outlive its death, are recorded in ``run/processes.json``, and are
adopted by the next supervisor of the workspace.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Any

from marin.local import ports, processes
from marin.local.errors import LocalError
from marin.local.services import RESERVED, TABLE, Service, Setting, with_needs
from marin.local.supervised import Supervised
from marin.local.workspace import Workspace

GRACE_SECONDS = 15.0
FIRST_HOLD_SECONDS = 20.0


class Supervisor:
    """Create and run it within one event loop, in the main thread."""

    def __init__(
        self,
        workspace: Workspace,
        table: Sequence[Service] = TABLE,
        ephemeral: bool = False,
        port_base: int | None = None,
        grace: float = GRACE_SECONDS,
    ) -> None:
        self.workspace, self.ephemeral, self.port_base, self.grace = workspace, ephemeral, port_base, grace
        self.external_nats = os.environ.get("MARIN_NATS_URL", "")
        self.table = {s.name: s for s in table if not (s.name == "nats" and self.external_nats)}
        self.offsets = {s.name: s.offset for s in self.table.values()} | (RESERVED if "nats" in self.table else {})
        self.children: dict[str, Supervised] = {}
        self._anchor: socket.socket | None = None
        self._holders = 0
        self._tied = ephemeral
        self._leave, self._ended = asyncio.Event(), asyncio.Event()
        self._answering: set[asyncio.Task] = set()

    async def run(self, ready_fd: int | None = None) -> None:
        """Serves until told to stop, or (ephemeral) until nobody holds it. Raises LocalError if it cannot start."""
        lock = self.workspace.lock()
        if lock is None:
            raise LocalError(f"{self.workspace.path} already has a supervisor", "use that one (`marin status`)")
        with lock:
            await self._set_up()
            path = self.workspace.record_control_path()
            path.unlink(missing_ok=True)
            server = await asyncio.start_unix_server(self._serve, path)
            path.chmod(0o600)
            for signum in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(signum, self._leave.set)
            if ready_fd is not None:
                _tell(ready_fd, {"ok": True})
            if self.ephemeral:
                asyncio.get_running_loop().call_later(FIRST_HOLD_SECONDS, self._leave_if_unheld)
            await self._leave.wait()
            path.unlink(missing_ok=True)
            server.close()
            await self._end_all()
            self._ended.set()
            if self._answering:
                await asyncio.wait(self._answering, timeout=1)

    async def _set_up(self) -> None:
        """Claims the ports, and adopts or ends what an earlier supervisor left."""
        state = self.workspace.read_state()
        before, alive = state.get("base"), self.workspace.living()
        same_place = self.port_base in (None, before) and state.get("external_nats") == self.external_nats
        stays = same_place and not state.get("tied", True)
        adoptable = {n: p for n, p in alive.items() if stays and n in self.table and self._works(n, p["port"])}
        if adoptable:
            held = {*adoptable, *(RESERVED if "nats" in adoptable else ())}
            try:
                rest = {n: o for n, o in self.offsets.items() if n not in held}
                base, self._anchor = ports.claim_block(rest, wanted=before)
            except LocalError:  # its ports were taken while it was down: start over elsewhere
                adoptable = {}
        await asyncio.gather(*(processes.end(p["pid"], self.grace) for n, p in alive.items() if n not in adoptable))
        if not adoptable:
            base, self._anchor = ports.claim_block(self.offsets, self.port_base, before)
        else:
            self.ephemeral = self._tied = False
        self._make_children(base)
        for name, record in adoptable.items():
            self.children[name].adopt(record["pid"], record["started"])
        self._record()

    def _works(self, name: str, port: int) -> bool:
        ready = not self.table[name].ready_file or self.workspace.ready_file(name).exists()
        return ready and ports.accepts(port)

    def _make_children(self, base: int) -> None:
        numbers = {name: base + offset for name, offset in self.offsets.items()}
        url = (
            self.external_nats or f"nats://{ports.HOST}:{numbers['nats']}"
            if "nats" in numbers or self.external_nats
            else ""
        )
        setting = Setting(self.workspace, base, numbers, url)
        self.setting = setting
        self.children = {n: Supervised(s, setting, self._tied, self.grace, self._record) for n, s in self.table.items()}

    def _record(self) -> None:
        living = {n: c for n, c in self.children.items() if c.pid}
        self.workspace.write_state(
            {
                "supervisor": os.getpid(),
                "base": self.setting.base,
                "external_nats": self.external_nats,
                "tied": self._tied,
                "processes": {n: {"pid": c.pid, "port": c.port, "started": c.started} for n, c in living.items()},
            }
        )

    async def _end_all(self) -> None:
        """The services at once, then the bus, which they may still speak to while they drain."""
        await asyncio.gather(*(c.stop() for n, c in self.children.items() if n != "nats"))
        if "nats" in self.children:
            await self.children["nats"].stop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task, held = asyncio.current_task(), False
        try:
            while line := await reader.readline():
                self._answering.add(task)
                request = json.loads(line)
                now_held = (held or request["op"] == "hold") and request["op"] != "release"
                held, self._holders = now_held, self._holders + now_held - held
                writer.write(json.dumps(await self._answer(request)).encode() + b"\n")
                await writer.drain()
                self._answering.discard(task)
        except ConnectionError:
            pass
        finally:
            self._answering.discard(task)
            self._holders -= held
            writer.close()
            self._leave_if_unheld()

    async def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        op = request["op"]
        if op == "stop" or (op == "release" and self.ephemeral and not self._holders):
            self._leave.set()
            await self._ended.wait()
            return {"ok": True}
        if self._leave.is_set():
            return {"ok": False, "stopping": True, "error": "the local system is being stopped", "hint": "try again"}
        if op == "keep":
            self.ephemeral = False
        if op == "ensure":
            return await self._ensure(request["names"])
        rows = [child.row() for child in self.children.values()]
        return {
            "ok": True,
            "pid": os.getpid(),
            "base": self.setting.base,
            "ephemeral": self.ephemeral,
            "services": rows,
        }

    async def _ensure(self, names: Sequence[str]) -> dict[str, Any]:
        try:
            wanted = with_needs([n for n in names if not (n == "nats" and self.external_nats)], self.table)
            results = await asyncio.gather(*(self.children[n].ensure() for n in wanted), return_exceptions=True)
            for error in filter(None, results):
                raise error
        except LocalError as e:
            return {"ok": False, "error": e.message, "hint": e.hint}
        endpoints = {n: self.setting.endpoint(n) for n in {*wanted, *(["nats"] if self.external_nats else [])}}
        return {"ok": True, "endpoints": endpoints}

    def _leave_if_unheld(self) -> None:
        if self.ephemeral and not self._holders:
            self._leave.set()


def _tell(fd: int, message: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        os.write(fd, json.dumps(message).encode() + b"\n")
        os.close(fd)


def main(argv: Sequence[str] | None = None, table: Sequence[Service] = TABLE, grace: float = GRACE_SECONDS) -> int:
    """``python -m marin.local.supervisor --workspace DIR [--ephemeral] [--port-base N]``."""
    parser = argparse.ArgumentParser(prog="python -m marin.local.supervisor", description="Supervises one workspace.")
    parser.add_argument("--workspace", required=True)
    parser.add_argument("--ephemeral", action="store_true", help="end when no client holds it any more")
    parser.add_argument("--port-base", type=int, help="exactly these ports: catalog N+1, workflow N+2, ...")
    parser.add_argument("--ready-fd", type=int, help="file descriptor to tell the starting client the outcome on")
    args = parser.parse_args(argv)
    workspace = Workspace.at(args.workspace)

    async def serve() -> None:
        await Supervisor(workspace, table, args.ephemeral, args.port_base, grace).run(args.ready_fd)

    try:
        workspace.create()
        asyncio.run(serve())
    except LocalError as e:
        if args.ready_fd is not None:
            _tell(args.ready_fd, {"ok": False, "error": e.message, "hint": e.hint})
        print(f"error: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
