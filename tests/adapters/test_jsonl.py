"""Append-only JSONL: complete objects by byte offset, and what a cursor proves."""

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mex_pipeline.adapters import jsonl
from mex_pipeline.adapters import records as records_module
from mex_pipeline.adapters.jsonl import window
from mex_pipeline.adapters.records import Record, records
from mex_pipeline.domain.conversation import Cursor, Turn
from tests.support.extent import tries

SEPARATORS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e"


def read(data: bytes, start: int = 0, stop: int | None = None) -> list[Record]:
    return list(records(io.BytesIO(data), start, len(data) if stop is None else stop))


def values(data: bytes) -> list[object]:
    return [record.value if record.fault is None else record.fault for record in read(data)]


def test_records_carry_the_offsets_of_their_lines() -> None:
    """Start and end are byte offsets, and the end lies behind the newline."""
    data = '{"a":"一"}\n\n{"b":2}\r\n'.encode()
    first, second = read(data)
    assert (first.start, first.end) == (0, data.index(b"\n") + 1)
    assert (second.start, second.end) == (data.index(b'{"b"'), len(data))


def test_reading_from_any_record_end_gives_the_rest() -> None:
    """Every end, also one between two objects of a line, is a place to go on from."""
    data = b'{"a":"\xe4\xb8\x80"}  {"b":"\xff"}\t{"c":3}\n{"d":4}\r\n{"e":5}'
    found = read(data)
    assert [list(record.value) for record in found] == [["a"], ["b"], ["c"], ["d"], ["e"]]
    for number, record in enumerate(found, 1):
        assert [later.value for later in read(data, record.end)] == [later.value for later in found[number:]]
        assert [earlier.value for earlier in read(data, 0, record.end)] == [before.value for before in found[:number]]


@pytest.mark.parametrize("tail", [b"{", b'{"a":', b'{"a":1}{', b'{"a":1} x', b"x", b"[1]", b"12", b" ", b"\xef\xbb"])
def test_a_torn_last_line_is_neither_read_nor_counted(tail: bytes) -> None:
    """Whatever is not made of whole objects only may still be growing."""
    assert values(b'{"z":0}\n' + tail) == [{"z": 0}]


@pytest.mark.parametrize("more", [b"\n", b"\r\n", b'\n{"c":3}\n', b'{"c":3}\n', b" x\n", b"\x00\n"])
def test_a_whole_object_without_newline_counts_and_later_bytes_change_nothing(more: bytes) -> None:
    """What is appended behind it is read once, and nothing of it is counted twice or wrongly as bad."""
    data = b'{"a":1}\n{"b":2}'
    first = read(data)
    assert [record.value for record in first] == [{"a": 1}, {"b": 2}]
    later = read(data + more, first[-1].end)
    assert [(r.value, r.fault) for r in first + later] == [(r.value, r.fault) for r in read(data + more)]


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[1,2]",
        b'"text"',
        b"null",
        b"12",
        b'{"a":1',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"a":' + b"9" * 10_000 + b"}",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
    ],
)
def test_a_finished_line_that_is_no_object_is_bad_and_passed_over(line: bytes) -> None:
    """Deep nesting, endless integers and a byte order mark inside the file are bad lines, not errors."""
    assert values(b'{"a":1}\n' + line + b'\n{"b":2}\n') == [{"a": 1}, "bad_line", {"b": 2}]


def test_rubbish_behind_an_object_is_bad_but_the_object_counts() -> None:
    """The rest of such a line cannot be trusted."""
    assert values(b'{"a":1} rubbish {"b":2}\n{"c":3}\n') == [{"a": 1}, "bad_line", {"c": 3}]


def test_two_objects_on_one_line_are_two_records() -> None:
    """Some real files hold such lines."""
    assert values(b'{"a":1}{"b":2}\n') == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_mark_do_not_matter(newline: bytes, mark: bytes) -> None:
    """CRLF, a mark at the start, and both."""
    data = mark + newline.join([b'{"a":1}', b'{"b":2}', b""])
    assert values(data) == [{"a": 1}, {"b": 2}]
    assert read(data)[-1].end == len(data)


