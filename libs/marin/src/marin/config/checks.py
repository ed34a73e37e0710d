"""What pydantic cannot see: files, references between blocks, and wishes that nothing here can fulfil."""

from collections.abc import Iterable

from marin.config import benchmarks, rows, tokenizers
from marin.config.load import Project
from marin.config.models import Made, Outside, UnknownModel, model_of
from marin.config.problems import ConfigError, Problem, suggestion
from marin.config.schema import STAGES, Schedule, TrainedTokenizer
from marin.config.text import artifact_name
from marin.config.yaml_source import Key

NEAR_DUPLICATES = "DEDUP_MINHASH"


def check(project: Project, stages: Iterable[str]) -> None:
    """Raises ConfigError with what is wrong with the config for these stages."""
    if found := [p for p in problems(project) if p.stage in ("", *stages)]:
        raise ConfigError(found)


def needed(project: Project, stages: Iterable[str]) -> list[str]:
    """The stages and those that they stand on. Raises ConfigError for a stage that the config has not."""
    wanted = set()
    for stage in stages:
        if stage not in project.stages:
            fix = suggestion(stage, project.stages, f"stages of this config are: {', '.join(project.stages)}")
            what = f"the config has no block '{stage}'" if stage in STAGES else f"there is no stage '{stage}'"
            raise ConfigError([Problem(project.places.at(), what, fix)])
        wanted |= {stage, *_below(project, stage)}
    return [s for s in project.stages if s in wanted]


def _below(project: Project, stage: str) -> set[str]:
    config = project.config
    if stage == "pretrain" and config.data and config.pretrain:
        return {"data"} if "@" not in config.pretrain.data.path else set()
    models = []
    if stage == "finetune" and config.finetune:
        models = [config.finetune.base_model]
    elif stage == "eval" and config.eval:
        models = [m for m in (config.eval.base_model, config.eval.instruct_model) if m]
    found: set[str] = set()
    for path in models:
        try:
            model = model_of(project.config, path)
        except UnknownModel:
            continue
        if isinstance(model, Made) and model.stage != stage:
            found |= {model.stage, *_below(project, model.stage)}
    return found


def problems(project: Project) -> list[Problem]:
    """All problems, each with the stage that it concerns."""
    checks = _Checks(project)
    for stage in project.stages:
        getattr(checks, stage)()
    checks.outputs()
    return checks.found


