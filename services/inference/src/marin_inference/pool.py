"""The engines of a server and which policy is in which."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

from marin.inference.v1 import inference_pb2 as spec, inference_service_pb2 as pb
from marin_chassis.engine import EngineError
from marin_inference.child import HostSettings
from marin_inference.core.exports import Options, read_export
from marin_inference.slot import Held, Slot

_DTYPES = ("", "float32", "bfloat16", "float16")


class Pool:
    """Finds an engine for each policy. ``dtype`` and ``kv_cache_bytes`` are defaults for options that are not given."""

    def __init__(
        self,
        settings: HostSettings,
        *,
        max_engines: int,
        idle_seconds: float,
        dtype: str,
        kv_cache_bytes: int,
        set_serving: Callable[[bool], Awaitable[None]],
    ) -> None:
        self._settings, self._max, self._idle = settings, max_engines, idle_seconds
        self._defaults = Options(0, dtype, kv_cache_bytes, 0)
        self._set_serving = set_serving
        self._slots: list[Slot] = []
        self._claims: dict[str, Slot] = {}
        self._loads: dict[str, tuple[bytes, asyncio.Task[str]]] = {}
        self._placing = asyncio.Lock()
        self._change = asyncio.Event()
        self._health: asyncio.Task | None = None

    async def load(self, request: pb.LoadPolicyRequest) -> tuple[Slot, str]:
        """Serves a policy and returns its slot and what was done. A repeated request joins one that is under way."""
        key = request.SerializeToString(deterministic=True)
        running = self._loads.get(request.policy_id)
        if running and running[0] == key:
            task = running[1]
        else:
            task = asyncio.create_task(self._load(request))
            self._loads[request.policy_id] = (key, task)
            task.add_done_callback(lambda t: self._forget(request.policy_id, t))
        action = await asyncio.shield(task)
        return self.find(request.policy_id), action

    def _forget(self, policy_id: str, task: asyncio.Task[str]) -> None:
        if policy_id in self._loads and self._loads[policy_id][1] is task:
            del self._loads[policy_id]
        if not task.cancelled():
            task.exception()  # seen, though the caller may be gone

    async def _load(self, request: pb.LoadPolicyRequest) -> str:
        export = await asyncio.to_thread(read_export, request.uri)
        options = self._options(request.options, export.max_positions)
        new = Held(request.policy_id, request.version, request.digest, export, options, export.directory)
        async with self._placing:
            slot = self._claims[request.policy_id] = await self._place(new)
        try:
            return await slot.load(new)
        finally:
            self._claims.pop(request.policy_id, None)

    def _options(self, given: spec.EngineOptions, positions: int) -> Options:
        length = given.max_model_len or positions
        if not 2 <= length <= positions or given.dtype not in _DTYPES or given.kv_cache_bytes < 0:
            raise EngineError(
                f"the options do not fit: max_model_len {given.max_model_len} (the model has {positions} positions), "
                f"dtype '{given.dtype}', kv_cache_bytes {given.kv_cache_bytes}",
                hint=f"give max_model_len 2..{positions}, dtype {' or '.join(_DTYPES[1:])}, or leave them out",
                reason="BAD_OPTIONS",
            )
        return replace(
            self._defaults,
            max_model_len=length,
            dtype=given.dtype or self._defaults.dtype,
            kv_cache_bytes=given.kv_cache_bytes or self._defaults.kv_cache_bytes,
            seed=given.seed,
        )

    async def _place(self, new: Held) -> Slot:
        """The policy's own engine; else a free one, best of the same shape; else a new one; else one that idles."""
        own = self._claims.get(new.policy_id) or self._slot(new.policy_id)
        if own:
            return own
        free = [s for s in self._slots if s.policy is None and s not in self._claims.values()]
        if free:
            wanted = (new.export.shape, new.options)
            return max(free, key=lambda s: (s.alive and s.shape == wanted, s.warm_digest == new.digest))
        if len(self._slots) < self._max:
            slot = Slot(len(self._slots), self._settings, self._changed)
            slot.root.mkdir(exist_ok=True)
            self._slots.append(slot)
            return slot
        for slot in self._slots:
            if slot not in self._claims.values() and await self._is_idle(slot):
                return slot
        held = ", ".join(s.policy.policy_id for s in self._slots if s.policy)
        raise EngineError(
            f"all {self._max} engines are in use, by {held}",
            hint="call UnloadPolicy for one that is done, wait until one has been idle for "
            f"{self._idle:.0f} s, or raise MARIN_INFERENCE_MAX_ENGINES",
            reason="NO_FREE_ENGINE",
            code="RESOURCE_EXHAUSTED",
            retryable=True,
        )

    async def _is_idle(self, slot: Slot) -> bool:
        shown = await self.describe(slot)
        last = max(shown.use_time.seconds, shown.update_time.seconds)
        return not shown.in_flight and shown.state != spec.POLICY_STATE_UPDATING and time.time() - last > self._idle

    async def unload(self, policy_id: str, stop_engine: bool) -> None:
        slot = self._slot(policy_id)
        if slot:
            await slot.unload(stop_engine)

    def _slot(self, policy_id: str) -> Slot | None:
        return next((s for s in self._slots if s.policy and s.policy.policy_id == policy_id), None)

    def find(self, policy_id: str) -> Slot:
        """The slot of a policy. Raises EngineError naming what is loaded."""
        slot = self._slot(policy_id)
        if slot:
            return slot
        held = ", ".join(sorted(s.policy.policy_id for s in self._slots if s.policy)) or "none"
        raise EngineError(
            f"there is no policy '{policy_id}' here (loaded: {held})",
            hint="call LoadPolicy first; policies are gone when the server restarts",
            reason="NO_SUCH_POLICY",
            code="NOT_FOUND",
        )

    @property
    def policies(self) -> list[Slot]:
        """Slots that hold a policy, by its id."""
        return sorted((s for s in self._slots if s.policy), key=lambda s: s.policy.policy_id)

    def snapshot(self, slot: Slot) -> spec.Policy:
        """The policy as the server knows it, without asking the engine."""
        held = slot.policy
        shown = spec.Policy(
            policy_id=held.policy_id,
            version=held.version,
            digest=held.digest,
            state=held.state,
            error=held.error,
            vocab_size=held.export.vocab_size,
            max_model_len=held.options.max_model_len,
            openai_base_url=slot.facts.openai_base_url,
            served_model_name=held.policy_id,
            dtype=slot.facts.dtype,
            device=slot.facts.device,
            engine=slot.facts.engine,
            restarts=held.restarts,
        )
        if held.since:
            shown.update_time.FromNanoseconds(int(held.since * 1e9))
        return shown

    async def describe(self, slot: Slot) -> spec.Policy:
        """The policy with what only the engine knows: requests in flight and last use."""
        shown = self.snapshot(slot)
        if slot.alive and shown.state in (spec.POLICY_STATE_READY, spec.POLICY_STATE_UPDATING):
            try:
                with slot.host.calling():
                    live = (await slot.host.stub.GetPolicy(pb.GetPolicyRequest(), timeout=30)).policy
            except EngineError:
                return shown
            shown.in_flight = live.in_flight
            shown.use_time.CopyFrom(live.use_time)
        return shown

    async def watch(self, policy_id: str) -> AsyncIterator[spec.Policy]:
        """The policy now and at each change, until it is unloaded."""
        slot, last = self.find(policy_id), None
        while slot.policy and slot.policy.policy_id == policy_id:
            change, shown = self._change, self.snapshot(slot)
            if shown != last:
                last = shown
                yield shown
            await change.wait()

    def _changed(self) -> None:
        self._change.set()
        self._change = asyncio.Event()
        dead = any(s.policy and s.policy.since and not s.alive for s in self._slots)
        self._health = asyncio.create_task(self._set_serving(not dead))

    async def close(self) -> None:
        """Ends all engines."""
        await asyncio.gather(*(s.close() for s in self._slots))
