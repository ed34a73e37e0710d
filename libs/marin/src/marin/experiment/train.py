"""Pretraining and supervised fine-tuning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from marin.client.errors import MarinError
from marin.execution.lazy import ArtifactStep, ResourceConfig
from marin.training.v1 import training_pb2 as pb


@dataclass(frozen=True)
class ModelConfig:
    """Shape of a decoder-only transformer; ``vocab_size`` 0 is the tokenizer's."""

    max_seq_len: int
    hidden_dim: int
    intermediate_dim: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int = 0
    tie_word_embeddings: bool = True
    rope_theta: float = 10_000.0
    layer_norm_epsilon: float = 1e-6
    vocab_size: int = 0
    family: str = "qwen3"

    def message(self) -> pb.ModelConfig:
        fields = {k: v for k, v in vars(self).items() if k != "family"}
        return pb.ModelConfig(family=_family(self.family), **fields)


@dataclass(frozen=True)
class AdamConfig:
    """AdamW with a learning-rate schedule. ``warmup`` is a fraction of the steps; ``min_lr_ratio`` a fraction of the peak."""

    learning_rate: float
    weight_decay: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.95
    epsilon: float = 1e-8
    max_grad_norm: float = 1.0
    warmup: float = 0.1
    min_lr_ratio: float = 0.1
    lr_schedule: str = "cosine"

    def message(self) -> pb.OptimizerConfig:
        fields = {k: v for k, v in vars(self).items() if k != "lr_schedule"}
        schedule = pb.LrSchedule.Value(f"LR_SCHEDULE_{self.lr_schedule.upper()}")
        return pb.OptimizerConfig(type=pb.OPTIMIZER_TYPE_ADAM, lr_schedule=schedule, **fields)


def train_lm(
    *,
    name: str,
    model: ModelConfig,
    optimizer: AdamConfig,
    datasets: Mapping[ArtifactStep, float],
    batch_size: int,
    seq_len: int,
    num_train_steps: int,
    version: str = "dev",
    z_loss_weight: float = 0.0,
    seed: int = 0,
    precision: str = "f32",
    checkpoint_every_steps: int = 0,
    eos_tokens: Sequence[str] = (),
    pad_tokenizer_to_match_model: bool = False,
    resources: ResourceConfig = ResourceConfig(),
    stage: str = "",
) -> ArtifactStep:
    """Pretrains from random weights on a mixture of token caches: ``datasets`` maps each to its share.

    One dataset is the input "tokens"; several are "tokens/<last part of its name>". A tokenizer smaller than the model
    is an error unless it is to be padded.
    """
    if not datasets:
        raise MarinError(f"{name} has no dataset", "give at least one token cache with its weight", "NO_DATASET")
    spec = pb.PretrainSpec(
        model=model.message(),
        optimizer=optimizer.message(),
        num_train_steps=num_train_steps,
        train_batch_size=batch_size,
        seq_len=seq_len,
        z_loss_weight=z_loss_weight,
        precision=_precision(precision),
        seed=seed,
        checkpoint_every_steps=checkpoint_every_steps,
        generation_eos_tokens=eos_tokens,
        pad_tokenizer_to_match_model=pad_tokenizer_to_match_model,
        resources=_resources(resources),
    )
    if len(datasets) == 1:
        inputs = {"tokens": next(iter(datasets))}
    else:
        short = {step: step.name.rpartition("/")[2] for step in datasets}
        inputs = {f"tokens/{short[step]}": step for step in datasets}
        for step, weight in datasets.items():
            spec.mixture_weights[short[step]] = weight
    return ArtifactStep(name, version, "checkpoint.pretrain", spec, inputs, stage, resources)


def sft(
    *,
    name: str,
    init_from: ArtifactStep | str,
    conversations: ArtifactStep | str,
    optimizer: AdamConfig,
    batch_size: int,
    seq_len: int,
    num_train_steps: int,
    version: str = "dev",
    z_loss_weight: float = 0.0,
    seed: int = 0,
    precision: str = "f32",
    checkpoint_every_steps: int = 0,
    eos_tokens: Sequence[str] = ("<|im_end|>", "<|endoftext|>"),
    pad_tokenizer_to_match_model: bool = False,
    resources: ResourceConfig = ResourceConfig(),
    stage: str = "",
) -> ArtifactStep:
    """Fine-tunes on conversations: weights of ``init_from``, a fresh optimizer, loss on what the assistant says."""
    spec = pb.SftSpec(
        optimizer=optimizer.message(),
        num_train_steps=num_train_steps,
        train_batch_size=batch_size,
        seq_len=seq_len,
        z_loss_weight=z_loss_weight,
        precision=_precision(precision),
        seed=seed,
        checkpoint_every_steps=checkpoint_every_steps,
        generation_eos_tokens=eos_tokens,
        pad_tokenizer_to_match_model=pad_tokenizer_to_match_model,
        loss_mask=pb.LOSS_MASK_ASSISTANT,
        resources=_resources(resources),
    )
    return ArtifactStep(
        name, version, "checkpoint.sft", spec, {"init": init_from, "conversations": conversations}, stage, resources
    )


def _family(name: str) -> int:
    return pb.ModelFamily.Value(f"MODEL_FAMILY_{name.upper()}")


def _precision(name: str) -> int:
    return pb.Precision.Value(f"PRECISION_{name.upper()}")


def _resources(r: ResourceConfig) -> pb.Resources:
    count, _, kind = r.accelerator.partition("x") if r.accelerator[:1].isdigit() else ("1", "", r.accelerator)
    return pb.Resources(
        accelerator=kind.lower(),
        accelerators_per_node=int(count) if kind else 0,
        nodes=r.nodes,
        cpus=r.cpus,
        ram_gib=r.memory_gib,
        disk_gib=r.disk_gib,
    )
