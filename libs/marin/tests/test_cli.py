"""The command line without services: help, usage, views, time to first line."""

import subprocess
import sys
import time

from marin.cli.live import Eta, progress_text
from marin.cli.output import clean, size
from marin.cli.plan_view import tree
from marin.workflow.v1 import workflow_pb2 as wf


def marin(*args):
    return subprocess.run(
        [sys.executable, "-m", "marin.cli", *args], capture_output=True, text=True, timeout=60, check=False
    )


def test_help_shows_examples_and_imports_nothing_heavy():
    code = "import sys; sys.argv=['marin','--help']\ntry:\n import marin.cli.__main__ as m; m.main()\nexcept SystemExit: pass\n"
    code += "print([n for n in ('grpc', 'google.protobuf', 'rich', 'yaml', 'pydantic', 'numpy') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert "marin run iceball-micro" in done.stdout and done.stdout.rstrip().endswith("[]")


def test_usage_errors_exit_with_2():
    assert marin("runn").returncode == 2
    assert marin("run").returncode == 2


def test_control_characters_of_untrusted_text_are_made_visible():
    assert clean("a\x1b[31mred\u202e") == "a\\x1b[31mred\\x202e"


def test_sizes():
    assert [size(n) for n in (0, 1023, 1024, 5 * 2**30)] == ["0 B", "1023 B", "1.0 KiB", "5.0 GiB"]


def node(step, total=10, state=wf.NODE_STATE_RUNNING):
    status = wf.NodeStatus(node_id="n", state=state)
    status.job.progress.phase, status.job.progress.step, status.job.progress.total = "train", step, total
    status.job.progress.metrics["loss"] = 2.5
    return status


def test_the_time_left_comes_from_the_pace_seen():
    eta, now = Eta(), time.monotonic()
    assert eta.text(node(1), now) == ""
    assert eta.text(node(5), now + 8) == "  ETA 10 s"
    assert "train  5/10  loss 2.5" in progress_text(node(5), now)


def test_the_tree_shows_what_differs():
    graph = wf.Graph(name="g")
    n = graph.nodes.add(id="docs", stage="data", kind="documents")
    n.target.name, n.target.version = "documents/a", "v1"
    planned = [
        wf.PlannedNode(node_id="docs", action=wf.PLAN_ACTION_DRIFT, reason="another key", diff=["spec.x: 1 -> 2"])
    ]
    text = "\n".join(tree(graph, planned))
    assert "drift" in text and "documents/a@v1" in text and "spec.x: 1 -> 2" in text
