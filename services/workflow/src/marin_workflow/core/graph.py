"""Well-formed graphs: known kinds, fitting specs, inputs that exist, no circle."""

import difflib
from graphlib import CycleError, TopologicalSorter

from google.protobuf.message import Message

from marin.workflow.v1 import workflow_pb2 as wf
from marin_chassis.engine import EngineError
from marin_contracts.kinds import KINDS


def is_mutable(version: str) -> bool:
    """``dev`` and ``*-dev`` may be committed again and are always rebuilt."""
    return version == "dev" or version.endswith("-dev")


ALIASES = ("latest", "final")


def spec_of(node: wf.Node) -> Message:
    """The node's spec message."""
    return getattr(node, KINDS[node.kind].spec_field)


def topological(graph: wf.Graph) -> list[wf.Node]:
    """The nodes, dependencies first, otherwise in the order given.

    Raises EngineError (INVALID_ARGUMENT) naming the node and the fix.
    """
    nodes = {n.id: n for n in graph.nodes}
    if not nodes:
        raise _bad("the graph has no nodes", "add at least one artifact", "EMPTY_GRAPH")
    if len(nodes) != len(graph.nodes):
        twice = next(n.id for i, n in enumerate(graph.nodes) if n.id in {m.id for m in graph.nodes[:i]})
        raise _bad(f"two nodes have the id '{twice}'", "give each node its own id", "DUPLICATE_NODE")
    addresses: dict[tuple[str, str], str] = {}
    for node in graph.nodes:
        _check_node(node, nodes)
        address = (node.target.name, node.target.version)
        if address in addresses:
            raise _bad(
                f"nodes '{addresses[address]}' and '{node.id}' both commit to {address[0]}@{address[1]}",
                "give one of them another name or version",
                "DUPLICATE_ADDRESS",
            )
        addresses[address] = node.id
    edges = {n.id: [i.node_id for i in n.inputs if i.node_id] for n in graph.nodes}
    try:
        return [nodes[i] for i in TopologicalSorter(edges).static_order()]
    except CycleError as e:
        raise _bad(f"the graph has a circle: {' -> '.join(e.args[1])}", "remove one of these inputs", "CYCLE") from e


def _check_node(node: wf.Node, nodes: dict[str, wf.Node]) -> None:
    if node.kind not in KINDS:
        close = difflib.get_close_matches(node.kind, KINDS, 1)
        hint = f"did you mean '{close[0]}'?" if close else f"known kinds are {', '.join(KINDS)}"
        raise _bad(f"node '{node.id}' has the unknown kind '{node.kind}'", hint, "UNKNOWN_KIND")
    if node.WhichOneof("spec") != KINDS[node.kind].spec_field:
        raise _bad(
            f"node '{node.id}' of kind '{node.kind}' has the spec '{node.WhichOneof('spec')}'",
            f"set '{KINDS[node.kind].spec_field}'",
            "WRONG_SPEC",
        )
    if not (node.target.name and node.target.version):
        raise _bad(
            f"node '{node.id}' has no name@version to commit to", "set target.name and target.version", "NO_TARGET"
        )
    if node.target.version in ALIASES:
        raise _bad(
            f"node '{node.id}' would commit to '{node.target.version}', which is an alias for the newest version",
            "give it a version of its own; aliases are for inputs",
            "ALIAS_TARGET",
        )
    for i in node.inputs:
        if not i.WhichOneof("source"):
            raise _bad(f"input '{i.role}' of node '{node.id}' has no source", "name a node or an address", "NO_SOURCE")
        if i.node_id and i.node_id not in nodes:
            close = difflib.get_close_matches(i.node_id, nodes, 1)
            raise _bad(
                f"input '{i.role}' of node '{node.id}' names the node '{i.node_id}', which is not in the graph",
                f"did you mean '{close[0]}'?" if close else f"nodes are {', '.join(nodes)}",
                "UNKNOWN_NODE",
            )
        source = nodes[i.node_id].target.version if i.node_id else i.address.rpartition("@")[2]
        if is_mutable(source) and not is_mutable(node.target.version):
            raise _bad(
                f"'{node.target.name}@{node.target.version}' is fixed, its input '{i.role}' is the mutable '{source}'",
                "give the node a 'dev' version too, or pin the input to a fixed version",
                "FIXED_ON_MUTABLE",
            )


def _bad(message: str, hint: str, reason: str) -> EngineError:
    return EngineError(message, hint=hint, reason=reason, code="INVALID_ARGUMENT")
