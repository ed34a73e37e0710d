"""The way from the log to the bus, with a real nats-server that dies, comes back and loses its store."""

import asyncio
from collections.abc import AsyncIterator

import grpc
import nats as nats_client
import pytest

from marin.catalog.v1 import catalog_service_pb2 as pb, catalog_service_pb2_grpc as rpc
from marin_catalog.core.context import Context
from marin_catalog.relay import BusLetters, Relay, relay_events
from marin_catalog.servicer import CatalogServicer
from marin_chassis.bus import Bus, Message
from marin_chassis.engine import EngineError
from marin_chassis.interceptor import ServiceInterceptor


@pytest.fixture
async def relay(context: Context, nats) -> AsyncIterator[asyncio.Task]:
    task = asyncio.create_task(relay_events(context, nats.url))
    yield task
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def log_is_out(context: Context) -> bool:
    log = await context.store.events(1, 1000)
    return await context.store.published() == len(log)


async def ids(context: Context) -> list[str]:
    return [e.id for e in await context.store.events(1, 1000)]


async def test_events_reach_the_bus_once_and_in_order(catalog, context, relay, nats, until) -> None:
    made = await catalog.make("a", "a", kind="checkpoint.sft")
    await until(lambda: log_is_out(context))
    on_bus = await nats.messages()
    assert [i for i, _, _ in on_bus] == await ids(context)
    assert [s for _, s, _ in on_bus] == [
        "marin.builds.v1.default.checkpoint-sft.registered",
        "marin.builds.v1.default.checkpoint-sft.claimed",
        "marin.artifacts.v1.default.checkpoint-sft.committed",
    ]
    payload = on_bus[-1][2]
    assert payload["artifact"]["content_digest"] == made.content_digest and payload["sequence"] == 3


async def test_commits_go_on_while_the_bus_is_away_and_nothing_is_lost(catalog, context, relay, nats, until) -> None:
    await catalog.make("a", "a")
    await until(lambda: log_is_out(context))
    nats.kill()
    async with asyncio.timeout(10):  # the RPCs do not wait for the bus
        for i in range(5):
            await catalog.make(f"n{i}", f"{i}")
    assert not await log_is_out(context)
    nats.start()
    await until(lambda: log_is_out(context))
    assert [i for i, _, _ in await nats.messages()] == await ids(context)


async def test_a_bus_that_lost_its_store_gets_what_comes_afterwards(catalog, context, relay, nats, until) -> None:
    await catalog.make("a", "a")
    await until(lambda: log_is_out(context))
    nats.kill()
    nats.wipe()
    nats.start()
    await catalog.make("b", "b")
    await until(lambda: log_is_out(context))
    assert [i for i, _, _ in await nats.messages()] == (await ids(context))[3:]


async def test_a_stream_deleted_under_the_relay_is_made_anew(catalog, context, relay, nats, until) -> None:
    await catalog.make("a", "a")
    await until(lambda: log_is_out(context))
    connection = await nats_client.connect(nats.url)
    await connection.jetstream().delete_stream("MARIN")
    await connection.close()
    await catalog.make("b", "b")
    await until(lambda: log_is_out(context))
    assert [i for i, _, _ in await nats.messages()] == (await ids(context))[3:]


async def test_a_crash_between_publishing_and_marking_announces_nothing_twice(catalog, context, nats, until) -> None:
    bus = await Bus.connect(nats.url, "catalog")
    await catalog.make("a", "a")
    await context.store.mark_published(1, 0)

    class Crash(Exception):
        pass

    async def crash(sequence: int, since: int) -> None:
        raise Crash

    mark, context.store.mark_published = context.store.mark_published, crash
    with pytest.raises(Crash):
        await Relay(context, bus).run()
    context.store.mark_published = mark
    assert [i for i, _, _ in await nats.messages()] == (await ids(context))[1:]
    assert await context.store.published() == 1

    again = asyncio.create_task(Relay(context, bus).run())
    await until(lambda: log_is_out(context))
    assert [i for i, _, _ in await nats.messages()] == (await ids(context))[1:]
    again.cancel()
    await bus.close()


