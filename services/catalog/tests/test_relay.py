"""The way from the log to the bus, with a real nats-server that dies, comes back and loses its store."""

import asyncio
from collections.abc import AsyncIterator

import nats as nats_client
import pytest
from marin_catalog.core.context import Context
from marin_catalog.relay import Relay, relay_events
from marin_chassis.bus import Bus


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
    await context.store.mark_published(1)

    class Crash(Exception):
        pass

    async def crash(sequence: int) -> None:
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
