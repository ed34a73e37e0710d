"""One field changes: the real planner says which nodes rerun and why, and that all others are cached."""

from marin.catalog.v1.catalog_pb2 import Artifact
from marin.config.changes import explain
from marin.config.compile import compile_graph
from marin.config.load import load
from marin.workflow.v1 import workflow_pb2 as wf
from marin_artifacts.identity import build_key, semantic_dict
from marin_workflow.core.graph import spec_of, topological
from marin_workflow.core.plan import plan


class Catalog:
    """What was committed: the bytes of an artifact are told apart by their build key, as for a deterministic engine."""

    def __init__(self):
        self.artifacts, self.specs = {}, {}

    async def artifact(self, project, name, version):
        return self.artifacts.get((name, version))

    async def find(self, project, key):
        return next((a for a in self.artifacts.values() if a.build_key == key), None)

    async def identity_of(self, artifact, spec_type):
        return semantic_dict(self.specs[artifact.build_id]), {i.role: i.content_digest for i in artifact.inputs}

    def commit(self, graph):
        digests = {}
        for node in topological(graph):
            key = build_key(node.kind, spec_of(node), {i.role: digests[i.node_id] for i in node.inputs})
            digests[node.id] = f"sha256:{key}"
            artifact = Artifact(kind=node.kind, build_key=key, content_digest=digests[node.id], build_id=key)
            artifact.target.CopyFrom(node.target)
            self.artifacts[(node.target.name, node.target.version)] = artifact
            self.specs[artifact.build_id] = spec_of(node)


class Session:
    """The two calls that ``explain`` makes."""

    def __init__(self, catalog):
        self._catalog = catalog
        self.catalog = self

    def artifacts(self, project):
        return list(self._catalog.artifacts.values())[::-1]

    GetBuild = None

    def call(self, _method, request):
        from google.protobuf.json_format import MessageToDict, ParseDict

        from marin.catalog.v1 import catalog_service_pb2 as pb

        response = pb.GetBuildResponse()
        ParseDict(MessageToDict(self._catalog.specs[request.id], preserving_proto_field_name=True), response.build.spec)
        return response


async def decisions(project, catalog):
    graph = compile_graph(load(project.main))
    planned = await plan(graph, catalog)
    explain(Session(catalog), graph, planned)
    nodes = {n.id: n for n in graph.nodes}
    return {nodes[p.node_id].target.name: p for p in planned}


async def test_another_dedup_reruns_exactly_what_stands_on_it(project):
    catalog = Catalog()
    catalog.commit(compile_graph(load(project.main)))
    assert {p.action for p in (await decisions(project, catalog)).values()} == {wf.PLAN_ACTION_CACHED}

    project.edit("data.yaml", "dedup: exact", "dedup: none")
    after = await decisions(project, catalog)
    cached = {name for name, p in after.items() if p.action == wf.PLAN_ACTION_CACHED}
    assert cached == {"models/instruct/conversations"}
    assert {p.action for name, p in after.items() if name not in cached} == {wf.PLAN_ACTION_RUN}
    for name in ("documents/web", "documents/code", "corpus"):
        decision = after[f"data/tokenized/{name}"]
        assert list(decision.diff) == ["spec.dedup: DEDUP_EXACT -> DEDUP_NONE"]
        assert decision.reason.startswith("not built yet; what differs from @r")
    assert after["data/tokenized/tokens/web"].reason == "after documents, tokenizer"
    assert not after["data/tokenized/tokens/web"].diff

    project.edit("data.yaml", "dedup: none", "dedup: exact")
    assert {p.action for p in (await decisions(project, catalog)).values()} == {wf.PLAN_ACTION_CACHED}


async def test_another_learning_rate_leaves_the_data_alone(project):
    catalog = Catalog()
    catalog.commit(compile_graph(load(project.main)))
    project.edit("finetune.yaml", "lr: 2e-5", "lr: 5e-5")
    after = await decisions(project, catalog)
    rerun = {name: list(p.diff) for name, p in after.items() if p.action == wf.PLAN_ACTION_RUN}
    assert rerun == {
        "models/instruct": ["spec.optimizer.learning_rate: 2e-05 -> 5e-05"],
        "reports/report/instruct": [],
    }


async def test_under_a_fixed_version_the_change_is_drift_and_shown(project):
    catalog = Catalog()
    project.add("config.yaml", "version: v1\n")
    catalog.commit(compile_graph(load(project.main)))
    project.edit("data.yaml", "min_text_len: 32", "min_text_len: 64")
    after = await decisions(project, catalog)
    decision = after["data/tokenized/documents/web"]
    assert decision.action == wf.PLAN_ACTION_DRIFT
    assert list(decision.diff) == ["spec.filters.min_text_length: 32 -> 64"]
