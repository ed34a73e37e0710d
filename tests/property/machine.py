"""A state machine that drives catalog, relay, subscriber and workflow through faults, and checks what was promised."""

import asyncio
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from parts import (
    ACK_LOST,
    AFTER,
    BEFORE,
    PROJECT,
    REFUSED,
    Clock,
    Consumer,
    CoreWorld,
    Crash,
    FakeBus,
    FaultyStore,
    Worker,
    graph,
    registration,
)

from marin.client.read_model import from_catalog
from marin.workflow.v1 import workflow_pb2 as wf
from marin_catalog import convert
from marin_catalog.core.artifacts import Artifacts
from marin_catalog.core.builds import Builds
from marin_catalog.core.context import Context
from marin_catalog.core.errors import AddressConflict, CatalogError, LeaseLost, RunChanged
from marin_catalog.core.leases import Leases
from marin_catalog.core.model import SECOND, Failure, Run, State, Target
from marin_catalog.core.rules import Ending
from marin_catalog.core.runs import Runs
from marin_catalog.relay import Relay
from marin_chassis.bus import BusError
from marin_workflow.core.reconcile import new_run, step

KINDS = ("documents", "tokenizer", "tokens", "conversations")
LOOP = asyncio.new_event_loop()
pick = st.integers(0, 11)
recent = st.sampled_from((0, 0, 0, 1, 2, 5))
faults = st.sampled_from(("", "", "", BEFORE, AFTER))
ttls = st.sampled_from((2, 10))
versions = st.sampled_from(("v1", "v2", "dev"))


def run(coroutine: Any) -> Any:
    return LOOP.run_until_complete(coroutine)


