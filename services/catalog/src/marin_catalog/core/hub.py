"""Wakes the calls that wait for a change in this process."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from marin_catalog.core.model import Change, State

EVENTS, LEASES = "events", "leases"


def build_topic(build_id: str) -> str:
    """Key that wakes watchers of one build."""
    return f"build/{build_id}"


def kind_topic(kind: str) -> str:
    """Key that wakes workers of one kind."""
    return f"kind/{kind}"


def keys_of(change: Change) -> Iterable[str]:
    """Whom a written change concerns."""
    if change.events:
        yield EVENTS
    if change.build:
        yield build_topic(change.build.id)
        if change.build.state is State.PENDING:
            yield kind_topic(change.build.kind)
    if change.new_attempt:
        yield LEASES


class Ticket:
    """One waiter. A notice that comes between two waits is kept."""

    def __init__(self, hub: "Hub") -> None:
        self._hub, self._event = hub, asyncio.Event()

    def wake(self) -> None:
        self._event.set()

    async def wait(self, seconds: float) -> bool:
        """Returns True on a notice, False after ``seconds``."""
        if self._hub.closed:
            return True
        try:
            await asyncio.wait_for(self._event.wait(), seconds)
        except TimeoutError:
            return False
        self._event.clear()
        return True


class Hub:
    """Notices by key. Waiters look again after a while on their own: other replicas change the store too."""

    def __init__(self) -> None:
        self.closed = False
        self._tickets: defaultdict[str, set[Ticket]] = defaultdict(set)

    def notify(self, keys: Iterable[str]) -> None:
        for key in keys:
            for ticket in self._tickets.get(key, ()):
                ticket.wake()

    def close(self) -> None:
        """Wakes everybody for good, so that waiting calls end when the service drains."""
        self.closed = True
        for tickets in self._tickets.values():
            for ticket in tickets:
                ticket.wake()

    @contextmanager
    def listen(self, *keys: str) -> Iterator[Ticket]:
        """Take the ticket first, look at the store then: no change falls in between."""
        ticket = Ticket(self)
        for key in keys:
            self._tickets[key].add(ticket)
        try:
            yield ticket
        finally:
            for key in keys:
                self._tickets[key].discard(ticket)
                if not self._tickets[key]:
                    del self._tickets[key]
