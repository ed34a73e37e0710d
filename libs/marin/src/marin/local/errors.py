"""The error of the local runtime."""


class LocalError(Exception):
    """Something on this machine is in the way. ``message`` says what and where, ``hint`` says the fix."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}\n  fix: {hint}")
        self.message, self.hint = message, hint
