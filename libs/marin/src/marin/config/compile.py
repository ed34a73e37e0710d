"""From a config to steps and a graph: the same builders that Python experiments call."""

import math
from collections.abc import Sequence

from marin.config import benchmarks, rows, tokenizers
from marin.config.checks import check, needed
from marin.config.load import Project
from marin.config.models import Made, model_of
from marin.config.problems import ConfigError, Problem
from marin.config.recipe import versioned
from marin.config.schema import Eval, Schedule, Source, TrainedTokenizer
from marin.config.text import artifact_name
from marin.data.v1 import data_pb2
from marin.evaluation.v1 import evaluation_pb2
from marin.execution.lazy import ArtifactStep, graph
from marin.experiment import data as build
from marin.experiment.evaluation import evaluate
from marin.experiment.train import AdamConfig, ModelConfig, sft, train_lm
from marin.workflow.v1 import workflow_pb2 as wf
from marin_contracts.chat import CHATML


def compile_graph(
    project: Project, stages: Sequence[str] = (), version: str | None = None, owner: str = "default"
) -> wf.Graph:
    """The graph of ``stages`` (all, if none is named) and what they stand on. Data files are read for their digests.

    ``version`` is that of every artifact; without it, and without one in the config, recipes give the versions.
    ``owner`` is the project in the catalog. Raises ConfigError.
    """
    wanted = list(stages) or project.stages
    check(project, needed(project, wanted))
    made = compile_steps(project, version)
    return graph(project.name, [step for stage in project.stages if stage in wanted for step in made(stage)], owner)


def compile_steps(project: Project, version: str | None = None) -> "Compiler":
    """A function from stage to its last steps. Only what is asked for is made: no file is read in vain."""
    return Compiler(project, version or project.config.version)


