"""Content digests stand on path, size and bytes of the content alone."""

import os

import pytest

from marin_artifacts.digest import FileEntry, content_digest, scan, verify


def _tree(root, files):
    for path, data in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return root


FILES = {"a.txt": b"alpha", "sub/b.bin": b"\0\1", "sub/empty": b""}


def test_same_bytes_same_digest_whatever_place_and_time(tmp_path):
    one, two = _tree(tmp_path / "one", FILES), _tree(tmp_path / "elsewhere/two", dict(reversed(FILES.items())))
    os.utime(two / "a.txt", (1, 1))
    assert content_digest(scan(one)) == content_digest(scan(two))


@pytest.mark.parametrize("change", [{"a.txt": b"alphA"}, {"new": b""}, {"sub/b.bin": b"\0\1\0"}])
def test_any_change_changes_the_digest(tmp_path, change):
    one, two = _tree(tmp_path / "one", FILES), _tree(tmp_path / "two", FILES | change)
    assert content_digest(scan(one)) != content_digest(scan(two))


def test_a_renamed_file_changes_the_digest(tmp_path):
    one = _tree(tmp_path / "one", FILES)
    before = content_digest(scan(one))
    (one / "a.txt").rename(one / "c.txt")
    assert content_digest(scan(one)) != before


def test_known_answer():
    entry = FileEntry("a", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    # Golden: a change here gives every artifact another digest.
    assert content_digest([entry]) == "sha256:7bf25b934e92b139244e3ed327fa5fed7f39d56d3675ed81aab481179044f5a3"


def test_a_link_is_refused(tmp_path):
    root = _tree(tmp_path / "one", FILES)
    (root / "link").symlink_to("/etc/passwd")
    with pytest.raises(ValueError, match="symbolic link"):
        scan(root)


def test_verify_names_every_difference(tmp_path):
    root = _tree(tmp_path / "one", FILES)
    manifest = scan(root)
    assert verify(root, manifest) == []
    (root / "a.txt").write_bytes(b"ALPHA")
    (root / "sub/empty").unlink()
    (root / "extra").write_bytes(b"x")
    problems = verify(root, manifest)
    assert [p.split(":")[0] for p in problems] == ["missing", "not in the manifest", "changed"]
    assert "a.txt" in problems[2]
