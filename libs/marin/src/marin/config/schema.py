"""The blocks of a config: an unknown key or a value of another type is an error. Descriptions feed the JSON Schema."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from marin.config.text import Literally, PathText

Label = Annotated[str, Literally, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=64)]
Count = Annotated[int, Literally, Field(ge=1, le=2**31 - 1)]
Natural = Annotated[int, Literally, Field(ge=0, le=2**31 - 1)]
Steps = Annotated[int, Literally, Field(ge=2, le=2**31 - 1)]
Number = Annotated[float, Literally, Field(ge=0)]
Positive = Annotated[float, Literally, Field(gt=0)]
Share = Annotated[float, Literally, Field(ge=0, le=1)]


class Block(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Source(Block):
    """Files of one kind that make one part of the mixture."""

    name: Label = Field(
        description="Name of the source: last part of its artifacts' names, and its name in the mixture."
    )
    type: Annotated[Literal["jsonl", "parquet"], Literally] = Field(
        description="Form of the files: JSON lines (.jsonl or .jsonl.gz), or Parquet (.parquet)."
    )
    path: PathText = Field(
        description="A directory, file or glob of its last part; a relative path starts where the YAML file lies."
    )
    weight: Number = Field(
        1.0, description="Share of this source in the tokens trained on; shares are divided by their sum."
    )
    column: Label = Field("text", description="Field of a row that holds the text.")


class NewTokenizer(Block):
    """A byte-level BPE tokenizer trained on all sources of this config."""

    vocab_size: Annotated[int, Literally, Field(ge=260, le=2**20)] = Field(
        description="Entries of the vocabulary: the 256 bytes, 4 special tokens, and what is learned."
    )


class TrainedTokenizer(Block):
    """Train a tokenizer instead of naming one."""

    train: NewTokenizer = Field(description="How it is trained.")


def _tokenizer_form(value: Any) -> str:
    return "trained" if isinstance(value, dict | TrainedTokenizer) else "named"


TOKENIZER_FORMS = ("trained", "named")
Tokenizer = Annotated[
    Annotated[PathText, Tag("named")] | Annotated[TrainedTokenizer, Tag("trained")], Discriminator(_tokenizer_form)
]


class Filter(Block):
    """Which documents stay; each dropped one is counted by its reason."""

    min_text_len: Natural = Field(0, description="Documents with fewer characters are dropped; 0 is no bound.")
    max_doc_ratio: Annotated[float, Literally, Field(gt=0, le=1)] | None = Field(
        None,
        description="Largest share of a document's characters, from 0 to 1, that may lie in lines repeating an earlier "
        "line of the same document; a document above it is dropped. Left out: no bound.",
    )


class Preprocessing(Block):
    """How rows become documents."""

    dedup: Annotated[Literal["none", "exact", "minhash"], Literally] = Field(
        "exact",
        description="Which repeated documents of a source are dropped: none, exact copies, or near copies (minhash).",
    )
    filter: Filter = Field(Filter(), description="Which documents stay.")


class Data(Block):
    """From text to token caches: one documents and one tokens artifact for each source."""

    sources: list[Source] = Field(min_length=1, max_length=256, description="Where text comes from.")
    tokenizer: Tokenizer = Field(description="A directory with tokenizer.json, a known name, or `train:`.")
    max_seq_len: Steps = Field(
        description="Tokens of a training sequence, and the longest that the model is built for."
    )
    preprocessing: Preprocessing = Field(Preprocessing(), description="How rows become documents.")
    output: PathText = Field(description="Where the artifacts stand in the catalog; their names start with it.")


class Model(Block):
    """Shape of a decoder-only transformer."""

    type: Annotated[Literal["llama", "qwen3"], Literally] = Field(description="Architecture.")
    hidden_size: Count = Field(description="Width of the residual stream.")
    intermediate_size: Count = Field(description="Width of the gated MLP.")
    num_layers: Count = Field(description="Transformer blocks.")
    num_attention_heads: Count = Field(description="Query heads.")
    num_kv_heads: Count = Field(description="Key and value heads; divides num_attention_heads.")
    vocab_size: Count | None = Field(
        None, description="Entries of the vocabulary, as the tokenizer has; left out: taken from it."
    )
    head_dim: Count | None = Field(None, description="Width of a head; left out: hidden_size / num_attention_heads.")
    rope_theta: Positive = Field(10_000.0, description="Base of the rotary position encoding.")
    tie_word_embeddings: Annotated[bool, Literally] = Field(
        True, description="Whether the output projection is the embedding matrix."
    )


class PretrainData(Block):
    """What is read, and how much at a time."""

    path: PathText = Field(
        description="`data.output` of this config, or the address name@version of a tokens artifact."
    )
    micro_batch_size: Count = Field(
        description="Sequences per data-parallel device; times parallel.data_parallel gives those of one update."
    )
    max_seq_len: Steps | None = Field(None, description="Tokens of a sequence; only where there is no data block.")


class Schedule(Block):
    """Optimizer (AdamW) and learning rate."""

    lr: Annotated[float, Literally, Field(gt=0, le=10)] = Field(description="Peak learning rate.")
    warmup_steps: Natural | None = Field(
        None, description="Updates during which the rate rises from 0; left out: a tenth of all."
    )
    max_grad_norm: Number = Field(1.0, description="Gradients are scaled down to this global norm; 0 for no clipping.")
    weight_decay: Number = Field(0.0, description="Decoupled weight decay.")
    lr_schedule: Annotated[Literal["cosine", "linear", "constant"], Literally] = Field(
        "cosine", description="Shape of the rate after warm-up."
    )
    min_lr_ratio: Share = Field(0.1, description="Rate at the last update, as a share of the peak.")
    precision: Annotated[Literal["f32", "bf16_compute"], Literally] = Field(
        "f32", description="Number format of the computation; parameters are kept in 32 bits."
    )
    seed: Natural = Field(0, description="Seed of the weights and of the order of the data.")


class PretrainTraining(Schedule):
    """Optimizer, learning rate and length."""

    total_steps: Steps = Field(description="Updates in all.")


class Parallel(Block):
    """How the work is spread. It changes no result, but for data_parallel as a factor of the batch."""

    tensor_parallel: Count = Field(1, description="Devices that share each layer; only 1 is available yet.")
    pipeline_parallel: Count = Field(
        1, description="Groups of layers on devices of their own; only 1 is available yet."
    )
    data_parallel: Count = Field(1, description="Devices that each take micro_batch_size sequences of an update.")


class PretrainOutput(Block):
    """What comes out."""

    base_model: PathText = Field(description="Where the checkpoint stands in the catalog.")
    save_every: Natural = Field(0, description="A resumable checkpoint every so many updates; 0: every 15 minutes.")


class Pretrain(Block):
    """Training from random weights."""

    model: Model = Field(description="Shape.")
    data: PretrainData = Field(description="What is read.")
    training: PretrainTraining = Field(description="Optimizer, learning rate and length.")
    parallel: Parallel = Field(Parallel(), description="How the work is spread.")
    output: PretrainOutput = Field(description="What comes out.")


class FinetuneData(Block):
    """Conversations."""

    path: PathText = Field(description="A directory, file or glob of .jsonl, .jsonl.gz or .parquet rows with messages.")
    conversation_format: Annotated[Literal["chatml"], Literally] = Field(
        description="Template that turns messages into text; chatml is <|im_start|>role … <|im_end|>."
    )
    column: Label = Field("messages", description="Field of a row that holds the messages.")
    max_seq_len: Steps | None = Field(None, description="Tokens of a sequence; left out: data.max_seq_len.")


class FinetuneTraining(Schedule):
    """Optimizer, learning rate and length."""

    epochs: Count | None = Field(None, description="Times that each conversation is seen; this or steps.")
    steps: Steps | None = Field(None, description="Updates in all; this or epochs.")
    micro_batch_size: Count = Field(description="Conversations of one update.")


class FinetuneOutput(Block):
    """What comes out."""

    instruct_model: PathText = Field(description="Where the checkpoint stands in the catalog.")
    save_every: Natural = Field(0, description="A resumable checkpoint every so many updates; 0: every 15 minutes.")


class Finetune(Block):
    """Supervised fine-tuning; the loss is on what the assistant says."""

    base_model: PathText = Field(description="`pretrain.output.base_model` with /latest, or the address name@version.")
    data: FinetuneData = Field(description="Conversations.")
    training: FinetuneTraining = Field(description="Optimizer, learning rate and length.")
    output: FinetuneOutput = Field(description="What comes out.")


class Eval(Block):
    """Benchmarks of the base model, of the fine-tuned one, or of both."""

    base_model: PathText | None = Field(
        None, description="A model asked in plain text: a path with /latest, or name@version."
    )
    instruct_model: PathText | None = Field(
        None, description="A model asked by chat: a path with /final, or name@version."
    )
    benchmarks: list[Label] = Field(min_length=1, max_length=64, description="What is asked.")
    metrics: list[Annotated[Literal["accuracy", "pass@1"], Literally]] = Field(
        min_length=1, description="What must come out: each benchmark has one of them, and each of them a benchmark."
    )
    targets: dict[Label, Share] = Field(
        {},
        description="Least score of a benchmark, from 0 to 1, for instruct_model, or for base_model where that is "
        "alone. A run that ends below one says so and fails.",
    )
    limit: Natural = Field(0, description="Only so many samples of each benchmark; 0 for all.")
    max_gen_tokens: Natural = Field(0, description="At most so many new tokens for an answer; 0 for 256.")
    output: PathText = Field(
        description="Where the reports stand in the catalog; a last .json is left out of the name."
    )


class Config(Block):
    """One experiment: data, pretrain, finetune, eval. Blocks may stand in files of their own, named by includes."""

    schema_: str = Field("", alias="$schema", description="For editors; not read.")
    includes: list[str] = Field([], description="YAML files below the main file's directory whose blocks belong here.")
    name: Label | None = Field(None, description="Name of the job; left out: the name of the config's directory.")
    version: Label | None = Field(
        None, description="Version of every artifact; left out: each artifact's version is made from its own recipe."
    )
    data: Data | None = Field(None, description="From text to token caches.")
    pretrain: Pretrain | None = Field(None, description="Training from random weights.")
    finetune: Finetune | None = Field(None, description="Supervised fine-tuning.")
    eval: Eval | None = Field(None, description="Benchmarks.")


STAGES = ("data", "pretrain", "finetune", "eval")


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) for editors."""
    schema = Config.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Marin config"}
