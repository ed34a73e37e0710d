"""Carries the event log to the bus: in order, at least once, for as long as it takes."""

import logging

from marin_chassis.bus import Backoff, Bus, BusError

from marin_catalog.core.context import Context
from marin_catalog.core.errors import StoreError
from marin_catalog.core.events import envelope
from marin_catalog.core.hub import EVENTS, Ticket

log = logging.getLogger("marin.catalog.relay")
BATCH = 200
QUIET_SECONDS = 0.1


class Relay:
    """The mark in the store ("published") trails behind the bus, never ahead: after a crash some events are sent again
    with the same message id, and the stream drops them."""

    def __init__(self, context: Context, bus: Bus) -> None:
        self._context, self._bus = context, bus
        self._marked = self._sent = 0

    async def run(self) -> None:
        """Runs until the service drains and the log is out. The bus being away, restarted or emptied, and the store
        being busy, only cause waiting."""
        backoff = Backoff()
        away = done = False
        while not done:
            try:
                self._marked = self._sent = await self._context.store.published()
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

    async def _send_next(self, ticket: Ticket) -> bool:
        """Sends what is there, or waits. Returns True when the service drains and nothing is left."""
        page = await self._context.store.events(self._sent + 1, BATCH)
        for event in page:
            await self._bus.publish(event.subject, envelope(event), event.id)
            self._sent = event.sequence
        if page and len(page) < BATCH and not self._context.hub.closed:
            return False
        # The mark is written in a quiet moment, so that it does not hold up a commit.
        pending = self._sent > self._marked
        more = len(page) == BATCH or await ticket.wait(QUIET_SECONDS if pending else self._context.poll)
        if pending and (not more or self._context.hub.closed or self._sent - self._marked >= BATCH):
            await self._context.store.mark_published(self._sent)
            self._marked = self._sent
        return self._context.hub.closed and not page


async def relay_events(context: Context, url: str) -> None:
    """Connects to the bus, however long that takes, and relays until the service drains."""
    bus = await Bus.connect(url, "catalog")
    try:
        await Relay(context, bus).run()
    finally:
        await bus.close()
