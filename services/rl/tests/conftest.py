import os
import sys
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # tiny matrices: a second thread only waits where cores are shared
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """out/ of a policy artifact; its export is in hf/."""
    from tiny import make_policy

    out = tmp_path_factory.mktemp("policy")
    make_policy(out / "hf")
    return out
