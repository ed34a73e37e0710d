"""What the event log alone says: the state of every build, address and run, folded from events in any order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from marin.catalog.v1 import catalog_pb2 as pb
from marin.common.v1 import job_pb2

BUILD = ("kind", "address", "build_key", "state", "attempt", "epoch")
ARTIFACT = ("kind", "content_digest", "build_key", "build_id", "attempt", "uri", "bytes", "files", "adopted_from")
RUN = ("name", "state", "revision")
Table = dict[str, dict[str, Any]]


@dataclass
class ReadModel:
    """Three tables: builds by id, artifacts by ``project/name@version``, runs by id.

    :meth:`apply` may get events twice and out of order: the event of a record with the largest number counts.
    """

    builds: Table = field(default_factory=dict)
    artifacts: Table = field(default_factory=dict)
    runs: Table = field(default_factory=dict)
    _newest: dict[tuple[str, str], int] = field(default_factory=dict, repr=False, compare=False)

    def apply(self, event: Mapping[str, Any]) -> None:
        """Takes one event as subscribers get it. Types and fields that this version does not know change nothing."""
        sequence = int(event["sequence"])
        if b := event.get("build"):
            self._put("builds", b["id"], sequence, {k: b[k] for k in BUILD})
        if a := event.get("artifact"):
            self._put("artifacts", f"{event['project']}/{a['address']}", sequence, {k: a[k] for k in ARTIFACT})
            if event["type"] == "artifact.committed":
                self._succeeded(a, sequence)
        if r := event.get("run"):
            self._put("runs", r["id"], sequence, {k: r[k] for k in RUN})

    def _succeeded(self, a: Mapping[str, Any], sequence: int) -> None:
        """A commit is the end of its build, which has no event of its own."""
        build = {k: a[k] for k in ("kind", "address", "build_key", "attempt")}
        # Each claim draws one number and one epoch.
        self._put("builds", a["build_id"], sequence, {**build, "state": "SUCCEEDED", "epoch": a["attempt"]})

    def _put(self, table: str, key: str, sequence: int, record: dict[str, Any]) -> None:
        if sequence > self._newest.get((table, key), 0):
            self._newest[table, key] = sequence
            getattr(self, table)[key] = {k: _whole(v) for k, v in record.items()}

    def differences(self, other: "ReadModel") -> list[str]:
        """One line for each field that differs, ``table key field: mine != other's``."""
        lines = []
        for table in ("builds", "artifacts", "runs"):
            mine, others = getattr(self, table), getattr(other, table)
            for key in sorted(mine.keys() | others.keys()):
                a, b = mine.get(key, {}), others.get(key, {})
                fields = sorted(a.keys() | b.keys())
                lines += [f"{table} {key} {f}: {a.get(f)!r} != {b.get(f)!r}" for f in fields if a.get(f) != b.get(f)]
        return lines


def from_catalog(builds: list[pb.Build], artifacts: list[pb.Artifact], runs: list[pb.Run]) -> ReadModel:
    """The same tables as the catalog's own records tell them."""
    model = ReadModel()
    for b in builds:
        state = job_pb2.JobState.Name(b.state).removeprefix("JOB_STATE_")
        address = f"{b.target.name}@{b.target.version}"
        model.builds[b.id] = {
            "kind": b.kind,
            "address": address,
            "build_key": b.build_key,
            "state": state,
            "attempt": b.attempt,
            "epoch": b.epoch,
        }
    for a in artifacts:
        key = f"{a.target.project}/{a.target.name}@{a.target.version}"
        model.artifacts[key] = {k: getattr(a, k) for k in ARTIFACT}
    for r in runs:
        model.runs[r.id] = {k: getattr(r, k) for k in RUN}
    return model


def _whole(value: Any) -> Any:
    """Numbers of a protobuf Struct are floats; those here are all whole."""
    return int(value) if isinstance(value, float) else value
