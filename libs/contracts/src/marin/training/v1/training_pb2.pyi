from marin.common.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ModelFamily(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MODEL_FAMILY_UNSPECIFIED: _ClassVar[ModelFamily]
    MODEL_FAMILY_QWEN3: _ClassVar[ModelFamily]
    MODEL_FAMILY_LLAMA: _ClassVar[ModelFamily]

class OptimizerType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OPTIMIZER_TYPE_UNSPECIFIED: _ClassVar[OptimizerType]
    OPTIMIZER_TYPE_ADAM: _ClassVar[OptimizerType]

class LrSchedule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LR_SCHEDULE_UNSPECIFIED: _ClassVar[LrSchedule]
    LR_SCHEDULE_COSINE: _ClassVar[LrSchedule]
    LR_SCHEDULE_LINEAR: _ClassVar[LrSchedule]
    LR_SCHEDULE_CONSTANT: _ClassVar[LrSchedule]

class Precision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PRECISION_UNSPECIFIED: _ClassVar[Precision]
    PRECISION_F32: _ClassVar[Precision]
    PRECISION_BF16_COMPUTE: _ClassVar[Precision]

class LossMask(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOSS_MASK_UNSPECIFIED: _ClassVar[LossMask]
    LOSS_MASK_ASSISTANT: _ClassVar[LossMask]
    LOSS_MASK_ALL: _ClassVar[LossMask]
MODEL_FAMILY_UNSPECIFIED: ModelFamily
MODEL_FAMILY_QWEN3: ModelFamily
MODEL_FAMILY_LLAMA: ModelFamily
OPTIMIZER_TYPE_UNSPECIFIED: OptimizerType
OPTIMIZER_TYPE_ADAM: OptimizerType
LR_SCHEDULE_UNSPECIFIED: LrSchedule
LR_SCHEDULE_COSINE: LrSchedule
LR_SCHEDULE_LINEAR: LrSchedule
LR_SCHEDULE_CONSTANT: LrSchedule
PRECISION_UNSPECIFIED: Precision
PRECISION_F32: Precision
PRECISION_BF16_COMPUTE: Precision
LOSS_MASK_UNSPECIFIED: LossMask
LOSS_MASK_ASSISTANT: LossMask
LOSS_MASK_ALL: LossMask

class ModelConfig(_message.Message):
    __slots__ = ("family", "max_seq_len", "hidden_dim", "intermediate_dim", "num_layers", "num_heads", "num_kv_heads", "head_dim", "tie_word_embeddings", "rope_theta", "layer_norm_epsilon", "vocab_size")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    MAX_SEQ_LEN_FIELD_NUMBER: _ClassVar[int]
    HIDDEN_DIM_FIELD_NUMBER: _ClassVar[int]
    INTERMEDIATE_DIM_FIELD_NUMBER: _ClassVar[int]
    NUM_LAYERS_FIELD_NUMBER: _ClassVar[int]
    NUM_HEADS_FIELD_NUMBER: _ClassVar[int]
    NUM_KV_HEADS_FIELD_NUMBER: _ClassVar[int]
    HEAD_DIM_FIELD_NUMBER: _ClassVar[int]
    TIE_WORD_EMBEDDINGS_FIELD_NUMBER: _ClassVar[int]
    ROPE_THETA_FIELD_NUMBER: _ClassVar[int]
    LAYER_NORM_EPSILON_FIELD_NUMBER: _ClassVar[int]
    VOCAB_SIZE_FIELD_NUMBER: _ClassVar[int]
    family: ModelFamily
    max_seq_len: int
    hidden_dim: int
    intermediate_dim: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    tie_word_embeddings: bool
    rope_theta: float
    layer_norm_epsilon: float
    vocab_size: int
    def __init__(self, family: _Optional[_Union[ModelFamily, str]] = ..., max_seq_len: _Optional[int] = ..., hidden_dim: _Optional[int] = ..., intermediate_dim: _Optional[int] = ..., num_layers: _Optional[int] = ..., num_heads: _Optional[int] = ..., num_kv_heads: _Optional[int] = ..., head_dim: _Optional[int] = ..., tie_word_embeddings: _Optional[bool] = ..., rope_theta: _Optional[float] = ..., layer_norm_epsilon: _Optional[float] = ..., vocab_size: _Optional[int] = ...) -> None: ...

class OptimizerConfig(_message.Message):
    __slots__ = ("type", "learning_rate", "weight_decay", "beta1", "beta2", "epsilon", "max_grad_norm", "warmup", "min_lr_ratio", "lr_schedule")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    LEARNING_RATE_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_DECAY_FIELD_NUMBER: _ClassVar[int]
    BETA1_FIELD_NUMBER: _ClassVar[int]
    BETA2_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    MAX_GRAD_NORM_FIELD_NUMBER: _ClassVar[int]
    WARMUP_FIELD_NUMBER: _ClassVar[int]
    MIN_LR_RATIO_FIELD_NUMBER: _ClassVar[int]
    LR_SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    type: OptimizerType
    learning_rate: float
    weight_decay: float
    beta1: float
    beta2: float
    epsilon: float
    max_grad_norm: float
    warmup: float
    min_lr_ratio: float
    lr_schedule: LrSchedule
    def __init__(self, type: _Optional[_Union[OptimizerType, str]] = ..., learning_rate: _Optional[float] = ..., weight_decay: _Optional[float] = ..., beta1: _Optional[float] = ..., beta2: _Optional[float] = ..., epsilon: _Optional[float] = ..., max_grad_norm: _Optional[float] = ..., warmup: _Optional[float] = ..., min_lr_ratio: _Optional[float] = ..., lr_schedule: _Optional[_Union[LrSchedule, str]] = ...) -> None: ...

class Resources(_message.Message):
    __slots__ = ("accelerator", "accelerators_per_node", "nodes", "cpus", "ram_gib", "disk_gib")
    ACCELERATOR_FIELD_NUMBER: _ClassVar[int]
    ACCELERATORS_PER_NODE_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    CPUS_FIELD_NUMBER: _ClassVar[int]
    RAM_GIB_FIELD_NUMBER: _ClassVar[int]
    DISK_GIB_FIELD_NUMBER: _ClassVar[int]
    accelerator: str
    accelerators_per_node: int
    nodes: int
    cpus: int
    ram_gib: int
    disk_gib: int
    def __init__(self, accelerator: _Optional[str] = ..., accelerators_per_node: _Optional[int] = ..., nodes: _Optional[int] = ..., cpus: _Optional[int] = ..., ram_gib: _Optional[int] = ..., disk_gib: _Optional[int] = ...) -> None: ...

class PretrainSpec(_message.Message):
    __slots__ = ("model", "optimizer", "num_train_steps", "train_batch_size", "seq_len", "z_loss_weight", "precision", "seed", "checkpoint_every_steps", "mixture_weights", "generation_eos_tokens", "resources", "pad_tokenizer_to_match_model")
    class MixtureWeightsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    MODEL_FIELD_NUMBER: _ClassVar[int]
    OPTIMIZER_FIELD_NUMBER: _ClassVar[int]
    NUM_TRAIN_STEPS_FIELD_NUMBER: _ClassVar[int]
    TRAIN_BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    SEQ_LEN_FIELD_NUMBER: _ClassVar[int]
    Z_LOSS_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    PRECISION_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_EVERY_STEPS_FIELD_NUMBER: _ClassVar[int]
    MIXTURE_WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    GENERATION_EOS_TOKENS_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    PAD_TOKENIZER_TO_MATCH_MODEL_FIELD_NUMBER: _ClassVar[int]
    model: ModelConfig
    optimizer: OptimizerConfig
    num_train_steps: int
    train_batch_size: int
    seq_len: int
    z_loss_weight: float
    precision: Precision
    seed: int
    checkpoint_every_steps: int
    mixture_weights: _containers.ScalarMap[str, float]
    generation_eos_tokens: _containers.RepeatedScalarFieldContainer[str]
    resources: Resources
    pad_tokenizer_to_match_model: bool
    def __init__(self, model: _Optional[_Union[ModelConfig, _Mapping]] = ..., optimizer: _Optional[_Union[OptimizerConfig, _Mapping]] = ..., num_train_steps: _Optional[int] = ..., train_batch_size: _Optional[int] = ..., seq_len: _Optional[int] = ..., z_loss_weight: _Optional[float] = ..., precision: _Optional[_Union[Precision, str]] = ..., seed: _Optional[int] = ..., checkpoint_every_steps: _Optional[int] = ..., mixture_weights: _Optional[_Mapping[str, float]] = ..., generation_eos_tokens: _Optional[_Iterable[str]] = ..., resources: _Optional[_Union[Resources, _Mapping]] = ..., pad_tokenizer_to_match_model: _Optional[bool] = ...) -> None: ...

class SftSpec(_message.Message):
    __slots__ = ("optimizer", "num_train_steps", "train_batch_size", "seq_len", "z_loss_weight", "precision", "seed", "checkpoint_every_steps", "chat_template", "loss_mask", "max_conversations_per_sequence", "generation_eos_tokens", "resources", "pad_tokenizer_to_match_model")
    OPTIMIZER_FIELD_NUMBER: _ClassVar[int]
    NUM_TRAIN_STEPS_FIELD_NUMBER: _ClassVar[int]
    TRAIN_BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    SEQ_LEN_FIELD_NUMBER: _ClassVar[int]
    Z_LOSS_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    PRECISION_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_EVERY_STEPS_FIELD_NUMBER: _ClassVar[int]
    CHAT_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    LOSS_MASK_FIELD_NUMBER: _ClassVar[int]
    MAX_CONVERSATIONS_PER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    GENERATION_EOS_TOKENS_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    PAD_TOKENIZER_TO_MATCH_MODEL_FIELD_NUMBER: _ClassVar[int]
    optimizer: OptimizerConfig
    num_train_steps: int
    train_batch_size: int
    seq_len: int
    z_loss_weight: float
    precision: Precision
    seed: int
    checkpoint_every_steps: int
    chat_template: str
    loss_mask: LossMask
    max_conversations_per_sequence: int
    generation_eos_tokens: _containers.RepeatedScalarFieldContainer[str]
    resources: Resources
    pad_tokenizer_to_match_model: bool
    def __init__(self, optimizer: _Optional[_Union[OptimizerConfig, _Mapping]] = ..., num_train_steps: _Optional[int] = ..., train_batch_size: _Optional[int] = ..., seq_len: _Optional[int] = ..., z_loss_weight: _Optional[float] = ..., precision: _Optional[_Union[Precision, str]] = ..., seed: _Optional[int] = ..., checkpoint_every_steps: _Optional[int] = ..., chat_template: _Optional[str] = ..., loss_mask: _Optional[_Union[LossMask, str]] = ..., max_conversations_per_sequence: _Optional[int] = ..., generation_eos_tokens: _Optional[_Iterable[str]] = ..., resources: _Optional[_Union[Resources, _Mapping]] = ..., pad_tokenizer_to_match_model: _Optional[bool] = ...) -> None: ...
