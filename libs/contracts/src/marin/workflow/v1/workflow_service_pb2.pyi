from marin.workflow.v1 import workflow_pb2 as _workflow_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PlanGraphRequest(_message.Message):
    __slots__ = ("graph", "options")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    graph: _workflow_pb2.Graph
    options: _workflow_pb2.RunOptions
    def __init__(self, graph: _Optional[_Union[_workflow_pb2.Graph, _Mapping]] = ..., options: _Optional[_Union[_workflow_pb2.RunOptions, _Mapping]] = ...) -> None: ...

class PlanGraphResponse(_message.Message):
    __slots__ = ("nodes", "graph", "resolutions")
    NODES_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    RESOLUTIONS_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[_workflow_pb2.PlannedNode]
    graph: _workflow_pb2.Graph
    resolutions: _containers.RepeatedCompositeFieldContainer[_workflow_pb2.Resolution]
    def __init__(self, nodes: _Optional[_Iterable[_Union[_workflow_pb2.PlannedNode, _Mapping]]] = ..., graph: _Optional[_Union[_workflow_pb2.Graph, _Mapping]] = ..., resolutions: _Optional[_Iterable[_Union[_workflow_pb2.Resolution, _Mapping]]] = ...) -> None: ...

class CreateRunRequest(_message.Message):
    __slots__ = ("request_id", "graph", "options", "provenance")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    graph: _workflow_pb2.Graph
    options: _workflow_pb2.RunOptions
    provenance: _workflow_pb2.Provenance
    def __init__(self, request_id: _Optional[str] = ..., graph: _Optional[_Union[_workflow_pb2.Graph, _Mapping]] = ..., options: _Optional[_Union[_workflow_pb2.RunOptions, _Mapping]] = ..., provenance: _Optional[_Union[_workflow_pb2.Provenance, _Mapping]] = ...) -> None: ...

class CreateRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: _workflow_pb2.Run
    def __init__(self, run: _Optional[_Union[_workflow_pb2.Run, _Mapping]] = ...) -> None: ...

class GetRunRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class GetRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: _workflow_pb2.Run
    def __init__(self, run: _Optional[_Union[_workflow_pb2.Run, _Mapping]] = ...) -> None: ...

class ListRunsRequest(_message.Message):
    __slots__ = ("project", "page_size")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    project: str
    page_size: int
    def __init__(self, project: _Optional[str] = ..., page_size: _Optional[int] = ...) -> None: ...

class ListRunsResponse(_message.Message):
    __slots__ = ("runs",)
    RUNS_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[_workflow_pb2.Run]
    def __init__(self, runs: _Optional[_Iterable[_Union[_workflow_pb2.Run, _Mapping]]] = ...) -> None: ...

class WatchRunRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class WatchRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: _workflow_pb2.Run
    def __init__(self, run: _Optional[_Union[_workflow_pb2.Run, _Mapping]] = ...) -> None: ...

class CancelRunRequest(_message.Message):
    __slots__ = ("id", "reason")
    ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    id: str
    reason: str
    def __init__(self, id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class CancelRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: _workflow_pb2.Run
    def __init__(self, run: _Optional[_Union[_workflow_pb2.Run, _Mapping]] = ...) -> None: ...
