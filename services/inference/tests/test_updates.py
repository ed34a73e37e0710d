"""UpdateWeights: whole or not at all, exact from the first new token on, by the rule of versions."""

import hashlib
import shutil
import threading
from pathlib import Path

import tiny
import torch
from client import PROMPT, Served, follows, refused, stream
from safetensors.torch import load_file

from marin.inference.v1 import inference_pb2 as spec, inference_service_pb2 as pb


def test_update_by_stream_while_a_request_is_in_flight(fresh: Served, exports: dict[int, Path]):
    """Tokens after the update follow the new weights although the prompt was cached with the old ones."""
    shared = PROMPT * 20  # longer than a cache block, so that the prefix is shared
    fresh.generate("p", [shared], sampling={"max_tokens": 4})
    done: list[spec.Sample] = []
    thread = threading.Thread(
        # So many that they are still under way when the update comes.
        target=lambda: done.extend(fresh.generate("p", [shared], n=64, sampling={"max_tokens": 90, "temperature": 1.0}))
    )
    tensors = load_file(exports[2] / "model.safetensors")
    messages = list(stream("p", 2, "digest-2", tensors))
    thread.start()
    while not fresh.policy("p").in_flight:
        pass
    response = fresh.stub.UpdateWeights(iter(messages), timeout=60)
    thread.join(60)
    assert response.policy.version == 2 and response.policy.digest == "digest-2"
    assert len(done) == 64
    for sample in done[::16]:
        spans = [(s.version, s.start, s.end) for s in sample.version_spans]
        assert [v for v, _, _ in spans] == [1, 2], "the update missed the request"
        cut = spans[1][1]
        assert spans == [(1, 0, cut), (2, cut, 90)] and sample.finish_reason == spec.FINISH_REASON_LENGTH
        assert follows(2, shared, sample, start=cut) < 1e-4
        assert follows(1, shared, sample) > 0.1
    (after,) = fresh.generate("p", [shared])
    assert follows(2, shared, after) < 1e-4
    assert after.version_spans[0].version == 2


def test_update_from_a_directory_is_kept_apart_from_it(fresh: Served, exports: dict[int, Path], tmp_path: Path):
    shutil.copy(exports[3] / "model.safetensors", tmp_path / "model.safetensors")
    header = pb.UpdateWeightsHeader(policy_id="p", version=5, digest="digest-3", uri=str(tmp_path))
    response = fresh.stub.UpdateWeights(iter([pb.UpdateWeightsRequest(header=header)]), timeout=60)
    assert response.policy.version == 5 and response.pause_seconds > 0
    ids = list(response.probe.token_ids)
    reference = tiny.log_probs(tiny.make_model(3), ids)
    assert max(abs(a - b) for a, b in zip(response.probe.logprobs, reference, strict=True)) < 1e-4


def test_version_rules(fresh: Served, exports: dict[int, Path]):
    tensors = load_file(exports[2] / "model.safetensors")
    update = lambda version, digest: fresh.stub.UpdateWeights(stream("p", version, digest, tensors), timeout=60)  # noqa: E731
    assert update(4, "digest-2").policy.version == 4
    assert update(4, "digest-2").policy.version == 4
    refused("ALREADY_EXISTS", "VERSION_TAKEN", update, 4, "other")
    refused("FAILED_PRECONDITION", "VERSION_TOO_LOW", update, 3, "digest-2")
    refused("INVALID_ARGUMENT", "MISSING_DIGEST", update, 5, "")
    refused("NOT_FOUND", "NO_SUCH_POLICY", fresh.stub.UpdateWeights, stream("q", 5, "d", tensors), timeout=60)
    refused("FAILED_PRECONDITION", "VERSION_NOT_SERVED", fresh.generate, "p", [PROMPT], exact_version=3)
    refused("FAILED_PRECONDITION", "VERSION_NOT_SERVED", fresh.generate, "p", [PROMPT], min_version=5)
    assert fresh.generate("p", [PROMPT], min_version=4)[0].version_spans[0].version == 4


