"""The loop around the reconcile step: what watchers see, what is stored when, and what a new process picks up."""

import asyncio

import pytest
from graphs import graph
from world import FakeWorld

from marin.catalog.v1 import catalog_pb2, catalog_service_pb2 as pb
from marin.workflow.v1 import workflow_pb2 as wf, workflow_service_pb2 as service_pb
from marin_chassis.engine import EngineError
from marin_workflow import reconciler as module
from marin_workflow.core.reconcile import new_run
from marin_workflow.reconciler import Reconciler
from marin_workflow.servicer import WorkflowServicer


class Runs:
    """The catalog's four calls about runs."""

    def __init__(self):
        self.stored = {}

    def _put(self, run, revision):
        copy = catalog_pb2.Run()
        copy.CopyFrom(run)
        copy.revision = revision
        self.stored[run.id] = copy
        return copy

    async def CreateRun(self, request):
        return pb.CreateRunResponse(run=self.stored.get(request.run.id) or self._put(request.run, 1))

    async def UpdateRun(self, request):
        held = self.stored[request.run.id].revision
        if held != request.run.revision:
            raise EngineError("changed", hint="read it again", reason="RUN_CHANGED", code="ABORTED")
        return pb.UpdateRunResponse(run=self._put(request.run, held + 1))

    async def GetRun(self, request):
        if request.id not in self.stored:
            raise EngineError("no such run", hint="list them", reason="UNKNOWN_RUN", code="NOT_FOUND")
        return pb.GetRunResponse(run=self.stored[request.id])

    async def ListRuns(self, request, patience=0):
        return pb.ListRunsResponse(runs=[r for r in self.stored.values() if r.state in request.states])


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(module, "TICK_SECONDS", 0.01)


def work(world):
    """Plays the workers for ever."""

    async def loop():
        while True:
            for job_id, job in world.jobs.items():
                if job.state == 1:
                    world.finish(job_id)
            await asyncio.sleep(0.005)

    return asyncio.create_task(loop())


async def states(reconciler, run_id):
    async with asyncio.timeout(20):
        return [run.state async for run in reconciler.watch(run_id)]


async def test_a_watcher_sees_the_last_state():
    for _ in range(20):
        world, catalog = FakeWorld(), Runs()
        reconciler, worker = Reconciler(catalog, world), work(world)
        run = await reconciler.create(new_run("r", graph()))
        assert (await states(reconciler, run.id))[-1] == wf.RUN_STATE_SUCCEEDED
        assert catalog.stored["r"].state == "succeeded"
        assert await states(reconciler, "r") == [wf.RUN_STATE_SUCCEEDED]  # and one that comes late
        worker.cancel()


async def test_a_new_process_finishes_what_the_old_one_began():
    world, catalog = FakeWorld(), Runs()
    first = Reconciler(catalog, world)
    await first.create(new_run("r", graph()))
    while len(world.jobs) < 2:
        await asyncio.sleep(0.005)
    for task in first._tasks.values():
        task.cancel()
    second, worker = Reconciler(catalog, world), work(world)
    await second.resume()
    assert (await states(second, "r"))[-1] == wf.RUN_STATE_SUCCEEDED
    assert sorted(world.jobs) == ["r/docs", "r/talk", "r/tok", "r/tokens"]
    worker.cancel()


async def test_a_cancel_is_stored_before_it_is_answered():
    world, catalog = FakeWorld(), Runs()
    reconciler = Reconciler(catalog, world)
    await reconciler.create(new_run("r", graph()))
    await reconciler.cancel("r", "enough")
    assert wf.Run.FromString(catalog.stored["r"].body).cancel_reason == "enough"
    assert (await states(reconciler, "r"))[-1] == wf.RUN_STATE_CANCELLED
    assert (await reconciler.cancel("r", "again")).cancel_reason == "enough"


async def test_a_cancel_reaches_a_run_that_this_process_has_not_picked_up_yet():
    world, catalog = FakeWorld(), Runs()
    first = Reconciler(catalog, world)
    await first.create(new_run("r", graph()))
    for task in first._tasks.values():
        task.cancel()
    second = Reconciler(catalog, world)
    await second.cancel("r", "enough")
    await second.resume()  # must not drive it a second time
    assert (await states(second, "r"))[-1] == wf.RUN_STATE_CANCELLED


async def test_create_run_sent_twice_gives_the_first_answer_even_if_the_world_moved_on():
    world, catalog = FakeWorld(), Runs()
    reconciler, worker = Reconciler(catalog, world), work(world)
    servicer = WorkflowServicer(catalog, world, reconciler)
    request = service_pb.CreateRunRequest(request_id="r", graph=graph())
    request.provenance.command = "marin run toy"
    await servicer.CreateRun(request, None)
    assert (await states(reconciler, "r"))[-1] == wf.RUN_STATE_SUCCEEDED
    request.graph.CopyFrom(graph(vocab=1024))  # would be drift by now
    again = (await servicer.CreateRun(request, None)).run
    assert again.state == wf.RUN_STATE_SUCCEEDED and again.provenance.command == "marin run toy"
    request.request_id = "other"
    with pytest.raises(EngineError, check=lambda e: e.reason == "DRIFT" and "--on-drift" in e.hint):
        await servicer.CreateRun(request, None)
    worker.cancel()
