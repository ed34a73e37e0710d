"""The two profiles of iceball-micro: every number in one place."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from marin.data.v1 import data_pb2
from marin.evaluation.v1 import evaluation_pb2
from marin.execution.lazy import ArtifactStep, ResourceConfig
from marin.experiment import data
from marin.experiment.train import AdamConfig, ModelConfig
from marin.rl.v1 import rl_pb2
from marin_contracts.chat import CHATML


@dataclass(frozen=True)
class Profile:
    """Data, sizes and machines. Functions are called while the graph is built. ``dedup`` is of the pretraining text."""

    corpus: Callable[[], list[data_pb2.Source]]
    filters: data_pb2.Filters
    shards: int
    tokenizer: Callable[[ArtifactStep, str], ArtifactStep]
    conversations: Callable[[], data_pb2.Source]
    problems: Callable[[], tuple[data_pb2.Source, data_pb2.Source]]
    model: ModelConfig
    seq_len: int
    precision: str
    pretrain_optimizer: AdamConfig
    pretrain_batch: int
    pretrain_steps: int
    sft_optimizer: AdamConfig
    sft_batch: int
    sft_steps: int
    checkpoint_every: int
    grpo: Mapping[str, object]
    tasks: Callable[[], list[evaluation_pb2.EvaluationTask]]
    evaluate: Mapping[str, object]
    dedup: str = "exact"
    pad_tokenizer: bool = False
    eos_tokens: Sequence[str] = ("<|im_end|>", "<|endoftext|>")
    data_resources: ResourceConfig = ResourceConfig.with_cpu()
    train_resources: ResourceConfig = ResourceConfig.with_cpu()
    sft_resources: ResourceConfig = ResourceConfig.with_cpu()
    rl_resources: ResourceConfig = ResourceConfig.with_cpu()
    eval_resources: ResourceConfig = ResourceConfig.with_cpu()


def _trained_tokenizer(text: ArtifactStep, version: str) -> ArtifactStep:
    return data.train_tokenizer(
        name="tokenizers/iceball-micro", version=version, documents=text, vocab_size=2048, stage="fineweb"
    )


def _qwen3_tokenizer(text: ArtifactStep, version: str) -> ArtifactStep:
    # Its own template has no generation block, and fine-tuning could learn nothing with it.
    return data.hub_tokenizer(
        name="tokenizers/iceball-micro-qwen3",
        version=version,
        repo="Qwen/Qwen3-0.6B-Base",
        revision="da87bfb608c14b7cf20ba1ce41287e8de496c0cd",
        chat_template=CHATML,
        stage="fineweb",
    )


def _task(name: str, harness: int, **fields: object) -> evaluation_pb2.EvaluationTask:
    return evaluation_pb2.EvaluationTask(name=name, harness=harness, task_set=name, **fields)


CPU = Profile(
    corpus=lambda: [data.sample(n, f"corpus/{n}.jsonl.gz") for n in ("folio", "milton", "modern")],
    filters=data_pb2.Filters(min_text_length=100, max_repetition=0.5),
    shards=2,
    tokenizer=_trained_tokenizer,
    conversations=lambda: data.sample("conversations", "conversations/train.jsonl"),
    problems=lambda: (
        data.sample("train", "problems/train.jsonl"),
        data.sample("test", "problems/test.jsonl"),
    ),
    model=ModelConfig(256, 128, 384, 4, 4, 2, 32, rope_theta=1e6, vocab_size=2048),
    seq_len=256,
    precision="f32",
    # The original's rates are for 600 million parameters; a model this narrow wants far larger steps.
    pretrain_optimizer=AdamConfig(5e-3, weight_decay=0.1, warmup=0.1, min_lr_ratio=0.1),
    pretrain_batch=8,
    pretrain_steps=60,
    sft_optimizer=AdamConfig(3e-3, beta2=0.98, max_grad_norm=1.0, warmup=0.1, min_lr_ratio=0.0),
    sft_batch=8,
    sft_steps=240,
    checkpoint_every=10,
    grpo={
        "env_class": "gsm8k",
        "steps": 8,
        "prompts_per_step": 8,
        "samples_per_prompt": 8,
        "max_prompt_tokens": 160,
        "max_new_tokens": 96,
        "seed": 17,
        "learning_rate": 1e-4,
        "max_grad_norm": 1.0,
        "use_kl_loss": True,
        "kl_loss_coef": 1e-3,
        "checkpoint_every_steps": 2,
    },
    tasks=lambda: [
        _task("gsm8k-smoke", evaluation_pb2.HARNESS_LM_EVAL, limit=16, max_gen_tokens=64),
        _task("aime-smoke", evaluation_pb2.HARNESS_HARBOR, limit=4, max_gen_tokens=64),
    ],
    evaluate={"apply_chat_template": True},
)

_FINEWEB = ("HuggingFaceFW/fineweb-edu", "87f0914", "sample/10BT/*.parquet")
_GSM8K = ("openai/gsm8k", "e53f048")

GB200 = Profile(
    corpus=lambda: [data.hub("fineweb-edu", *_FINEWEB, limit=4096)],
    filters=data_pb2.Filters(),
    shards=4,
    dedup="none",
    tokenizer=_qwen3_tokenizer,
    # The tokenizer has 151,669 entries. Qwen3 rounds its embedding up to this, and so the tokenizer is padded.
    pad_tokenizer=True,
    eos_tokens=("<|endoftext|>", "<|im_end|>"),
    conversations=lambda: data.hub("no-robots", "HuggingFaceH4/no_robots", "e6f9a4a", "data/train-*.parquet"),
    problems=lambda: (
        data.hub("train", *_GSM8K, "main/train-*.parquet", limit=1024),
        data.hub("test", *_GSM8K, "main/test-*.parquet", limit=128),
    ),
    model=ModelConfig(512, 1024, 3072, 28, 16, 8, 128, rope_theta=1e6, vocab_size=151_936),
    seq_len=512,
    precision="bf16_compute",
    pretrain_optimizer=AdamConfig(3e-4, weight_decay=0.1, warmup=0.1, min_lr_ratio=0.1),
    pretrain_batch=32,
    pretrain_steps=16,
    sft_optimizer=AdamConfig(1e-5, 0.0, 0.9, 0.98, 1e-8, 1.0, warmup=0.1, min_lr_ratio=0.0),
    sft_batch=16,
    sft_steps=8,
    checkpoint_every=0,
    grpo={
        "env_class": "gsm8k",
        "steps": 8,
        "prompts_per_step": 16,
        "samples_per_prompt": 4,
        "max_prompt_tokens": 256,
        "max_new_tokens": 256,
        "temperature": 1.0,
        "top_p": 1.0,
        "drop_long_prompts": True,
        "seed": 17,
        "learning_rate": 2e-6,
        "max_grad_norm": 1.0,
        "use_kl_loss": True,
        "kl_loss_coef": 1e-3,
        "mini_batch_prompts": 16,
        "update_epochs": 1,
        "micro_train_batch_size": 1,
        "micro_forward_batch_size": 2,
        "max_logprob_gap": 0.2,
        "checkpoint_every_steps": 2,
        "role_plan": rl_pb2.RolePlan(
            num_nodes=2,
            gpus_per_node=4,
            policy_nodes=1,
            policy_gpus_per_node=4,
            inference_engines=4,
            inference_tensor_parallel=1,
        ),
    },
    tasks=lambda: [
        _task("gsm8k-smoke", evaluation_pb2.HARNESS_LM_EVAL, limit=128, num_fewshot=5, max_gen_tokens=256),
        _task("aime-smoke", evaluation_pb2.HARNESS_HARBOR, max_gen_tokens=256),
    ],
    evaluate={"max_model_len": 4096, "apply_chat_template": True},
    data_resources=ResourceConfig.with_cpu(cpus=4, memory_gib=32, disk_gib=32),
    train_resources=ResourceConfig.with_gpu("4xGB200", cpus=64, memory_gib=512, disk_gib=256),
    sft_resources=ResourceConfig.with_gpu("4xGB200", cpus=32, memory_gib=384, disk_gib=192),
    rl_resources=ResourceConfig.with_gpu("4xGB200", nodes=2, cpus=16, memory_gib=256, disk_gib=4096),
    eval_resources=ResourceConfig.with_gpu("1xGB200"),
)

PROFILES = {"cpu": CPU, "gb200": GB200}
