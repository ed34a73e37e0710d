"""The OpenAI-compatible door, as harnesses use it."""

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import tiny
from client import PROMPT, Served, post
from transformers import AutoTokenizer

from marin.inference.v1 import inference_service_pb2 as pb


def test_openai_door_gives_what_harnesses_need(fresh: Served, exports: dict[int, Path]):
    tokenizer = AutoTokenizer.from_pretrained(exports[1])
    policy = fresh.policy("p")
    with urllib.request.urlopen(f"{policy.openai_base_url}/models", timeout=30) as response:
        (card,) = json.load(response)["data"]
    assert (card["id"], card["max_model_len"]) == ("p", 256)
    choice = post(
        policy, "/completions", {"prompt": PROMPT, "echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0}
    )["choices"][0]
    got, reference = choice["logprobs"], tiny.log_probs(tiny.make_model(1), PROMPT)
    assert len(got["tokens"]) == len(got["token_logprobs"]) == len(got["top_logprobs"]) == len(PROMPT) + 1
    assert got["token_logprobs"][0] is None
    assert max(abs(a - b) for a, b in zip(got["token_logprobs"][1:-1], reference, strict=True)) < 1e-4
    assert all(
        top and max(top.values()) >= lp
        for top, lp in zip(got["top_logprobs"][1:], got["token_logprobs"][1:], strict=True)
    )
    text = "3 apples and 4 pears"
    both = [post(policy, "/completions", {"prompt": p, "echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0})
            for p in (text, tokenizer(text)["input_ids"])]  # fmt: skip
    assert len({json.dumps(b["choices"][0]["logprobs"]) for b in both}) == 1, (
        "text and ids must mean the same: no BOS of the server's own"
    )
    several = post(policy, "/completions", {"prompt": text, "n": 3, "max_tokens": 8, "seed": 5, "stop": ["\n"]})
    assert len(several["choices"]) == 3 and several["usage"]["completion_tokens"] <= 24
    chat = post(
        policy, "/chat/completions", {"messages": [{"role": "user", "content": text}], "max_tokens": 8, "seed": 1}
    )
    assert chat["choices"][0]["finish_reason"] in ("length", "stop")
    rendered = f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
    assert chat["usage"]["prompt_tokens"] == len(tokenizer(rendered)["input_ids"])


def test_the_door_is_closed_without_a_policy_and_refuses_what_is_too_long(fresh: Served):
    policy = fresh.policy("p")
    with pytest.raises(urllib.error.HTTPError) as caught:
        post(policy, "/completions", {"prompt": [5] * 300, "max_tokens": 1})
    assert caught.value.code == 400
    fresh.stub.UnloadPolicy(pb.UnloadPolicyRequest(policy_id="p"))
    with pytest.raises(urllib.error.HTTPError) as caught:
        post(policy, "/completions", {"prompt": PROMPT, "max_tokens": 1})
    assert caught.value.code == 503
