"""Options of ``marin plan`` and ``marin run`` that decide about addresses: drift, reuse, versions."""

import argparse
from collections.abc import Sequence

from marin.client.errors import MarinError
from marin.workflow.v1 import workflow_pb2 as wf

POLICIES = {
    "error": wf.DRIFT_POLICY_ERROR,
    "serve": wf.DRIFT_POLICY_SERVE,
    "rebuild": wf.DRIFT_POLICY_REBUILD,
}


def options_of(args: argparse.Namespace) -> wf.RunOptions:
    """The options as the workflow service takes them."""
    return wf.RunOptions(on_drift=POLICIES[args.on_drift], fresh=args.fresh)


def override(graph: wf.Graph, overrides: Sequence[str]) -> wf.Graph:
    """The graph with versions put in by artifact name, for what it makes and for what it reads.

    Raises MarinError for one that is not NAME=VERSION or matches nothing.
    """
    for text in overrides:
        name, equals, version = text.partition("=")
        if not (name and equals and version):
            raise MarinError(f"'{text}' is no override", "write --override NAME=VERSION", "BAD_OVERRIDE")
        matched = False
        for node in graph.nodes:
            if node.target.name == name:
                node.target.version = version
                matched = True
            for i in node.inputs:
                if i.address.rpartition("@")[0] == name:
                    i.address = f"{name}@{version}"
                    matched = True
        if not matched:
            names = sorted({n.target.name for n in graph.nodes})
            raise MarinError(
                f"--override {text} matches no artifact of {graph.name}",
                f"names are {', '.join(names)}",
                "BAD_OVERRIDE",
            )
    return graph
