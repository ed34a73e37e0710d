import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.rpc import status_pb2 as _status_pb2
from marin.catalog.v1 import catalog_pb2 as _catalog_pb2
from marin.common.v1 import artifact_pb2 as _artifact_pb2
from marin.common.v1 import job_pb2 as _job_pb2
from marin.data.v1 import data_pb2 as _data_pb2
from marin.evaluation.v1 import evaluation_pb2 as _evaluation_pb2
from marin.rl.v1 import rl_pb2 as _rl_pb2
from marin.tokenization.v1 import tokenization_pb2 as _tokenization_pb2
from marin.training.v1 import training_pb2 as _training_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DriftPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DRIFT_POLICY_UNSPECIFIED: _ClassVar[DriftPolicy]
    DRIFT_POLICY_ERROR: _ClassVar[DriftPolicy]
    DRIFT_POLICY_SERVE: _ClassVar[DriftPolicy]
    DRIFT_POLICY_REBUILD: _ClassVar[DriftPolicy]

class PlanAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PLAN_ACTION_UNSPECIFIED: _ClassVar[PlanAction]
    PLAN_ACTION_CACHED: _ClassVar[PlanAction]
    PLAN_ACTION_RUN: _ClassVar[PlanAction]
    PLAN_ACTION_ADOPT: _ClassVar[PlanAction]
    PLAN_ACTION_DRIFT: _ClassVar[PlanAction]
    PLAN_ACTION_BLOCKED: _ClassVar[PlanAction]

class NodeState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NODE_STATE_UNSPECIFIED: _ClassVar[NodeState]
    NODE_STATE_WAITING: _ClassVar[NodeState]
    NODE_STATE_RUNNING: _ClassVar[NodeState]
    NODE_STATE_CACHED: _ClassVar[NodeState]
    NODE_STATE_SUCCEEDED: _ClassVar[NodeState]
    NODE_STATE_ADOPTED: _ClassVar[NodeState]
    NODE_STATE_FAILED: _ClassVar[NodeState]
    NODE_STATE_SKIPPED: _ClassVar[NodeState]
    NODE_STATE_CANCELLED: _ClassVar[NodeState]

class RunState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_STATE_UNSPECIFIED: _ClassVar[RunState]
    RUN_STATE_RUNNING: _ClassVar[RunState]
    RUN_STATE_SUCCEEDED: _ClassVar[RunState]
    RUN_STATE_FAILED: _ClassVar[RunState]
    RUN_STATE_CANCELLED: _ClassVar[RunState]
DRIFT_POLICY_UNSPECIFIED: DriftPolicy
DRIFT_POLICY_ERROR: DriftPolicy
DRIFT_POLICY_SERVE: DriftPolicy
DRIFT_POLICY_REBUILD: DriftPolicy
PLAN_ACTION_UNSPECIFIED: PlanAction
PLAN_ACTION_CACHED: PlanAction
PLAN_ACTION_RUN: PlanAction
PLAN_ACTION_ADOPT: PlanAction
PLAN_ACTION_DRIFT: PlanAction
PLAN_ACTION_BLOCKED: PlanAction
NODE_STATE_UNSPECIFIED: NodeState
NODE_STATE_WAITING: NodeState
NODE_STATE_RUNNING: NodeState
NODE_STATE_CACHED: NodeState
NODE_STATE_SUCCEEDED: NodeState
NODE_STATE_ADOPTED: NodeState
NODE_STATE_FAILED: NodeState
NODE_STATE_SKIPPED: NodeState
NODE_STATE_CANCELLED: NodeState
RUN_STATE_UNSPECIFIED: RunState
RUN_STATE_RUNNING: RunState
RUN_STATE_SUCCEEDED: RunState
RUN_STATE_FAILED: RunState
RUN_STATE_CANCELLED: RunState

