"""Aliases of input addresses, resolved once: what is planned, run and stored holds the addresses themselves."""

from marin.workflow.v1 import workflow_pb2 as wf
from marin_workflow.core.graph import ALIASES
from marin_workflow.core.plan import CatalogView


async def resolve(graph: wf.Graph, catalog: CatalogView) -> list[wf.Resolution]:
    """Puts addresses in the place of ``name@latest`` and ``name@final`` in ``graph`` and returns what stood for what.

    An alias of a name that has no commit is left as it is: planning reports it as missing.
    """
    found: dict[str, wf.Resolution] = {}
    for node in graph.nodes:
        for i in node.inputs:
            name, _, version = i.address.rpartition("@")
            if version not in ALIASES:
                continue
            if i.address not in found:
                artifact = await catalog.artifact(graph.project, name, version)
                if artifact is None:
                    continue
                address = f"{artifact.target.name}@{artifact.target.version}"
                found[i.address] = wf.Resolution(
                    alias=i.address, address=address, content_digest=artifact.content_digest
                )
            i.address = found[i.address].address
    return list(found.values())
