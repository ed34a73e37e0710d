"""Generate against transformers: tokens, log-probabilities, seeds, stops, and requests that mean nothing."""

import time

import pytest
import tiny
import torch
from client import PROMPT, Served, follows, refused

from marin.inference.v1 import inference_pb2 as spec, inference_service_pb2 as pb


def test_greedy_tokens_and_log_probs_equal_transformers(fresh: Served):
    (sample,) = fresh.generate("p", [PROMPT], sampling={"temperature": 0.0, "max_tokens": 24})
    model, ids = tiny.make_model(1), list(PROMPT)
    with torch.no_grad():
        for _ in range(24):
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    assert list(sample.token_ids) == ids[len(PROMPT) :]
    assert follows(1, PROMPT, sample) < 1e-4
    assert sample.finish_reason == spec.FINISH_REASON_LENGTH
    assert [(s.version, s.start, s.end) for s in sample.version_spans] == [(1, 0, 24)]


def test_seeded_samples_repeat_and_differ_between_prompts_and_samples(fresh: Served):
    ask = {"n": 3, "sampling": {"seed": 11}}
    first, again = (fresh.generate("p", [PROMPT, PROMPT], **ask) for _ in range(2))
    assert [list(s.token_ids) for s in first] == [list(s.token_ids) for s in again]
    assert len({tuple(s.token_ids) for s in first}) == 6
    assert [(s.prompt_index, s.sample_index) for s in first] == [(p, s) for p in range(2) for s in range(3)]
    assert max(follows(1, PROMPT, s) for s in first) < 1e-4


def test_more_prompt_tokens_than_one_batch_holds(fresh: Served):
    """The engine used to die when a seeded prompt did not fit whole into what was left of a batch (2,048 tokens)."""
    prompts = [[(7 * i + j) % 500 for j in range(150)] for i in range(24)]
    samples = fresh.generate("p", prompts, n=2, sampling={"seed": 5, "max_tokens": 4})
    assert len(samples) == 48
    assert max(follows(1, prompts[s.prompt_index], s) for s in samples) < 1e-4


def test_log_probs_are_those_of_the_distribution_drawn_from(fresh: Served):
    (sample,) = fresh.generate("p", [PROMPT], sampling={"temperature": 0.5, "seed": 3, "max_tokens": 4})
    with torch.no_grad():
        logits = tiny.make_model(1)(torch.tensor([PROMPT + list(sample.token_ids)])).logits[0, len(PROMPT) - 1 : -1]
    wanted = torch.log_softmax(logits / 0.5, -1).gather(1, torch.tensor(sample.token_ids)[:, None])[:, 0]
    assert torch.allclose(torch.tensor(sample.logprobs), wanted, atol=1e-4)


def test_stop_token_is_the_last_of_the_sample(fresh: Served):
    (long,) = fresh.generate("p", [PROMPT], sampling={"temperature": 0.0})
    stop = long.token_ids[5]
    (sample,) = fresh.generate("p", [PROMPT], sampling={"temperature": 0.0, "stop_token_ids": [stop]})
    assert list(sample.token_ids) == list(long.token_ids)[: list(long.token_ids).index(stop) + 1]
    assert sample.finish_reason == spec.FINISH_REASON_STOP


@pytest.mark.parametrize(
    ("prompts", "fields", "says"),
    [
        ([], {}, "no prompts"),
        ([PROMPT, []], {}, "prompt 1 is empty"),
        ([[5, 512]], {}, "token id 512"),
        ([[5] * 256], {}, "256 tokens"),
        ([PROMPT], {"sampling": {"max_tokens": 0}}, "max_tokens is 0"),
        ([PROMPT], {"sampling": {"temperature": -1.0}}, "temperature is -1.0"),
        ([PROMPT], {"sampling": {"top_p": 0.0}}, "top_p is 0.0"),
    ],
)
def test_bad_requests_are_named(fresh: Served, prompts, fields, says):
    assert says in refused("INVALID_ARGUMENT", "BAD_REQUEST", fresh.generate, "p", prompts, **fields).message


def test_cancelled_calls_leave_the_engine(fresh: Served):
    request = pb.GenerateRequest(
        policy_id="p",
        prompts=[spec.Prompt(token_ids=PROMPT)] * 16,
        sampling=spec.SamplingParams(max_tokens=240, ignore_eos=True),
    )
    call = fresh.stub.Generate(request, timeout=60)
    while not fresh.policy("p").in_flight:
        pass
    call.cancel()
    deadline = time.time() + 20
    while fresh.policy("p").in_flight:
        assert time.time() < deadline
        time.sleep(0.02)
