"""The supervisor with real processes: started on demand, healed, given up on, adopted, and never left behind."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from marin.local import processes
from marin.local.client import LocalSystem, connect, connect_or_start
from marin.local.errors import LocalError
from marin.local.ports import accepts, is_free
from marin.local.workspace import Workspace

COMMAND = (sys.executable, str(Path(__file__).with_name("fake_supervisor.py")))
PATIENCE = 20


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.delenv("MARIN_NATS_URL", raising=False)
    monkeypatch.delenv("MARIN_PORT_BASE", raising=False)
    yield tmp_path / "ws"
    if system := connect(tmp_path / "ws", COMMAND):
        system.stop()


def start(place: Path, **options) -> LocalSystem:
    return connect_or_start(place, command=COMMAND, **options)


def rows(system: LocalSystem) -> dict[str, dict]:
    return {r["name"]: r for r in system.status()["services"]}


def until(condition) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def living(pid: int) -> bool:
    return processes.identity(pid) is not None


def test_ensure_starts_what_is_asked_for_and_needed_and_tells_them_of_each_other(place):
    with start(place) as system:
        endpoints = system.ensure(["workflow"])
        assert endpoints.keys() == {"workflow", "catalog"}
        assert all(accepts(int(e.rsplit(":", 1)[1])) for e in endpoints.values())
        assert {n for n, r in rows(system).items() if r["state"] == "ready"} == {"workflow", "catalog"}
        told = dict(line.split("=", 1) for line in (place / "leaning.env").read_text().splitlines() if "=" in line)
        assert told["MARIN_CATALOG"] == told["MARIN_CATALOG_ENDPOINT"] == endpoints["catalog"]
        assert told["MARIN_WORKFLOW_ENDPOINT"] == endpoints["workflow"]
        assert told["MARIN_WORKSPACE"] == str(place)
        assert told["MARIN_NATS_URL"] == system.endpoint("nats")


def test_close_of_the_last_holder_ends_every_process(place):
    first, second = start(place), start(place)
    first.ensure(["workflow", "nats"])
    pids = [r["pid"] for r in rows(first).values() if r["pid"]] + [first.status()["pid"]]
    first.close()
    assert all(living(p) for p in pids), "the second client still holds the system"
    second.close()
    assert len(pids) == 4
    until(lambda: not any(living(p) for p in pids))
    assert connect(place, COMMAND) is None


def test_a_killed_client_leaves_nothing_running(place):
    code = (
        "import time; from marin.local.client import connect_or_start;"
        f"s = connect_or_start({str(place)!r}, command={COMMAND!r}); s.ensure(['catalog']); status = s.status();"
        "print(status['pid'], *[r['pid'] for r in status['services'] if r['pid']], flush=True);"
        "time.sleep(600)"
    )
    client = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pids = [int(p) for p in client.stdout.readline().split()]
    client.kill()
    client.communicate()
    assert len(pids) == 2
    until(lambda: not any(living(p) for p in pids))


@pytest.mark.parametrize("name", ["catalog", "nats"])
def test_a_killed_service_comes_back_at_the_same_endpoint(place, name):
    with start(place) as system:
        endpoint = system.ensure([name])[name]
        before = rows(system)[name]["pid"]
        os.kill(before, signal.SIGKILL)
        until(lambda: rows(system)[name]["restarts"] == 1 and rows(system)[name]["state"] == "ready")
        assert rows(system)[name]["pid"] != before
        assert system.ensure([name])[name] == endpoint
        assert accepts(int(endpoint.rsplit(":", 1)[1]))


def test_what_a_killed_service_had_started_is_ended_before_it_starts_again(place):
    with start(place) as system:
        system.ensure(["stubborn"])
        helper = int((place / "helper.pid").read_text())
        os.kill(rows(system)["stubborn"]["pid"], signal.SIGKILL)
        until(lambda: not living(helper))


def test_a_service_that_keeps_dying_is_given_up_on_with_its_log(place):
    with start(place) as system:
        with pytest.raises(LocalError) as e:
            system.ensure(["crasher"])
        assert "crasher ended 5 times" in e.value.message
        assert "the reason is written here" in e.value.message
        assert str(place / "logs" / "crasher.log") in e.value.hint
        assert rows(system)["crasher"]["state"] == "failed"
        assert system.ensure(["catalog"]), "the others are not concerned"


def test_a_bad_start_is_not_tried_again(place):
    with start(place) as system:
        with pytest.raises(LocalError, match="the setting 'colour' is unknown"):
            system.ensure(["misled"])
        assert rows(system)["misled"]["restarts"] == 0


def test_unknown_service_lists_the_known_ones(place):
    with start(place) as system, pytest.raises(LocalError) as e:
        system.ensure(["catalogue"])
    assert "'catalogue'" in e.value.message
    assert "workflow" in e.value.hint


def test_stop_ends_what_ignores_the_polite_signal_and_its_helpers(place):
    system = start(place)
    system.ensure(["stubborn", "catalog", "nats"])
    pids = [r["pid"] for r in rows(system).values() if r["pid"]] + [int((place / "helper.pid").read_text())]
    assert len(pids) == 4
    system.stop()
    assert not any(living(p) for p in pids)
    assert Workspace.at(place).read_state()["processes"] == {}


def test_processes_of_a_killed_ephemeral_supervisor_end_with_it(place):
    system = start(place)
    system.ensure(["catalog", "nats"])
    pids = [r["pid"] for r in rows(system).values() if r["pid"]]
    os.kill(system.status()["pid"], signal.SIGKILL)
    until(lambda: not any(living(p) for p in pids))
    assert system.ensure(["catalog"]), "and the client starts it anew"
    system.close()


def test_processes_of_a_killed_lasting_supervisor_are_adopted(place):
    system = start(place, ephemeral=False)
    endpoints = system.ensure(["catalog", "nats"])
    before = {n: rows(system)[n]["pid"] for n in endpoints}
    os.kill(system.status()["pid"], signal.SIGKILL)
    assert all(living(p) for p in before.values())

    again = start(place)
    assert again.ensure(["catalog", "nats"]) == endpoints
    assert {n: rows(again)[n]["pid"] for n in endpoints} == before
    os.kill(before["catalog"], signal.SIGKILL)
    until(lambda: rows(again)["catalog"]["state"] == "ready" and rows(again)["catalog"]["pid"] != before["catalog"])
    again.close()
    assert living(before["nats"]), "what `up` started stays when a later command ends"
    connect(place, COMMAND).stop()
    assert not living(before["nats"])


def test_stop_reaches_processes_whose_supervisor_is_gone(place):
    system = start(place, ephemeral=False)
    system.ensure(["catalog"])
    pid = rows(system)["catalog"]["pid"]
    os.kill(system.status()["pid"], signal.SIGKILL)
    connect(place, COMMAND).stop()
    assert not living(pid)


def test_a_recorded_number_that_another_process_now_has_is_left_alone(place):
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        workspace = Workspace.at(place)
        workspace.create()
        record = {"pid": bystander.pid, "port": 7001, "started": "00000000-1"}
        workspace.write_state({"base": 7000, "external_nats": "", "tied": False, "processes": {"catalog": record}})
        with start(place) as system:
            assert rows(system)["catalog"]["state"] == "stopped"
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_an_asked_for_port_in_use_is_an_error_that_names_its_owner(place):
    base = 17_340
    with socket.create_server(("127.0.0.1", base + 2)), pytest.raises(LocalError) as e:
        start(place, port_base=base)
    assert f"port {base + 2} (for workflow" in e.value.message
    assert f"process {os.getpid()} (" in e.value.message
    assert "MARIN_PORT_BASE" in e.value.hint


def test_two_workspaces_never_share_a_port_even_before_they_use_it(place, tmp_path):
    with start(place) as one, start(tmp_path / "other") as two:
        one.ensure(["catalog"])
        assert abs(one.status()["base"] - two.status()["base"]) >= 20
        two.ensure(["catalog", "workflow"])
        assert is_free(int(one.endpoint("catalog").rsplit(":", 1)[1]) + 1)


def test_an_existing_bus_is_used_and_none_started(place, monkeypatch):
    monkeypatch.setenv("MARIN_NATS_URL", "nats://127.0.0.1:9")
    with start(place) as system:
        system.ensure(["catalog"])
        assert "nats" not in rows(system)
        assert "MARIN_NATS_URL=nats://127.0.0.1:9" in (place / "steady.env").read_text().splitlines()
        assert system.endpoint("nats") == "nats://127.0.0.1:9"


def test_a_workspace_that_cannot_be_written_is_an_error_with_the_fix(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LocalError) as e:
        start(tmp_path / "file" / "ws")
    assert str(tmp_path / "file" / "ws") in e.value.message
    assert "--workspace" in e.value.hint


def test_a_path_too_long_for_a_socket_works(tmp_path):
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    with start(deep) as system:
        assert system.ensure(["catalog"])
        assert connect(deep, COMMAND).status()["pid"] == system.status()["pid"]
