"""The one error of this package."""


class DataError(Exception):
    """Input that cannot be used.

    ``message`` says what is wrong and where (file, line, byte), ``hint`` the fix; ``reason`` is an UPPER_SNAKE
    identifier, and ``where`` holds the place as strings.
    """

    def __init__(self, message: str, *, hint: str, reason: str, **where: object) -> None:
        super().__init__(message, hint, reason, {k: str(v) for k, v in where.items()})
        self.message, self.hint, self.reason = message, hint, reason
        self.where = {k: str(v) for k, v in where.items()}

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Beam hands errors of worker processes on by pickle, which would drop keyword arguments.
        return _rebuild, (self.message, self.hint, self.reason, self.where)


def _rebuild(message: str, hint: str, reason: str, where: dict[str, str]) -> DataError:
    return DataError(message, hint=hint, reason=reason, **where)
