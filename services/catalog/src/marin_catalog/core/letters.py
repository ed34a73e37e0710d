"""What the catalog needs of the bus to show and replay events that a subscriber gave up on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from marin_catalog.core.errors import Precondition


@dataclass(frozen=True)
class Letter:
    """One event that was put aside. ``sequence`` is its place in the dead-letter stream, ``time`` in microseconds."""

    sequence: int
    consumer: str
    subject: str
    event_id: str
    error: str
    deliveries: int
    time: int


class Letters(Protocol):
    """Dead letters, oldest first."""

    async def page(self, consumer: str) -> list[Letter]: ...

    async def replay(self, sequences: Sequence[int], consumer: str) -> list[Letter]:
        """Publishes them again and takes them off; returns those it did that with."""
        ...


class NoLetters:
    """A catalog without a bus."""

    async def page(self, consumer: str) -> list[Letter]:
        raise _no_bus()

    async def replay(self, sequences: Sequence[int], consumer: str) -> list[Letter]:
        raise _no_bus()


def _no_bus() -> Precondition:
    return Precondition(
        "this catalog has no bus, so there are no dead letters",
        hint="start it with --nats-url, or MARIN_NATS_URL",
        reason="NO_BUS",
    )
