"""Jobs run in this process with real Beam, and the hub is a server on this machine."""

import gzip
import importlib.util
import json
import os
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("hub_stub", Path(__file__).with_name("hub_stub.py"))
hub_stub = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hub_stub)

HUB = hub_stub.Hub()
os.environ.update(HF_ENDPOINT=HUB.endpoint, MARIN_HUB_FIRST_PAUSE="0.01", HF_HUB_DISABLE_TELEMETRY="1")
os.environ.pop("HF_HUB_OFFLINE", None)

from google.protobuf.json_format import ParseDict  # noqa: E402

from marin.data.v1 import data_pb2  # noqa: E402
from marin_artifacts.identity import spec_dict  # noqa: E402
from marin_chassis.engine import EngineError, Job  # noqa: E402
from marin_data import engine  # noqa: E402

MESSAGES = {
    "documents": data_pb2.RunPipelineSpec,
    "conversations": data_pb2.ConvertConversationsSpec,
    "problems": data_pb2.ConvertProblemsSpec,
}


@pytest.fixture
def hub():
    HUB.files.clear()
    HUB.failures.clear()
    HUB.served = 0
    return HUB


class Runs:
    """Runs jobs of this service below one directory."""

    def __init__(self, root: Path) -> None:
        self.root, self.count = root, 0

    def job(self, kind: str, spec: dict) -> Job:
        self.count += 1
        place = self.root / f"attempt{self.count}"
        job = Job(
            kind, spec_dict(ParseDict(spec, MESSAGES[kind]())), {}, place / "out", place / "record", place / "scratch"
        )
        for path in (job.out, job.record, job.scratch):
            path.mkdir(parents=True)
        return job

    def __call__(self, kind: str, spec: dict) -> Job:
        job = self.job(kind, spec)
        engine.run(job)
        return job

    def fails(self, kind: str, spec: dict) -> EngineError:
        job = self.job(kind, spec)
        with pytest.raises(EngineError) as e:
            engine.run(job)
        assert e.value.hint
        assert not list(job.out.rglob("counts.json")), "a failed job must not look finished"
        return e.value


@pytest.fixture
def run(tmp_path):
    return Runs(tmp_path)


def rows_of(directory: Path) -> list[dict]:
    return [json.loads(line) for shard in sorted(directory.iterdir()) for line in gzip.open(shard)]


def tree(directory: Path) -> dict[str, bytes]:
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


@pytest.fixture(scope="session")
def helpers():
    return {"rows_of": rows_of, "tree": tree}
