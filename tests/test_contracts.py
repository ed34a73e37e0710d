"""The contracts: stubs that match, lint, compatibility with the baseline, and marks on every field of a spec."""

import importlib
import sys

import pytest
from whole_system import ROOT

from marin.common.v1 import options_pb2
from marin_contracts.kinds import KINDS

sys.path.insert(0, str(ROOT / "tools"))
import gen
import protos


def tree(root):
    return {p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.suffix in (".py", ".pyi")}


def test_committed_stubs_are_what_the_generator_makes(tmp_path):
    gen.generate(tmp_path)
    assert tree(tmp_path / "marin") == tree(ROOT / "libs/contracts/src/marin")


def test_stubs_load_under_both_protobuf_majors():
    stubs = (ROOT / "libs/contracts/src/marin").rglob("*_pb2.py")
    assert all("# Protobuf Python Version: 6." in p.read_text() for p in stubs)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    path = tmp_path_factory.mktemp("image") / "all.binpb"
    protos.build_image(path)
    return path


def test_buf_lint(image):
    result = protos.check("lint", image)
    assert result.returncode == 0, result.stdout


def test_no_breaking_change_against_the_baseline(image):
    result = protos.check("breaking", image, "--against", str(protos.BASELINE))
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_breaking_check_sees_a_removed_field(image, tmp_path):
    text = protos.BASELINE.read_text()
    assert '"stop_token_ids"' in text or '"build_key"' in text
    older = tmp_path / "older.json"
    older.write_text(text.replace('"name":"build_key"', '"name":"old_build_key"', 1))
    result = protos.check("breaking", image, "--against", str(older))
    assert result.returncode == 100 and "build_key" in result.stdout


def _spec(kind):
    module = importlib.import_module(f"marin.{kind.service}.v1.{kind.service}_service_pb2")
    (service,) = module.DESCRIPTOR.services_by_name.values()
    return service.methods_by_name[kind.create].input_type.fields_by_name["spec"].message_type


def _fields(message, seen):
    if message.full_name in seen or message.GetOptions().map_entry:
        return
    seen.add(message.full_name)
    for field in message.fields:
        yield field
        if field.message_type and field.message_type.full_name.startswith("marin."):
            yield from _fields(field.message_type, seen)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda k: k.name)
def test_every_field_of_a_spec_says_whether_it_is_part_of_the_identity(kind):
    unmarked = [
        f.full_name
        for f in _fields(_spec(kind), set())
        if f.GetOptions().Extensions[options_pb2.identity] == options_pb2.IDENTITY_UNSPECIFIED
    ]
    assert unmarked == []


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda k: k.name)
def test_the_engine_of_a_kind_names_the_locked_versions(kind):
    """Bytes depend on the engine: a new pin without a new engine name would reuse artifacts of the old one."""
    locks = {"data": ["data"], "rl": ["rl", "inference"], "evaluation": ["inference", "harnesses"]}
    text = "".join(
        p.read_text()
        for s in locks.get(kind.service, [kind.service])
        for p in (ROOT / "services").rglob("requirements.lock")
    )
    for part in kind.engine.split("/"):
        name, dash, version = part.rpartition("-")
        if dash and version[0].isdigit():
            names = {name, f"{name}-cpu"}
            assert any(f"\n{n}=={version}" in text for n in names), f"{part} is not what the locks pin"
