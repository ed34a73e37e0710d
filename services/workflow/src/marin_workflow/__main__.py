"""``python -m marin_workflow``: runs the workflow service."""

from marin_workflow.setup import main

if __name__ == "__main__":
    main()
