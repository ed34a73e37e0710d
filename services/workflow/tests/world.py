"""A catalog and stage services in memory, for tests of pure planning and reconciling. Real ones are used in tests/."""

import hashlib

from marin.catalog.v1.catalog_pb2 import Artifact
from marin.common.v1 import job_pb2
from marin_artifacts.identity import build_key, semantic_dict
from marin_chassis.engine import EngineError
from marin_workflow.core.graph import spec_of


class FakeWorld:
    """Implements the reconcile step's ``Actions``. ``finish`` and ``fail`` play the workers."""

    def __init__(self):
        self.artifacts, self.jobs, self.specs = {}, {}, {}
        self.created, self.cancelled, self.away = [], [], set()

    async def artifact(self, project, name, version):
        if version in ("latest", "final"):
            found = [a for (n, v), a in self.artifacts.items() if n == name and (version == "latest" or v != "dev")]
            return found[-1] if found else None
        return self.artifacts.get((name, version))

    async def find(self, project, key):
        return next((a for a in self.artifacts.values() if a.build_key == key), None)

    async def identity_of(self, artifact, spec_type):
        return self.specs[artifact.build_key], {i.role: i.content_digest for i in artifact.inputs}

    async def adopt(self, source, target):
        copy = Artifact()
        copy.CopyFrom(source)
        copy.target.CopyFrom(target)
        self.artifacts[(target.name, target.version)] = copy
        return copy

    async def create_job(self, node, inputs, request_id):
        if node.kind in self.away:
            raise EngineError("away", hint="wait", reason="UNREACHABLE", code="UNAVAILABLE", retryable=True)
        job = self.jobs.setdefault(
            request_id, job_pb2.Job(id=request_id, state=job_pb2.JOB_STATE_PENDING, kind=node.kind)
        )
        job.target.CopyFrom(node.target)
        del job.inputs[:]
        job.inputs.extend(inputs)
        job.build_key = build_key(node.kind, spec_of(node), {i.role: i.content_digest for i in inputs})
        self.specs[job.build_key] = semantic_dict(spec_of(node))
        self.created.append(node.id)
        return job

    async def job(self, node, job_id):
        return self.jobs[job_id]

    async def cancel_job(self, node, job_id, reason):
        self.cancelled.append(job_id)
        self.jobs[job_id].state = job_pb2.JOB_STATE_CANCELLED

    def finish(self, job_id, content=None):
        job = self.jobs[job_id]
        digest = "sha256:" + hashlib.sha256((content or job.build_key).encode()).hexdigest()
        artifact = Artifact(
            target=job.target, kind=job.kind, build_key=job.build_key, content_digest=digest, inputs=job.inputs
        )
        self.artifacts[(job.target.name, job.target.version)] = artifact
        job.state = job_pb2.JOB_STATE_SUCCEEDED

    def fail(self, job_id):
        self.jobs[job_id].state = job_pb2.JOB_STATE_FAILED
        self.jobs[job_id].error.message = "broken"
