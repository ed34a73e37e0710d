"""The whole loop for real: vLLM in the inference service's own process, rollouts and weight updates over gRPC.

Needs the inference service's environment (.envs/inference), which ./tools/test and ./tools/marin make.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import grpc
import pyarrow.parquet as pq
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tiny import make_job, make_problems, toy_spec

from marin.inference.v1 import inference_service_pb2
from marin.inference.v1.inference_service_pb2_grpc import InferenceServiceStub
from marin_chassis.engine import EngineError, Stopped
from marin_rl.core.policy import load_model, weights, weights_digest
from marin_rl.core.rollout import CheckStop, Probe, Request
from marin_rl.core.spec import parse
from marin_rl.rollouts import InferenceRollouts

ROOT = Path(__file__).resolve().parents[3]
START_SECONDS = 60
ENGINE_SECONDS = 420


@pytest.fixture(scope="module")
def inference(tmp_path_factory):
    """host:port of a real inference service of our own."""
    python = ROOT / ".envs" / "inference" / "bin" / "python"
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{s.getsockname()[1]}"
    log = tmp_path_factory.mktemp("inference") / "log.txt"
    with open(log, "wb") as out:
        process = subprocess.Popen(
            [str(python), "-m", "marin_inference", "--port", endpoint.rpartition(":")[2]],
            stdout=out,
            stderr=out,
            cwd=log.parent,
            env={k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"},
        )
    try:
        wait_until_up(endpoint, process, log)
        yield endpoint
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


def wait_until_up(endpoint: str, process: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    with grpc.insecure_channel(endpoint) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        while time.monotonic() < deadline and process.poll() is None:
            try:
                stub.Check(health_pb2.HealthCheckRequest(), timeout=2)
                return
            except grpc.RpcError:
                time.sleep(0.2)
    raise AssertionError(f"the inference service did not start:\n{log.read_text()[-3000:]}")


def start_engine(job: Path) -> subprocess.Popen:
    with open(job / "log.txt", "wb") as out:
        return subprocess.Popen([sys.executable, "-m", "marin_rl.engine", str(job)], stdout=out, stderr=out)


def engine(job: Path) -> int:
    return start_engine(job).wait(ENGINE_SECONDS)


def steps_of(job: Path) -> list[dict]:
    file = job / "record" / "events.jsonl"
    events = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return [e for e in events if e["type"] == "progress" and e["phase"] == "grpo"]


@pytest.fixture(scope="module")
def problems(tmp_path_factory):
    return make_problems(tmp_path_factory.mktemp("problems"), "token_share")


def test_grpo_learns_the_toy_reward_through_real_vllm_and_real_weight_sync(inference, policy, problems, tmp_path):
    job = make_job(tmp_path / "a", policy, problems, toy_spec(), endpoint=inference)
    assert engine(job) == 0, (job / "log.txt").read_text()[-3000:]
    record = json.loads((job / "out" / "training.json").read_text())
    rewards = [s["reward"] for s in record["steps"]]
    assert rewards[0] == pytest.approx(0.27, abs=0.06) and min(rewards[-3:]) >= 0.9
    # float32 on both sides: engine and trainer agree on every sampled token of all forty versions.
    assert record["summary"]["max_logprob_gap"] < 1e-4 and max(s["probe_gap"] for s in record["steps"]) < 1e-4
    rows = pq.read_table(job / "out" / "rollouts.parquet").to_pylist()
    assert len(rows) == 40 * 4 * 16
    assert all(r["policy_version_min"] == r["policy_version_max"] == r["step"] - 1 for r in rows)
    assert list_policies(inference) == []  # the engine let go of its policy


def test_a_job_killed_between_steps_goes_on_against_the_same_service(inference, policy, problems, tmp_path):
    spec = toy_spec(steps=6, checkpoint_every_steps=2)
    first = make_job(tmp_path / "a", policy, problems, spec, endpoint=inference, scratch=tmp_path / "scratch")
    process = start_engine(first)
    deadline = time.monotonic() + ENGINE_SECONDS
    while len(steps_of(first)) < 3 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    assert process.wait() == -signal.SIGKILL, (first / "log.txt").read_text()[-3000:]
    second = make_job(tmp_path / "b", policy, problems, spec, endpoint=inference, scratch=tmp_path / "scratch")
    assert engine(second) == 0, (second / "log.txt").read_text()[-3000:]
    assert steps_of(second)[0]["step"] >= 3
    steps = json.loads((second / "out" / "training.json").read_text())["steps"]
    assert [s["step"] for s in steps] == list(range(1, 7))
    assert max(s["logprob_gap"] for s in steps) < 1e-4


def test_weights_that_do_not_give_the_trainers_numbers_are_refused(inference, policy):
    """The engine's own check, seen from here: a probe that belongs to other weights keeps the old version serving."""
    rollouts = client(inference)
    model = load_model(policy / "hf", "cpu", trainable=False)
    tensors = weights(model)
    try:
        rollouts.load(policy / "hf", weights_digest(tensors), 0)
        with pytest.raises(EngineError) as e:
            rollouts.update_weights(tensors, "other", 1, Probe((5, 6, 7), (-1.0, -1.0)))
        assert e.value.reason == "PROBE_MISMATCH" and inference in e.value.message
        samples = rollouts.generate([Request((5, 6, 7), 1), Request((8, 9), 2)], 2, 0)
        assert [len(s) for s in samples] == [2, 2] and {v for g in samples for s in g for v, _, _ in s.versions} == {0}
    finally:
        rollouts.close()


def test_a_stop_request_ends_a_long_rollout_at_once(inference, policy):
    asked = threading.Event()

    def check_stop():
        if asked.is_set():
            raise Stopped

    rollouts = client(inference, check_stop, max_new_tokens=200)
    try:
        rollouts.load(policy / "hf", "digest", 0)
        threading.Timer(0.5, asked.set).start()
        began = time.monotonic()
        with pytest.raises(Stopped):
            rollouts.generate([Request((5, 6, 7), i) for i in range(64)], 64, 0)
        assert time.monotonic() - began < 10  # all of it would take minutes
    finally:
        rollouts.close()
    assert list_policies(inference) == []


def test_an_unreachable_service_is_unavailable_and_named(policy):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{s.getsockname()[1]}"
    with pytest.raises(EngineError, match=endpoint) as e:
        client(endpoint).load(policy / "hf", "digest", 0)
    assert (e.value.code, e.value.retryable) == ("UNAVAILABLE", True) and e.value.hint


def test_a_rollout_has_a_deadline():
    """A listener that never answers: the call ends by itself and says how long it waited."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        endpoint = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(EngineError, match=f"{endpoint}") as e:
            client(endpoint, rollout_timeout_s=1).generate([Request((5,), 1)], 2, 0)
    assert e.value.code == "UNAVAILABLE" and e.value.retryable


def client(endpoint: str, check_stop: CheckStop = lambda: None, **changes) -> InferenceRollouts:
    return InferenceRollouts(endpoint, "rl-test", parse(toy_spec(**changes)), check_stop, lambda line: None)


def list_policies(endpoint: str) -> list[str]:
    with grpc.insecure_channel(endpoint) as channel:
        listed = InferenceServiceStub(channel).ListPolicies(inference_service_pb2.ListPoliciesRequest(), timeout=10)
    return [p.policy_id for p in listed.policies]
