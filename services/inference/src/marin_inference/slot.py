"""One engine and the policy in it: loading, new weights, and starting again after a death."""

import asyncio
import itertools
import logging
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from marin.inference.v1 import inference_pb2 as spec, inference_service_pb2 as pb
from marin_chassis.engine import EngineError
from marin_inference.child import Host, HostSettings, Launch, start
from marin_inference.core.exports import Export, Options, assemble
from marin_inference.core.versions import is_repeat

log = logging.getLogger("marin.inference")


@dataclass
class Held:
    """The policy in an engine. ``weights`` is the directory that the served version can be read from again."""

    policy_id: str
    version: int
    digest: str
    export: Export
    options: Options
    weights: Path
    state: int = spec.POLICY_STATE_LOADING
    error: str = ""
    since: float = 0.0
    restarts: int = 0


class Slot:
    """Place for one engine process. ``policy`` is None while the engine is warm but nobody's."""

    def __init__(self, index: int, settings: HostSettings, changed: Callable[[], None]) -> None:
        self.index, self._settings, self._changed = index, settings, changed
        self.policy: Held | None = None
        self.host: Host | None = None
        self.shape: tuple[str, Options] | None = None
        self.facts = spec.Policy()
        self._loaded: tuple[str, Path] | None = None  # digest and directory of what a warm engine holds
        self._lock = asyncio.Lock()
        self._names = itertools.count()
        self._tasks: set[asyncio.Task] = set()
        self.root = settings.spool / f"engine-{index}"

    @property
    def alive(self) -> bool:
        return self.host is not None and self.host.alive

    @property
    def warm_digest(self) -> str:
        return self._loaded[0] if self._loaded else ""

    def incoming(self) -> Path:
        """A new directory for weights on their way."""
        return self.root / f"weights-{next(self._names)}"

    async def load(self, new: Held) -> str:
        """Serves ``new`` in place of what is served; returns what had to be done. A failure leaves the old policy."""
        async with self._lock:
            old, self.policy = self.policy, new
            self._changed()
            try:
                action = await self._bring_up(new, (new.export.shape, new.options))
            except BaseException:
                self.policy = old
                self._changed()
                raise
            self._ready(new)
            return action

    async def _bring_up(self, new: Held, shape: tuple[str, Options]) -> str:
        if not (self.alive and self.shape == shape):
            await self._stop()
            await self._start(new)
            self._settle(new)
            return "started"
        request = pb.LoadPolicyRequest(policy_id=new.policy_id, digest=new.digest, version=new.version)
        if self.warm_digest == new.digest and new.digest:
            new.weights = self._loaded[1]
            action = "loaded" if self.facts.served_model_name == new.policy_id else "renamed"
        else:
            request.uri = str(new.weights)
            action = "reloaded"
        with self.host.calling():
            await self.host.stub.LoadPolicy(request)
        self._settle(new)
        return action

    async def _start(self, policy: Held) -> None:
        for old in self.root.glob("launch-*"):
            shutil.rmtree(old)
        directory = assemble(self.root / f"launch-{next(self._names)}", policy.export.directory, policy.weights)
        launch = Launch(
            directory, policy.options, policy.export.parameters, policy.policy_id, policy.version, policy.digest
        )
        self.shape = (policy.export.shape, policy.options)
        port = int(self.facts.openai_base_url.rsplit(":", 1)[1].split("/")[0]) if self.facts.openai_base_url else 0
        self.host = await start(self._settings, self.index, launch, port)
        with self.host.calling():
            self.facts = (await self.host.stub.GetPolicy(pb.GetPolicyRequest())).policy
        self._keep(self.host.watch(self._on_death))

    def _settle(self, policy: Held) -> None:
        """Notes what the engine holds now and drops pushed weights that nothing needs any more."""
        previous = self._loaded
        self._loaded = (policy.digest, policy.weights)
        self.facts.served_model_name = policy.policy_id
        if previous and previous[1] != policy.weights and previous[1].parent == self.root:
            shutil.rmtree(previous[1], ignore_errors=True)

    def _ready(self, policy: Held) -> None:
        if policy.state != spec.POLICY_STATE_READY:
            policy.since = time.time()
        policy.state = spec.POLICY_STATE_READY
        self._changed()

    async def update(self, offered: pb.UpdateWeightsHeader, directory: Path) -> pb.UpdateWeightsResponse | None:
        """Serves checked weights from ``directory``; None if another caller has brought this version meanwhile.

        Once begun it runs to its end, even if the caller goes away: the engine would take the weights all the same.
        """
        return await asyncio.shield(self._keep(asyncio.create_task(self._update(offered, directory))))

    async def _update(self, offered: pb.UpdateWeightsHeader, directory: Path) -> pb.UpdateWeightsResponse | None:
        header = pb.UpdateWeightsHeader()
        header.CopyFrom(offered)
        header.uri = str(directory)
        header.ClearField("tensors")
        taken = False
        async with self._lock:
            try:
                policy = self._held(offered.policy_id)
                if is_repeat(policy.policy_id, (policy.version, policy.digest), (offered.version, offered.digest)):
                    return None
                await self._revive(policy)
                policy.state = spec.POLICY_STATE_UPDATING
                self._changed()
                with self.host.calling():
                    response = await self.host.stub.UpdateWeights(iter([pb.UpdateWeightsRequest(header=header)]))
                taken = True
            finally:
                if not taken:
                    shutil.rmtree(directory, ignore_errors=True)
                    self._settle_failed_update()
            policy.version, policy.digest, policy.weights = offered.version, offered.digest, directory
            policy.since = time.time()
            self._settle(policy)
            self._ready(policy)
            return response

    def _settle_failed_update(self) -> None:
        """The engine has gone back to the weights it had, or is dead."""
        if self.policy and self.policy.state == spec.POLICY_STATE_UPDATING:
            self.policy.state = spec.POLICY_STATE_READY if self.alive else spec.POLICY_STATE_FAILED
            self._changed()

    async def ensure(self, policy_id: str) -> None:
        """Waits until the engine is up. Starts it again at the last good version if it has died."""
        policy = self._held(policy_id)
        if not self.alive or policy.state == spec.POLICY_STATE_LOADING:
            await asyncio.shield(self._keep(asyncio.create_task(self._ensure(policy_id))))

    async def _ensure(self, policy_id: str) -> None:
        async with self._lock:
            await self._revive(self._held(policy_id))

    async def _revive(self, policy: Held) -> None:
        if self.alive:
            return
        policy.state = spec.POLICY_STATE_LOADING
        self._changed()
        try:
            if self.host:
                dead = self.host
                await self._stop()
                policy.error = f"the engine process ended: {dead.describe_end()}"
            await self._start(policy)
        except EngineError as e:
            policy.state, policy.error = spec.POLICY_STATE_FAILED, e.message
            self._changed()
            raise
        policy.restarts += 1
        self._settle(policy)
        self._ready(policy)
        log.info("%s serves version %d again", policy.policy_id, policy.version)

    async def _on_death(self, host: Host) -> None:
        """A harness at the HTTP door cannot ask for a restart, so a served policy gets its engine back at once."""
        if self.host is not host or not self.policy:
            return
        self.policy.state = spec.POLICY_STATE_FAILED
        self._changed()
        try:
            await self.ensure(self.policy.policy_id)
        except EngineError as e:
            log.error("the engine of slot %d did not start again: %s", self.index, e.message)

    async def unload(self, stop_engine: bool) -> None:
        """Lets the policy go; the engine stays warm unless told to stop."""
        async with self._lock:
            self.policy = None
            self.facts.served_model_name = ""
            self._changed()
            if stop_engine:
                await self._stop()
            elif self.alive:
                try:
                    with self.host.calling():
                        await self.host.stub.UnloadPolicy(pb.UnloadPolicyRequest())
                except EngineError as e:
                    log.warning("the engine did not let go: %s", e.message)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await self._stop()

    async def _stop(self) -> None:
        host, self.host, self._loaded = self.host, None, None
        if host:
            await host.stop()

    def _held(self, policy_id: str) -> Held:
        if not self.policy or self.policy.policy_id != policy_id:
            raise EngineError(
                f"'{policy_id}' was unloaded or replaced while the call was on its way",
                hint="call LoadPolicy again",
                reason="NO_SUCH_POLICY",
                code="NOT_FOUND",
            )
        return self.policy

    def _keep(self, task: asyncio.Task) -> asyncio.Task:
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # seen, though the caller may be gone
