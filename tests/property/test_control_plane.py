"""The state machine, and proof that it sees what it is for: with a promise broken on purpose it fails."""

import os
import random
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed as seeded, settings
from hypothesis.stateful import run_state_machine_as_test

sys.path.append(str(Path(__file__).parent))
from machine import ControlPlane
from parts import Consumer

from marin_catalog.core import rules
from marin_catalog.core.context import Context
from marin_catalog.core.events import envelope
from marin_catalog.relay import BATCH, Relay

SEED = int(os.environ.get("MARIN_PROPERTY_SEED") or random.SystemRandom().randrange(2**32))


def drive(examples: int, steps: int, phases: tuple[Phase, ...]) -> None:
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    run_state_machine_as_test(seeded(SEED)(type("Seeded", (ControlPlane,), {})), settings=chosen)


def test_the_control_plane_keeps_its_promises_under_faults(capsys: pytest.CaptureFixture[str]) -> None:
    ControlPlane.steps, start = 0, time.monotonic()
    with capsys.disabled():
        print(f"\nproperty seed {SEED} (MARIN_PROPERTY_SEED={SEED} repeats it)")
    drive(60, 100, (Phase.generate, Phase.shrink))
    with capsys.disabled():
        print(f"{ControlPlane.steps} steps in {time.monotonic() - start:.1f} s")
    assert ControlPlane.steps >= 2000


async def mark_first(self: Relay) -> int:
    """The outbox the wrong way round: says "sent", then sends."""
    page = await self._context.store.events(self._sent + 1, BATCH)
    if page:
        await self._context.store.mark_published(page[-1].sequence, self._marked)
        self._marked = page[-1].sequence
    for event in page:
        await self._bus.publish(event.subject, envelope(event), event.id)
        self._sent = event.sequence
    return len(page)


MUTATIONS = {
    "the fence is gone": (rules, "check_lease", lambda build, epoch: None),
    "the outbox is marked before it is sent": (Relay, "send", mark_first),
    "leases never run out": (rules, "expired", lambda build, now, since: False),
    "a clock that was put forward is believed": (Context, "watch_clock", lambda self: self.clock()),
    "a lease from before the clock was put back is kept": (rules, "shorten", lambda build, now: None),
    "the inbox is not looked at": (Consumer, "known", lambda self, event: False),
    "an immutable address may be replaced": (rules, "may_replace", lambda build, current: True),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_the_machine_fails_when(mutation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTATIONS[mutation])
    with pytest.raises((AssertionError, ExceptionGroup)):
        drive(4000, 100, (Phase.generate,))
