"""The gb200 profile of iceball-micro: every number of the original run, and specs that the services accept.

It cannot run here, so it is held to the table of the original and to the checks that a Create call makes.
"""

import json
import subprocess

import pytest

from experiments import registry
from marin.local import envs
from marin_artifacts.identity import spec_dict
from marin_contracts.chat import CHATML
from marin_contracts.kinds import KINDS
from marin_workflow.core.graph import spec_of, topological

GRAPH = registry.build("iceball-micro", "2026.08.01", "gb200")
NODES = {n.id: n for n in GRAPH.nodes}
CHECK = """
import importlib, json, sys
stage = importlib.import_module(sys.argv[1]).STAGE
checks = {k.name: k.check for k in stage.kinds}
for kind, spec, roles in json.load(sys.stdin):
    checks[kind](spec, roles)
print("accepted")
"""


def spec(node_id):
    return spec_dict(spec_of(NODES[node_id]))


def assert_fields(found, expected):
    """``found`` has at least the fields of ``expected``, to the digit; fields of fields likewise."""
    for name, value in expected.items():
        if isinstance(value, dict):
            assert_fields(found[name], value)
        else:
            assert found[name] == value, name


def machine(node_id):
    r = NODES[node_id].resources
    return r.nodes, r.accelerator, r.cpus, r.memory_gib, r.disk_gib


def test_fineweb_is_4096_rows_of_a_pinned_slice_in_qwen3_tokens():
    text = spec("documents")
    (source,) = text["sources"]
    hub = {"dataset": "HuggingFaceFW/fineweb-edu", "revision": "87f0914", "path": "sample/10BT/*.parquet"}
    assert_fields(source, {"limit": 4096, "hub": hub})
    assert text["dedup"] == "DEDUP_NONE" and not any((text["filters"] or {}).values()), "all 4,096 rows are trained on"
    tokenizer = spec("tokenizer.import")
    assert tokenizer["hub"]["repo"] == "Qwen/Qwen3-0.6B-Base"
    assert tokenizer["hub"]["revision"].startswith("da87bfb") and len(tokenizer["hub"]["revision"]) == 40
    assert tokenizer["chat_template"] == CHATML
    assert machine("documents") == machine("fineweb") == (1, "", 4, 32, 32)


def test_pretraining_is_qwen3_of_28_layers_for_16_steps():
    assert_fields(
        spec("pretrain"),
        {
            "num_train_steps": 16,
            "train_batch_size": 32,
            "seq_len": 512,
            "z_loss_weight": 1e-4,
            "precision": "PRECISION_BF16_COMPUTE",
            "pad_tokenizer_to_match_model": True,
            "model": {
                "family": "MODEL_FAMILY_QWEN3",
                "max_seq_len": 512,
                "hidden_dim": 1024,
                "intermediate_dim": 3072,
                "num_heads": 16,
                "head_dim": 128,
                "num_kv_heads": 8,
                "num_layers": 28,
                "layer_norm_epsilon": 1e-6,
                "rope_theta": 1e6,
                "tie_word_embeddings": True,
                "vocab_size": 151_936,
            },
            "optimizer": {
                "type": "OPTIMIZER_TYPE_ADAM",
                "learning_rate": 3e-4,
                "weight_decay": 0.1,
                "lr_schedule": "LR_SCHEDULE_COSINE",
                "warmup": 0.1,
                "min_lr_ratio": 0.1,
            },
            "resources": {
                "accelerator": "gb200",
                "accelerators_per_node": 4,
                "nodes": 1,
                "cpus": 64,
                "ram_gib": 512,
                "disk_gib": 256,
            },
        },
    )
    assert 16 * 32 * 512 == 262_144  # tokens, as the original counted
    assert machine("pretrain") == (1, "4xGB200", 64, 512, 256)


def test_fine_tuning_is_8_steps_of_no_robots():
    (source,) = spec("conversations")["sources"]
    assert_fields(source, {"limit": 0, "hub": {"dataset": "HuggingFaceH4/no_robots", "revision": "e6f9a4a"}})
    assert source["column"] in ("", "messages")
    assert_fields(
        spec("sft"),
        {
            "num_train_steps": 8,
            "train_batch_size": 16,
            "seq_len": 512,
            "precision": "PRECISION_BF16_COMPUTE",
            "loss_mask": "LOSS_MASK_ASSISTANT",
            "pad_tokenizer_to_match_model": True,
            "generation_eos_tokens": ["<|endoftext|>", "<|im_end|>"],  # 151643 and 151645
            "optimizer": {
                "type": "OPTIMIZER_TYPE_ADAM",
                "learning_rate": 1e-5,
                "beta1": 0.9,
                "beta2": 0.98,
                "epsilon": 1e-8,
                "max_grad_norm": 1.0,
                "weight_decay": 0.0,
                "lr_schedule": "LR_SCHEDULE_COSINE",
                "warmup": 0.1,
                "min_lr_ratio": 0.0,
            },
            "resources": {"accelerators_per_node": 4, "cpus": 32, "ram_gib": 384, "disk_gib": 192},
        },
    )
    assert 8 * 16 * 512 == 65_536
    assert machine("sft") == (1, "4xGB200", 32, 384, 192)


