"""When a build is tried again, over real gRPC, with a clock that the tests turn and drawn numbers that they choose."""

import asyncio

import pytest

from marin.catalog.v1.catalog_pb2 import RetryPolicy
from marin.common.v1 import job_pb2
from marin_catalog.core.context import Context
from marin_catalog.core.leases import Leases
from marin_catalog.core.model import SECOND, RetryPolicy as Policy
from marin_chassis.engine import EngineError
from marin_chassis.errors import from_status, to_status

FAILED, PENDING = job_pb2.JOB_STATE_FAILED, job_pb2.JOB_STATE_PENDING


def policy(base: float, longest: float, attempts: int = 0) -> RetryPolicy:
    p = RetryPolicy(max_attempts=attempts)
    p.backoff_base.FromMicroseconds(int(base * SECOND))
    p.backoff_max.FromMicroseconds(int(longest * SECOND))
    return p


def preempted() -> object:
    return to_status(EngineError("stopped", hint="goes on", reason="PREEMPTED", code="ABORTED"))


def test_waits_double_up_to_the_longest_and_jitter_takes_at_most_half() -> None:
    p = Policy(9, 2 * SECOND, 7 * SECOND)
    assert [p.wait(n, 0.0) / SECOND for n in (1, 2, 3, 90)] == [2, 4, 7, 7]
    assert p.wait(2, 0.5) == 3 * SECOND and 2 * SECOND < p.wait(2, 0.999999) < 2.1 * SECOND
    assert Policy(3, 0, 0).wait(5, 0.3) == 0


async def test_a_failed_build_waits_longer_each_time(catalog, context, clock) -> None:
    context.jitter = iter((0.0, 0.5)).__next__
    await catalog.register(retry=policy(10, 60))
    after = await catalog.fail(await catalog.claim())
    assert after.not_before_time.ToMicroseconds() == clock.now + 10 * SECOND
    clock.advance(9.999)
    assert await catalog.claim() is None
    clock.advance(0.001)
    claimed = await catalog.claim()
    assert claimed.attempt == 2 and not claimed.HasField("not_before_time")
    after = await catalog.fail(claimed)
    assert after.not_before_time.ToMicroseconds() == clock.now + 15 * SECOND


async def test_one_that_waits_does_not_hold_up_the_others(catalog, clock) -> None:
    first = await catalog.register("a", "a", retry=policy(10, 60))
    await catalog.fail(await catalog.claim())
    second = await catalog.register("b", "b")
    assert (await catalog.claim()).id == second.id
    clock.advance(10)
    assert (await catalog.claim()).id == first.id


async def test_a_waiting_claim_wakes_when_the_wait_is_over(catalog, context) -> None:
    start = asyncio.get_running_loop().time()
    context.clock = lambda: int((asyncio.get_running_loop().time() - start) * SECOND) + 10**15
    context.poll, context.jitter = 60, lambda: 0.0
    build = await catalog.register(retry=policy(0.3, 60))
    await catalog.fail(await catalog.claim())
    async with asyncio.timeout(20):
        claimed = await catalog.claim(wait=50)
    assert claimed and claimed.id == build.id


async def test_preemption_uses_up_no_attempt(catalog, clock) -> None:
    build = await catalog.register(retry=policy(1, 60, attempts=1))
    for n in (1, 2, 3):
        claimed = await catalog.claim()
        assert claimed.attempt == n
        after = await catalog.fail(claimed, error=preempted())
        assert (after.state, after.preemptions) == (PENDING, n)
        assert await catalog.fail(claimed, error=preempted()) == after  # said twice, counted once
        clock.advance(60)
    assert (await catalog.fail(await catalog.claim())).state == FAILED  # a real failure counts
    assert [a.outcome for a in await catalog.attempts(build)] == ["preempted"] * 3 + ["failed"]
    again = await catalog.register(request_id="again", retry=policy(1, 60, attempts=1))
    assert (again.state, again.preemptions) == (PENDING, 0)


async def test_an_error_that_cannot_be_retried_is_final_whatever_its_reason(catalog) -> None:
    await catalog.register()
    assert (await catalog.fail(await catalog.claim(), retryable=False, error=preempted())).state == FAILED


async def test_the_default_policy_and_the_older_field(catalog) -> None:
    build = await catalog.register(retry=None, max_attempts=7)
    assert (build.retry.max_attempts, build.max_attempts) == (7, 7)
    assert (build.retry.backoff_base.seconds, build.retry.backoff_max.seconds) == (1, 60)


@pytest.mark.parametrize("bad", (policy(-1, 60), policy(5, 4), policy(1, 100_000)))
async def test_bad_waits_are_refused(catalog, bad) -> None:
    with pytest.raises(EngineError, check=lambda e: e.reason == "BAD_BACKOFF" and "60 s" in e.hint):
        await catalog.register(retry=bad)


async def test_a_clock_put_forward_takes_no_lease_from_its_holder(catalog, context, clock) -> None:
    passed = [0.0]
    context.monotonic = lambda: passed[0]
    context._seen = clock.now, 0.0
    await catalog.register()
    build = await catalog.claim(ttl=10)
    clock.advance(3600)  # nobody was silent that long
    passed[0] += 1
    assert await catalog.claim(holder="new") is None
    clock.advance(10)
    passed[0] += 10
    assert (await catalog.claim(holder="new")).id == build.id  # silent for real


async def test_a_clock_put_back_does_not_lengthen_a_dead_holders_lease(catalog, clock) -> None:
    await catalog.register()
    build = await catalog.claim(ttl=10)
    clock.advance(-3600)
    assert await catalog.claim(holder="new") is None
    clock.advance(10)
    assert (await catalog.claim(holder="new")).id == build.id


async def test_a_restart_forgets_no_wait(catalog, context, clock) -> None:
    build = await catalog.register(retry=policy(10, 60))
    after = await catalog.fail(await catalog.claim())
    restarted = Leases(Context(context.store, clock, since=clock.now))
    assert await restarted.claim(["tokens"], "w", "h", SECOND, 0, "") is None
    clock.advance(10)
    claimed = await restarted.claim(["tokens"], "w", "h", SECOND, 0, "")
    assert claimed and claimed.id == build.id and from_status(after.error).reason == "BROKEN"