class ControlPlane(RuleBasedStateMachine):
    """Workers are claims; several may believe in the same build, only the newest is right."""

    steps: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.clock, self.store, self.bus, self.consumer = Clock(), FaultyStore(), FakeBus(), Consumer()
        self.workers: list[Worker] = []
        self.holder: dict[str, Worker] = {}
        self.runs: list[str] = []
        self.checked = self.drawn = self.grace = 0
        self.jumped = False
        self.first: dict[Target, str] = {}
        self.artifacts: dict[int, Any] = {}
        self._restart()

    def _restart(self) -> None:
        self.context = Context(
            self.store, self.clock, since=self.clock(), monotonic=self.clock.monotonic, jitter=lambda: 0.5
        )
        self.builds, self.leases = Builds(self.context), Leases(self.context)
        self.catalog_artifacts, self.run_records = Artifacts(self.context), Runs(self.context)
        self.world, self.relay = CoreWorld(self.context), Relay(self.context, self.bus)  # type: ignore[arg-type]
        self.grace = self.clock.true
        run(self.relay.start())

    @initialize(ttl=ttls)
    def begin(self, ttl: int) -> None:
        """Something to lose: a run, and a build in somebody's hands."""
        self.submit("v1", 512)
        run(self._reconcile("run0"))
        for name in "ab":
            self.register(name, "v1", "0", False, "")
        self.claim(ttl, "")

    # --- what clients do

    @rule(name=st.sampled_from("abcd"), version=versions, key=st.sampled_from("01"), same=st.booleans(), fault=faults)
    def register(self, name: str, version: str, key: str, same: bool, fault: str) -> None:
        request_id = f"{name}{version}{key}" if same else ""
        self._call(self.builds.register(registration(name, version, key, request_id)), fault, AddressConflict)

    @rule(which=pick, fault=faults)
    def cancel(self, which: int, fault: str) -> None:
        builds = list(self.store._builds)
        if which < len(builds):
            self._call(self.builds.cancel(builds[which], "enough"), fault)

    @rule(which=pick, version=versions, fault=faults)
    def adopt(self, which: int, version: str, fault: str) -> None:
        if held := self.store._held():
            source = held[which % len(held)].target
            target = Target(PROJECT, "adopted", version)
            self._call(self.catalog_artifacts.adopt(source, target), fault, AddressConflict)

    @rule(version=versions, vocab=st.sampled_from((512, 1024)))
    @precondition(lambda self: len(self.runs) < 3)
    def submit(self, version: str, vocab: int) -> None:
        wanted = new_run(f"run{len(self.runs)}", graph(version, vocab))
        run(self.run_records.create(self._record(wanted, 0)))
        self.runs.append(wanted.id)

    @rule(which=pick, fault=faults, at_store=st.booleans())
    @precondition(lambda self: self.runs)
    def reconcile(self, which: int, fault: str, at_store: bool) -> None:
        """Dies at the first write of the step, or when its result is stored: what it did stays."""
        self._call(self._reconcile(self.runs[which % len(self.runs)], at_store, fault), "" if at_store else fault)

    async def _reconcile(self, run_id: str, at_store: bool = False, fault: str = "") -> None:
        stored = await self.run_records.get(run_id)
        state = wf.Run.FromString(stored.body)
        if state.state != wf.RUN_STATE_RUNNING:
            return
        await step(state, self.world)
        self.store.fault = fault if at_store else ""
        await self.run_records.update(self._record(state, stored.revision))

    def _record(self, state: wf.Run, revision: int) -> Run:
        word = wf.RunState.Name(state.state).removeprefix("RUN_STATE_").lower()
        return Run(state.id, PROJECT, "g", word, state.SerializeToString(deterministic=True), revision=revision)

    # --- what workers do

    @rule(ttl=ttls, fault=faults)
    def claim(self, ttl: int, fault: str) -> None:
        self.drawn += 1
        request_id = f"c{self.drawn}"
        got = self._call(self.leases.claim(KINDS, "w", "h", ttl * SECOND, 0, request_id), fault)
        if got is None and fault == AFTER:  # asks again with the same id, as a client whose connection broke
            got = self._call(self.leases.claim(KINDS, "w", "h", ttl * SECOND, 0, request_id), "")
        if got is not None:
            worker = Worker(got.id, got.epoch, ttl * SECOND, self.clock.true)
            assert worker.epoch > self._epoch(got.id), "a fencing token was given twice"
            self.workers.append(worker)
            self.holder[got.id] = worker
        if not fault:
            self._swept()

    @rule(which=recent, fault=faults)
    @precondition(lambda self: self.workers)
    def heartbeat(self, which: int, fault: str) -> None:
        w = self._worker(which)
        taken = self._call(self.leases.heartbeat(w.build_id, w.epoch, w.ttl), fault, LeaseLost)
        assert not taken or self.holder[w.build_id] is w, "a stale holder kept a lease alive"
        if taken or fault == AFTER:
            w.renewed = self.clock.true

    @rule(which=recent, data=st.sampled_from("xy"), fault=faults)
    @precondition(lambda self: self.workers)
    def commit(self, which: int, data: str, fault: str) -> None:
        w, wanted = self._worker(which), None
        wanted = w.commit(data)
        before = self._committed(w)
        answer = self._call(self.leases.commit(wanted), fault, LeaseLost, AddressConflict)
        if before and before.content_digest == wanted.content_digest and not fault:
            assert answer == before, "a commit that was sent again got another answer"

    @rule(which=recent, retryable=st.booleans(), reason=st.sampled_from(("BROKEN", "PREEMPTED")), fault=faults)
    @precondition(lambda self: self.workers)
    def fail(self, which: int, retryable: bool, reason: str, fault: str) -> None:
        w = self._worker(which)
        ending = Ending(Failure("ABORTED", reason, "it broke", "mend it"), retryable)
        self._call(self.leases.fail(w.build_id, w.epoch, ending), fault, LeaseLost)

    # --- what time and machines do

    @rule(seconds=st.sampled_from((1, 1, 3, 11)))
    def time_passes(self, seconds: int) -> None:
        self.clock.true += seconds * SECOND

    @rule(fault=faults)
    def sweep(self, fault: str) -> None:
        self._call(self.leases.expire_leases(), fault)
        if not fault:
            self._swept()

    @rule(what=st.sampled_from(("restart", "clock back", "clock forward", "ids forgotten", "stream lost", "rebuild")))
    def mishap(self, what: str) -> None:
        """Rarer than work, which is why all kinds share one rule."""
        if what == "restart":
            self._restart()
        elif what.startswith("clock"):
            self.clock.offset += (-3600 if what == "clock back" else 3600) * SECOND
            self.jumped = True
        elif what == "rebuild":
            run(self.catalog_artifacts.rebuild_stream(0))
        else:
            self.bus.ids.clear()
            if what == "stream lost":
                self.bus.stream.clear()
                self.consumer.read = 0

    # --- the way to the subscriber

    @rule(fault=st.sampled_from(("", REFUSED, ACK_LOST)))
    def relay_sends(self, fault: str) -> None:
        self.bus.fault = fault
        try:
            run(self.relay.send())
        except BusError:
            run(self.relay.start())  # as Relay.run does
        self.bus.fault = ""

    @rule()
    def relay_marks(self) -> None:
        run(self.relay.mark())

    @rule(which=pick, acknowledged=st.booleans())
    def deliver(self, which: int, acknowledged: bool) -> None:
        self.consumer.fetch(self.bus)
        if waiting := self.consumer.waiting:
            self.consumer.take(which % min(3, len(waiting)), acknowledged)

    # --- what was promised

    @invariant()
    def nothing_committed_is_lost_or_changed(self) -> None:
        ControlPlane.steps += 1
        for sequence, change in self.store.history[self.checked :]:
            if a := change.artifact:
                self.artifacts[sequence] = a.content_digest
                if change.attempt:
                    newest = self.holder[a.build_id].epoch
                    assert a.attempt == newest and a.uri.endswith(f"/{newest}"), "a stale holder committed"
                if not a.target.mutable:
                    first = self.first.setdefault(a.target, a.content_digest)
                    assert first == a.content_digest, f"{a.target.address} was committed twice with other bytes"
        self.checked = len(self.store.history)
        for sequence, digest in self.artifacts.items():
            assert self.store._artifacts[sequence].content_digest == digest, "a committed artifact changed"
        for target, digest in self.first.items():
            held = self.store._artifacts.get(self.store._current.get(target, 0))
            assert held and held.content_digest == digest, f"{target.address} lost its artifact"

    @invariant()
    def effects_happen_once(self) -> None:
        twice = [i for i, n in self.consumer.effects.items() if n > 1]
        assert not twice, "an event had its effect twice"

    @invariant()
    def the_mark_is_never_ahead_of_what_was_sent(self) -> None:
        assert self.store._published <= self.bus.newest, "the mark is ahead of the bus"

    def _swept(self) -> None:
        """Right after a sweep no silent holder has a lease beyond its TTL, counted in time that really went by."""
        if self.jumped:
            self.grace, self.jumped = self.clock.true, False
        for build in self.store._builds.values():
            if build.state is State.RUNNING:
                w = self.holder[build.id]
                end = max(w.renewed, self.grace) + w.ttl
                assert self.clock.true < end, (
                    f"a silent holder kept its lease {(self.clock.true - end) / SECOND} s too long"
                )

    def teardown(self) -> None:
        """Faults end: everything announced arrives, and every run ends."""
        self._restart()
        run(self._finish_runs())
        run(self.catalog_artifacts.rebuild_stream(0))
        while run(self.relay.send()):
            run(self.relay.mark())
        self.consumer.fetch(self.bus)
        while self.consumer.waiting:
            self.consumer.take(0, True)
        log = self.store._events
        assert [e.sequence for e in log] == list(range(1, len(log) + 1))
        assert self.consumer.effects == {e.id: 1 for e in log}, "not every event had its effect once"
        truth = from_catalog(
            [convert.build(b) for b in self.store._builds.values()],
            [convert.artifact(a) for a in self.store._held()],
            [convert.run(r) for r in self.store._runs.values()],
        )
        assert not self.consumer.model.differences(truth)
        self.nothing_committed_is_lost_or_changed()

    async def _finish_runs(self) -> None:
        for _ in range(60):
            for run_id in self.runs:
                await self._reconcile(run_id)
            while build := await self.leases.claim(KINDS, "last", "h", 10 * SECOND, 0, ""):
                w = Worker(build.id, build.epoch, 10 * SECOND, self.clock.true)
                self.holder[build.id] = w
                try:
                    await self.leases.commit(w.commit(build.build_key))
                except AddressConflict as e:
                    ending = Ending(Failure(e.code, e.reason, e.message, e.hint), False)
                    await self.leases.fail(w.build_id, w.epoch, ending)
            self.clock.true += 12 * SECOND
        for run_id in self.runs:
            state = wf.Run.FromString((await self.run_records.get(run_id)).body)
            assert state.state != wf.RUN_STATE_RUNNING, f"{run_id} never ended"
            for node in state.nodes:
                if node.HasField("artifact"):
                    digests = {a.content_digest for a in self.store._artifacts.values()}
                    assert node.artifact.content_digest in digests, "a run names an artifact that is not there"

    # --- helpers

    def _call(self, coroutine: Any, fault: str, *expected: type[CatalogError]) -> Any:
        """The answer, or None if the call died at ``fault`` or was refused with one of the expected errors."""
        self.store.fault = fault
        try:
            return run(coroutine)
        except Crash:
            return None
        except (*expected, RunChanged):
            return None
        finally:
            self.store.fault = ""

    def _worker(self, which: int) -> Worker:
        return self.workers[-1 - which % len(self.workers)]

    def _epoch(self, build_id: str) -> int:
        return self.holder[build_id].epoch if build_id in self.holder else 0

    def _committed(self, w: Worker) -> Any:
        for sequence, a in self.store._artifacts.items():
            if (a.build_id, a.attempt, a.adopted_from) == (w.build_id, w.epoch, ""):
                return self.store._artifacts[sequence]
        return None