def test_problems_are_the_first_1024_and_128_of_gsm8k():
    problems = spec("gsm8k")
    for field, path, limit in (("train", "main/train-*.parquet", 1024), ("validation", "main/test-*.parquet", 128)):
        hub = {"dataset": "openai/gsm8k", "revision": "e53f048", "path": path}
        assert_fields(problems[field], {"limit": limit, "hub": hub})
    assert machine("gsm8k")[:4] == (1, "", 4, 32)


def test_rl_is_8_steps_of_16_prompts_with_4_samples_on_two_nodes():
    rl = spec("rl")
    assert_fields(
        rl,
        {
            "env_class": "gsm8k",
            "steps": 8,
            "prompts_per_step": 16,
            "mini_batch_prompts": 16,
            "samples_per_prompt": 4,
            "update_epochs": 1,
            "micro_forward_batch_size": 2,
            "micro_train_batch_size": 1,
            "max_new_tokens": 256,
            "temperature": 1.0,
            "top_p": 1.0,
            "learning_rate": 2e-6,
            "max_grad_norm": 1.0,
            "use_kl_loss": True,
            "checkpoint_every_steps": 2,
            "seed": 17,
            "role_plan": {
                "num_nodes": 2,
                "gpus_per_node": 4,
                "policy_nodes": 1,
                "policy_gpus_per_node": 4,
                "inference_engines": 4,
                "inference_tensor_parallel": 1,
                "colocate_all": False,
            },
        },
    )
    assert rl["advantage_estimator"] in ("ADVANTAGE_ESTIMATOR_UNSPECIFIED", "ADVANTAGE_ESTIMATOR_GRPO")
    assert rl["max_prompt_tokens"] + rl["max_new_tokens"] == 512  # the request window
    assert machine("rl") == (2, "4xGB200", 16, 256, 4096)


def test_evaluation_is_gsm8k_with_five_examples_and_aime_in_4096_tokens():
    evaluation = spec("evaluation")
    assert evaluation["max_model_len"] == 4096 and evaluation["apply_chat_template"]
    gsm8k, aime = evaluation["tasks"]
    assert_fields(gsm8k, {"task_set": "gsm8k-smoke", "harness": "HARNESS_LM_EVAL", "num_fewshot": 5, "limit": 128})
    assert_fields(aime, {"task_set": "aime-smoke", "harness": "HARNESS_HARBOR"})
    assert gsm8k["max_gen_tokens"] == aime["max_gen_tokens"] == 256
    assert NODES["evaluation"].resources.accelerator == "1xGB200"


def test_the_graph_is_well_formed_and_its_tokens_take_the_imported_tokenizer():
    assert len(topological(GRAPH)) == 9
    assert {i.role: i.node_id for i in NODES["fineweb"].inputs} == {
        "documents": "documents",
        "tokenizer": "tokenizer.import",
    }


@pytest.mark.parametrize("service", sorted({KINDS[n.kind].service for n in GRAPH.nodes}))
def test_each_service_accepts_its_specs(service):
    """Runs the check of a Create call, in the service's own environment."""
    jobs = [
        [n.kind, spec(n.id), {i.role: f"{i.node_id}@2026.08.01" for i in n.inputs}]
        for n in GRAPH.nodes
        if KINDS[n.kind].service == service
    ]
    python = envs.ensure(service)
    done = subprocess.run(
        [python, "-c", CHECK, f"marin_{service}.setup"],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and done.stdout.strip() == "accepted", done.stderr


def test_the_services_check_would_see_a_wrong_number():
    jobs = [["checkpoint.pretrain", {**spec("pretrain"), "seq_len": 513}, {"tokens": "t@v1"}]]
    done = subprocess.run(
        [envs.ensure("training"), "-c", CHECK, "marin_training.setup"],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1 and "seq_len 513 is longer" in done.stderr