class _Checks:
    def __init__(self, project: Project) -> None:
        self.project, self.config, self.places = project, project.config, project.places
        self.found: list[Problem] = []
        self.vocab_size = 0

    def add(self, path: tuple[Key, ...], what: str, fix: str) -> None:
        self.found.append(Problem(self.places.at(*path), what, fix, str(path[0])))

    def data(self) -> None:
        data = self.config.data
        names: dict[str, int] = {}
        for i, source in enumerate(data.sources):
            here: tuple[Key, ...] = ("data", "sources", i)
            if source.name in names:
                first = self.places.at("data", "sources", names[source.name], "name")
                self.add(
                    (*here, "name"),
                    f"two sources are named '{source.name}', the first in {first}",
                    "rename one of them",
                )
            names.setdefault(source.name, i)
            self._files((*here, "path"), source.path, rows.SUFFIXES[source.type], source.column, str)
        weights = [s.weight for s in data.sources]
        if not sum(weights):
            self.add(
                ("data", "sources", 0, "weight"),
                "the weights of the sources sum to zero",
                "give each a positive weight",
            )
        else:
            for i, weight in enumerate(weights):
                if not weight:
                    what = f"the weight of '{data.sources[i].name}' is 0, so nothing of it would be read"
                    self.add(("data", "sources", i, "weight"), what, "remove the source, or give it a positive weight")
        if data.preprocessing.dedup == "minhash" and not near_duplicates_known():
            self.add(
                ("data", "preprocessing", "dedup"),
                "dedup: minhash is not available yet: the data service finds exact copies only",
                "write `dedup: exact`, or `none`",
            )
        self._tokenizer()

    def _tokenizer(self) -> None:
        data = self.config.data
        if isinstance(data.tokenizer, TrainedTokenizer):
            self.vocab_size = data.tokenizer.train.vocab_size
            return
        try:
            found = tokenizers.find(data.tokenizer, self.places.folder("data", "tokenizer"))
            self.vocab_size = found.vocab_size
        except tokenizers.BadTokenizer as e:
            self.add(("data", "tokenizer"), *e.args)

    def pretrain(self) -> None:
        block = self.config.pretrain
        model, here = block.model, ("pretrain", "model")
        if model.num_attention_heads % model.num_kv_heads:
            what = (
                f"num_attention_heads {model.num_attention_heads} is no multiple of num_kv_heads {model.num_kv_heads}"
            )
            self.add((*here, "num_kv_heads"), what, "choose num_kv_heads so that it divides num_attention_heads")
        if not model.head_dim and model.hidden_size % model.num_attention_heads:
            what = f"hidden_size {model.hidden_size} is no multiple of num_attention_heads {model.num_attention_heads}"
            self.add((*here, "hidden_size"), what, "choose a multiple, or set head_dim")
        width = model.head_dim or model.hidden_size // model.num_attention_heads
        if width % 2:
            self.add(
                (*here, "num_attention_heads"),
                f"heads are {width} wide, and rotary positions need an even width",
                "set head_dim",
            )
        if model.vocab_size and self.vocab_size and model.vocab_size != self.vocab_size:
            less = model.vocab_size < self.vocab_size
            why = "is smaller than" if less else "is not that of"
            what = f"vocab_size {model.vocab_size} {why} the tokenizer, which has {self.vocab_size} entries"
            fix = f"set it to {self.vocab_size}, or leave it out" + (
                "" if less else "; padding it is not available yet"
            )
            self.add((*here, "vocab_size"), what, fix)
        self._schedule(("pretrain", "training"), block.training, block.training.total_steps)
        for name in ("tensor_parallel", "pipeline_parallel"):
            if getattr(block.parallel, name) > 1:
                wish = f"{name} {getattr(block.parallel, name)}"
                what = f"{wish} is not available yet: the training service spreads the batch only"
                self.add(
                    ("pretrain", "parallel", name), what, "set it to 1, and data_parallel to the number of devices"
                )
        self._tokens(block.data.path)

    def _tokens(self, path: str) -> None:
        here = ("pretrain", "data", "path")
        data, length = self.config.data, self.config.pretrain.data.max_seq_len
        if data is None and length is None:
            self.add(
                ("pretrain", "data"), "max_seq_len is not known: there is no data block", "add `max_seq_len:` here"
            )
        elif data and length:
            self.add(("pretrain", "data", "max_seq_len"), "data.max_seq_len says this already", "remove it here")
        if "@" in path:
            return
        if data is None:
            self.add(
                here,
                f"{path} is no address, and this config has no data block",
                "add one, or write name@version of a tokens artifact",
            )
        elif artifact_name(path) != artifact_name(data.output):
            self.add(here, f"{path} is not what data.output makes ({data.output})", f"write {data.output}")

    def finetune(self) -> None:
        block = self.config.finetune
        self._model(("finetune", "base_model"), block.base_model)
        files = self._files(("finetune", "data", "path"), block.data.path, rows.CONVERSATIONS, block.data.column, list)
        training, here = block.training, ("finetune", "training")
        if (training.epochs is None) == (training.steps is None):
            what = "epochs and steps are both given" if training.epochs else "neither epochs nor steps is given"
            self.add((*here, "epochs"), what, "give one of them")
        elif training.epochs and files and any(p.name.endswith(".parquet") for p in files.paths):
            what = "epochs of Parquet files cannot be turned into updates: their rows are not counted here"
            self.add((*here, "epochs"), what, "give `steps` in place of `epochs`")
        self._schedule(here, training, training.steps)
        longest, length = self.config.data, block.data.max_seq_len
        if longest is None and length is None:
            self.add(
                ("finetune", "data"),
                "max_seq_len is not known: there is no data block",
                "add `max_seq_len:` to finetune.data",
            )
        elif longest and length and length > longest.max_seq_len:
            what = f"max_seq_len {length} is longer than the {longest.max_seq_len} tokens that the model is built for"
            self.add(("finetune", "data", "max_seq_len"), what, f"lower it to {longest.max_seq_len}")

    def eval(self) -> None:
        block = self.config.eval
        if not (block.base_model or block.instruct_model):
            self.add(("eval",), "there is no model to evaluate", "set base_model, instruct_model or both")
        for key in ("base_model", "instruct_model"):
            if path := getattr(block, key):
                self._model(("eval", key), path)
        for i, name in enumerate(block.benchmarks):
            here: tuple[Key, ...] = ("eval", "benchmarks", i)
            if name in block.benchmarks[:i]:
                self.add(here, f"'{name}' is listed twice", "keep one of them")
            elif trouble := benchmarks.trouble(name):
                self.add(here, *trouble)
            elif benchmarks.BENCHMARKS[name].metric not in block.metrics:
                metric = benchmarks.BENCHMARKS[name].metric
                self.add(
                    here, f"the score of '{name}' is {metric}, which metrics leaves out", f"add `{metric}` to metrics"
                )
        for name in block.targets:
            if name not in block.benchmarks:
                fix = suggestion(name, block.benchmarks, "add it to benchmarks, or remove the target")
                self.add(("eval", "targets", name), f"'{name}' has a target and is no benchmark of this block", fix)
        scores = {benchmarks.BENCHMARKS[b].metric for b in block.benchmarks if b in benchmarks.BENCHMARKS}
        for i, metric in enumerate(block.metrics):
            if metric not in scores and all(b in benchmarks.BENCHMARKS for b in block.benchmarks):
                self.add(
                    ("eval", "metrics", i), f"no benchmark gives {metric}", "remove it, or add a benchmark that does"
                )

    def outputs(self) -> None:
        """Artifacts of different blocks need names of their own."""
        outputs = {
            ("data", "output"): self.config.data and self.config.data.output,
            ("pretrain", "output", "base_model"): self.config.pretrain and self.config.pretrain.output.base_model,
            ("finetune", "output", "instruct_model"): self.config.finetune
            and self.config.finetune.output.instruct_model,
            ("eval", "output"): self.config.eval and self.config.eval.output.removesuffix(".json"),
        }
        taken: dict[str, tuple[Key, ...]] = {}
        for path, text in outputs.items():
            if not text:
                continue
            name = artifact_name(text)
            if name is None:
                fix = "use letters, digits, '.', '_' and '-', in parts separated by slashes"
                self.add(path, f"'{text}' can be no artifact's name", fix)
            elif name in taken:
                self.add(
                    path, f"{self.places.at(*taken[name])} has the same output", "give each block an output of its own"
                )
            else:
                taken[name] = path

    def _files(
        self, path: tuple[Key, ...], text: str, suffixes: tuple[str, ...], column: str, kind: type
    ) -> rows.Files | None:
        try:
            files = rows.find(text, self.places.folder(*path), suffixes)
            rows.check_first_row(files, column, kind)
            return files
        except rows.BadFiles as e:
            self.add(path, *e.args)
            return None

    def _model(self, path: tuple[Key, ...], text: str) -> None:
        try:
            model = model_of(self.config, text)
        except UnknownModel as e:
            self.add(path, *e.args)
            return
        if model == Made("finetune") and path[0] == "finetune":
            self.add(path, f"{text} is what this block makes itself", "name the model to start from")
        elif isinstance(model, Outside) and self.places.folder(*path).joinpath(text).is_dir():
            what = f"{text} is a directory, and models of directories cannot be imported yet"
            self.add(path, what, "train it with a pretrain block, or write the address name@version of a checkpoint")

    def _schedule(self, path: tuple[Key, ...], schedule: Schedule, steps: int | None) -> None:
        if steps and schedule.warmup_steps and schedule.warmup_steps > steps:
            what = f"warmup_steps {schedule.warmup_steps} is more than all {steps} steps"
            self.add((*path, "warmup_steps"), what, f"set it to {steps} or less")


def near_duplicates_known() -> bool:
    """Whether the data service's contract has near-duplicate removal."""
    from marin.data.v1 import data_pb2

    return NEAR_DUPLICATES in data_pb2.Dedup.DESCRIPTOR.values_by_name
