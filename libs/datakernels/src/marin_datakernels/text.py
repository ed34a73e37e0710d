"""Brings text into one form, so that equal texts are equal bytes."""

import re
import unicodedata

LINE_ENDS = re.compile("\r\n?|[\x85\u2028\u2029]")
# Cc without tab and newline; U+FEFF inside a text is a byte order mark that was concatenated.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]")
SURROGATES = re.compile("[\ud800-\udfff]")
TRAILING = re.compile(r"[^\S\n]+(?=\n|\Z)")
BLANK_LINES = re.compile(r"\n{3,}")
MAX_RUN = 128
# Longer runs carry nothing and have made tokenizers run out of memory.
RUNS = re.compile(rf"([^\S\n])[^\S\n]{{{MAX_RUN},}}")


def normalise(text: str) -> str:
    r"""Brings ``text`` into Unicode NFC with ``\n`` as the only line end.

    Control characters and trailing white space go, at most one blank line stays in a row, runs of white space are cut
    to 128 characters, and lone surrogates, which have no UTF-8 form, become U+FFFD. Applying it twice changes nothing.
    """
    text = LINE_ENDS.sub("\n", text)
    text = SURROGATES.sub("\ufffd", CONTROLS.sub("", text))
    text = unicodedata.normalize("NFC", text)
    text = RUNS.sub(lambda m: m[0][:MAX_RUN], text)
    text = BLANK_LINES.sub("\n\n", TRAILING.sub("", text))
    return text.strip("\n")
