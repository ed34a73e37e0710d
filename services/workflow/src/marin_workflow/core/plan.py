"""Decides what to do with each node, from the leaves up, and says why."""

from typing import Any, Protocol

from marin.catalog.v1.catalog_pb2 import Artifact
from marin.workflow.v1 import workflow_pb2 as wf
from marin_artifacts.identity import build_key, semantic_dict
from marin_workflow.core.graph import is_mutable, spec_of, topological

_DONE = (wf.PLAN_ACTION_CACHED, wf.PLAN_ACTION_ADOPT)
_STUCK = (wf.PLAN_ACTION_DRIFT, wf.PLAN_ACTION_BLOCKED)


class CatalogView(Protocol):
    """What planning reads."""

    async def artifact(self, project: str, name: str, version: str) -> Artifact | None: ...

    async def find(self, project: str, key: str) -> Artifact | None: ...

    async def identity_of(self, artifact: Artifact, spec_type: type) -> tuple[dict[str, Any], dict[str, str]]: ...


NO_OPTIONS = wf.RunOptions()


async def plan(graph: wf.Graph, catalog: CatalogView, options: wf.RunOptions = NO_OPTIONS) -> list[wf.PlannedNode]:
    """One decision for each node, in topological order. Raises EngineError for a graph that is not well formed."""
    decided: dict[str, wf.PlannedNode] = {}
    for node in topological(graph):
        decided[node.id] = await decide(graph.project, node, decided, catalog, options)
    return list(decided.values())


async def decide(
    project: str,
    node: wf.Node,
    decided: dict[str, wf.PlannedNode],
    catalog: CatalogView,
    options: wf.RunOptions = NO_OPTIONS,
) -> wf.PlannedNode:
    """The decision about one node whose dependencies are decided."""
    result = wf.PlannedNode(node_id=node.id)
    digests: dict[str, str] = {}
    waits: list[str] = []
    for i in node.inputs:
        if i.node_id:
            dep = decided[i.node_id]
            if dep.action in _STUCK:
                result.action, result.reason = wf.PLAN_ACTION_BLOCKED, f"its input '{i.node_id}' cannot be built"
                return result
            if dep.action in _DONE:
                digests[i.role] = dep.artifact.content_digest
            else:
                waits.append(i.node_id)
        else:
            name, _, version = i.address.rpartition("@")
            artifact = await catalog.artifact(project, name, version)
            if artifact is None:
                result.action, result.reason = wf.PLAN_ACTION_BLOCKED, f"its input {i.address} is not committed"
                return result
            digests[i.role] = artifact.content_digest
    if waits:
        result.action = wf.PLAN_ACTION_RUN
        result.reason = f"after {', '.join(dict.fromkeys(waits))}"
        return result
    return await with_inputs(project, node, digests, catalog, options)


async def with_inputs(
    project: str,
    node: wf.Node,
    digests: dict[str, str],
    catalog: CatalogView,
    options: wf.RunOptions = NO_OPTIONS,
) -> wf.PlannedNode:
    """The decision about one node all of whose inputs are committed with these digests (role -> digest)."""
    key = build_key(node.kind, spec_of(node), digests)
    result = wf.PlannedNode(node_id=node.id, build_key=key)
    if is_mutable(node.target.version):
        result.action, result.reason = wf.PLAN_ACTION_RUN, f"'{node.target.version}' is rebuilt every time"
        return result
    artifact = await catalog.artifact(project, node.target.name, node.target.version)
    if artifact is None:
        await _make(result, project, catalog, options, "not built yet")
        return result
    result.artifact.CopyFrom(artifact)
    if artifact.build_key == key:
        result.action, result.reason = wf.PLAN_ACTION_CACHED, "committed with this build key"
        return result
    result.diff.extend(await _diff(node, digests, artifact, catalog))
    if options.on_drift == wf.DRIFT_POLICY_SERVE:
        result.action, result.reason = wf.PLAN_ACTION_CACHED, "drifted, and served as it is (--on-drift=serve)"
    elif options.on_drift == wf.DRIFT_POLICY_REBUILD:
        await _make(result, project, catalog, options, f"drifted: takes the place of {artifact.content_digest[7:19]}")
    else:
        result.action = wf.PLAN_ACTION_DRIFT
        result.reason = f"committed with another build key ({artifact.build_key[:12]}, asked {key[:12]})"
    return result


async def _make(
    result: wf.PlannedNode, project: str, catalog: CatalogView, options: wf.RunOptions, reason: str
) -> None:
    """Adopts the same build from another address, or runs."""
    same = await catalog.find(project, result.build_key)
    source = f"{same.target.name}@{same.target.version}" if same else ""
    if same and not options.fresh:
        result.action, result.reason = wf.PLAN_ACTION_ADOPT, f"same build as {source}"
        result.artifact.CopyFrom(same)
    else:
        result.action = wf.PLAN_ACTION_RUN
        result.reason = f"{reason}, though {source} is the same build (--fresh)" if same else reason


async def _diff(node: wf.Node, digests: dict[str, str], artifact: Artifact, catalog: CatalogView) -> list[str]:
    old_spec, old_inputs = await catalog.identity_of(artifact, type(spec_of(node)))
    old = _flat({"spec": old_spec, "input": old_inputs})
    new = _flat({"spec": semantic_dict(spec_of(node)), "input": digests})
    lines = [
        f"{key}: {old.get(key, '(default)')} -> {new.get(key, '(default)')}"
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key)
    ]
    return lines or ["engine version: the committed artifact was made by another version"]


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return {prefix: str(value)}
    flat: dict[str, str] = {}
    for key, inner in items:
        flat |= _flat(inner, f"{prefix}.{key}" if prefix else str(key))
    return flat
