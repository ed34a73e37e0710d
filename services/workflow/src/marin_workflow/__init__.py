"""The workflow service: plans graphs of artifacts and reconciles them to done."""
