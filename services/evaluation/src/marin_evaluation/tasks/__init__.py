"""Task sets that come with the service: rows, prompts, graders."""
