"""Which environments there are: the lock each is installed from and the source roots put on its path."""

from dataclasses import dataclass

_CONTRACTS = "libs/contracts/src"
_SERVICE = (_CONTRACTS, "libs/chassis/src", "libs/artifacts/src")
_CLIENT = (_CONTRACTS, "libs/artifacts/src", "libs/samples/src", "libs/marin/src", "libs/marin")


@dataclass(frozen=True)
class Environment:
    """``lock`` and ``sources`` are relative to the repository; ``what`` says what makes it heavy."""

    name: str
    lock: str
    sources: tuple[str, ...]
    what: str


def _service(name: str, what: str, *extra: str) -> Environment:
    return Environment(name, f"services/{name}/requirements.lock", (*_SERVICE, *extra, f"services/{name}/src"), what)


def _harness(name: str, folder: str, what: str) -> Environment:
    return Environment(name, f"services/evaluation/harnesses/{folder}/requirements.lock", (), what)


TABLE = (
    Environment("client", "libs/marin/requirements.lock", _CLIENT, "command line, SDK, NATS server"),
    Environment(
        "dev",
        "tests/requirements.lock",
        tuple(dict.fromkeys((*_SERVICE, *_CLIENT, "services/catalog/src", "services/workflow/src"))),
        "generators, linters, whole-system tests",
    ),
    _service("catalog", "SQLAlchemy"),
    _service("workflow", "gRPC and the bus"),
    _service("data", "Apache Beam", "libs/datakernels/src", "libs/samples/src"),
    _service("tokenization", "tokenizers, Levanter"),
    _service("training", "JAX, Levanter"),
    _service("inference", "vLLM, PyTorch"),
    _service("rl", "SkyRL, PyTorch"),
    _service("evaluation", "reports over the harnesses"),
    _harness("harness-lm-eval", "lm_eval", "lm-eval"),
    _harness("harness-harbor", "harbor", "Harbor"),
)