class NodeInput(_message.Message):
    __slots__ = ("role", "node_id", "address")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    role: str
    node_id: str
    address: str
    def __init__(self, role: _Optional[str] = ..., node_id: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class Resources(_message.Message):
    __slots__ = ("accelerator", "nodes", "cpus", "memory_gib", "disk_gib")
    ACCELERATOR_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    CPUS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_GIB_FIELD_NUMBER: _ClassVar[int]
    DISK_GIB_FIELD_NUMBER: _ClassVar[int]
    accelerator: str
    nodes: int
    cpus: int
    memory_gib: int
    disk_gib: int
    def __init__(self, accelerator: _Optional[str] = ..., nodes: _Optional[int] = ..., cpus: _Optional[int] = ..., memory_gib: _Optional[int] = ..., disk_gib: _Optional[int] = ...) -> None: ...

class Node(_message.Message):
    __slots__ = ("id", "stage", "kind", "target", "inputs", "resources", "run_pipeline", "convert_conversations", "convert_problems", "train_tokenizer", "tokenize", "pretrain", "sft", "grpo", "evaluate", "import_tokenizer")
    ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    RUN_PIPELINE_FIELD_NUMBER: _ClassVar[int]
    CONVERT_CONVERSATIONS_FIELD_NUMBER: _ClassVar[int]
    CONVERT_PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    TRAIN_TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    TOKENIZE_FIELD_NUMBER: _ClassVar[int]
    PRETRAIN_FIELD_NUMBER: _ClassVar[int]
    SFT_FIELD_NUMBER: _ClassVar[int]
    GRPO_FIELD_NUMBER: _ClassVar[int]
    EVALUATE_FIELD_NUMBER: _ClassVar[int]
    IMPORT_TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    id: str
    stage: str
    kind: str
    target: _artifact_pb2.ArtifactTarget
    inputs: _containers.RepeatedCompositeFieldContainer[NodeInput]
    resources: Resources
    run_pipeline: _data_pb2.RunPipelineSpec
    convert_conversations: _data_pb2.ConvertConversationsSpec
    convert_problems: _data_pb2.ConvertProblemsSpec
    train_tokenizer: _tokenization_pb2.TrainTokenizerSpec
    tokenize: _tokenization_pb2.TokenizeSpec
    pretrain: _training_pb2.PretrainSpec
    sft: _training_pb2.SftSpec
    grpo: _rl_pb2.GrpoSpec
    evaluate: _evaluation_pb2.EvaluateSpec
    import_tokenizer: _tokenization_pb2.ImportTokenizerSpec
    def __init__(self, id: _Optional[str] = ..., stage: _Optional[str] = ..., kind: _Optional[str] = ..., target: _Optional[_Union[_artifact_pb2.ArtifactTarget, _Mapping]] = ..., inputs: _Optional[_Iterable[_Union[NodeInput, _Mapping]]] = ..., resources: _Optional[_Union[Resources, _Mapping]] = ..., run_pipeline: _Optional[_Union[_data_pb2.RunPipelineSpec, _Mapping]] = ..., convert_conversations: _Optional[_Union[_data_pb2.ConvertConversationsSpec, _Mapping]] = ..., convert_problems: _Optional[_Union[_data_pb2.ConvertProblemsSpec, _Mapping]] = ..., train_tokenizer: _Optional[_Union[_tokenization_pb2.TrainTokenizerSpec, _Mapping]] = ..., tokenize: _Optional[_Union[_tokenization_pb2.TokenizeSpec, _Mapping]] = ..., pretrain: _Optional[_Union[_training_pb2.PretrainSpec, _Mapping]] = ..., sft: _Optional[_Union[_training_pb2.SftSpec, _Mapping]] = ..., grpo: _Optional[_Union[_rl_pb2.GrpoSpec, _Mapping]] = ..., evaluate: _Optional[_Union[_evaluation_pb2.EvaluateSpec, _Mapping]] = ..., import_tokenizer: _Optional[_Union[_tokenization_pb2.ImportTokenizerSpec, _Mapping]] = ...) -> None: ...

class Graph(_message.Message):
    __slots__ = ("name", "project", "nodes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    name: str
    project: str
    nodes: _containers.RepeatedCompositeFieldContainer[Node]
    def __init__(self, name: _Optional[str] = ..., project: _Optional[str] = ..., nodes: _Optional[_Iterable[_Union[Node, _Mapping]]] = ...) -> None: ...

class RunOptions(_message.Message):
    __slots__ = ("on_drift", "fresh")
    ON_DRIFT_FIELD_NUMBER: _ClassVar[int]
    FRESH_FIELD_NUMBER: _ClassVar[int]
    on_drift: DriftPolicy
    fresh: bool
    def __init__(self, on_drift: _Optional[_Union[DriftPolicy, str]] = ..., fresh: _Optional[bool] = ...) -> None: ...

class Resolution(_message.Message):
    __slots__ = ("alias", "address", "content_digest")
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CONTENT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    alias: str
    address: str
    content_digest: str
    def __init__(self, alias: _Optional[str] = ..., address: _Optional[str] = ..., content_digest: _Optional[str] = ...) -> None: ...

class Provenance(_message.Message):
    __slots__ = ("git_revision", "git_dirty", "command", "user", "host")
    GIT_REVISION_FIELD_NUMBER: _ClassVar[int]
    GIT_DIRTY_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    git_revision: str
    git_dirty: bool
    command: str
    user: str
    host: str
    def __init__(self, git_revision: _Optional[str] = ..., git_dirty: _Optional[bool] = ..., command: _Optional[str] = ..., user: _Optional[str] = ..., host: _Optional[str] = ...) -> None: ...

class PlannedNode(_message.Message):
    __slots__ = ("node_id", "action", "reason", "build_key", "artifact", "diff")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    BUILD_KEY_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    DIFF_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    action: PlanAction
    reason: str
    build_key: str
    artifact: _catalog_pb2.Artifact
    diff: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, node_id: _Optional[str] = ..., action: _Optional[_Union[PlanAction, str]] = ..., reason: _Optional[str] = ..., build_key: _Optional[str] = ..., artifact: _Optional[_Union[_catalog_pb2.Artifact, _Mapping]] = ..., diff: _Optional[_Iterable[str]] = ...) -> None: ...

class NodeStatus(_message.Message):
    __slots__ = ("node_id", "state", "reason", "job", "artifact", "error")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    state: NodeState
    reason: str
    job: _job_pb2.Job
    artifact: _catalog_pb2.Artifact
    error: _status_pb2.Status
    def __init__(self, node_id: _Optional[str] = ..., state: _Optional[_Union[NodeState, str]] = ..., reason: _Optional[str] = ..., job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ..., artifact: _Optional[_Union[_catalog_pb2.Artifact, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class Run(_message.Message):
    __slots__ = ("id", "graph", "state", "nodes", "create_time", "end_time", "cancel_reason", "options", "resolutions", "provenance")
    ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    CANCEL_REASON_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    RESOLUTIONS_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    id: str
    graph: Graph
    state: RunState
    nodes: _containers.RepeatedCompositeFieldContainer[NodeStatus]
    create_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    cancel_reason: str
    options: RunOptions
    resolutions: _containers.RepeatedCompositeFieldContainer[Resolution]
    provenance: Provenance
    def __init__(self, id: _Optional[str] = ..., graph: _Optional[_Union[Graph, _Mapping]] = ..., state: _Optional[_Union[RunState, str]] = ..., nodes: _Optional[_Iterable[_Union[NodeStatus, _Mapping]]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., cancel_reason: _Optional[str] = ..., options: _Optional[_Union[RunOptions, _Mapping]] = ..., resolutions: _Optional[_Iterable[_Union[Resolution, _Mapping]]] = ..., provenance: _Optional[_Union[Provenance, _Mapping]] = ...) -> None: ...
