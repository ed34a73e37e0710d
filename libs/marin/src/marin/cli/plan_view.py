"""A graph as a tree: stages, artifacts, what will happen to each and why."""

from collections.abc import Sequence

from marin.cli.output import clean
from marin.workflow.v1 import workflow_pb2 as wf

ACTIONS = {
    wf.PLAN_ACTION_CACHED: "cached",
    wf.PLAN_ACTION_RUN: "run",
    wf.PLAN_ACTION_ADOPT: "adopt",
    wf.PLAN_ACTION_DRIFT: "drift",
    wf.PLAN_ACTION_BLOCKED: "blocked",
}


def stages(graph: wf.Graph) -> list[str]:
    """Stage names in the order of their first node."""
    return list(dict.fromkeys(n.stage for n in graph.nodes))


def tree(graph: wf.Graph, planned: Sequence[wf.PlannedNode] = (), title: str = "") -> list[str]:
    """Lines of the tree. Without decisions it shows the graph alone."""
    decisions = {p.node_id: p for p in planned}
    width = max(len(f"{n.target.name}@{n.target.version}") for n in graph.nodes)
    lines = [clean(title or graph.name)]
    names = stages(graph)
    for s, stage in enumerate(names):
        last_stage = s == len(names) - 1
        nodes = [n for n in graph.nodes if n.stage == stage]
        lines.append(f"{'└' if last_stage else '├'}─ {clean(stage)}")
        for i, node in enumerate(nodes):
            stem = " " if last_stage else "│"
            branch = "└" if i == len(nodes) - 1 else "├"
            address = f"{node.target.name}@{node.target.version}"
            sources = ", ".join(f"{x.role}={x.node_id or x.address}" for x in node.inputs)
            detail = f"from {sources}" if sources else "from its sources"
            decision = decisions.get(node.id)
            word = ""
            if decision:
                word = f"{ACTIONS[decision.action]:<8}"
                detail = decision.reason
            machine = f"  [{node.resources.nodes}x {node.resources.accelerator}]" if node.resources.accelerator else ""
            lines.append(f"{stem}  {branch}─ {word}{clean(address):<{width}}  {node.kind:<20} {clean(detail)}{machine}")
            for d in decision.diff if decision else ():
                lines.append(f"{stem}  {' ' if branch == '└' else '│'}     {clean(d)}")
    return lines


def as_json(graph: wf.Graph, planned: Sequence[wf.PlannedNode]) -> list[dict[str, object]]:
    """Decisions as JSON rows."""
    nodes = {n.id: n for n in graph.nodes}
    return [
        {
            "node": p.node_id,
            "stage": nodes[p.node_id].stage,
            "kind": nodes[p.node_id].kind,
            "address": f"{nodes[p.node_id].target.name}@{nodes[p.node_id].target.version}",
            "action": ACTIONS[p.action],
            "reason": p.reason,
            "build_key": p.build_key,
            "content_digest": p.artifact.content_digest,
            "diff": list(p.diff),
        }
        for p in planned
    ]
