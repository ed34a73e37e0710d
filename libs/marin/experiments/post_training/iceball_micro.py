"""iceball-micro: the whole post-training chain at the smallest scale that still exercises every hand-over.

fineweb -> pretrain -> sft -> gsm8k -> rl -> evaluation. One graph, two profiles: ``cpu`` (about a million parameters, bundled data,
minutes on two cores) and ``gb200`` (Qwen3 0.6B on hub data, 4 GB200 for training and 2 nodes for RL). Scores near zero are expected in
both: the chain is what is tested, not the model.

    python -m experiments.post_training.iceball_micro --version 2026.08.01             print the graph
    python -m experiments.post_training.iceball_micro --version 2026.08.01 --run       run all of it
    python -m experiments.post_training.iceball_micro --version 2026.08.01 --stage rl --run
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.post_training.iceball_profiles import PROFILES, Profile
from marin.execution.lazy import ArtifactStep
from marin.experiment import data
from marin.experiment.evaluation import evaluate
from marin.experiment.rl import grpo
from marin.experiment.train import sft, train_lm


@dataclass(frozen=True)
class IceballMicroWorkflow:
    """The six stages; each handle brings what it depends on along."""

    fineweb: ArtifactStep
    pretrain: ArtifactStep
    sft: ArtifactStep
    gsm8k: ArtifactStep
    rl: ArtifactStep
    evaluation: ArtifactStep

    def stages(self) -> dict[str, ArtifactStep]:
        """Stage name to handle, in the order in which they run."""
        return dict(vars(self))


def build_workflow(version: str, profile: str = "cpu", corpus: Sequence[str] = ()) -> IceballMicroWorkflow:
    """The graph under one version label. ``corpus`` are files that take the place of the profile's text."""
    p = PROFILES[profile]
    fineweb = _fineweb(p, version, corpus)
    pretrain = train_lm(
        name="checkpoints/iceball-micro-pretrain",
        version=version,
        model=p.model,
        optimizer=p.pretrain_optimizer,
        datasets={fineweb: 1.0},
        batch_size=p.pretrain_batch,
        seq_len=p.seq_len,
        num_train_steps=p.pretrain_steps,
        z_loss_weight=1e-4,
        precision=p.precision,
        checkpoint_every_steps=p.checkpoint_every,
        pad_tokenizer_to_match_model=p.pad_tokenizer,
        resources=p.train_resources,
        stage="pretrain",
    )
    tuned = sft(
        name="checkpoints/iceball-micro-sft",
        version=version,
        init_from=pretrain,
        conversations=data.conversations(
            name="documents/iceball-micro-conversations", version=version, sources=[p.conversations()], stage="sft"
        ),
        optimizer=p.sft_optimizer,
        batch_size=p.sft_batch,
        seq_len=p.seq_len,
        num_train_steps=p.sft_steps,
        precision=p.precision,
        checkpoint_every_steps=p.checkpoint_every,
        eos_tokens=p.eos_tokens,
        pad_tokenizer_to_match_model=p.pad_tokenizer,
        resources=p.sft_resources,
        stage="sft",
    )
    train, validation = p.problems()
    gsm8k = data.problems(
        name="documents/iceball-micro-gsm8k-skyrl",
        version=version,
        train=train,
        validation=validation,
        resources=p.data_resources,
        stage="gsm8k",
    )
    rl = grpo(
        name="checkpoints/iceball-micro-rl",
        version=version,
        policy=tuned,
        problems=gsm8k,
        resources=p.rl_resources,
        stage="rl",
        **p.grpo,
    )
    evaluation = evaluate(
        name="evals/iceball-micro",
        version=version,
        policy=rl,
        tasks=p.tasks(),
        resources=p.eval_resources,
        stage="evaluation",
        **p.evaluate,
    )
    return IceballMicroWorkflow(fineweb, pretrain, tuned, gsm8k, rl, evaluation)


def _fineweb(p: Profile, version: str, corpus: Sequence[str]) -> ArtifactStep:
    sources = [data.files(Path(c).name.split(".")[0], c) for c in corpus] or p.corpus()
    text = data.documents(
        name="documents/iceball-micro-fineweb",
        version=version,
        sources=sources,
        filters=p.filters,
        dedup=p.dedup,
        shards=p.shards,
        resources=p.data_resources,
        stage="fineweb",
    )
    tokenizer = p.tokenizer(text, version)
    return data.tokenize(
        name="tokenized/iceball-micro-fineweb",
        version=version,
        documents=text,
        tokenizer=tokenizer,
        resources=p.data_resources,
        stage="fineweb",
    )


def main() -> int:
    """Prints the graph, or runs it."""
    from experiments import registry
    from marin.cli.plan_view import tree

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", required=True, help="version label of the artifacts")
    parser.add_argument("--run", action="store_true", help="run it; without this the graph is only printed")
    parser.add_argument("--stage", help="up to this stage; what it needs comes along")
    parser.add_argument("--profile", help="cpu or gb200")
    parser.add_argument("--workspace", default=".marin")
    args = parser.parse_args()
    graph = registry.build("iceball-micro", args.version, args.profile, args.stage)
    if args.run:
        from marin.cli.run import run_on_workspace

        return run_on_workspace(graph, Path(args.workspace))
    print(
        "\n".join(
            tree(graph, title=f"iceball-micro {args.version}, profile {args.profile or registry.default_profile()}")
        )
    )
    return 0


if __name__ == "__main__":
    from marin.cli.__main__ import guarded

    sys.exit(guarded(main))
