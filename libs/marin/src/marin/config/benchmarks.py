"""The benchmarks that a config may name: task sets of the evaluation service, and what is known to need more."""

from dataclasses import dataclass

from marin.config.problems import suggestion


@dataclass(frozen=True)
class Benchmark:
    """``metric`` is the config's word for its score. ``needs`` says what is missing where it cannot be run yet."""

    name: str
    metric: str
    harness: str = ""
    needs: str = ""


_HUB = "the evaluation service has no task set for it: its questions lie on the hub and are not bundled"

BENCHMARKS = {
    b.name: b
    for b in (
        Benchmark("gsm8k-smoke", "accuracy", "HARNESS_LM_EVAL"),
        Benchmark("aime-smoke", "pass@1", "HARNESS_HARBOR"),
        Benchmark("hellaswag", "accuracy", needs=_HUB),
        Benchmark("arc_challenge", "accuracy", needs=_HUB),
        Benchmark("ceval", "accuracy", needs=_HUB),
        Benchmark("humaneval", "pass@1", needs=f"{_HUB}, and its answers are programs that must run in a sandbox"),
    )
}
AVAILABLE = [b.name for b in BENCHMARKS.values() if not b.needs]


def trouble(name: str) -> tuple[str, str] | None:
    """What keeps a benchmark from being run, and the fix; None if nothing does."""
    if name not in BENCHMARKS:
        return f"there is no benchmark '{name}'", suggestion(name, BENCHMARKS, f"choose from: {', '.join(AVAILABLE)}")
    if needs := BENCHMARKS[name].needs:
        return f"'{name}' is not available yet: {needs}", f"remove it, or use one of: {', '.join(AVAILABLE)}"
    return None
