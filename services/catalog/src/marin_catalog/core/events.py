"""Making and reading entries of the event log."""

import uuid
from datetime import UTC, datetime
from typing import Any

from marin_catalog.core.model import SECOND, Artifact, Build, Event, Run


def build_event(type_: str, build: Build, now: int) -> Event:
    """An event about a build: registered, claimed, requeued, succeeded, failed or cancelled.

    A commit has no build event of its own; "succeeded" is for a build whose address held the same bytes already."""
    payload: dict[str, Any] = {
        "id": build.id,
        "kind": build.kind,
        "address": build.target.address,
        "build_key": build.build_key,
        "state": build.state.value,
        "attempt": build.attempt,
        "epoch": build.epoch,
        "holder": build.lease_holder,
    }
    if build.error:
        payload["error"] = vars(build.error)
    subject = f"marin.builds.v1.{build.target.project}.{_token(build.kind)}.{type_}"
    return _event(f"build.{type_}", subject, build.target.project, {"build": payload}, now)


def artifact_event(type_: str, artifact: Artifact, now: int) -> Event:
    """An event about an artifact: committed or adopted."""
    payload = {
        "address": artifact.target.address,
        "name": artifact.target.name,
        "version": artifact.target.version,
        "kind": artifact.kind,
        "content_digest": artifact.content_digest,
        "build_key": artifact.build_key,
        "build_id": artifact.build_id,
        "attempt": artifact.attempt,
        "uri": artifact.uri,
        "bytes": artifact.bytes,
        "files": artifact.files,
        "headline": artifact.headline,
        "adopted_from": artifact.adopted_from,
        "inputs": [{"role": i.role, "address": i.address, "content_digest": i.content_digest} for i in artifact.inputs],
    }
    subject = f"marin.artifacts.v1.{artifact.target.project}.{_token(artifact.kind)}.{type_}"
    return _event(f"artifact.{type_}", subject, artifact.target.project, {"artifact": payload}, now)


def run_event(type_: str, run: Run, now: int) -> Event:
    """An event about a run: created or updated."""
    payload = {"id": run.id, "name": run.name, "state": run.state, "revision": run.revision + 1}
    return _event(f"run.{type_}", f"marin.runs.v1.{run.project}.{run.state}", run.project, {"run": payload}, now)


def envelope(event: Event) -> dict[str, Any]:
    """The whole JSON object that subscribers of the bus and readers of the log get."""
    return {
        "id": event.id,
        "sequence": event.sequence,
        "type": event.type,
        "project": event.project,
        "time": datetime.fromtimestamp(event.time / SECOND, UTC).isoformat(timespec="microseconds"),
        **event.payload,
    }


def _event(type_: str, subject: str, project: str, payload: dict[str, Any], now: int) -> Event:
    return Event(uuid.uuid4().hex, type_, subject, project, payload, now)


def _token(kind: str) -> str:
    """A kind as one token of a bus subject."""
    return kind.replace(".", "-")
