"""The event bus: JetStream with the few things that Marin uses of it.

There is one stream, ``MARIN``, over ``marin.>``. Everything on it is also in the catalog's event log, so losing the bus
loses nothing. Publishing is at least once, and the stream drops a message id that it has seen within
``DUPLICATE_WINDOW_SECONDS``. Consumers may see a message again and must bear it.
"""

import asyncio
import json
import logging
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError, TimeoutError as NatsTimeout
from nats.js import JetStreamContext, api
from nats.js.errors import APIError, NoStreamResponseError, NotFoundError
from opentelemetry import propagate, trace

from marin_chassis import telemetry
from marin_chassis.engine import EngineError

log = logging.getLogger("marin.bus")
T = TypeVar("T")
_REPLAYED = "/replay/"
STREAM, SUBJECTS = "MARIN", "marin.>"
# Dead letters are no part of "marin.>", so that no subscriber of everything gets them.
DEAD_STREAM, DEAD_SUBJECTS = "MARIN_DEAD", "dead.marin.>"
MAX_DELIVERIES = 8
DUPLICATE_WINDOW_SECONDS = 3600.0
PUBLISH_TIMEOUT_SECONDS = 5.0
FETCH_SECONDS = 2.0
ACK_WAIT_SECONDS = 5.0
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 0.05, 2.0
_UNREADY = (NatsError, APIError, OSError, TimeoutError)


class BusError(EngineError):
    """The bus did not take or give a message. What was to be published is still in the log and can be tried again."""

    def __init__(self, message: str) -> None:
        super().__init__(
            message,
            hint="see that nats-server runs at MARIN_NATS_URL; nothing is lost meanwhile",
            reason="BUS_UNAVAILABLE",
            code="UNAVAILABLE",
            retryable=True,
        )


class _ConnectionBroke(Exception):
    """The connection went down while an answer was awaited."""


@dataclass(frozen=True)
class Message:
    """One event as it came from the bus. ``sequence`` is its place in the stream, ``deliveries`` counts from 1."""

    subject: str
    id: str
    sequence: int
    deliveries: int
    data: dict[str, Any]


Handler = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True)
class DeadLetter:
    """A message that a subscription gave up on. ``sequence`` is its place in the dead-letter stream, ``time`` in
    microseconds since 1970, ``consumer`` the durable name of the subscription, ``subject`` and ``id`` those of the
    message."""

    sequence: int
    consumer: str
    subject: str
    id: str
    error: str
    deliveries: int
    time: int
    data: dict[str, Any]


@dataclass(frozen=True)
class _Consumer:
    """A subscription as it was asked for."""

    subject: str
    handler: Handler
    durable: str
    ack_wait: float
    max_deliveries: int

    @property
    def name(self) -> str:
        """One token of a subject."""
        return (self.durable or self.subject).replace(".", "-").replace(">", "all").replace("*", "any")


class Backoff:
    """Growing, jittered pauses between tries."""

    def __init__(self) -> None:
        self._delay = FIRST_RETRY_SECONDS

    def reset(self) -> None:
        self._delay = FIRST_RETRY_SECONDS

    async def pause(self) -> None:
        await asyncio.sleep(self._delay * random.uniform(0.5, 1.0))
        self._delay = min(self._delay * 2, LAST_RETRY_SECONDS)


