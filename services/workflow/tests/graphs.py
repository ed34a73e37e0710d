"""Small graphs."""

from marin.workflow.v1 import workflow_pb2 as wf


def graph(vocab=512, version="v1"):
    """docs -> tokenizer -> tokens <- docs, and talk beside them."""
    g = wf.Graph(name="g", project="default")
    docs = g.nodes.add(id="docs", kind="documents")
    docs.run_pipeline.shards = 1
    tok = g.nodes.add(id="tok", kind="tokenizer")
    tok.train_tokenizer.vocab_size = vocab
    tok.inputs.add(role="documents", node_id="docs")
    tokens = g.nodes.add(id="tokens", kind="tokens")
    tokens.tokenize.SetInParent()
    tokens.inputs.add(role="documents", node_id="docs")
    tokens.inputs.add(role="tokenizer", node_id="tok")
    talk = g.nodes.add(id="talk", kind="conversations")
    talk.convert_conversations.shards = 1
    for node in g.nodes:
        node.target.name, node.target.version = f"n/{node.id}", version
    return g