class Compiler:
    """Makes each stage's steps once."""

    def __init__(self, project: Project, version: str | None) -> None:
        self._project, self._config, self._version = project, project.config, version
        self._made: dict[str, list[ArtifactStep]] = {}

    def __call__(self, stage: str) -> list[ArtifactStep]:
        """The last steps of a stage: tokens of each source, one checkpoint, or a report of each model."""
        if stage not in self._made:
            self._made[stage] = getattr(self, f"_{stage}")()
        return self._made[stage]

    def _done(self, step: ArtifactStep) -> ArtifactStep:
        return versioned(step, self._version)

    def _data(self) -> list[ArtifactStep]:
        block = self._config.data
        root = artifact_name(block.output)
        texts = {
            s.name: self._documents(f"{root}/documents/{s.name}", [self._source(i, s)])
            for i, s in enumerate(block.sources)
        }
        tokenizer = self._tokenizer(f"{root}/tokenizer", list(texts.values()))
        return [
            self._done(build.tokenize(name=f"{root}/tokens/{n}", documents=t, tokenizer=tokenizer, stage="data"))
            for n, t in texts.items()
        ]

    def _source(self, index: int, source: Source) -> data_pb2.Source:
        folder = self._project.places.folder("data", "sources", index, "path")
        files = rows.find(source.path, folder, rows.SUFFIXES[source.type])
        return build.files(source.name, files.pattern, column="" if source.column == "text" else source.column)

    def _documents(self, name: str, sources: list[data_pb2.Source]) -> ArtifactStep:
        p = self._config.data.preprocessing
        filters = data_pb2.Filters(min_text_length=p.filter.min_text_len, max_repetition=p.filter.max_doc_ratio or 0.0)
        return self._done(build.documents(name=name, sources=sources, filters=filters, dedup=p.dedup, stage="data"))

    def _tokenizer(self, name: str, texts: list[ArtifactStep]) -> ArtifactStep | str:
        wanted = self._config.data.tokenizer
        if not isinstance(wanted, TrainedTokenizer):
            found = tokenizers.find(wanted, self._project.places.folder("data", "tokenizer"))
            if found.address:
                return found.address
            return self._done(build.local_tokenizer(name=name, directory=str(found.directory), stage="data"))
        corpus = texts[0]
        if len(texts) > 1:
            root = self._config.data.output
            sources = [s for t in texts for s in t.spec.sources]
            corpus = self._documents(f"{artifact_name(root)}/corpus", sources)
        vocab_size = wanted.train.vocab_size
        return self._done(build.train_tokenizer(name=name, documents=corpus, vocab_size=vocab_size, stage="data"))

    def _pretrain(self) -> list[ArtifactStep]:
        block = self._config.pretrain
        if "@" in block.data.path:
            datasets: dict[ArtifactStep | str, float] = {block.data.path.strip("/"): 1.0}
        else:
            weights = [s.weight for s in self._config.data.sources]
            datasets = dict(zip(self("data"), weights, strict=True))
        seq_len = block.data.max_seq_len or self._config.data.max_seq_len
        m = block.model
        model = ModelConfig(
            max_seq_len=seq_len,
            hidden_dim=m.hidden_size,
            intermediate_dim=m.intermediate_size,
            num_layers=m.num_layers,
            num_heads=m.num_attention_heads,
            num_kv_heads=m.num_kv_heads,
            head_dim=m.head_dim or 0,
            tie_word_embeddings=m.tie_word_embeddings,
            rope_theta=m.rope_theta,
            vocab_size=m.vocab_size or 0,
            family=m.type,
        )
        step = train_lm(
            name=artifact_name(block.output.base_model),
            model=model,
            optimizer=_adam(block.training, block.training.total_steps),
            datasets=datasets,
            batch_size=block.data.micro_batch_size * block.parallel.data_parallel,
            seq_len=seq_len,
            num_train_steps=block.training.total_steps,
            seed=block.training.seed,
            precision=block.training.precision,
            checkpoint_every_steps=block.output.save_every,
            stage="pretrain",
        )
        return [self._done(step)]

    def _finetune(self) -> list[ArtifactStep]:
        block = self._config.finetune
        name = artifact_name(block.output.instruct_model)
        files = rows.find(block.data.path, self._project.places.folder("finetune", "data", "path"), rows.CONVERSATIONS)
        column = "" if block.data.column == "messages" else block.data.column
        source = build.files("conversations", files.pattern, column=column)
        conversations = build.conversations(name=f"{name}/conversations", sources=[source], stage="finetune")
        steps = block.training.steps or self._updates(files)
        step = sft(
            name=name,
            init_from=self._model(block.base_model),
            conversations=self._done(conversations),
            optimizer=_adam(block.training, steps),
            batch_size=block.training.micro_batch_size,
            seq_len=block.data.max_seq_len or self._config.data.max_seq_len,
            num_train_steps=steps,
            seed=block.training.seed,
            precision=block.training.precision,
            checkpoint_every_steps=block.output.save_every,
            stage="finetune",
        )
        # One conversation in a sequence, so that epochs count conversations. The template makes chatml hold for any
        # tokenizer.
        step.spec.max_conversations_per_sequence = 1
        step.spec.chat_template = CHATML
        return [self._done(step)]

    def _updates(self, files: rows.Files) -> int:
        training = self._config.finetune.training
        where = self._project.places.at("finetune", "training", "epochs")
        try:
            total = rows.count(files) * training.epochs
        except rows.BadFiles as e:
            raise ConfigError([Problem(where, *e.args)]) from None
        steps = math.ceil(total / training.micro_batch_size)
        if steps < 2:
            what = f"{total} conversations in all make only {steps} update of {training.micro_batch_size}"
            raise ConfigError([Problem(where, what, "give more data or epochs, or a smaller micro_batch_size")])
        if training.warmup_steps and training.warmup_steps > steps:
            where = self._project.places.at("finetune", "training", "warmup_steps")
            what = f"warmup_steps {training.warmup_steps} is more than all {steps} steps"
            raise ConfigError([Problem(where, what, f"set it to {steps} or less")])
        return steps

    def _model(self, path: str) -> ArtifactStep | str:
        model = model_of(self._config, path)
        return self(model.stage)[0] if isinstance(model, Made) else model.address

    def _eval(self) -> list[ArtifactStep]:
        block = self._config.eval
        tasks = [_task(name, block.limit, block.max_gen_tokens) for name in block.benchmarks]
        asked = {"base": (block.base_model, False), "instruct": (block.instruct_model, True)}
        return [
            self._done(
                evaluate(
                    name=report_name(block, which),
                    policy=self._model(path),
                    tasks=tasks,
                    stage="eval",
                    apply_chat_template=chat,
                )
            )
            for which, (path, chat) in asked.items()
            if path
        ]


def report_name(block: Eval, which: str) -> str:
    """Name of the report about the ``base`` or ``instruct`` model."""
    return f"{artifact_name(block.output.removesuffix('.json'))}/{which}"


def _task(name: str, limit: int, max_gen_tokens: int) -> evaluation_pb2.EvaluationTask:
    harness = evaluation_pb2.Harness.Value(benchmarks.BENCHMARKS[name].harness)
    return evaluation_pb2.EvaluationTask(
        name=name, harness=harness, task_set=name, limit=limit, max_gen_tokens=max_gen_tokens
    )


def _adam(schedule: Schedule, steps: int) -> AdamConfig:
    default = AdamConfig(learning_rate=schedule.lr)
    return AdamConfig(
        learning_rate=schedule.lr,
        weight_decay=schedule.weight_decay,
        max_grad_norm=schedule.max_grad_norm,
        warmup=default.warmup if schedule.warmup_steps is None else warmup_fraction(schedule.warmup_steps, steps),
        min_lr_ratio=schedule.min_lr_ratio,
        lr_schedule=schedule.lr_schedule,
    )


def warmup_fraction(warmup: int, steps: int) -> float:
    """The fraction from which the trainer, which rounds down, gets exactly ``warmup`` of ``steps`` updates back."""
    fraction = warmup / steps
    return fraction if int(fraction * steps) == warmup else math.nextafter(fraction, 1.0)
