"""Why a node of a plan must be built: what differs from the newest artifact of the same name."""

from collections.abc import Sequence

from google.protobuf.json_format import MessageToDict, ParseDict

from marin.catalog.v1 import catalog_service_pb2 as catalog_pb
from marin.catalog.v1.catalog_pb2 import Artifact
from marin.client.session import Session
from marin.config.recipe import differences, semantic
from marin.workflow.v1 import workflow_pb2 as wf
from marin_contracts.kinds import KINDS


def explain(session: Session, graph: wf.Graph, planned: Sequence[wf.PlannedNode]) -> None:
    """Adds to each planned node that is to be built, and whose name has an older version, the fields that differ."""
    nodes = {n.id: n for n in graph.nodes}
    fresh = [p for p in planned if p.action == wf.PLAN_ACTION_RUN and not p.diff]
    if not fresh:
        return
    newest: dict[tuple[str, str], Artifact] = {}
    for artifact in session.artifacts(graph.project or "default"):
        newest.setdefault((artifact.target.name, artifact.kind), artifact)
    for decision in fresh:
        node = nodes[decision.node_id]
        before = newest.get((node.target.name, node.kind))
        if before is None or before.target.version == node.target.version:
            continue
        build = session.call(session.catalog.GetBuild, catalog_pb.GetBuildRequest(id=before.build_id)).build
        spec = getattr(node, KINDS[node.kind].spec_field)
        old = ParseDict(MessageToDict(build.spec), type(spec)(), ignore_unknown_fields=True)
        lines = differences({"spec": semantic(old)}, {"spec": semantic(spec)})
        if lines:
            decision.reason += f"; what differs from @{before.target.version}:"
            decision.diff.extend(lines)
