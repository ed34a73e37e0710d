"""Normalisation, filters and recipes."""

import json
import random
import unicodedata

import pytest

from marin_datakernels.errors import DataError
from marin_datakernels.filters import Filters, alphabetic_words, repeated_lines, top_trigram
from marin_datakernels.recipes import Recipe
from marin_datakernels.text import normalise

ALPHABET = ["a", "b", "e\u0301", "\u00e9", "\u212b", "\uac00", "\u1100\u1161", "\ud83d", "\ude00"]
ALPHABET += ["\r", "\n", "\r\n", " ", "\t", "\x85", "\u2028", "\u3000", " " * 130, "\n\n\n"]
ALPHABET += ["\x00", "\x1f", "\x7f", "\ufeff"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cafe\u0301", "caf\u00e9"),
        ("a\r\nb\rc\u2028d\x85e", "a\nb\nc\nd\ne"),
        ("a\x00b\x1bc\x7f\ufeff", "abc"),
        ("a  \nb\t\n", "a\nb"),
        ("a\n\n\n\n\nb", "a\n\nb"),
        ("a\n \n\t\n \nb", "a\n\nb"),
        ("\n\n  indented", "  indented"),
        ("   \n \t ", ""),
        ("x" + " " * 1000 + "y", "x" + " " * 128 + "y"),
        ("a\ud83db", "a\ufffdb"),
        ("tab\tstays", "tab\tstays"),
    ],
)
def test_normalise(text, expected):
    assert normalise(text) == expected


def test_normalise_is_idempotent_and_safe_on_random_text():
    rng = random.Random(3)
    for _ in range(3000):
        once = normalise("".join(rng.choices(ALPHABET, k=rng.randint(0, 30))))
        assert normalise(once) == once
        once.encode()
        assert unicodedata.is_normalized("NFC", once)
        assert "\n\n\n" not in once and "\r" not in once and " \n" not in once
        assert once.strip("\n") == once


def test_normalise_takes_linear_time_on_white_space():
    # With a quadratic pattern this would take hours.
    assert normalise("a" + " " * 2_000_000 + "b" + "\n" * 2_000_000 + " \n" * 500_000 + "c").endswith("\n\nc")


def test_measures_follow_their_definition():
    assert repeated_lines("abcd\nabcd\n\nabcd\nxyzw") == 8 / 16
    assert top_trigram("a b c x a b c") == 6 / 7
    assert top_trigram("one two three four") == 0
    assert top_trigram("a a a a a a") == 1
    assert alphabetic_words("one 2 --- 4th") == 0.5
    assert (repeated_lines(""), top_trigram(""), alphabetic_words("")) == (0, 0, 1)


@pytest.mark.parametrize(
    ("filters", "text", "reason"),
    [
        (Filters(), "a", None),
        (Filters(), "", "empty"),
        (Filters(min_text_length=5), "four", "too_short"),
        (Filters(min_text_length=5), "fiver", None),
        (Filters(max_text_length=5), "sixsix", "too_long"),
        (Filters(max_text_length=6), "sixsix", None),
        (Filters(max_repetition=0.5), "same\nsame\nother", None),
        (Filters(max_repetition=0.2), "same\nsame\nother", "repetitive_lines"),
        (Filters(max_top_trigram=0.5), "go on now go on now", "repetitive_words"),
        (Filters(min_alphabetic_words=0.5), "1 2 3 four", "not_text"),
        (Filters(min_text_length=99, max_repetition=0.1), "same\nsame", "too_short"),
    ],
)
def test_first_broken_bound_is_the_reason(filters, text, reason):
    assert filters.reason(text) == reason


def test_document_of_equal_normalised_text_has_equal_key_and_source_in_its_row():
    recipe = Recipe("documents", Filters(min_text_length=3))
    one = recipe.apply({"text": "cafe\u0301 \r\n"}, "text", "web", "f, line 1")
    other = recipe.apply({"text": "caf\u00e9"}, "text", "books", "f, line 2")
    assert one.key == other.key and one.reason is None
    assert json.loads(one.line) == {"id": one.key.hex(), "text": "caf\u00e9", "source": "web"}
    assert recipe.apply({"text": "Caf\u00e9"}, "text", "web", "").key != one.key


def test_lone_surrogate_of_a_json_escape_can_be_written():
    row = json.loads(r'{"text": "bad \ud83d end"}')
    assert json.loads(Recipe("documents").apply(row, "text", "s", "").line)["text"] == "bad \ufffd end"


@pytest.mark.parametrize(("value", "says"), [(None, "missing (null)"), (7, "a int"), (["x"], "a list")])
def test_text_that_is_no_text_is_a_bad_row(value, says):
    with pytest.raises(DataError, match="f, line 9: 'text' is") as e:
        Recipe("documents").apply({"text": value}, "text", "s", "f, line 9")
    assert says in e.value.message and e.value.reason == "BAD_ROW"


USER = {"role": "user", "content": "Hi\r\n", "name": "x"}
REPLY = {"role": "assistant", "content": "Hello"}


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([USER, REPLY], None),
        ([{"role": "system", "content": "s"}, USER, REPLY, USER, REPLY], None),
        ([USER], "no_assistant"),
        ([USER, {"role": "assistant", "content": " \n"}], "empty_message"),
        ([USER, {"role": "assistant", "content": "ok<|im_end|>\n<|im_start|>system"}], "control_token"),
        ([USER, {"role": "assistant", "content": "a <| b |> c"}], None),
    ],
)
def test_conversation(messages, reason):
    outcome = Recipe("conversations").apply({"messages": messages}, "messages", "s", "f, line 1")
    assert outcome.reason == reason
    row = json.loads(outcome.line)
    assert set(row) == {"id", "messages"}
    assert all(set(m) == {"role", "content"} for m in row["messages"])


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ("text", "'messages' is a str, not a list of messages"),
        ([], "'messages' is an empty list"),
        (None, "'messages' is missing (null)"),
        ([{"role": "user"}], "message 0 of 'messages' has no text in 'content'"),
        (
            [USER, {"role": "bot", "content": "x"}],
            "message 1 has the role 'bot'; known are system, user, assistant, tool",
        ),
    ],
)
def test_malformed_conversation_is_a_bad_row(messages, says):
    with pytest.raises(DataError) as e:
        Recipe("conversations").apply({"messages": messages}, "messages", "s", "f, line 1")
    assert f"f, line 1: {says}" in e.value.message
