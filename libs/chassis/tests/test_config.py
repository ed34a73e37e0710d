"""Configuration: file, then environment, then flags."""

import pytest

from marin_chassis.config import ServiceConfig
from marin_chassis.engine import EngineError


@pytest.fixture
def load(monkeypatch):
    for name in ("MARIN_CATALOG", "MARIN_WORKSPACE", "MARIN_NATS_URL", "MARIN_LEASE_SECONDS"):
        monkeypatch.delenv(name, raising=False)
    return lambda *argv: ServiceConfig.load("data", 7003, list(argv))


def test_the_later_source_wins(load, tmp_path, monkeypatch):
    path = tmp_path / "c.yaml"
    path.write_text("lease-seconds: 1\ncatalog: file:1\nworkspace: w\n")
    monkeypatch.setenv("MARIN_CATALOG", "env:2")
    monkeypatch.setenv("MARIN_LEASE_SECONDS", "2")
    config = load("--config", str(path), "--lease-seconds", "3")
    assert (config.workspace, config.catalog, config.lease_seconds) == ("w", "env:2", 3.0)
    assert config.port == 7003


def test_a_setting_for_one_service_beats_the_common_one(load, monkeypatch):
    monkeypatch.setenv("MARIN_WORKSPACE", "all")
    monkeypatch.setenv("MARIN_DATA_WORKSPACE", "mine")
    assert load().workspace == "mine"


def test_an_unknown_key_names_its_file_and_the_known_ones(load, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("catalogue: x\n")
    with pytest.raises(EngineError, match="catalogue") as e:
        load("--config", str(path))
    assert str(path) in e.value.message and "catalog" in e.value.hint


def test_a_bad_value_names_where_it_came_from(load, monkeypatch):
    monkeypatch.setenv("MARIN_LEASE_SECONDS", "soon")
    with pytest.raises(EngineError, match="MARIN_LEASE_SECONDS"):
        load()


def test_passwords_are_not_shown():
    shown = ServiceConfig(nats_url="nats://user:hunter2@host:4222").redacted()
    assert "hunter2" not in str(shown) and "host:4222" in shown["nats_url"]
