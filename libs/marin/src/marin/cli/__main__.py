"""``python -m marin.cli``."""

import os
import sys
from collections.abc import Callable

os.environ.setdefault("GRPC_VERBOSITY", "ERROR")


def main(argv: list[str] | None = None) -> int:
    """Parses and runs a command. Exit codes: 0 done, 1 failed, 2 usage, 130 ^C."""
    from marin.cli.parser import parse

    args = parse(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: args.command(args), args.debug)


def guarded(work: Callable[[], int | None], debug: bool = False) -> int:
    """Runs ``work``; errors that carry a message and a hint are printed as one paragraph."""
    try:
        return work() or 0
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except Exception as e:
        message, hint = getattr(e, "message", None), getattr(e, "hint", "")
        if message is None or debug:
            raise
        print(f"error: {message}" + (f"\n  fix: {hint}" if hint else ""), file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
