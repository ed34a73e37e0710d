"""The local runtime: environments of the services, and the processes of one workspace. Standard library only."""
