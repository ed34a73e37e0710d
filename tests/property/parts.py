"""The world around the control plane's core, in memory, with faults at named points."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from google.protobuf.json_format import MessageToDict, ParseDict

from marin.client.read_model import ReadModel
from marin.workflow.v1 import workflow_pb2 as wf
from marin_artifacts.digest import content_digest
from marin_artifacts.identity import build_key, semantic_dict, spec_dict
from marin_catalog import convert
from marin_catalog.core.artifacts import Artifacts
from marin_catalog.core.builds import Builds, Registration
from marin_catalog.core.context import Context
from marin_catalog.core.errors import NotFound
from marin_catalog.core.leases import Commit
from marin_catalog.core.model import SECOND, Change, FileEntry, Manifest, RetryPolicy, Target
from marin_catalog.store.memory import MemoryStore
from marin_chassis.bus import BusError
from marin_chassis.stage import job_of
from marin_workflow.core.graph import spec_of

PROJECT = "default"
RETRY = RetryPolicy(max_attempts=3, backoff_base=2 * SECOND, backoff_max=8 * SECOND)
BEFORE, AFTER = "before the transaction", "after the transaction, before the answer"
REFUSED, ACK_LOST = "refused by the bus", "stored by the bus, answer lost"


class Crash(Exception):
    """The process died at the named point."""


class Clock:
    """``true`` is time that went by, ``offset`` what somebody did to the wall clock; both in microseconds."""

    def __init__(self) -> None:
        self.true, self.offset = 0, 1_700_000_000 * SECOND

    def __call__(self) -> int:
        return self.true + self.offset

    def monotonic(self) -> float:
        return self.true / SECOND


class FaultyStore(MemoryStore):
    """Dies once at the point that ``fault`` names, and keeps every change that was written."""

    def __init__(self) -> None:
        super().__init__()
        self.fault, self.history = "", list[tuple[int, Change]]()

    async def apply(self, change: Change) -> int:
        fault, self.fault = self.fault, ""
        if fault == BEFORE:
            raise Crash(fault)
        sequence = await super().apply(change)
        self.history.append((sequence, change))
        if fault == AFTER:
            raise Crash(fault)
        return sequence


class FakeBus:
    """A stream that drops known message ids, until it forgets them or is lost."""

    def __init__(self) -> None:
        self.stream: list[dict[str, Any]] = []
        self.ids: set[str] = set()
        self.fault, self.newest = "", 0

    async def publish(self, subject: str, data: dict[str, Any], msg_id: str) -> bool:
        fault, self.fault = self.fault, ""
        if fault == REFUSED:
            raise BusError(fault)
        new = msg_id not in self.ids
        self.newest = max(self.newest, data["sequence"])
        if new:
            self.ids.add(msg_id)
            self.stream.append(data)
        if fault == ACK_LOST:
            raise BusError(fault)
        return new


@dataclass
class Consumer:
    """A subscriber with an inbox: the effect and the event's id are written together, or not at all."""

    model: ReadModel = field(default_factory=ReadModel)
    inbox: set[str] = field(default_factory=set)
    effects: Counter[str] = field(default_factory=Counter)
    waiting: list[dict[str, Any]] = field(default_factory=list)
    read: int = 0

    def fetch(self, bus: FakeBus) -> None:
        """Puts what is new on the stream among the deliveries under way."""
        self.waiting += bus.stream[self.read :]
        self.read = len(bus.stream)

    def known(self, event: dict[str, Any]) -> bool:
        return event["id"] in self.inbox

    def take(self, position: int, acknowledged: bool) -> None:
        """Handles one delivery; a lost acknowledgement leaves it to be delivered again."""
        event = self.waiting[position]
        if not self.known(event):
            self.model.apply(event)
            self.effects[event["id"]] += 1
            self.inbox.add(event["id"])
        if acknowledged:
            del self.waiting[position]


@dataclass
class Worker:
    """One claim and what its holder believes. ``renewed`` is true time of the last renewal that the catalog took."""

    build_id: str
    epoch: int
    ttl: int
    renewed: int

    def commit(self, data: str) -> Commit:
        sha = hashlib.sha256(data.encode()).hexdigest()
        files = (FileEntry("data", len(data), sha),)
        uri = f"file:///{self.build_id}/{self.epoch}"
        return Commit(self.build_id, self.epoch, content_digest(files), Manifest(files, ()), uri, {}, data)


class CoreWorld:
    """The hands of the workflow's reconcile step, on the catalog's use cases."""

    def __init__(self, context: Context) -> None:
        self._store, self._builds, self._artifacts = context.store, Builds(context), Artifacts(context)

    async def artifact(self, project: str, name: str, version: str) -> Any:
        found = await self._store.artifact(Target(project, name, version))
        return convert.artifact(found) if found else None

    async def find(self, project: str, key: str) -> Any:
        try:
            return convert.artifact(await self._artifacts.find(project, key))
        except NotFound:
            return None

    async def identity_of(self, artifact: Any, spec_type: type) -> tuple[dict[str, Any], dict[str, str]]:
        build = convert.build(await self._builds.get(artifact.build_id))
        spec = ParseDict(MessageToDict(build.spec), spec_type())
        return semantic_dict(spec), {i.role: i.content_digest for i in artifact.inputs}

    async def adopt(self, source: Any, target: Any) -> Any:
        to = convert.target_of(target)
        return convert.artifact(await self._artifacts.adopt(convert.target_of(source.target), to, target.supersedes))

    async def create_job(self, node: wf.Node, inputs: list[Any], request_id: str) -> Any:
        wanted = Registration(
            request_id,
            node.kind,
            convert.target_of(node.target),
            build_key(node.kind, spec_of(node), {i.role: i.content_digest for i in inputs}),
            spec_dict(spec_of(node)),
            convert.inputs_of(inputs),
            RETRY,
            node.target.supersedes,
        )
        return job_of(convert.build(await self._builds.register(wanted)))

    async def job(self, node: wf.Node, job_id: str) -> Any:
        return job_of(convert.build(await self._builds.get(job_id)))

    async def cancel_job(self, node: wf.Node, job_id: str, reason: str) -> None:
        await self._builds.cancel(job_id, reason)


def graph(version: str, vocab: int) -> wf.Graph:
    """docs -> tokenizer -> tokens <- docs, and talk beside them."""
    g = wf.Graph(name="g", project=PROJECT)
    docs = g.nodes.add(id="docs", kind="documents")
    docs.run_pipeline.shards = 1
    tokenizer = g.nodes.add(id="tok", kind="tokenizer")
    tokenizer.train_tokenizer.vocab_size = vocab
    tokenizer.inputs.add(role="documents", node_id="docs")
    tokens = g.nodes.add(id="tokens", kind="tokens")
    tokens.tokenize.SetInParent()
    tokens.inputs.add(role="documents", node_id="docs")
    tokens.inputs.add(role="tokenizer", node_id="tok")
    talk = g.nodes.add(id="talk", kind="conversations")
    talk.convert_conversations.shards = 1
    for node in g.nodes:
        node.target.project, node.target.name, node.target.version = PROJECT, f"n/{node.id}", version
    return g


def registration(name: str, version: str, key: str, request_id: str = "") -> Registration:
    target = Target(PROJECT, name, version)
    return replace(Registration("", "documents", target, key * 64, {}, (), RETRY), request_id=request_id)
