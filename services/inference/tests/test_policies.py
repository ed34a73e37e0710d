"""Policies and engine processes: loading, renaming, replacing, dying and coming back."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import grpc
from client import PROMPT, Served, follows, post, refused, stream
from grpc_health.v1 import health_pb2, health_pb2_grpc
from safetensors.torch import load_file

from marin.inference.v1 import inference_pb2 as spec, inference_service_pb2 as pb

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING


def test_loading_again_renaming_and_replacing(fresh: Served, exports: dict[int, Path], tmp_path: Path):
    pid = fresh.engine_pid()
    assert fresh.load("p", exports[1], "digest-1", 1).action == "loaded"
    assert refused("RESOURCE_EXHAUSTED", "NO_FREE_ENGINE", fresh.load, "q", exports[2], "digest-2").message.endswith(
        "by p"
    )
    fresh.stub.UnloadPolicy(pb.UnloadPolicyRequest(policy_id="p"))
    refused("NOT_FOUND", "NO_SUCH_POLICY", fresh.generate, "p", [PROMPT])
    renamed = fresh.load("q@v1", exports[1], "digest-1", 7)
    assert (renamed.action, renamed.policy.version, renamed.policy.served_model_name) == ("renamed", 7, "q@v1")
    assert fresh.generate("q@v1", [PROMPT])[0].version_spans[0].version == 7
    fresh.stub.UnloadPolicy(pb.UnloadPolicyRequest(policy_id="q@v1"))
    assert fresh.load("p", exports[2], "digest-2", 1).action == "reloaded"
    assert follows(2, PROMPT, fresh.generate("p", [PROMPT])[0]) < 1e-4
    assert fresh.engine_pid() == pid, "a model of the same shape must not need a new process"
    bad = tmp_path / "bad"
    shutil.copytree(exports[3], bad)
    config = json.loads((bad / "config.json").read_text())
    (bad / "config.json").write_text(json.dumps(config | {"vocab_size": 100}))
    refused("INVALID_ARGUMENT", "VOCAB_MISMATCH", fresh.load, "p", bad, "digest-3")
    refused("NOT_FOUND", "NO_SUCH_DIRECTORY", fresh.load, "p", tmp_path / "nowhere", "digest-3")
    assert follows(2, PROMPT, fresh.generate("p", [PROMPT])[0]) < 1e-4


def collect(stream, value) -> list:
    """What a stream says from now on, the first message being there already."""
    seen = [value(next(stream))]

    def read() -> None:
        with contextlib.suppress(grpc.RpcError):
            for message in stream:
                seen.append(value(message))

    threading.Thread(target=read, daemon=True).start()
    return seen


def watch_policy(served: Served) -> list[int]:
    stream = served.stub.WatchPolicy(pb.WatchPolicyRequest(policy_id="p"), timeout=120)
    return collect(stream, lambda m: m.policy.state)


def watch_health(served: Served) -> list[int]:
    stream = health_pb2_grpc.HealthStub(served.channel).Watch(health_pb2.HealthCheckRequest(), timeout=120)
    return collect(stream, lambda m: m.status)


def test_a_killed_engine_comes_back_at_the_last_good_version(fresh: Served, exports: dict[int, Path]):
    """The pushed weights are nowhere but in the service: it must have kept them."""
    fresh.stub.UpdateWeights(stream("p", 2, "digest-2", load_file(exports[2] / "model.safetensors")), timeout=60)
    url = fresh.policy("p").openai_base_url
    states, health = watch_policy(fresh), watch_health(fresh)
    request = pb.GenerateRequest(
        policy_id="p",
        prompts=[spec.Prompt(token_ids=PROMPT)] * 32,
        sampling=spec.SamplingParams(max_tokens=240, ignore_eos=True),
    )
    running = fresh.stub.Generate(request, timeout=60)
    while not fresh.policy("p").in_flight:
        pass
    os.kill(fresh.engine_pid(), signal.SIGKILL)
    refused("UNAVAILABLE", "ENGINE_DIED", lambda: running)
    (sample,) = fresh.generate("p", [PROMPT], timeout=120, exact_version=2)
    assert follows(2, PROMPT, sample) < 1e-4
    policy = fresh.policy("p")
    assert (policy.version, policy.digest, policy.restarts, policy.openai_base_url) == (2, "digest-2", 1, url)
    assert "SIGKILL" in policy.error
    assert states[0] == states[-1] == spec.POLICY_STATE_READY and spec.POLICY_STATE_LOADING in states
    assert health == [SERVING, NOT_SERVING, SERVING]
    assert post(policy, "/completions", {"prompt": PROMPT, "max_tokens": 1})["choices"]


def test_the_service_process_loads_no_torch(fresh: Served):
    maps = Path(f"/proc/{fresh.process.pid}/maps").read_text()
    assert "libtorch" not in maps and "vllm" not in maps


def test_parent_death_ends_the_engine(exports: dict[int, Path]):
    """kill -9 of the service leaves nobody to end the engine: the kernel must."""
    code = (
        "import json,os,subprocess,sys,time;from pathlib import Path;root=Path(sys.argv[1]);"
        "c=dict(directory='/nowhere',policy_id='p',version=1,digest='d',socket=str(root/'s'),http_host='127.0.0.1',http_port=0,"
        "advertise_host='127.0.0.1',parent=os.getpid(),max_model_len=64,dtype='',kv_cache_bytes=1<<26,seed=0);"
        "(root/'config.json').write_text(json.dumps(c));"
        "p=subprocess.Popen([sys.executable,'-m','marin_inference.host',str(root/'config.json')],stderr=subprocess.DEVNULL);"
        "time.sleep(1);print(p.pid,flush=True);os.kill(os.getpid(),9)"
    )
    root = exports[1].parent / "orphan"
    root.mkdir()
    out = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, timeout=60).stdout
    pid = int(re.search(r"\d+", out).group())
    deadline = time.time() + 10
    while Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z":
        assert time.time() < deadline, "the engine outlived its parent"
        time.sleep(0.05)
