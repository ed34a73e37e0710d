"""Whole-system tests: the real command line, the real services."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from whole_system import Marin


@pytest.fixture
def marin(tmp_path):
    system = Marin(tmp_path / "ws")
    yield system
    system("down")
