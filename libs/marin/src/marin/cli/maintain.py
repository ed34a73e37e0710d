"""Upkeep: ``marin events list | replay | dead``, ``marin rebuild-stream`` and ``marin gc``."""

import argparse
import shutil
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict

from marin.catalog.v1 import catalog_pb2, catalog_service_pb2 as catalog_pb
from marin.cli.output import clean, print_json, print_table, size
from marin.client.errors import MarinError
from marin.client.read_model import ReadModel, from_catalog
from marin.client.session import Session, open_session

DAY = 86_400.0
QUARANTINE = ".quarantine"


def events(args: argparse.Namespace) -> int:
    """Prints the log, or does with it what ``args.what`` says."""
    from marin.cli import inspect

    return {"list": inspect.events, "replay": _replay, "dead": _dead}[args.what](args)


def _replay(args: argparse.Namespace) -> int:
    """Builds the read model from the log alone and compares it with the catalog's own records."""
    with open_session(Path(args.workspace), ("catalog",)) as session:
        before = None
        while True:  # until nothing was written between the reading of the records and the end of the log
            truth = from_catalog(*_records(session))
            model, last = _fold(session)
            if last == before or not model.differences(truth):
                break
            before = last
    lines = model.differences(truth)
    counts = {"events": last, "builds": len(model.builds), "artifacts": len(model.artifacts), "runs": len(model.runs)}
    if args.output == "json":
        print_json({**counts, "differences": lines})
    else:
        print("  ".join(f"{n} {what}" for what, n in counts.items()))
        print("\n".join(map(clean, lines)) if lines else "the log and the catalog say the same")
    return 1 if lines else 0


def _fold(session: Session) -> tuple[ReadModel, int]:
    model, last = ReadModel(), 0
    while page := session.call(session.catalog.ListEvents, catalog_pb.ListEventsRequest(from_sequence=last + 1)).events:
        for event in page:
            model.apply(MessageToDict(event.payload))
            last = event.sequence
    return model, last


def _records(session: Session) -> tuple[list[Any], list[Any], list[Any]]:
    projects = set()
    last = 0
    while page := session.call(session.catalog.ListEvents, catalog_pb.ListEventsRequest(from_sequence=last + 1)).events:
        projects |= {e.project for e in page}
        last = page[-1].sequence
    builds, artifacts, runs = [], [], []
    for project in sorted(projects):
        builds += session.builds(project)
        artifacts += session.artifacts(project)
        runs += session.call(session.catalog.ListRuns, catalog_pb.ListRunsRequest(project=project, page_size=1000)).runs
    return builds, artifacts, runs


def _dead(args: argparse.Namespace) -> int:
    """Events that a subscriber gave up on; with --replay they are published again."""
    with open_session(Path(args.workspace), ("catalog",)) as session:
        if args.replay:
            request = catalog_pb.ReplayDeadLettersRequest(sequences=args.letter, consumer=args.consumer)
            letters = session.call(session.catalog.ReplayDeadLetters, request).letters
        else:
            request = catalog_pb.ListDeadLettersRequest(consumer=args.consumer)
            letters = session.call(session.catalog.ListDeadLetters, request).letters
    if args.output == "json":
        print_json([MessageToDict(x, preserving_proto_field_name=True) for x in letters])
    elif letters:
        rows = [(x.sequence, clean(x.consumer), clean(x.subject), x.deliveries, clean(x.error)) for x in letters]
        print_table(("letter", "consumer", "subject", "tries", "error"), rows)
        if args.replay:
            print(f"{len(letters)} published again")
    else:
        print("no dead letters")
    return 0


def rebuild_stream(args: argparse.Namespace) -> int:
    """Sends the event log to the bus again."""
    with open_session(Path(args.workspace), ("catalog",)) as session:
        request = catalog_pb.RebuildStreamRequest(from_sequence=args.start)
        count = session.call(session.catalog.RebuildStream, request).events
    if args.output == "json":
        print_json({"events": count})
    else:
        print(f"{count} events go to the bus again")
    return 0


def gc(args: argparse.Namespace) -> int:
    """Moves what nothing refers to into quarantine, and deletes what has lain there long enough."""
    store = Path(args.store or Path(args.workspace) / "store").resolve()
    with open_session(Path(args.workspace), ("catalog",)) as session:
        request = catalog_pb.ListUnreferencedRequest(project=args.project)
        found = session.call(session.catalog.ListUnreferenced, request).unreferenced
    oldest = time.time() - args.older_than * DAY
    there = [(u, _inside(store, u.uri)) for u in found if u.end_time.ToMicroseconds() / 1e6 <= oldest]
    aside = [(u, path) for u, path in there if path.is_dir()]
    old = [p for p in sorted((store / QUARANTINE).glob("*")) if p.stat().st_mtime <= time.time() - args.keep * DAY]
    rows = [_gc_row("quarantine", path, u.reason) for u, path in aside]
    rows += [_gc_row("delete", path, f"in quarantine for more than {args.keep:g} days") for path in old]
    if not args.dry_run:
        for u, path in aside:
            _put_aside(store, path, u)
        for path in old:
            shutil.rmtree(path)
    if args.output == "json":
        print_json({"dry_run": args.dry_run, "actions": rows})
    elif rows:
        print_table(
            ("", "size", "directory", "why"), [(r["action"], size(r["bytes"]), r["path"], r["reason"]) for r in rows]
        )
        total = size(sum(r["bytes"] for r in rows))
        print(
            f"{total} would be moved or freed"
            if args.dry_run
            else f"{total} moved or freed; quarantine: {store / QUARANTINE}"
        )
    else:
        print("nothing to do", file=sys.stderr)
    return 0


def _inside(store: Path, uri: str) -> Path:
    """The directory of an attempt. Raises MarinError for one that is not below the store."""
    path = Path(uri.removeprefix("file://")).resolve()
    if not uri.startswith("file://") or store not in path.parents or QUARANTINE in path.relative_to(store).parts:
        raise MarinError(
            f"{uri} is not below the store {store}",
            "name the store that the services write to with --store DIR",
            "OTHER_STORE",
        )
    return path


def _put_aside(store: Path, path: Path, u: catalog_pb2.Unreferenced) -> None:
    """One rename; the name says where it came from, so that it can be put back."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    place = store / QUARANTINE / f"{stamp}-{u.build_id[:8]}-{u.attempt}"
    place.mkdir(parents=True)
    (place / "FROM").write_text(f"{path}\n")
    path.rename(place / "attempt")


def _gc_row(action: str, path: Path, reason: str) -> dict[str, Any]:
    total = sum(f.lstat().st_size for f in path.rglob("*") if f.is_file() and not f.is_symlink())
    return {"action": action, "path": str(path), "bytes": total, "reason": reason}
