"""Drives every running run: reconcile, store what changed, tell the watchers."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from marin.catalog.v1 import catalog_pb2, catalog_service_pb2 as pb
from marin.workflow.v1 import workflow_pb2 as wf
from marin_chassis.client import CatalogClient
from marin_chassis.engine import EngineError
from marin_workflow.core.reconcile import step
from marin_workflow.world import World

log = logging.getLogger("marin.workflow")
TICK_SECONDS = 0.2
_STATES = {
    wf.RUN_STATE_RUNNING: "running",
    wf.RUN_STATE_SUCCEEDED: "succeeded",
    wf.RUN_STATE_FAILED: "failed",
    wf.RUN_STATE_CANCELLED: "cancelled",
}


class Reconciler:
    """Owns one task per running run. Its memory is a cache of the catalog's runs: losing it loses nothing."""

    def __init__(self, catalog: CatalogClient, world: World) -> None:
        self._catalog, self._world = catalog, world
        self._live: dict[str, wf.Run] = {}
        self._tasks: dict[str, asyncio.Task] = {}
        self._wake = asyncio.Event()
        self._changed = asyncio.Condition()

    def wake(self) -> None:
        """Something happened (an event from the bus, a new run): look at once."""
        self._wake.set()

    async def resume(self) -> None:
        """Picks up the runs that were running when the process before this one ended. Waits for the catalog."""
        listed = await self._catalog.ListRuns(pb.ListRunsRequest(states=["running"], page_size=1000), patience=3600)
        for stored in listed.runs:
            if stored.id not in self._tasks:
                self._start(wf.Run.FromString(stored.body), stored.revision)

    async def create(self, run: wf.Run) -> wf.Run:
        """Stores a new run and starts it; a run of this id that is there already is returned as it is."""
        stored = (await self._catalog.CreateRun(pb.CreateRunRequest(run=self._record(run, 0)))).run
        run = wf.Run.FromString(stored.body)
        if run.state == wf.RUN_STATE_RUNNING and run.id not in self._tasks:
            self._start(run, stored.revision)
        return run

    async def find(self, run_id: str) -> wf.Run | None:
        """The run with exactly this id, if there is one."""
        try:
            run = await self.get(run_id)
        except EngineError as e:
            if e.code == "NOT_FOUND":
                return None
            raise
        return run if run.id == run_id else None

    async def get(self, run_id: str) -> wf.Run:
        """The run as it is now, by id or unique prefix."""
        stored = (await self._catalog.GetRun(pb.GetRunRequest(id=run_id))).run
        return self._live.get(stored.id) or wf.Run.FromString(stored.body)

    async def watch(self, run_id: str) -> AsyncIterator[wf.Run]:
        """The run now and at each change until it is terminal."""
        run = await self.get(run_id)
        sent = b""
        while True:
            run = self._live.get(run.id) or await self.get(run.id)
            state = run.SerializeToString(deterministic=True)
            if state != sent:
                sent = state
                yield run
            if run.state != wf.RUN_STATE_RUNNING:
                return
            with contextlib.suppress(TimeoutError):
                async with (
                    asyncio.timeout(1),
                    self._changed,
                ):  # a change between the check and the wait is seen a second later
                    await self._changed.wait()

    async def cancel(self, run_id: str, reason: str) -> wf.Run:
        """Notes the wish, and returns once it is stored; the run's own task carries it out."""
        stored = (await self._catalog.GetRun(pb.GetRunRequest(id=run_id))).run
        run = self._live.get(stored.id)
        if run is None:  # ended, or this process has not picked it up yet
            run = wf.Run.FromString(stored.body)
            if run.state != wf.RUN_STATE_RUNNING:
                return run
            self._start(run, stored.revision)
        run.cancel_reason = run.cancel_reason or reason or "cancelled by request"
        self.wake()
        while run.state == wf.RUN_STATE_RUNNING and not wf.Run.FromString(stored.body).cancel_reason:
            await asyncio.sleep(0.02)
            stored = (await self._catalog.GetRun(pb.GetRunRequest(id=stored.id))).run
        return run

    def _start(self, run: wf.Run, revision: int) -> None:
        self._live[run.id] = run
        self._tasks[run.id] = asyncio.create_task(self._drive(run, revision), name=f"run {run.id}")

    async def _drive(self, run: wf.Run, revision: int) -> None:
        stored = _without_progress(run)
        shown = run.SerializeToString(deterministic=True)
        while True:
            try:
                await step(run, self._world)
                state = _without_progress(run)
                if state != stored:
                    request = pb.UpdateRunRequest(run=self._record(run, revision))
                    revision = (await self._catalog.UpdateRun(request)).run.revision
                    stored = state
            except EngineError as e:
                log.warning("run %s: %s", run.id, e.message)
                if e.reason == "RUN_CHANGED":
                    fresh = (await self._catalog.GetRun(pb.GetRunRequest(id=run.id))).run
                    revision = fresh.revision
            except Exception:
                log.exception("run %s", run.id)
                await asyncio.sleep(1)
            now = run.SerializeToString(deterministic=True)
            if now != shown:
                shown = now
                async with self._changed:
                    self._changed.notify_all()
            if run.state != wf.RUN_STATE_RUNNING and stored == _without_progress(run):
                self._live.pop(run.id, None)
                self._tasks.pop(run.id, None)
                async with self._changed:
                    self._changed.notify_all()
                return
            self._wake.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), TICK_SECONDS)

    def _record(self, run: wf.Run, revision: int) -> catalog_pb2.Run:
        return catalog_pb2.Run(
            id=run.id,
            project=run.graph.project or "default",
            name=run.graph.name,
            state=_STATES[run.state],
            body=run.SerializeToString(deterministic=True),
            revision=revision,
        )


def _without_progress(run: wf.Run) -> bytes:
    copy = wf.Run()
    copy.CopyFrom(run)
    for node in copy.nodes:
        node.job.ClearField("progress")
        node.job.ClearField("update_time")
    return copy.SerializeToString(deterministic=True)
