"""Messages of clients, and of those who only pretend to be one."""

from __future__ import annotations

import contextlib
import struct

import pytest
import tiers
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdeid.serve import messages
from dbdeid.serve.messages import Bind, Execute, Malformed, Named, Parse

BODIES = (messages.parse, messages.bind, messages.named, messages.execute, messages.options)


def test_what_clients_say_is_read() -> None:
    assert messages.parse(b"s\0SELECT $1\0\0\1\0\0\0\x17") == Parse("s", "SELECT $1", (23,))
    body = b"p\0s\0\0\1\0\1\0\2\0\0\0\2ab\xff\xff\xff\xff\0\1\0\1"
    assert messages.bind(body) == Bind("p", "s", (1,), (b"ab", None), (1,))
    assert messages.named(b"Ss\0") == Named("S", "s")
    assert messages.execute(b"p\0\0\0\0\5") == Execute("p", 5)
    assert messages.options(b"user\0me\0database\0d\0\0") == {"user": "me", "database": "d"}


def test_a_format_may_stand_for_all_or_for_each() -> None:
    def bound(*formats: int) -> Bind:
        return Bind("", "", formats, (b"", b""), formats)

    assert [bound().format_of(place) for place in (0, 1)] == [0, 0]
    assert [bound(1).result(place) for place in (0, 1)] == [1, 1]
    assert [bound(0, 1).result(place) for place in (0, 1)] == [0, 1]


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (messages.parse, b"s\0SELECT 1"),
        (messages.parse, b"\xff\0\0\0\0"),
        (messages.bind, b"p\0s\0\0\0\0\1\0\0\0\x63ab"),
        (messages.bind, b"p\0s\0\0\2\0\1\0\1\0\1\xff\xff\xff\xff\0\0"),
        (messages.bind, b"p\0s\0\0\0\0\1\xff\xff\xff\xfe\0\0"),
        (messages.named, b"Xs\0"),
        (messages.execute, b"p\0\0\0\0\5x"),
    ],
)
def test_what_is_cut_off_or_too_long_is_malformed(read: object, body: bytes) -> None:
    with pytest.raises(Malformed):
        read(body)  # type: ignore[operator]


@settings(max_examples=tiers.examples(400))
@given(st.sampled_from(BODIES), st.binary(max_size=80))
def test_nothing_else_comes_of_any_bytes(read: object, body: bytes) -> None:
    with contextlib.suppress(Malformed):
        read(body)  # type: ignore[operator]


def test_a_message_tells_its_length() -> None:
    row = messages.data_row([b"ab", None])
    assert row == b"D" + struct.pack("!iHi2si", 16, 2, 2, b"ab", -1)
    assert messages.text("a\0b") == b"ab\0"
    told = messages.error({"S": "ERROR", "C": "0A000", "M": "no", "H": ""})
    assert told == b"E" + struct.pack("!i", len(told) - 1) + b"SERROR\0C0A000\0Mno\0\0"
