"""The whole core on a double of the engine: what must hold whatever samples. Real vLLM is in test_toy_reward.py."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from sampler import LocalSampler
from tiny import make_job, make_policy, make_problems, toy_spec
from transformers import AutoModelForCausalLM, AutoTokenizer

from marin_chassis.engine import EngineError, Job, Stopped
from marin_rl.core.run import run_grpo
from marin_rl.core.spec import parse

SMALL = {"steps": 4, "prompts_per_step": 2, "samples_per_prompt": 4, "max_new_tokens": 6, "checkpoint_every_steps": 2}


@pytest.fixture(scope="module")
def problems(tmp_path_factory):
    return make_problems(tmp_path_factory.mktemp("problems"), "token_share")


def job_in(root: Path, policy: Path, problems: Path, **changes) -> tuple[Job, LocalSampler]:
    spec = toy_spec(**SMALL | changes)
    job = Job.load(make_job(root, policy, problems, spec, scratch=root.parent / "scratch"))
    return job, LocalSampler(spec["max_new_tokens"], spec["temperature"])


def run(job: Job, sampler: LocalSampler) -> dict:
    return run_grpo(job, parse(job.spec), sampler)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, policy, problems):
    job, sampler = job_in(tmp_path_factory.mktemp("whole") / "a", policy, problems)
    return job, sampler, run(job, sampler)


def test_the_export_is_the_trained_policy_and_loads_like_its_input(finished, policy):
    job, sampler, result = finished
    hf = job.out / "hf"
    model = AutoModelForCausalLM.from_pretrained(hf)
    assert model.dtype == torch.float32
    served = sampler._model.state_dict()
    assert all(torch.equal(v, served[k]) for k, v in model.state_dict().items())
    assert not torch.equal(model.lm_head.weight, AutoModelForCausalLM.from_pretrained(policy / "hf").lm_head.weight)
    assert AutoTokenizer.from_pretrained(hf).chat_template
    assert model.generation_config.eos_token_id == [0, 3]
    assert str(policy) not in "".join(f.read_text() for f in hf.glob("*.json"))
    assert result["summary"]["steps"] == 4


def test_every_rollout_carries_ids_log_probabilities_reward_and_version(finished):
    job, sampler, _ = finished
    rows = pq.read_table(job.out / "rollouts.parquet").to_pylist()
    assert [(r["step"], r["group"], r["sample_index"]) for r in rows] == [
        (s, g, i) for s in range(1, 5) for g in range(2) for i in range(4)
    ]
    targets = set(range(256, 384))
    for row in rows:
        ids = row["response_ids"]
        assert row["policy_version_min"] == row["policy_version_max"] == row["step"] - 1
        assert len(ids) == len(row["logprobs"]) == len(row["trainer_logprobs"]) <= 6
        assert row["reward"] == pytest.approx(sum(t in targets for t in ids) / len(ids))
        assert row["logprobs"] == pytest.approx(row["trainer_logprobs"], abs=1e-4)
        assert row["finish_reason"] == ("stop" if ids[-1] in (0, 3) else "length")
    assert sampler.updates == [1, 2, 3, 4]


def test_the_record_accounts_for_every_token(finished):
    job, _, result = finished
    record = json.loads((job.out / "training.json").read_text())
    rows = pq.read_table(job.out / "rollouts.parquet").to_pylist()
    assert sum(len(r["response_ids"]) for r in rows) == record["summary"]["tokens"] == result["summary"]["tokens"]
    for step in record["steps"]:
        assert step["tokens"] == step["tokens_in_loss"] + step["tokens_masked"]
        mine = [r["reward"] for r in rows if r["step"] == step["step"]]
        assert step["reward"] == pytest.approx(sum(mine) / len(mine))
    assert not {"time", "seconds"} & set(json.dumps(record).replace('"', " ").split())


def test_progress_names_every_step_with_its_numbers(finished):
    job, _, _ = finished
    events = [json.loads(line) for line in (job.record / "events.jsonl").read_text().splitlines()]
    steps = [e for e in events if e["type"] == "progress" and e["phase"] == "grpo"]
    assert [(e["step"], e["total"]) for e in steps] == [(s, 4) for s in range(1, 5)]
    assert {"reward", "kl", "loss", "tokens", "logprob_gap", "tokens_per_second"} <= set(steps[0]["metrics"])


def test_the_same_job_twice_gives_the_same_bytes(finished, tmp_path, policy, problems):
    job, sampler = job_in(tmp_path / "a", policy, problems)
    run(job, sampler)
    assert tree(job.out) == tree(finished[0].out)


def test_a_killed_job_goes_on_from_its_checkpoint_and_ends_in_the_same_bytes(finished, tmp_path, policy, problems):
    job, sampler = job_in(tmp_path / "a", policy, problems)

    def die(*args, version_limit=3, update=sampler.update_weights):
        if args[2] == version_limit:
            raise KeyboardInterrupt  # in step 3, after the update of the trainer's model: nothing of it may survive
        return update(*args)

    sampler.update_weights = die
    with pytest.raises(KeyboardInterrupt):
        run(job, sampler)
    again, fresh = job_in(tmp_path / "b", policy, problems)
    run(again, fresh)
    assert [v for _, v in fresh.loads] == [2] and fresh.updates == [3, 4]
    assert tree(again.out) == tree(finished[0].out)


def test_a_stop_request_saves_the_last_finished_step(finished, tmp_path, policy, problems):
    job, sampler = job_in(tmp_path / "a", policy, problems, checkpoint_every_steps=4)
    progress = job.progress

    def stop_after_three(phase, step=None, *args, **metrics):
        job.stop_requested = step == 3
        progress(phase, step, *args, **metrics)

    job.progress = stop_after_three
    with pytest.raises(Stopped):
        run(job, sampler)
    again, fresh = job_in(tmp_path / "b", policy, problems, checkpoint_every_steps=4)
    run(again, fresh)
    assert fresh.updates == [4] and tree(again.out) == tree(finished[0].out)


def test_weights_that_did_not_arrive_are_noticed_at_the_next_step(tmp_path, policy, problems):
    job, sampler = job_in(tmp_path / "a", policy, problems, learning_rate=0.01)
    sampler.frozen = True
    with pytest.raises(EngineError, match=r"step 2: engine and trainer differ by .* nats") as e:
        run(job, sampler)
    assert e.value.reason == "LOGPROB_GAP" and not any(job.out.iterdir())


@pytest.mark.parametrize(("version", "staleness", "refused"), [(0, 0, True), (0, 1, False), (9, 1, True)])
def test_rollouts_of_too_old_or_future_versions_are_refused(tmp_path, policy, problems, version, staleness, refused):
    job, sampler = job_in(tmp_path / "a", policy, problems, steps=2, max_staleness=staleness)
    generate = sampler.generate

    def relabelled(requests, n, min_version):
        if sampler.updates:
            sampler.version = version
        return generate(requests, n, min_version)

    sampler.generate = relabelled
    if refused:
        with pytest.raises(EngineError, match=f"step 2: a rollout was sampled from policy version {version}") as e:
            run(job, sampler)
        assert e.value.reason == "STALE_ROLLOUT"
    else:
        run(job, sampler)


def test_a_checkpoint_of_another_build_is_refused(tmp_path, policy, problems):
    job, sampler = job_in(tmp_path / "a", policy, problems, steps=2)
    run(job, sampler)
    other, fresh = job_in(tmp_path / "b", policy, problems, steps=2)
    other.build_key = "k2"
    with pytest.raises(EngineError) as e:
        run(other, fresh)
    assert e.value.reason == "FOREIGN_CHECKPOINT"


def test_rule_rewards_of_zero_change_nothing_and_say_so(tmp_path, policy):
    job, sampler = job_in(
        tmp_path / "a", policy, make_problems(tmp_path / "q", "gsm8k"), env_class="gsm8k", steps=1, weight_decay=0.1
    )
    result = run(job, sampler)
    assert result["headline"].endswith("2 of 2 groups without signal")
    assert result["summary"]["optimizer_steps"] == 0
    start = AutoModelForCausalLM.from_pretrained(policy / "hf").state_dict()
    assert all(
        torch.equal(v, start[k]) for k, v in AutoModelForCausalLM.from_pretrained(job.out / "hf").state_dict().items()
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"max_new_tokens": 200, "max_prompt_tokens": 100}, "TOO_LONG"),
        ({"token_share": {"target_token_ids": [512]}}, "VOCAB_MISMATCH"),
        ({"role_plan": {"num_nodes": 1, "gpus_per_node": 2, "policy_nodes": 1, "policy_gpus_per_node": 2,
                        "inference_engines": 1, "inference_tensor_parallel": 2, "colocate_all": True},
          "micro_train_batch_size": 1}, "ROLE_PLAN"),
    ],
)  # fmt: skip
def test_what_the_policy_or_the_machine_cannot_hold_is_refused(tmp_path, policy, problems, change, reason):
    job, sampler = job_in(tmp_path / "a", policy, problems, **change)
    with pytest.raises(EngineError) as e:
        run(job, sampler)
    assert e.value.reason == reason


def test_an_incomplete_export_is_refused_rather_than_filled_at_random(tmp_path, problems):
    from safetensors.torch import load_file, save_file

    weights = make_policy(tmp_path / "p" / "hf") / "model.safetensors"
    tensors = load_file(weights)
    tensors.pop("model.layers.2.mlp.up_proj.weight")
    save_file(tensors, weights, metadata={"format": "pt"})
    job, sampler = job_in(tmp_path / "a", tmp_path / "p", problems)
    with pytest.raises(EngineError, match="lacks or misshapes 1 tensors") as e:
        run(job, sampler)
    assert e.value.reason == "BAD_HF_EXPORT"


def tree(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}
