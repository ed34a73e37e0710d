"""What the core needs of a store."""

from collections.abc import Sequence
from typing import Protocol

from marin_catalog.core.model import (
    Artifact,
    Attempt,
    Build,
    Change,
    Event,
    Manifest,
    Request,
    Run,
    State,
    Target,
    Unreferenced,
)


class Store(Protocol):
    """Reads, and one write: :meth:`apply`.

    Every method may raise StoreError. Lists are empty, and single records None, where nothing fits.
    """

    async def apply(self, change: Change) -> int:
        """Writes all of ``change`` durably or nothing.

        Returns the sequence number of its first event, 0 if it has none. Sequence numbers are dense and become visible
        in order. Raises Conflict if a record is not as the change expects it.
        """
        ...

    async def build(self, build_id: str) -> Build | None: ...

    async def build_in_slot(self, slot: str) -> Build | None: ...

    async def builds(
        self, project: str, kinds: Sequence[str], states: Sequence[State], before: int | None, limit: int
    ) -> list[Build]:
        """Newest first, with sequence below ``before``. Empty ``kinds`` or ``states`` stand for all."""
        ...

    async def next_pending(self, kinds: Sequence[str], now: int) -> Build | None:
        """The oldest pending build of these kinds whose ``not_before`` has come, or is further away than its policy's
        longest wait: that one was set before the clock was put back."""
        ...

    async def next_ready_time(self, kinds: Sequence[str]) -> int | None:
        """The least ``not_before`` of the pending builds of these kinds."""
        ...

    async def leased(self) -> list[Build]:
        """All running builds, the earliest lease end first."""
        ...

    async def request(self, request_id: str) -> Request | None: ...

    async def attempts(self, build_id: str) -> list[Attempt]:
        """Oldest first."""
        ...

    async def attempt(self, build_id: str, epoch: int) -> Attempt | None: ...

    async def attempt_of_request(self, request_id: str) -> Attempt | None: ...

    async def artifact(self, target: Target) -> Artifact | None:
        """What the address holds now."""
        ...

    async def artifact_of_attempt(self, build_id: str, attempt: int) -> Artifact | None:
        """What this attempt committed, even if the address holds something newer."""
        ...

    async def artifact_by_key(self, project: str, build_key: str) -> Artifact | None:
        """The oldest one that its address still holds."""
        ...

    async def newest_artifact(self, project: str, name: str, mutable: bool) -> Artifact | None:
        """The newest that an address of this name holds; those of mutable versions count if ``mutable``."""
        ...

    async def unreferenced(self, project: str) -> list[Unreferenced]:
        """Ended attempts whose directory is not that of an artifact that its address holds or something was made from.
        Oldest first."""
        ...

    async def artifacts(self, project: str, kinds: Sequence[str], before: int | None, limit: int) -> list[Artifact]:
        """What addresses hold now, newest first, with sequence below ``before``."""
        ...

    async def manifest(self, build_id: str, attempt: int) -> Manifest | None: ...

    async def lineage(self, sequence: int, up: bool) -> list[tuple[Artifact, int]]:
        """Artifacts reached over input edges with their least distance, nearest first, then by sequence."""
        ...

    async def events(self, from_sequence: int, limit: int, project: str | None = None) -> list[Event]:
        """In order, with sequence at or above ``from_sequence``."""
        ...

    async def run(self, run_id: str) -> Run | None: ...

    async def runs_with_prefix(self, prefix: str, limit: int) -> list[Run]: ...

    async def runs(self, project: str, states: Sequence[str], limit: int) -> list[Run]:
        """Newest first."""
        ...

    async def published(self) -> int:
        """Sequence number of the last event known to be on the bus."""
        ...

    async def mark_published(self, sequence: int, since: int) -> bool:
        """Moves the mark forward from ``since``; returns False, and changes nothing, if it is somewhere else by now."""
        ...

    async def rewind_published(self, sequence: int) -> None:
        """Moves the mark back: what comes after it counts as not published. Never forward."""
        ...

    async def close(self) -> None: ...
