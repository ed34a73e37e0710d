"""Event logs that were recorded once, replayed through today's code, and the same stories told to today's catalog."""

import json
import random
import sys
from pathlib import Path

import pytest

from marin.client.read_model import ReadModel

sys.path.append(str(Path(__file__).parent))
from scenarios import GOLDEN, SCENARIOS, tables, tell


def folded(events):
    model = ReadModel()
    for event in events:
        model.apply(event)
    return model


@pytest.fixture(params=SCENARIOS)
def name(request):
    return request.param


@pytest.fixture
def golden(name):
    return json.loads((GOLDEN / f"{name}.json").read_text())


def test_a_recorded_log_gives_the_state_that_it_gave(golden):
    assert tables(folded(golden["events"])) == golden["state"]


def test_twice_and_in_any_order_it_gives_the_same(golden):
    events = golden["events"] * 2
    random.Random(7).shuffle(events)
    assert tables(folded(events)) == golden["state"]


def test_what_a_newer_version_may_add_changes_nothing(golden):
    newer = [{**e, "colour": "red"} for e in golden["events"]]
    newer.insert(3, {"id": "x", "sequence": 10**6, "type": "moon.rose", "project": "default", "moon": {"id": "m"}})
    assert tables(folded(newer)) == golden["state"]


def test_todays_catalog_tells_the_same_story(name, golden):
    story = tell(name)
    assert tables(story.truth()) == golden["state"]
    log = story.log()
    assert [(e["type"], e["project"]) for e in log] == [(e["type"], e["project"]) for e in golden["events"]]
    for now, then in zip(log, golden["events"], strict=True):
        assert _covers(now, then), f"event {then['sequence']} lost or changed something"


def test_a_log_with_a_hole_is_noticed(golden):
    """The check has teeth: without its last commit the log gives another state."""
    last = max(e["sequence"] for e in golden["events"] if e["type"] == "artifact.committed")
    assert tables(folded([e for e in golden["events"] if e["sequence"] != last])) != golden["state"]


def _covers(now, then):
    """Whether ``now`` holds all that ``then`` does; fields may come, none may go or change."""
    if isinstance(then, dict):
        return isinstance(now, dict) and all(k in now and _covers(now[k], v) for k, v in then.items())
    return now == then
