"""What all use cases share: the store, the clock, the notices, and the retry after a conflict."""

import asyncio
import functools
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Concatenate

from marin_catalog.core.errors import Conflict, StoreError
from marin_catalog.core.hub import Hub, keys_of
from marin_catalog.core.model import SECOND, Build, Change
from marin_catalog.store.interface import Store

TRIES = 30
JUMP = SECOND


def wall_clock() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


@dataclass
class Context:
    """``since`` is when this catalog began to listen: leases do not run out before they could be renewed here.
    ``poll`` is how many seconds a waiting call trusts in notices before it looks at the store again. ``monotonic``, in
    seconds, tells a clock that was put forward from time that went by; without it the clock is trusted. ``jitter`` is
    drawn for each wait before another attempt. ``rewinds`` counts how often the relay's mark was put back here."""

    store: Store
    clock: Callable[[], int] = wall_clock
    hub: Hub = field(default_factory=Hub)
    poll: float = 1.0
    since: int = 0
    monotonic: Callable[[], float] | None = None
    jitter: Callable[[], float] = random.random
    rewinds: int = 0
    _seen: tuple[int, float] = (0, 0.0)

    def __post_init__(self) -> None:
        if self.monotonic:
            self._seen = self.clock(), self.monotonic()

    def watch_clock(self) -> int:
        """The time now. If the clock was put forward since the last call, every lease starts anew: no holder was silent
        for as long as the clock says. If it was put back, this catalog cannot have begun later than now."""
        now = self.clock()
        self.since = min(self.since, now)
        if self.monotonic:
            here = self.monotonic()
            if now - self._seen[0] - int((here - self._seen[1]) * SECOND) > JUMP:
                self.since = now
            self._seen = now, here
        return now

    async def apply(self, change: Change) -> int:
        """Writes a change and wakes those whom it concerns."""
        sequence = await self.store.apply(change)
        self.hub.notify(keys_of(change))
        return sequence

    async def apply_build(self, change: Change) -> Build:
        """Writes a change of a build; returns the build as it is stored now."""
        sequence = await self.apply(change)
        assert change.build
        build = change.build
        return replace(build, revision=build.revision + 1, sequence=build.sequence or sequence)


class UseCases:
    """Base of the groups of use cases."""

    def __init__(self, context: Context) -> None:
        self._context, self._store = context, context.store


def again_on_conflict[S: UseCases, **P, T](
    method: Callable[Concatenate[S, P], Awaitable[T]],
) -> Callable[Concatenate[S, P], Awaitable[T]]:
    """Runs a read-decide-write method again when somebody else wrote between its read and its write."""

    @functools.wraps(method)
    async def run(self: S, *args: P.args, **kwargs: P.kwargs) -> Any:
        for attempt in range(TRIES):
            try:
                return await method(self, *args, **kwargs)
            except Conflict:
                await asyncio.sleep(random.uniform(0, 0.002 * attempt))
        raise StoreError(
            f"{method.__name__}: other writers were faster {TRIES} times in a row",
            hint="try again; if it stays so, look for a client that calls in a tight loop",
            reason="CONTENTION",
        )

    return run
