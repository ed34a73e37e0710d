"""A score below its target is a clear verdict."""

from types import SimpleNamespace

from marin.cli.project import missed, targets_of


def test_targets_belong_to_the_instruct_model(project):
    project.add("eval.yaml", "  targets:\n    gsm8k-smoke: 0.3\n")
    args = SimpleNamespace(experiment=str(project.main))
    assert targets_of(args) == {"reports/report/instruct": {"gsm8k-smoke": 0.3}}
    project.edit("eval.yaml", "  instruct_model: /models/instruct/final\n", "")
    assert targets_of(args) == {"reports/report/base": {"gsm8k-smoke": 0.3}}


def test_only_scores_below_are_named():
    targets = {"r/instruct": {"a": 0.3, "b": 0.5}, "r/not-run": {"a": 1.0}}
    assert missed(targets, {"r/instruct": {"a": 0.25, "b": 0.5}}) == ["r/instruct: a is 0.25, below the target of 0.3"]
    assert missed(targets, {"r/instruct": {"a": 0.3, "b": 0.5}}) == []