def test_wrong_weights_change_nothing(fresh: Served, exports: dict[int, Path], tmp_path: Path):
    (before,) = fresh.generate("p", [PROMPT], sampling={"temperature": 0.0})
    good = load_file(exports[2] / "model.safetensors")
    name = "model.layers.3.mlp.down_proj.weight"
    partial = {n: t for n, t in good.items() if "layers.2" not in n}
    nan = good | {
        name: good[name].clone().index_put_((torch.tensor([3]), torch.tensor([7])), torch.tensor(float("nan")))
    }
    cases = [
        (partial, "INVALID_ARGUMENT", "WEIGHTS_MISMATCH", "layers.2"),
        (
            good | {"lm_head.weight": good["model.embed_tokens.weight"]},
            "INVALID_ARGUMENT",
            "WEIGHTS_MISMATCH",
            "lm_head",
        ),
        (good | {name: good[name].T.contiguous()}, "INVALID_ARGUMENT", "WEIGHTS_MISMATCH", name),
        (nan, "INVALID_ARGUMENT", "WEIGHTS_NOT_FINITE", name),
    ]
    for tensors, code, reason, says in cases:
        error = refused(code, reason, fresh.stub.UpdateWeights, stream("p", 2, "bad", tensors), timeout=60)
        assert says in error.message
    cut = list(stream("p", 2, "bad", good))[:-1]
    refused("INVALID_ARGUMENT", "SHORT_STREAM", fresh.stub.UpdateWeights, iter(cut), timeout=60)
    wrong_hash = stream("p", 2, "bad", good, content_sha256=hashlib.sha256(b"other").hexdigest())
    refused("DATA_LOSS", "CONTENT_MISMATCH", fresh.stub.UpdateWeights, wrong_hash, timeout=60)
    for uri, code, reason in [
        (tmp_path / "nowhere", "NOT_FOUND", "NO_SUCH_DIRECTORY"),
        (tmp_path, "INVALID_ARGUMENT", "NO_WEIGHTS"),
    ]:
        header = pb.UpdateWeightsHeader(policy_id="p", version=2, digest="bad", uri=str(uri))
        refused(code, reason, fresh.stub.UpdateWeights, iter([pb.UpdateWeightsRequest(header=header)]), timeout=60)
    (after,) = fresh.generate("p", [PROMPT], sampling={"temperature": 0.0}, exact_version=1)
    assert list(after.token_ids) == list(before.token_ids) and follows(1, PROMPT, after) < 1e-4


def test_a_probe_that_does_not_match_brings_the_old_weights_back(fresh: Served, exports: dict[int, Path]):
    """The new weights were in the engine when the probe failed: the version served before must be read again."""
    good = load_file(exports[2] / "model.safetensors")
    probe = lambda seed: spec.Probe(  # noqa: E731
        token_ids=PROMPT, logprobs=tiny.log_probs(tiny.make_model(seed), PROMPT), tolerance=1e-4
    )
    refused(
        "FAILED_PRECONDITION",
        "PROBE_MISMATCH",
        fresh.stub.UpdateWeights,
        stream("p", 2, "d2", good, probe(3)),
        timeout=60,
    )
    (sample,) = fresh.generate("p", [PROMPT], exact_version=1)
    assert follows(1, PROMPT, sample) < 1e-4
    response = fresh.stub.UpdateWeights(stream("p", 2, "d2", good, probe(2)), timeout=60)
    assert response.policy.version == 2 and response.probe.max_abs_difference < 1e-4


def test_exact_version_requests_end_when_the_weights_change(fresh: Served, exports: dict[int, Path]):
    done: list[spec.Sample] = []
    ask = {"sampling": {"max_tokens": 200}, "exact_version": 1}
    thread = threading.Thread(target=lambda: done.extend(fresh.generate("p", [PROMPT] * 8, n=12, **ask)))
    messages = list(stream("p", 2, "digest-2", load_file(exports[2] / "model.safetensors")))
    thread.start()
    while not fresh.policy("p").in_flight:
        pass
    fresh.stub.UpdateWeights(iter(messages), timeout=60)
    thread.join(60)
    assert {s.finish_reason for s in done} == {spec.FINISH_REASON_ABORT}
    assert all(v.version == 1 for s in done for v in s.version_spans)
    assert all(len(s.token_ids) == len(s.logprobs) < 200 for s in done)
