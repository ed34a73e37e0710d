"""The worker loop of a stage service: claim a build, run its engine process, keep the lease, commit or record the failure."""

import asyncio
import json
import logging
import os
import shutil
import signal
import socket
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct

from marin.catalog.v1 import catalog_pb2, catalog_service_pb2 as pb
from marin.common.v1 import artifact_pb2, job_pb2
from marin_artifacts.digest import content_digest, scan
from marin_artifacts.identity import spec_dict
from marin_chassis.client import CatalogClient, is_lost_lease
from marin_chassis.config import ServiceConfig
from marin_chassis.engine import EXIT_DONE, EXIT_STOPPED, EngineError, write_json
from marin_chassis.errors import to_status
from marin_chassis.events import EventTail
from marin_chassis.facts import process_facts
from marin_chassis.layout import attempt_dir, scratch_dir
from marin_contracts.kinds import KINDS

log = logging.getLogger("marin.worker")
LOG_TAIL_BYTES = 4096
STOP_GRACE_SECONDS = 20.0


class Worker:
    """Builds the kinds of one stage, one at a time. ``specs`` maps kind to its spec message class."""

    def __init__(self, package: str, specs: dict[str, type], config: ServiceConfig, catalog: CatalogClient) -> None:
        self._package, self._specs, self._config, self._catalog = package, specs, config, catalog
        self._holder = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:8]}"
        self._ttl = Duration()
        self._ttl.FromMilliseconds(int(config.lease_seconds * 1000))
        self._process: asyncio.subprocess.Process | None = None
        self._draining = False
        self._facts: dict[str, str] = {}

    async def run(self) -> None:
        """Claims and builds for ever. A catalog that is away is waited for."""
        self._facts = await asyncio.to_thread(process_facts)
        wait = Duration(seconds=10)
        while not self._draining:
            try:
                request = pb.ClaimBuildRequest(
                    kinds=list(self._specs),
                    holder=self._holder,
                    host=socket.gethostname(),
                    ttl=self._ttl,
                    wait=wait,
                    request_id=uuid.uuid4().hex,
                )
                claimed = await self._catalog.ClaimBuild(request, patience=3600)
                if claimed.HasField("build"):
                    await self._attempt(claimed.build)
            except EngineError as e:
                log.warning("worker: %s (%s)", e.message, e.reason)
                await asyncio.sleep(0.5)

    async def drain(self) -> None:
        """Stops claiming, tells a running engine to save and end, and waits for it."""
        self._draining = True
        process = self._process
        if process and process.returncode is None:
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), STOP_GRACE_SECONDS)
            except TimeoutError:
                process.kill()
            await asyncio.sleep(0.2)

    async def _attempt(self, build: catalog_pb2.Build) -> None:
        directory = attempt_dir(self._config.store_root, build)
        log.info("attempt %d of %s (%s) in %s", build.attempt, build.target.name, build.kind, directory)
        try:
            await self._prepare(build, directory)
            code = await self._run_engine(build, directory)
            if code == EXIT_DONE:
                await self._commit(build, directory)
            else:
                await self._fail(build, directory, failure_of(directory, code))
        except EngineError as e:
            if is_lost_lease(e):
                log.warning("lease of build %s lost: its work is discarded", build.id)
                return
            await self._fail(build, directory, e.as_dict())
        except OSError as e:
            error = EngineError(
                f"{build.kind} could not use {directory}: {e}",
                hint="make the store writable and give it space",
                reason="STORE_NOT_WRITABLE",
                code="FAILED_PRECONDITION",
            )
            await self._fail(build, directory, error.as_dict())
        except Exception as e:
            log.exception("attempt of %s", build.id)
            error = EngineError(
                f"the {self._package} worker failed: {type(e).__name__}: {e}",
                hint="this is a fault of the service: its log holds the trace",
                reason="WORKER_FAULT",
                code="INTERNAL",
            )
            await self._fail(build, directory, error.as_dict())

    async def _prepare(self, build: catalog_pb2.Build, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        inputs = {}
        for ref in build.inputs:
            name, _, version = ref.address.rpartition("@")
            target = artifact_pb2.ArtifactTarget(project=build.target.project, name=name, version=version)
            artifact = (await self._catalog.GetArtifact(pb.GetArtifactRequest(target=target))).artifact
            if artifact.content_digest != ref.content_digest:
                raise EngineError(
                    f"input {ref.role}={ref.address} now has digest {artifact.content_digest}, planned was {ref.content_digest}",
                    hint="run the graph again so that it is planned on what is there",
                    reason="INPUT_CHANGED",
                    code="FAILED_PRECONDITION",
                )
            root = Path(artifact.uri.removeprefix("file://"))
            inputs[ref.role] = {
                "path": str(root / "out"),
                "record": str(root / "record"),
                "address": ref.address,
                "kind": artifact.kind,
                "content_digest": artifact.content_digest,
            }
        spec = spec_dict(ParseDict(MessageToDict(build.spec), self._specs[build.kind]()))
        write_json(
            directory / "job.json",
            {
                "kind": build.kind,
                "spec": spec,
                "inputs": inputs,
                "scratch": str(scratch_dir(self._config.store_root, build)),
                "build_id": build.id,
                "build_key": build.build_key,
                "address": f"{build.target.name}@{build.target.version}",
                "attempt": build.attempt,
                "endpoints": endpoints(self._config),
            },
        )

    async def _run_engine(self, build: catalog_pb2.Build, directory: Path) -> int:
        record = directory / "record"
        record.mkdir(exist_ok=True)
        command = [sys.executable, "-P", "-m", f"{self._package}.engine", str(directory)]
        cache = Path(self._config.workspace).resolve() / "cache"
        env = {
            "MARIN_CACHE_DIR": str(cache),
            **os.environ,
            "MARIN_PARENT_PID": str(os.getpid()),
            "PYTHONUNBUFFERED": "1",
        }
        with open(record / "log.txt", "ab") as out:
            self._process = await asyncio.create_subprocess_exec(*command, stdout=out, stderr=out, env=env)
        process = self._process
        beats = asyncio.create_task(self._heartbeats(build, record, process, " ".join(command)))
        try:
            code = await process.wait()
        finally:
            beats.cancel()
        ended = (await asyncio.gather(beats, return_exceptions=True))[0]
        if isinstance(ended, EngineError):
            raise ended
        return code

    async def _heartbeats(
        self, build: catalog_pb2.Build, record: Path, process: asyncio.subprocess.Process, command: str
    ) -> None:
        """Keeps the lease; sends new progress soon. Ends the engine on a lost lease (raises) or a cancel (leaves a mark)."""
        tail = EventTail(record / "events.jsonl")
        interval, last, told = self._config.lease_seconds / 4, 0.0, False
        progress: job_pb2.Progress | None = None
        facts = {**self._facts, "engine": KINDS[build.kind].engine}
        renewed = time.monotonic()
        while True:
            fresh = tail.newest_progress()
            progress = fresh or progress
            if fresh is None and time.monotonic() - last < interval:
                await asyncio.sleep(0.1)
                continue
            last = time.monotonic()
            request = pb.HeartbeatRequest(
                build_id=build.id,
                epoch=build.epoch,
                ttl=self._ttl,
                progress=progress,
                command=command,
                uri=f"file://{record.parent}",
                facts=facts,
            )
            try:
                response = await self._catalog.Heartbeat(request, patience=0.5, timeout=self._config.lease_seconds)
                renewed = time.monotonic()
                facts = {}  # they are kept with the attempt
                if response.cancel_requested and not told:
                    told = True
                    (record / "cancelled").touch()
                    process.terminate()
                    asyncio.get_running_loop().call_later(STOP_GRACE_SECONDS, _kill, process)
            except EngineError as e:
                if is_lost_lease(e):
                    _kill(process)
                    raise
                log.warning(
                    "heartbeat of %s: %s, lease renewed %.1f s ago", build.id, e.message, time.monotonic() - renewed
                )
            await asyncio.sleep(0.1)

    async def _commit(self, build: catalog_pb2.Build, directory: Path) -> None:
        result = json.loads((directory / "record" / "result.json").read_text())
        manifest, digest = await asyncio.to_thread(_manifest, directory)
        summary = Struct()
        summary.update(result.get("summary", {}))
        request = pb.CommitArtifactRequest(
            build_id=build.id,
            epoch=build.epoch,
            content_digest=digest,
            manifest=manifest,
            uri=f"file://{directory}",
            summary=summary,
            headline=result.get("headline", ""),
        )
        keep = asyncio.create_task(self._keep_lease(build))
        try:
            await self._catalog.CommitArtifact(request, patience=600)
        finally:
            keep.cancel()
        shutil.rmtree(scratch_dir(self._config.store_root, build), ignore_errors=True)
        log.info("committed %s@%s %s", build.target.name, build.target.version, digest)

    async def _keep_lease(self, build: catalog_pb2.Build) -> None:
        while True:
            await asyncio.sleep(self._config.lease_seconds / 4)
            try:
                await self._catalog.Heartbeat(pb.HeartbeatRequest(build_id=build.id, epoch=build.epoch, ttl=self._ttl))
            except EngineError:
                return

    async def _fail(self, build: catalog_pb2.Build, directory: Path, error: dict[str, Any]) -> None:
        log.warning("attempt %d of %s failed: %s", build.attempt, build.target.name, error["message"])
        request = pb.FailBuildRequest(
            build_id=build.id,
            epoch=build.epoch,
            error=to_status(error),
            retryable=bool(error.get("retryable")),
            cancelled=(directory / "record" / "cancelled").exists(),
            log_tail=log_tail(directory),
        )
        try:
            await self._catalog.FailBuild(request, patience=600)
        except EngineError as e:
            if not is_lost_lease(e):
                raise


def endpoints(config: ServiceConfig) -> dict[str, str]:
    """Peers that engines may call, by service name, from ``MARIN_<SERVICE>_ENDPOINT``."""
    found = {"catalog": config.catalog}
    for name, value in os.environ.items():
        if name.startswith("MARIN_") and name.endswith("_ENDPOINT"):
            found[name.removeprefix("MARIN_").removesuffix("_ENDPOINT").lower()] = value
    return found


def failure_of(directory: Path, code: int) -> dict[str, Any]:
    """The error record of an attempt that ended with ``code``: the engine's own, or what its death says."""
    own = directory / "record" / "error.json"
    if own.exists():
        return json.loads(own.read_text())
    if code == EXIT_STOPPED:
        what, reason, hint = (
            "was stopped before it finished",
            "PREEMPTED",
            "it goes on from its last checkpoint when tried again",
        )
    elif code < 0:
        what, reason = f"was killed by signal {-code}", "ENGINE_KILLED"
        hint = "signal 9 is often the kernel's out-of-memory killer: see the memory use, or lower batch sizes; it is tried again"
    else:
        what, reason, hint = f"ended with exit status {code}", "ENGINE_CRASHED", "see the log tail of the attempt"
    return {
        "code": "ABORTED",
        "reason": reason,
        "message": f"the engine process {what}",
        "hint": hint,
        "retryable": True,
        "metadata": {"exit_status": str(code), **({"signal": signal.Signals(-code).name} if code < 0 else {})},
    }


def log_tail(directory: Path) -> str:
    """The last lines of an attempt's log."""
    path = directory / "record" / "log.txt"
    if not path.exists():
        return ""
    with open(path, "rb") as f:
        f.seek(max(0, path.stat().st_size - LOG_TAIL_BYTES))
        return f.read().decode(errors="replace")


def _manifest(directory: Path) -> tuple[catalog_pb2.Manifest, str]:
    try:
        content, record = scan(directory / "out", sync=True), scan(directory / "record")
    except ValueError as e:
        raise EngineError(
            str(e), hint="this is a fault of the engine: report it", reason="BAD_ARTIFACT", code="INTERNAL"
        ) from e
    if not content:
        raise EngineError(
            f"the engine finished without writing a file below {directory}/out",
            hint="this is a fault of the engine: report it",
            reason="EMPTY_ARTIFACT",
            code="INTERNAL",
        )
    manifest = catalog_pb2.Manifest(
        content=[catalog_pb2.ManifestFile(path=e.path, size=e.size, sha256=e.sha256) for e in content],
        record=[catalog_pb2.ManifestFile(path=e.path, size=e.size, sha256=e.sha256) for e in record],
    )
    digest = content_digest(content)
    write_json(directory / "manifest.json", {"content_digest": digest, "content": [vars(e) for e in content]})
    return manifest, digest


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
