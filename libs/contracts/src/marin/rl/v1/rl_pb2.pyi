from marin.common.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AdvantageEstimator(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ADVANTAGE_ESTIMATOR_UNSPECIFIED: _ClassVar[AdvantageEstimator]
    ADVANTAGE_ESTIMATOR_GRPO: _ClassVar[AdvantageEstimator]
    ADVANTAGE_ESTIMATOR_RLOO: _ClassVar[AdvantageEstimator]
    ADVANTAGE_ESTIMATOR_REINFORCE_PP: _ClassVar[AdvantageEstimator]
    ADVANTAGE_ESTIMATOR_MAXRL: _ClassVar[AdvantageEstimator]

class PolicyLoss(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    POLICY_LOSS_UNSPECIFIED: _ClassVar[PolicyLoss]
    POLICY_LOSS_REGULAR: _ClassVar[PolicyLoss]
    POLICY_LOSS_DUAL_CLIP: _ClassVar[PolicyLoss]
    POLICY_LOSS_GSPO: _ClassVar[PolicyLoss]
    POLICY_LOSS_CISPO: _ClassVar[PolicyLoss]
    POLICY_LOSS_SAPO: _ClassVar[PolicyLoss]
    POLICY_LOSS_DPPO: _ClassVar[PolicyLoss]
    POLICY_LOSS_ROLLOUT_IS: _ClassVar[PolicyLoss]
    POLICY_LOSS_CLIP_COV: _ClassVar[PolicyLoss]
    POLICY_LOSS_KL_COV: _ClassVar[PolicyLoss]
    POLICY_LOSS_IMPORTANCE_SAMPLING: _ClassVar[PolicyLoss]

class KlEstimator(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KL_ESTIMATOR_UNSPECIFIED: _ClassVar[KlEstimator]
    KL_ESTIMATOR_K1: _ClassVar[KlEstimator]
    KL_ESTIMATOR_K2: _ClassVar[KlEstimator]
    KL_ESTIMATOR_K3: _ClassVar[KlEstimator]
    KL_ESTIMATOR_ABS: _ClassVar[KlEstimator]

class LossReduction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOSS_REDUCTION_UNSPECIFIED: _ClassVar[LossReduction]
    LOSS_REDUCTION_TOKEN_MEAN: _ClassVar[LossReduction]
    LOSS_REDUCTION_SEQUENCE_MEAN: _ClassVar[LossReduction]
    LOSS_REDUCTION_SEQ_MEAN_TOKEN_SUM_NORM: _ClassVar[LossReduction]
    LOSS_REDUCTION_PROMPT_MEAN: _ClassVar[LossReduction]

class ZeroVariancePolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ZERO_VARIANCE_POLICY_UNSPECIFIED: _ClassVar[ZeroVariancePolicy]
    ZERO_VARIANCE_POLICY_MASK: _ClassVar[ZeroVariancePolicy]
    ZERO_VARIANCE_POLICY_ZERO: _ClassVar[ZeroVariancePolicy]
ADVANTAGE_ESTIMATOR_UNSPECIFIED: AdvantageEstimator
ADVANTAGE_ESTIMATOR_GRPO: AdvantageEstimator
ADVANTAGE_ESTIMATOR_RLOO: AdvantageEstimator
ADVANTAGE_ESTIMATOR_REINFORCE_PP: AdvantageEstimator
ADVANTAGE_ESTIMATOR_MAXRL: AdvantageEstimator
POLICY_LOSS_UNSPECIFIED: PolicyLoss
POLICY_LOSS_REGULAR: PolicyLoss
POLICY_LOSS_DUAL_CLIP: PolicyLoss
POLICY_LOSS_GSPO: PolicyLoss
POLICY_LOSS_CISPO: PolicyLoss
POLICY_LOSS_SAPO: PolicyLoss
POLICY_LOSS_DPPO: PolicyLoss
POLICY_LOSS_ROLLOUT_IS: PolicyLoss
POLICY_LOSS_CLIP_COV: PolicyLoss
POLICY_LOSS_KL_COV: PolicyLoss
POLICY_LOSS_IMPORTANCE_SAMPLING: PolicyLoss
KL_ESTIMATOR_UNSPECIFIED: KlEstimator
KL_ESTIMATOR_K1: KlEstimator
KL_ESTIMATOR_K2: KlEstimator
KL_ESTIMATOR_K3: KlEstimator
KL_ESTIMATOR_ABS: KlEstimator
LOSS_REDUCTION_UNSPECIFIED: LossReduction
LOSS_REDUCTION_TOKEN_MEAN: LossReduction
LOSS_REDUCTION_SEQUENCE_MEAN: LossReduction
LOSS_REDUCTION_SEQ_MEAN_TOKEN_SUM_NORM: LossReduction
LOSS_REDUCTION_PROMPT_MEAN: LossReduction
ZERO_VARIANCE_POLICY_UNSPECIFIED: ZeroVariancePolicy
ZERO_VARIANCE_POLICY_MASK: ZeroVariancePolicy
ZERO_VARIANCE_POLICY_ZERO: ZeroVariancePolicy

class TokenShareTask(_message.Message):
    __slots__ = ("target_token_ids",)
    TARGET_TOKEN_IDS_FIELD_NUMBER: _ClassVar[int]
    target_token_ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, target_token_ids: _Optional[_Iterable[int]] = ...) -> None: ...

class RolePlan(_message.Message):
    __slots__ = ("num_nodes", "gpus_per_node", "policy_nodes", "policy_gpus_per_node", "inference_engines", "inference_tensor_parallel", "colocate_all")
    NUM_NODES_FIELD_NUMBER: _ClassVar[int]
    GPUS_PER_NODE_FIELD_NUMBER: _ClassVar[int]
    POLICY_NODES_FIELD_NUMBER: _ClassVar[int]
    POLICY_GPUS_PER_NODE_FIELD_NUMBER: _ClassVar[int]
    INFERENCE_ENGINES_FIELD_NUMBER: _ClassVar[int]
    INFERENCE_TENSOR_PARALLEL_FIELD_NUMBER: _ClassVar[int]
    COLOCATE_ALL_FIELD_NUMBER: _ClassVar[int]
    num_nodes: int
    gpus_per_node: int
    policy_nodes: int
    policy_gpus_per_node: int
    inference_engines: int
    inference_tensor_parallel: int
    colocate_all: bool
    def __init__(self, num_nodes: _Optional[int] = ..., gpus_per_node: _Optional[int] = ..., policy_nodes: _Optional[int] = ..., policy_gpus_per_node: _Optional[int] = ..., inference_engines: _Optional[int] = ..., inference_tensor_parallel: _Optional[int] = ..., colocate_all: _Optional[bool] = ...) -> None: ...

class GrpoSpec(_message.Message):
    __slots__ = ("env_class", "token_share", "steps", "prompts_per_step", "samples_per_prompt", "max_prompt_tokens", "drop_long_prompts", "max_new_tokens", "temperature", "top_p", "seed", "learning_rate", "warmup_steps", "adam_beta1", "adam_beta2", "adam_epsilon", "weight_decay", "max_grad_norm", "mini_batch_prompts", "update_epochs", "micro_train_batch_size", "micro_forward_batch_size", "advantage_estimator", "norm_by_std_off", "policy_loss", "clip_eps_low", "clip_eps_high", "loss_reduction", "use_kl_loss", "kl_loss_coef", "kl_estimator", "zero_variance_policy", "mask_truncated", "max_staleness", "max_logprob_gap", "checkpoint_every_steps", "rollout_timeout_s", "sync_timeout_s", "role_plan")
    ENV_CLASS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_SHARE_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    PROMPTS_PER_STEP_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_PER_PROMPT_FIELD_NUMBER: _ClassVar[int]
    MAX_PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    DROP_LONG_PROMPTS_FIELD_NUMBER: _ClassVar[int]
    MAX_NEW_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    TOP_P_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    LEARNING_RATE_FIELD_NUMBER: _ClassVar[int]
    WARMUP_STEPS_FIELD_NUMBER: _ClassVar[int]
    ADAM_BETA1_FIELD_NUMBER: _ClassVar[int]
    ADAM_BETA2_FIELD_NUMBER: _ClassVar[int]
    ADAM_EPSILON_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_DECAY_FIELD_NUMBER: _ClassVar[int]
    MAX_GRAD_NORM_FIELD_NUMBER: _ClassVar[int]
    MINI_BATCH_PROMPTS_FIELD_NUMBER: _ClassVar[int]
    UPDATE_EPOCHS_FIELD_NUMBER: _ClassVar[int]
    MICRO_TRAIN_BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    MICRO_FORWARD_BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    ADVANTAGE_ESTIMATOR_FIELD_NUMBER: _ClassVar[int]
    NORM_BY_STD_OFF_FIELD_NUMBER: _ClassVar[int]
    POLICY_LOSS_FIELD_NUMBER: _ClassVar[int]
    CLIP_EPS_LOW_FIELD_NUMBER: _ClassVar[int]
    CLIP_EPS_HIGH_FIELD_NUMBER: _ClassVar[int]
    LOSS_REDUCTION_FIELD_NUMBER: _ClassVar[int]
    USE_KL_LOSS_FIELD_NUMBER: _ClassVar[int]
    KL_LOSS_COEF_FIELD_NUMBER: _ClassVar[int]
    KL_ESTIMATOR_FIELD_NUMBER: _ClassVar[int]
    ZERO_VARIANCE_POLICY_FIELD_NUMBER: _ClassVar[int]
    MASK_TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    MAX_STALENESS_FIELD_NUMBER: _ClassVar[int]
    MAX_LOGPROB_GAP_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_EVERY_STEPS_FIELD_NUMBER: _ClassVar[int]
    ROLLOUT_TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    SYNC_TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    ROLE_PLAN_FIELD_NUMBER: _ClassVar[int]
    env_class: str
    token_share: TokenShareTask
    steps: int
    prompts_per_step: int
    samples_per_prompt: int
    max_prompt_tokens: int
    drop_long_prompts: bool
    max_new_tokens: int
    temperature: float
    top_p: float
    seed: int
    learning_rate: float
    warmup_steps: int
    adam_beta1: float
    adam_beta2: float
    adam_epsilon: float
    weight_decay: float
    max_grad_norm: float
    mini_batch_prompts: int
    update_epochs: int
    micro_train_batch_size: int
    micro_forward_batch_size: int
    advantage_estimator: AdvantageEstimator
    norm_by_std_off: bool
    policy_loss: PolicyLoss
    clip_eps_low: float
    clip_eps_high: float
    loss_reduction: LossReduction
    use_kl_loss: bool
    kl_loss_coef: float
    kl_estimator: KlEstimator
    zero_variance_policy: ZeroVariancePolicy
    mask_truncated: bool
    max_staleness: int
    max_logprob_gap: float
    checkpoint_every_steps: int
    rollout_timeout_s: int
    sync_timeout_s: int
    role_plan: RolePlan
    def __init__(self, env_class: _Optional[str] = ..., token_share: _Optional[_Union[TokenShareTask, _Mapping]] = ..., steps: _Optional[int] = ..., prompts_per_step: _Optional[int] = ..., samples_per_prompt: _Optional[int] = ..., max_prompt_tokens: _Optional[int] = ..., drop_long_prompts: _Optional[bool] = ..., max_new_tokens: _Optional[int] = ..., temperature: _Optional[float] = ..., top_p: _Optional[float] = ..., seed: _Optional[int] = ..., learning_rate: _Optional[float] = ..., warmup_steps: _Optional[int] = ..., adam_beta1: _Optional[float] = ..., adam_beta2: _Optional[float] = ..., adam_epsilon: _Optional[float] = ..., weight_decay: _Optional[float] = ..., max_grad_norm: _Optional[float] = ..., mini_batch_prompts: _Optional[int] = ..., update_epochs: _Optional[int] = ..., micro_train_batch_size: _Optional[int] = ..., micro_forward_batch_size: _Optional[int] = ..., advantage_estimator: _Optional[_Union[AdvantageEstimator, str]] = ..., norm_by_std_off: _Optional[bool] = ..., policy_loss: _Optional[_Union[PolicyLoss, str]] = ..., clip_eps_low: _Optional[float] = ..., clip_eps_high: _Optional[float] = ..., loss_reduction: _Optional[_Union[LossReduction, str]] = ..., use_kl_loss: _Optional[bool] = ..., kl_loss_coef: _Optional[float] = ..., kl_estimator: _Optional[_Union[KlEstimator, str]] = ..., zero_variance_policy: _Optional[_Union[ZeroVariancePolicy, str]] = ..., mask_truncated: _Optional[bool] = ..., max_staleness: _Optional[int] = ..., max_logprob_gap: _Optional[float] = ..., checkpoint_every_steps: _Optional[int] = ..., rollout_timeout_s: _Optional[int] = ..., sync_timeout_s: _Optional[int] = ..., role_plan: _Optional[_Union[RolePlan, _Mapping]] = ...) -> None: ...
