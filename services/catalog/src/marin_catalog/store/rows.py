"""Records to rows and back."""

import json
from dataclasses import fields
from typing import Any

from sqlalchemy import Row

from marin_catalog.core.model import (
    Artifact,
    Attempt,
    Build,
    Event,
    Failure,
    FileEntry,
    Input,
    Manifest,
    Outcome,
    Progress,
    Request,
    RetryPolicy,
    Run,
    State,
    Target,
    Unreferenced,
)


def build_row(b: Build) -> dict[str, Any]:
    row = _plain(b)
    row |= (
        _target(row.pop("target"))
        | _plain(row.pop("retry"))
        | {
            "slot": b.slot,
            "spec": _dumps(b.spec),
            "inputs": _inputs(b.inputs),
            "state": b.state.value,
            "error": _dumps(vars(b.error)) if b.error else None,
            "progress": _dumps(vars(b.progress)) if b.progress else None,
        }
    )
    return row


def build_of(row: Row) -> Build:
    r = dict(row._mapping)
    del r["slot"]
    r |= {
        "retry": RetryPolicy(r.pop("max_attempts"), r.pop("backoff_base"), r.pop("backoff_max")),
        "target": Target(r.pop("project"), r.pop("name"), r.pop("version")),
        "spec": json.loads(r["spec"]),
        "inputs": _inputs_of(r["inputs"]),
        "state": State(r["state"]),
        "error": Failure(**json.loads(r["error"])) if r["error"] else None,
        "progress": Progress(**json.loads(r["progress"])) if r["progress"] else None,
    }
    return Build(**r)


def attempt_row(a: Attempt) -> dict[str, Any]:
    return _plain(a) | {
        "request_id": a.request_id or None,
        "outcome": a.outcome.value,
        "error": _dumps(vars(a.error)) if a.error else None,
        "facts": _dumps(a.facts),
    }


def attempt_of(row: Row) -> Attempt:
    r = {name: row._mapping[name] for name in _ATTEMPT_COLUMNS}
    r |= {
        "request_id": r["request_id"] or "",
        "outcome": Outcome(r["outcome"]),
        "error": Failure(**json.loads(r["error"])) if r["error"] else None,
        "facts": json.loads(r["facts"]),
    }
    return Attempt(**r)


_ATTEMPT_COLUMNS = [f.name for f in fields(Attempt)]


def unreferenced_of(row: Row) -> Unreferenced:
    target = Target(row.of_project, row.of_name, row.of_version)
    return Unreferenced(attempt_of(row), row.of_kind, target, bool(row.overwritten))


def artifact_row(a: Artifact) -> dict[str, Any]:
    row = _plain(a)
    return (
        row
        | _target(row.pop("target"))
        | {
            "held": held_by(a.target),
            "summary": _dumps(a.summary),
            "inputs": _inputs(a.inputs),
        }
    )


def artifact_of(row: Row) -> Artifact:
    r = dict(row._mapping)
    for name in r.keys() - _ARTIFACT_COLUMNS:
        del r[name]
    r |= {
        "target": Target(r.pop("project"), r.pop("name"), r.pop("version")),
        "summary": json.loads(r["summary"]),
        "inputs": _inputs_of(r["inputs"]),
    }
    return Artifact(**r)


_ARTIFACT_COLUMNS = {f.name for f in fields(Artifact)} - {"target"} | {"project", "name", "version"}


def held_by(t: Target) -> str:
    """What the "held" column of an artifact says while the address is its own."""
    return f"{t.project}/{t.address}"


def manifest_row(build_id: str, attempt: int, m: Manifest) -> dict[str, Any]:
    return {"build_id": build_id, "attempt": attempt, "content": _files(m.content), "record": _files(m.record)}


def manifest_of(row: Row) -> Manifest:
    return Manifest(_files_of(row.content), _files_of(row.record))


def event_row(e: Event) -> dict[str, Any]:
    return _plain(e) | {"payload": _dumps(e.payload)}


def event_of(row: Row) -> Event:
    r = dict(row._mapping)
    return Event(**r | {"payload": json.loads(r["payload"])})


def run_row(r: Run) -> dict[str, Any]:
    return _plain(r)


def run_of(row: Row) -> Run:
    return Run(**row._mapping)


def request_row(r: Request) -> dict[str, Any]:
    return _plain(r)


def request_of(row: Row) -> Request:
    return Request(**row._mapping)


def _plain(record: Any) -> dict[str, Any]:
    return {f.name: getattr(record, f.name) for f in fields(record)}


def _target(t: Target) -> dict[str, str]:
    return {"project": t.project, "name": t.name, "version": t.version}


def _dumps(value: Any) -> str:
    # NaN and infinities are kept: a loss that diverged is a fact.
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _inputs(inputs: tuple[Input, ...]) -> str:
    return _dumps([[i.role, i.address, i.content_digest, i.artifact] for i in inputs])


def _inputs_of(text: str) -> tuple[Input, ...]:
    return tuple(Input(*i) for i in json.loads(text))


def _files(files: tuple[FileEntry, ...]) -> str:
    return _dumps([[f.path, f.size, f.sha256] for f in files])


def _files_of(text: str) -> tuple[FileEntry, ...]:
    return tuple(FileEntry(*f) for f in json.loads(text))
