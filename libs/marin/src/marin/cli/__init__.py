"""The ``marin`` command. Each command imports what it needs when it runs, so that ``--help`` stays quick."""
