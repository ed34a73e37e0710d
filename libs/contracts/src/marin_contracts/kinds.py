"""The kinds of artifact that exist, which service makes each, and the engine whose version its bytes depend on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One kind of artifact.

    ``service`` makes it by ``create`` (the RPC on that service); ``spec_field`` holds its spec in a graph node.
    ``engine`` names what can change the bytes: a new engine version gives new build keys. ``beside`` are services that
    must be up as well.
    """

    name: str
    service: str
    create: str
    spec_field: str
    engine: str
    beside: tuple[str, ...] = ()


_LEVANTER = "marin-levanter-0.2.227.dev40316220070/1"
_HARNESSES = "lm-eval-0.4.13/harbor-0.25.0/vllm-0.32.0/1"

KINDS = {
    k.name: k
    for k in (
        Kind("documents", "data", "CreateRunPipelineJob", "run_pipeline", "datakernels/1"),
        Kind("conversations", "data", "CreateConvertConversationsJob", "convert_conversations", "datakernels/1"),
        Kind("problems", "data", "CreateConvertProblemsJob", "convert_problems", "datakernels/1"),
        Kind("tokenizer", "tokenization", "CreateTrainTokenizerJob", "train_tokenizer", "tokenizers-0.22/1"),
        Kind("tokenizer.import", "tokenization", "CreateImportTokenizerJob", "import_tokenizer", "tokenizer-files/1"),
        Kind("tokens", "tokenization", "CreateTokenizeJob", "tokenize", _LEVANTER),
        Kind("checkpoint.pretrain", "training", "CreatePretrainJob", "pretrain", _LEVANTER),
        Kind("checkpoint.sft", "training", "CreateSftJob", "sft", _LEVANTER),
        Kind("policy", "rl", "CreateGrpoJob", "grpo", "skyrl-0.4.0/vllm-0.32.0/1", ("inference",)),
        Kind("evaluation", "evaluation", "CreateEvaluateJob", "evaluate", _HARNESSES, ("inference",)),
    )
}