def test_only_a_newline_ends_a_line() -> None:
    """Unicode line separators and raw control characters stay inside their string."""
    data = json.dumps({"a": SEPARATORS}, ensure_ascii=False).encode() + b'\n{"b":"\x0b\x1c"}\n'
    assert values(data) == [{"a": SEPARATORS}, {"b": "\x0b\x1c"}]


def test_strings_come_out_storable() -> None:
    """Lone surrogates and broken bytes are U+FFFD, NUL is gone, pairs stay: in values, keys and nested places."""
    data = b'{"a":["x\\ud83dy","\\ud83d\\ude00"],"k\\udc00":{"n":"p\\u0000q\x00r"},"e":"\xff"}\n'
    (value,) = values(data)
    assert value == {"a": ["x\ufffdy", "😀"], "k\ufffd": {"n": "pqr"}, "e": "\ufffd"}
    json.dumps(value, ensure_ascii=False).encode()
    assert values(b'{"only":"raw\x00NUL"}\n') == [{"only": "rawNUL"}]


def test_nul_bytes_around_records_are_blank() -> None:
    """A block of zeros, as a crash leaves it, hides no record."""
    assert values(b'\x00\x00{"a":1}\n\x00\x00\x00\n{"b":2}\n') == [{"a": 1}, {"b": 2}]