class Bus:
    """A connection that comes back by itself. Make one with :meth:`connect`."""

    def __init__(self, name: str, url: str) -> None:
        self._name, self._url = name, url
        self._up = asyncio.Event()
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._client = Client()
        self._stream: JetStreamContext | None = None
        self._subscriptions: set[asyncio.Task[None]] = set()

    @classmethod
    async def connect(cls, url: str, name: str) -> Self:
        """Waits until the server at ``url`` answers, for ever. ``name`` shows in the server's connection list."""
        bus = cls(name, url)
        bus._client = await nats.connect(
            url,
            name=name,
            error_cb=bus._on_error,
            disconnected_cb=bus._on_down,
            reconnected_cb=bus._on_up,
            max_reconnect_attempts=-1,
            reconnect_time_wait=0.2,
            connect_timeout=2,
            ping_interval=10,
        )
        bus._stream = bus._client.jetstream(timeout=PUBLISH_TIMEOUT_SECONDS)
        await bus._on_up()
        return bus

    @property
    def connected(self) -> bool:
        return self._client.is_connected

    async def ensure_stream(self, name: str = STREAM) -> None:
        """Creates the stream if it is not there. Raises BusError."""
        config = api.StreamConfig(
            name=name,
            subjects=[SUBJECTS if name == STREAM else DEAD_SUBJECTS],
            storage=api.StorageType.FILE,
            duplicate_window=DUPLICATE_WINDOW_SECONDS,
        )
        try:
            try:
                await self._jetstream.stream_info(name)
            except NotFoundError:
                await self._jetstream.add_stream(config)
                log.info("stream %s created", name)
        except _UNREADY as e:
            raise self._error(f"stream {name} cannot be made", e) from e

    async def publish(self, subject: str, data: Mapping[str, Any], msg_id: str) -> bool:
        """Returns when the message is stored: True if it is new, False if the stream had this id already.

        Waits while the connection is down; a message that was on its way when it broke is sent again. Makes the stream
        if it is gone. Raises BusError if a server that is there does not take the message.
        """
        headers = {api.Header.MSG_ID: msg_id}
        propagate.inject(headers)
        payload = json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()
        while True:
            await self._up.wait()
            try:
                return not (await self._while_up(self._store(subject, payload, headers, STREAM))).duplicate
            except _ConnectionBroke:
                continue
            except _UNREADY as e:
                raise self._error(f"{subject} was not taken", e) from e

    async def _store(self, subject: str, payload: bytes, headers: dict[str, str], stream: str) -> api.PubAck:
        try:
            return await self._jetstream.publish(subject, payload, stream=stream, headers=headers)
        except (NoStreamResponseError, NotFoundError):
            await self.ensure_stream(stream)
            return await self._jetstream.publish(subject, payload, stream=stream, headers=headers)

    async def dead_letters(self, consumer: str = "") -> list[DeadLetter]:
        """What subscriptions gave up on, oldest first. Raises BusError."""
        found = []
        try:
            try:
                state = (await self._jetstream.stream_info(DEAD_STREAM)).state
            except NotFoundError:
                return []
            sequence = state.first_seq
            while state.messages and sequence <= state.last_seq:
                raw = await self._jetstream.get_msg(DEAD_STREAM, seq=sequence, next=True, subject=DEAD_SUBJECTS)
                letter = DeadLetter(sequence=raw.seq or 0, **json.loads(raw.data or b"{}"))
                if consumer in ("", letter.consumer):
                    found.append(letter)
                sequence = letter.sequence + 1
        except _UNREADY as e:
            raise self._error("dead letters were not given", e) from e
        return found

    async def replay(self, letter: DeadLetter) -> None:
        """Publishes a dead letter again as what it was, for every subscription, and takes it off. Raises BusError.

        The message id gets a suffix, so that the stream does not take it for a repetition; :class:`Message` has it
        without.
        """
        await self.publish(letter.subject, letter.data, f"{letter.id}{_REPLAYED}{uuid.uuid4().hex}")
        try:
            await self._jetstream.delete_msg(DEAD_STREAM, letter.sequence)
        except _UNREADY as e:
            raise self._error(f"dead letter {letter.sequence} was replayed and not taken off", e) from e

    async def _bury(self, message: Message, consumer: str, error: str) -> None:
        letter = {
            "consumer": consumer,
            "subject": message.subject,
            "id": message.id,
            "error": error,
            "deliveries": message.deliveries,
            "time": time.time_ns() // 1000,
            "data": message.data,
        }
        payload = json.dumps(letter, separators=(",", ":"), ensure_ascii=False).encode()
        headers = {api.Header.MSG_ID: f"{consumer}/{message.sequence}"}  # once, even if the ack is lost
        await self._store(f"dead.marin.v1.{consumer}", payload, headers, DEAD_STREAM)

    async def _while_up(self, call: Coroutine[Any, Any, T]) -> T:
        """The result of ``call``, or _ConnectionBroke as soon as no answer can come any more."""
        task = asyncio.ensure_future(call)
        try:
            await asyncio.wait((task, self._broken), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise _ConnectionBroke
        finally:
            task.cancel()

    def subscribe(
        self,
        subject: str,
        handler: Handler,
        *,
        durable: str = "",
        ack_wait: float = ACK_WAIT_SECONDS,
        max_deliveries: int = MAX_DELIVERIES,
    ) -> asyncio.Task[None]:
        """Calls ``handler`` for each message, one at a time and in order, until cancelled or closed.

        With ``durable`` the server remembers the position under that name; without, only what comes from now on is
        seen. A message whose handler raises, or whose process dies (noticed after ``ack_wait`` seconds), is delivered
        again before the next one; on the ``max_deliveries``-th failure it becomes a dead letter (see :meth:`replay`)
        and the next one gets its turn. Survives restarts of the server and the loss of its store.
        """
        consumer = _Consumer(subject, handler, durable, ack_wait, max_deliveries)
        task = asyncio.create_task(self._consume(consumer), name=f"bus {subject}")
        self._subscriptions.add(task)
        task.add_done_callback(self._subscriptions.discard)
        return task

    async def close(self) -> None:
        """Ends subscriptions and the connection."""
        tasks = list(self._subscriptions)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._client.close()

    async def _consume(self, consumer: "_Consumer") -> None:
        backoff, subject, durable = Backoff(), consumer.subject, consumer.durable
        config = api.ConsumerConfig(
            ack_wait=consumer.ack_wait,
            max_ack_pending=1,
            deliver_policy=api.DeliverPolicy.ALL if durable else api.DeliverPolicy.NEW,
            inactive_threshold=None if durable else 60.0,
        )
        while True:
            try:
                await self._up.wait()
                await self.ensure_stream()
                pull = await self._jetstream.pull_subscribe(subject, durable or None, stream=STREAM, config=config)
                try:
                    await self._drain(pull, consumer, backoff)
                finally:
                    await _quietly(pull.unsubscribe())  # ours, not the server's: a durable position stays
            except _ConnectionBroke:
                backoff.reset()
            except (*_UNREADY, BusError) as e:
                log.debug("subscription %s: %s", subject, e)
                await backoff.pause()

    async def _drain(self, pull: JetStreamContext.PullSubscription, consumer: "_Consumer", backoff: Backoff) -> None:
        """Returns never; raises when the consumer or the connection is gone."""
        while True:
            try:
                (msg,) = await self._while_up(pull.fetch(1, timeout=FETCH_SECONDS))
            except NatsTimeout:
                # Nothing came, or the consumer was lost with the store: only asking tells.
                await self._while_up(pull.consumer_info())
                continue
            backoff.reset()
            await self._handle(msg, consumer)

    async def _handle(self, msg: Msg, consumer: "_Consumer") -> None:
        deliveries = msg.metadata.num_delivered or 1
        message = Message(
            subject=msg.subject,
            id=(msg.headers or {}).get(api.Header.MSG_ID, "").partition(_REPLAYED)[0],
            sequence=msg.metadata.sequence.stream,
            deliveries=deliveries,
            data=json.loads(msg.data),
        )
        context = propagate.extract(msg.headers or {})
        with telemetry.TRACER.start_as_current_span(msg.subject, context=context, kind=trace.SpanKind.CONSUMER):
            working = asyncio.create_task(_keep(msg, consumer.ack_wait / 3))
            try:
                await consumer.handler(message)
            except Exception as e:
                log.exception("handler of %s failed on delivery %d", msg.subject, deliveries)
                if deliveries >= consumer.max_deliveries:
                    await self._bury(message, consumer.name, f"{type(e).__name__}: {e}")
                    await _quietly(msg.term())
                else:
                    await _quietly(msg.nak(delay=min(FIRST_RETRY_SECONDS * 2**deliveries, 30.0)))
            else:
                await _quietly(msg.ack())
            finally:
                working.cancel()

    @property
    def _jetstream(self) -> JetStreamContext:
        assert self._stream, "use Bus.connect"
        return self._stream

    def _error(self, what: str, cause: Exception) -> BusError:
        return BusError(f"{what} by the bus at {self._url.rpartition('@')[2]}: {cause or type(cause).__name__}")

    async def _on_error(self, error: Exception) -> None:
        log.debug("bus: %s", error or type(error).__name__)

    async def _on_down(self) -> None:
        if self._up.is_set() and not self._client.is_closed:
            log.warning("%s lost the bus; reconnecting", self._name)
        self._up.clear()
        if not self._broken.done():
            self._broken.set_result(None)

    async def _on_up(self) -> None:
        self._broken = asyncio.get_running_loop().create_future()
        log.info("%s is connected to the bus", self._name)
        self._up.set()


async def _keep(msg: Msg, interval: float) -> None:
    """Tells the server that a slow handler is alive, so that only a dead one's message goes elsewhere."""
    while True:
        await asyncio.sleep(interval)
        await _quietly(msg.in_progress())


async def _quietly(call: Awaitable[Any]) -> None:
    """An acknowledgement that does not arrive means one more delivery, nothing worse."""
    try:
        await call
    except _UNREADY as e:
        log.debug("bus: %s", e)