async def test_a_bus_that_is_not_there_yet_is_waited_for(catalog, context, nats, until) -> None:
    nats.kill()
    task = asyncio.create_task(relay_events(context, nats.url))
    await catalog.make("a", "a")
    await asyncio.sleep(0.3)
    nats.start()
    await until(lambda: log_is_out(context))
    assert len(await nats.messages()) == 3
    task.cancel()


async def test_two_replicas_do_not_announce_twice(catalog, context, relay, nats, until) -> None:
    replica = Context(context.store, context.clock, poll=0.05)
    second = asyncio.create_task(relay_events(replica, nats.url))
    for i in range(10):
        await catalog.make(f"n{i}", f"{i}")
    await until(lambda: log_is_out(context))
    assert [i for i, _, _ in await nats.messages()] == await ids(context)
    second.cancel()


async def test_a_draining_catalog_sends_what_is_left(catalog, context, relay, nats, until) -> None:
    await catalog.make("a", "a")
    context.hub.close()
    async with asyncio.timeout(20):
        await relay
    assert await log_is_out(context) and len(await nats.messages()) == 3


async def test_rebuild_stream_sends_the_whole_log_to_a_bus_that_lost_it(catalog, context, relay, nats, until) -> None:
    context.poll = 0.05
    await catalog.make("a", "a")
    await until(lambda: log_is_out(context))
    nats.kill()
    nats.wipe()
    nats.start()
    answer = await catalog.rpc.RebuildStream(pb.RebuildStreamRequest())
    assert answer.events == 3
    await catalog.make("b", "b")

    async def all_there() -> bool:
        return await log_is_out(context) and len(await nats.messages()) == 6

    await until(all_there)
    assert [i for i, _, _ in await nats.messages()] == await ids(context)
    assert (await catalog.rpc.RebuildStream(pb.RebuildStreamRequest(from_sequence=5))).events == 2
    await until(lambda: log_is_out(context))
    assert len(await nats.messages()) == 6  # the stream still had those


async def test_dead_letters_are_listed_and_replayed_through_the_catalog(context, nats, until, api) -> None:
    letters = BusLetters(nats.url)
    server = grpc.aio.server(interceptors=[ServiceInterceptor()])
    rpc.add_CatalogServiceServicer_to_server(CatalogServicer(context, letters), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    catalog = api(f"127.0.0.1:{port}")
    relay = asyncio.create_task(relay_events(context, nats.url, letters))
    bus, seen, broken = await Bus.connect(nats.url, "reader"), [], [True]

    async def handler(message: Message) -> None:
        if broken[0] and message.data["type"] == "build.claimed":
            raise ValueError("cannot take this")
        seen.append(message.data["type"])

    bus.subscribe("marin.>", handler, durable="reader", max_deliveries=2)
    await catalog.make("a", "a")

    async def listed() -> list:
        return list((await catalog.rpc.ListDeadLetters(pb.ListDeadLettersRequest())).letters)

    await until(lambda: _has(listed, 1))
    await until(lambda: _has(lambda: _list(seen), 2))
    assert seen == ["build.registered", "artifact.committed"]  # the rest was not held up
    (letter,) = await listed()
    assert (letter.consumer, letter.deliveries, letter.error) == ("reader", 2, "ValueError: cannot take this")
    assert letter.event_id == (await ids(context))[1] and letter.subject.endswith(".claimed")
    broken[0] = False
    replayed = (await catalog.rpc.ReplayDeadLetters(pb.ReplayDeadLettersRequest())).letters
    assert [x.sequence for x in replayed] == [letter.sequence] and await listed() == []
    await until(lambda: _has(lambda: _list(seen), 3))
    assert seen[-1] == "build.claimed"
    for task in (relay,):
        task.cancel()
    await bus.close()
    await catalog.rpc.close()
    await server.stop(0)


async def _list(values: list) -> list:
    return values


async def _has(values, count: int) -> bool:
    return len(await values()) >= count


async def test_without_a_bus_dead_letters_are_an_error_with_the_fix(catalog) -> None:
    with pytest.raises(EngineError, check=lambda e: e.reason == "NO_BUS" and "--nats-url" in e.hint):
        await catalog.rpc.ListDeadLetters(pb.ListDeadLettersRequest())
