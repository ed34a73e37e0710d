"""Carries the event log to the bus: in order, at least once, for as long as it takes."""

import logging
from collections.abc import Sequence

from marin_catalog.core.context import Context
from marin_catalog.core.errors import StoreError
from marin_catalog.core.events import envelope
from marin_catalog.core.hub import EVENTS, Ticket
from marin_catalog.core.letters import Letter
from marin_chassis.bus import Backoff, Bus, BusError, DeadLetter

log = logging.getLogger("marin.catalog.relay")
BATCH = 200
QUIET_SECONDS = 0.1


class Relay:
    """The mark in the store ("published") trails behind the bus, never ahead: after a crash some events are sent again
    with the same message id, and the stream drops them. Whoever moves the mark back makes the log go out again."""

    def __init__(self, context: Context, bus: Bus) -> None:
        self._context, self._bus = context, bus
        self._marked = self._sent = self._rewinds = 0

    async def run(self) -> None:
        """Runs until the service drains and the log is out. The bus being away, restarted or emptied, and the store
        being busy, only cause waiting."""
        backoff = Backoff()
        away = done = False
        while not done:
            try:
                await self.start()
                with self._context.hub.listen(EVENTS) as ticket:
                    while not done:
                        done = await self._send_next(ticket)
                        backoff.reset()
                        away = False
            except (BusError, StoreError) as e:
                if not away:
                    log.warning("events wait in the log: %s", e.message)
                away = True
                await backoff.pause()

    async def start(self) -> None:
        """Goes on where the mark is."""
        self._rewinds = self._context.rewinds
        self._marked = self._sent = await self._context.store.published()

    async def send(self) -> int:
        """Publishes the next events of the log, in order; returns how many."""
        if self._rewinds != self._context.rewinds:
            await self.start()  # before anything newer
        page = await self._context.store.events(self._sent + 1, BATCH)
        for event in page:
            await self._bus.publish(event.subject, envelope(event), event.id)
            self._sent = event.sequence
        return len(page)

    async def mark(self) -> None:
        """Notes what was sent. If the mark was moved meanwhile, by another replica or for a rebuild, follows it."""
        if self._sent > self._marked and await self._context.store.mark_published(self._sent, self._marked):
            self._marked = self._sent
            return
        mark = await self._context.store.published()
        self._sent = mark if mark < self._marked else max(mark, self._sent)
        self._marked = mark

    async def _send_next(self, ticket: Ticket) -> bool:
        """Sends what is there, or waits. Returns True when the service drains and nothing is left."""
        sent = await self.send()
        if sent and sent < BATCH and not self._context.hub.closed:
            return False
        # The mark is written in a quiet moment, so that it does not hold up a commit.
        pending = self._sent > self._marked
        more = sent == BATCH or await ticket.wait(QUIET_SECONDS if pending else self._context.poll)
        if not more or self._context.hub.closed or self._sent - self._marked >= BATCH:
            await self.mark()
        return self._context.hub.closed and not sent


class BusLetters:
    """Implements :class:`marin_catalog.core.letters.Letters` on the bus, once there is a connection."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.bus: Bus | None = None

    async def page(self, consumer: str) -> list[Letter]:
        return [_letter(x) for x in await self._connected().dead_letters(consumer)]

    async def replay(self, sequences: Sequence[int], consumer: str) -> list[Letter]:
        bus, replayed = self._connected(), []
        for x in await bus.dead_letters(consumer):
            if not sequences or x.sequence in sequences:
                await bus.replay(x)
                replayed.append(_letter(x))
        return replayed

    def _connected(self) -> Bus:
        if self.bus is None or not self.bus.connected:
            raise BusError(f"the bus at {self._url.rpartition('@')[2]} is not connected")
        return self.bus


def _letter(x: DeadLetter) -> Letter:
    return Letter(x.sequence, x.consumer, x.subject, x.id, x.error, x.deliveries, x.time)


async def relay_events(context: Context, url: str, letters: BusLetters | None = None) -> None:
    """Connects to the bus, however long that takes, and relays until the service drains."""
    bus = await Bus.connect(url, "catalog")
    if letters:
        letters.bus = bus
    try:
        await Relay(context, bus).run()
    finally:
        await bus.close()
