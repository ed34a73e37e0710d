"""Seeds about identity and planning. The numbers are those of the complaints that they answer."""

import pytest
from toy import graph

from marin.catalog.v1 import catalog_service_pb2 as pb
from marin.client.errors import MarinError
from marin.workflow.v1 import workflow_pb2 as wf


@pytest.fixture
def asked(monkeypatch):
    """``asked(**options)``: what ``marin plan toy`` and ``marin run toy`` mean from now on."""
    from experiments import registry

    def choose(**options):
        monkeypatch.setattr(registry, "build", lambda *args: graph(**options))

    choose()
    return choose


def identities(toy):
    return {a.target.name: (a.build_key, a.content_digest) for a in toy.session.artifacts()}


def actions(plan):
    return {p["node"]: p["action"] for p in plan}


def test_a01_the_same_graph_under_two_prefixes_has_one_identity(make_toy):
    here, there = make_toy("eu/deep/down"), make_toy("us")
    for toy, workers in ((here, 0), (there, 7)):  # how wide it ran is no part of it either
        assert toy.run(graph(workers=workers)).state == wf.RUN_STATE_SUCCEEDED
    assert identities(here) == identities(there) and len(identities(here)) == 4


def test_a02_the_blast_radius_of_a_change_is_shown_before_anything_runs(toy, marin, asked):
    toy.run(graph())
    made = len(toy.starts())
    asked(shards=2)
    code, out, _ = marin("plan", "toy")
    assert code == 1 and "spec.shards: 1 -> 2" in out
    plan = marin("plan", "toy", as_json=True)
    assert actions(plan) == {"docs": "drift", "tok": "blocked", "tokens": "blocked", "talk": "cached"}
    rebuilt = {
        p["node"]: (p["action"], p["reason"]) for p in marin("plan", "toy", "--on-drift", "rebuild", as_json=True)
    }
    assert rebuilt["docs"][0] == "run" and "takes the place of" in rebuilt["docs"][1]
    assert rebuilt["tok"] == ("run", "after docs") and rebuilt["tokens"][1] == "after docs, tok"
    assert rebuilt["talk"][0] == "cached" and len(toy.starts()) == made


def test_a02_what_is_equivalent_may_be_kept_and_the_record_says_so(toy, marin, asked):
    toy.run(graph())
    made, before = len(toy.starts()), identities(toy)
    run = toy.run(graph(shards=2), "kept", wf.RunOptions(on_drift=wf.DRIFT_POLICY_SERVE))
    assert run.state == wf.RUN_STATE_SUCCEEDED and len(toy.starts()) == made and identities(toy) == before
    docs = next(n for n in run.nodes if n.node_id == "docs")
    assert "served as it is" in docs.reason and run.options.on_drift == wf.DRIFT_POLICY_SERVE


def test_a03_plan_says_for_each_node_what_happens_and_why(toy, marin, asked):
    assert all(p["action"] == "run" and p["reason"] for p in marin("plan", "toy", as_json=True))
    toy.run(graph())
    assert all(p["action"] == "cached" and p["content_digest"] for p in marin("plan", "toy", as_json=True))
    asked(vocab=1024)
    drift = next(p for p in marin("plan", "toy", as_json=True) if p["node"] == "tok")
    assert drift["action"] == "drift" and drift["diff"] == ["spec.vocab_size: 512 -> 1024"]
    assert drift["address"] == "n/tok@v1"


def test_a04_a_relative_workspace_is_one_place_wherever_the_process_goes(tmp_path, make_toy, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    toy = make_toy(relative=True)
    toy.run(graph())
    monkeypatch.chdir(tmp_path / "elsewhere")
    for a in toy.session.artifacts():
        assert a.uri.startswith(f"file://{tmp_path}/ws/store/")
    assert {p.action for p in toy.session.plan(graph())} == {wf.PLAN_ACTION_CACHED}
    assert toy.run(graph(), "again").state == wf.RUN_STATE_SUCCEEDED and len(toy.starts()) == 4
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a08_nothing_is_there_before_it_is_committed(toy):
    toy.tell("documents", seconds=30)
    toy.session.create_run("r", graph())
    while "documents" not in [k for k, _ in toy.starts()]:
        pass
    docs = graph().nodes[0].target
    with pytest.raises(MarinError, check=lambda e: e.reason == "UNKNOWN_ARTIFACT"):
        toy.session.call(toy.session.catalog.GetArtifact, pb.GetArtifactRequest(target=docs))
    assert "n/docs" not in identities(toy)
    assert {p.node_id: p.action for p in toy.session.plan(graph())}["docs"] == wf.PLAN_ACTION_RUN


def test_a35_a_changed_filter_is_not_satisfied_by_the_old_cache(toy, marin, asked):
    toy.run(graph())
    old = identities(toy)
    asked(shards=2)
    code, _, err = marin("run", "toy")
    assert code == 1 and "spec.shards: 1 -> 2" in err and "--on-drift" in err and identities(toy) == old
    code, _, err = marin("run", "toy", "--on-drift", "rebuild")
    assert code == 0, err
    new = identities(toy)
    changed = {name for name in new if new[name] != old[name]}
    assert changed == {"n/docs", "n/tok", "n/tokens"}  # and everything that was made from it
    up = marin("lineage", "n/tokens@v1", as_json=True)
    assert {x["content_digest"] for x in up if x["address"] == "n/docs@v1"} == {new["n/docs"][1]}
    assert actions(marin("plan", "toy", as_json=True)) == dict.fromkeys(("docs", "tok", "tokens", "talk"), "cached")


def test_fresh_override_and_aliases_from_the_command_line(toy, marin, asked):
    toy.run(graph())
    asked(version="v2")
    assert set(actions(marin("plan", "toy", as_json=True)).values()) == {"adopt"}
    fresh = actions(marin("plan", "toy", "--fresh", as_json=True))
    assert fresh["docs"] == "run" == fresh["tokens"]
    mixed = actions(marin("plan", "toy", "--override", "n/docs=v1", as_json=True))
    assert mixed["docs"] == "cached" and mixed["tok"] == "adopt"
    code, _, err = marin("plan", "toy", "--override", "n/none=v1")
    assert code == 1 and "matches no artifact" in err and "n/docs" in err
    assert marin("plan", "toy", "--override", "nonsense")[0] == 1
