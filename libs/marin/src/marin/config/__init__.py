"""Experiments as YAML: strict models, errors with file and line, and a compiler to the graph that Python builders make.

    from marin.config.compile import compile_graph
    from marin.config.load import load

    graph = compile_graph(load(Path("config.yaml")), stages=["data", "pretrain"])

``docs/config.md`` says what every field means. Nothing is imported here, so that commands without a config start fast.
"""