def test_an_oversized_line_is_counted_and_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its type is told by a glance, and reading goes on behind it."""
    monkeypatch.setattr(records_module, "LINE_CAP", 100)
    big = b'{"type":"user","message":"' + b"x" * 200_000 + b'"}\n'
    data = b'{"a":1}\n' + big + b'{"b":2}\n'
    first, skipped, last = read(data)
    assert (skipped.fault, skipped.value) == ("oversized_line", {"type": "user"})
    assert (skipped.start, skipped.end) == (first.end, last.start)
    assert values(data[:-20]) == [{"a": 1}], "an oversized line that does not end yet is torn"
    assert values(b"y" * 100 + b"\n") == ["bad_line"], "a line of exactly the cap is read"
    assert values(b"y" * 101 + b"\n") == ["oversized_line"]


def test_a_fresh_cursor_reads_all_and_a_named_end_fixes_it() -> None:
    """`until` bounds the window; one behind the end of the file is ignored."""
    file = io.BytesIO(b'{"a":1}\n{"b":2}\n')
    assert window(file, Cursor(), None) == jsonl.Window(0, 0, 16, fixed=False, reset=None)
    assert window(file, Cursor(), 8) == jsonl.Window(0, 0, 8, fixed=True, reset=None)
    assert window(file, Cursor(), 17) == jsonl.Window(0, 0, 16, fixed=False, reset=None)


def cursor_over(data: bytes) -> Cursor:
    file = io.BytesIO(data)
    collector = jsonl.Collector(window(file, Cursor(), None))
    for record in records(file, 0, len(data)):
        collector.note(record, None, None)
    return collector.transcript(file, "test", None).cursor


def test_the_fingerprints_tell_append_from_replacement() -> None:
    """Growth is no reset; shrinking, another beginning and another end before the position are."""
    lines = b"".join(b'{"n":%d,"text":"%s"}\n' % (n, b"x" * 50) for n in range(200))
    cursor = cursor_over(lines)
    assert (cursor.off, cursor.size, cursor.head_len) == (len(lines), len(lines), 4096)

    def reset(data: bytes) -> str | None:
        return window(io.BytesIO(data), cursor, None).reset

    assert reset(lines) is None
    assert reset(lines + b'{"more":1}\n') is None
    assert reset(lines[:-1]) == "shorter"
    assert reset(b'{"N' + lines[3:]) == "head_changed"
    assert reset(lines[:-3] + b'!"}' + b"\n{}\n") == "tail_changed"
    assert window(io.BytesIO(lines[:-1]), cursor, None).start == 0


def test_a_short_file_is_told_by_its_whole_head() -> None:
    """The head is as long as the file was, so growth does not look like a change."""
    cursor = cursor_over(b'{"a":1}\n{"b"')
    assert (cursor.off, cursor.head_len) == (8, 12)
    assert window(io.BytesIO(b'{"a":1}\n{"b":2}\n'), cursor, None).reset is None
    assert window(io.BytesIO(b'{"a":1}\n{"c":2}\n'), cursor, None).reset == "head_changed"


def test_a_cursor_without_fingerprints_is_trusted_for_its_length_only() -> None:
    """Positions taken over from an older database have none."""
    assert window(io.BytesIO(b'{"a":1}\n{"b":2}\n'), Cursor(off=8, resume=8), None).start == 8
    assert window(io.BytesIO(b'{"a"'), Cursor(off=8, resume=8), None).reset == "shorter"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**25), 10**25) | st.floats() | st.text(st.characters(), max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)
odd_tokens = st.sampled_from(
    [b'{"a":1}{"b":2}', b'{"a":NaN}', b'{"a":-Infinity}', b'{"a":1e400}', b'{"a":-0}', b'{"a":-0.0}', b'{"a":1E5}',
     b'{"a":18446744073709551616}', b'{"a":-9223372036854775809}', b'{"a":' + b"9" * 5000 + b"}", b'{"a":01}',
     b'{"a":"\\ud83d"}', b'{"a":"\\udc00\\ud83d"}', b'{"a":"\\ud83d\\ude00"}', b'{"a":"\\u0000b"}', b'{"a":"\\\\u0000"}',
     b'{"\\u0000":"\\ud800"}', b'{"a":"\x01\x1f\x7f"}', b'{"a":"\x00"}', b'{"a":"\xff\xc0\x80"}', b'{"a":"\xed\xa0\xbd"}',
     b"\xef\xbb\xbf{}", b'{"a":1,"a":{"b":2}}', b'{"a":1} \t\r', b'{"a":1}\x0c', b'{"a":1}\x00', b'[{"a":1}]', b'"a"',
     b"null", b"", b"  ", b"{", b'{"a":1}}', b'{"a":1},', b'{"a":.5}', b'{"a":1.}', b'{"a":"\\x"}', b"{'a':1}",
     b'{"a":' + b"[" * 1030 + b"]" * 1030 + b"}", b'{"a":5e-324,"b":2.2250738585072011e-308,"c":0.1e1}']
)  # fmt: skip


def as_line(value: object, *, is_ascii: bool) -> bytes:
    return json.dumps(value, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")


lines_of_json = st.builds(as_line, json_values, is_ascii=st.booleans())
any_line = (
    lines_of_json | odd_tokens | st.binary(max_size=30) | st.builds(lambda a, b: a + b, lines_of_json, odd_tokens)
)


@settings(max_examples=tries(400), deadline=None)
@given(lines=st.lists(any_line, max_size=8), newline=st.sampled_from([b"\n", b"\r\n"]), is_ended=st.booleans())
def test_the_fast_decoder_gives_exactly_what_the_tolerant_one_gives(
    lines: list[bytes], newline: bytes, is_ended: bool
) -> None:
    """Values, faults and offsets, for all that the fast one reads differently, refuses or does not know."""
    data = newline.join(lines) + (newline if is_ended else b"")
    with pytest.MonkeyPatch.context() as patch:
        tolerant = read(data)
        patch.setattr(records_module, "LONG", -1)
        fast = read(data)
    assert repr(fast) == repr(tolerant)


def test_a_short_stretch_does_not_load_the_fast_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A glance at a file, and a session that has grown by a little, are not worth it."""

    def never() -> object:
        raise AssertionError

    monkeypatch.setattr(records_module, "_usual_line", never)
    line = b'{"filler":"' + b"x" * 1010 + b'"}\n'
    assert len(read(line * 1024)) == 1024
    with pytest.raises(AssertionError):
        read(line * 1025)


def test_a_later_read_begins_at_an_entrance() -> None:
    """Where it may not begin at any turn, it begins at the last entrance before the turns that it needs."""
    data = b"".join(b'{"n":%d}\n' % n for n in range(10))
    file = io.BytesIO(data)
    for entrances, expected in (([0, 16, 40, 72], 40), ([0, 16, 64, 72], 64), ([24], 24), ([72], 0), (None, 64)):
        collector = jsonl.Collector(window(file, Cursor(), None), entrances)
        for record in records(file, 0, len(data)):
            collector.note(record, None, None)
            collector.keep(Turn(f"k{record.start}", "user", "x"), record)
        transcript = collector.transcript(file, "test", None)
        assert transcript.cursor.resume == expected
        assert all(turn.end for turn in transcript.turns)
