"""Three kinds of run, told to the catalog's core step by step, with clock and ids that are the same each time.

python tests/replay/scenarios.py NAME     writes golden/NAME.json anew

Do that for a new scenario, never to make a test pass.
"""

import asyncio
import hashlib
import itertools
import json
import sys
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest import mock

from marin.client.read_model import ReadModel, from_catalog
from marin_artifacts.digest import content_digest
from marin_catalog import convert
from marin_catalog.core.artifacts import Artifacts
from marin_catalog.core.builds import Builds, Registration
from marin_catalog.core.context import Context
from marin_catalog.core.events import envelope
from marin_catalog.core.leases import Commit, Leases
from marin_catalog.core.model import (
    SECOND,
    Artifact,
    Build,
    Failure,
    FileEntry,
    Input,
    Manifest,
    RetryPolicy,
    Run,
    Target,
)
from marin_catalog.core.rules import Ending
from marin_catalog.core.runs import Runs
from marin_catalog.store.memory import MemoryStore

GOLDEN = Path(__file__).parent / "golden"
BROKEN = Failure("ABORTED", "ENGINE_KILLED", "the engine process was killed by signal 9", "lower the batch size")
PREEMPTED = Failure(
    "ABORTED", "PREEMPTED", "the engine process was stopped before it finished", "it goes on when tried again"
)


class Story:
    """A catalog in memory, and the words of the scenarios."""

    def __init__(self) -> None:
        self.now = 1_700_000_000 * SECOND
        self.store = MemoryStore()
        context = Context(self.store, lambda: self.now, jitter=lambda: 0.0)
        self.builds, self.leases = Builds(context), Leases(context)
        self.artifacts, self.runs = Artifacts(context), Runs(context)

    def later(self, seconds: float) -> None:
        self.now += int(seconds * SECOND)

    async def run(self, state: str, revision: int, name: str = "run-1") -> None:
        record = Run(name, "default", "toy", state, b"", revision=revision)
        await (self.runs.update(record) if revision else self.runs.create(record))

    async def register(
        self,
        name: str,
        key: str,
        kind: str,
        made_from: tuple[Artifact, ...] = (),
        version: str = "v1",
        supersedes: str = "",
    ) -> Build:
        inputs = tuple(Input(a.kind, a.target.address, a.content_digest) for a in made_from)
        target = Target("default", name, version)
        return await self.builds.register(
            Registration("", kind, target, key.ljust(64, "0"), {}, inputs, RetryPolicy(3), supersedes)
        )

    async def claim(self, kind: str, holder: str = "worker-1", ttl: int = 10) -> Build:
        build = await self.leases.claim([kind], holder, "host-1", ttl * SECOND, 0, "")
        assert build, kind
        return build

    async def commit(self, build: Build, text: str) -> Artifact:
        files = (FileEntry("data.txt", len(text), hashlib.sha256(text.encode()).hexdigest()),)
        uri = f"file:///store/{build.kind}/{build.id[:8]}-{build.epoch}"
        return await self.leases.commit(
            Commit(build.id, build.epoch, content_digest(files), Manifest(files, ()), uri, {"rows": 1}, text)
        )

    async def make(self, name: str, key: str, kind: str, text: str, *made_from: Artifact, **options: Any) -> Artifact:
        await self.register(name, key, kind, made_from, **options)
        self.later(1)
        return await self.commit(await self.claim(kind), text)

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(json.dumps(envelope(e))) for e in self.store._events]

    def truth(self) -> ReadModel:
        """What the catalog's records say."""
        return from_catalog(
            [convert.build(b) for b in self.store._builds.values()],
            [convert.artifact(a) for a in self.store._held()],
            [convert.run(r) for r in self.store._runs.values()],
        )


async def straight(s: Story) -> None:
    """Everything goes well."""
    await s.run("running", 0)
    docs = await s.make("docs", "1", "documents", "a text")
    tokenizer = await s.make("tokenizer", "2", "tokenizer", "words", docs)
    tokens = await s.make("tokens", "3", "tokens", "numbers", docs, tokenizer)
    await s.make("model", "4", "checkpoint.pretrain", "weights", tokens)
    await s.run("succeeded", 1)


async def trouble(s: Story) -> None:
    """A kill, a preemption, a silent worker, attempts that run out, a cancel of a waiting and of a running build."""
    await s.run("running", 0)
    await s.register("docs", "1", "documents")
    await s.leases.fail((await s.claim("documents")).id, 1, Ending(BROKEN, True, log_tail="Killed\n"))
    s.later(2)
    await s.leases.fail((await s.claim("documents")).id, 2, Ending(PREEMPTED, True))
    s.later(2)
    await s.claim("documents", "silent")
    s.later(11)
    docs = await s.commit(await s.claim("documents"), "a text")
    model = await s.register("model", "2", "checkpoint.pretrain", (docs,))
    for epoch in (1, 2, 3):
        await s.claim("checkpoint.pretrain")
        await s.leases.fail(model.id, epoch, Ending(BROKEN, True))
        s.later(10)
    talk = await s.register("talk", "3", "conversations")
    await s.builds.cancel(talk.id, "not needed")
    problems = await s.register("problems", "4", "problems")
    await s.claim("problems")
    await s.builds.cancel(problems.id, "not needed")
    await s.leases.fail(problems.id, 1, Ending(PREEMPTED, False, cancelled=True))
    await s.run("failed", 1)
    await s.register("model", "2", "checkpoint.pretrain", (docs,))  # somebody tries again
    await s.commit(await s.claim("checkpoint.pretrain"), "weights")


async def change(s: Story) -> None:
    """A mutable version built twice, an adoption, a rebuild in place of what an address held, the same bytes twice."""
    await s.run("running", 0)
    await s.make("docs", "1", "documents", "draft", version="dev")
    await s.make("docs", "1", "documents", "second draft", version="dev")
    docs = await s.make("docs", "1", "documents", "a text")
    await s.artifacts.adopt(docs.target, Target("default", "docs", "v2"))
    tokens = await s.make("tokens", "2", "tokens", "numbers", docs)
    cleaned = await s.make("docs", "3", "documents", "a clean text", supersedes=docs.content_digest)
    await s.make("tokens", "4", "tokens", "clean numbers", cleaned, supersedes=tokens.content_digest)
    twin = await s.register("twin", "5", "documents")
    slow = await s.claim("documents")
    await s.artifacts.adopt(cleaned.target, Target("default", "twin", "v1"))
    assert slow.id == twin.id
    await s.commit(slow, "a clean text")
    await s.run("succeeded", 1)


SCENARIOS: dict[str, Callable[[Story], Awaitable[None]]] = {"straight": straight, "trouble": trouble, "change": change}


def tell(name: str) -> Story:
    """Plays a scenario on the current code."""
    story, ids = Story(), itertools.count(1)
    with mock.patch.object(uuid, "uuid4", lambda: uuid.UUID(int=next(ids) << 64)):
        asyncio.run(SCENARIOS[name](story))
    return story


def tables(model: ReadModel) -> dict[str, Any]:
    return {"builds": model.builds, "artifacts": model.artifacts, "runs": model.runs}


if __name__ == "__main__":
    for chosen in sys.argv[1:]:
        told = tell(chosen)
        GOLDEN.mkdir(exist_ok=True)
        golden = {"state": tables(told.truth()), "events": told.log()}
        (GOLDEN / f"{chosen}.json").write_text(json.dumps(golden, indent=1, sort_keys=True) + "\n")
