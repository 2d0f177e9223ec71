"""
Sends illegal and unusual HTTP/3, one sequence on a connection of its own, and prints as JSON what the server
did: closed the connection with a code, reset or stopped the request with a code, or responded with a status.

`illegal-http3.py PORT CA SERVER_NAME`
"""

import asyncio
import json
import sys

import pylsqpack
from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.buffer import encode_uint_var as varint
from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import (
    StopSendingReceived,
    StreamDataReceived,
    StreamReset,
)

PORT, CA, SERVER_NAME = int(sys.argv[1]), sys.argv[2], sys.argv[3]
# Seconds in which both servers have always done all that they do.
PATIENCE = 2

DATA, HEADERS, CANCEL_PUSH, SETTINGS, PUSH_PROMISE, GOAWAY, MAX_PUSH_ID = 0, 1, 3, 4, 5, 7, 13
CONTROL, PUSH, ENCODER, DECODER = 0, 1, 2, 3
BIDI, OPEN_CONTROL, SECOND_UNI, THIRD_UNI = 0, 2, 6, 10


def frame(kind, payload=b""):
    return varint(kind) + varint(len(payload)) + payload


def fields(*pairs):
    """A section of a QPACK encoder with no dynamic table."""
    encoder = pylsqpack.Encoder()
    return frame(HEADERS, encoder.encode(BIDI, [(n.encode(), v.encode()) for n, v in pairs])[1])


GET = (
    (":method", "GET"),
    (":scheme", "https"),
    (":authority", SERVER_NAME),
    (":path", "/"),
)
REQUEST = fields(*GET)
START = varint(CONTROL) + frame(SETTINGS)

# What is sent: (stream, bytes, whether the stream ends then).
SEQUENCES = {
    "a request": [(OPEN_CONTROL, START, False), (BIDI, REQUEST, True)],
    "no SETTINGS at all": [(BIDI, REQUEST, True)],
    "DATA before HEADERS": [(OPEN_CONTROL, START, False), (BIDI, frame(DATA, b"x") + REQUEST, True)],
    "DATA after trailers": [
        (OPEN_CONTROL, START, False),
        (BIDI, REQUEST + fields(("a", "b")) + frame(DATA, b"x"), True),
    ],
    "two SETTINGS": [(OPEN_CONTROL, START + frame(SETTINGS), False), (BIDI, REQUEST, True)],
    "another frame before SETTINGS": [(OPEN_CONTROL, varint(CONTROL) + frame(GOAWAY, b"\0"), False)],
    "DATA on the control stream": [(OPEN_CONTROL, START + frame(DATA, b"x"), False)],
    "HEADERS on the control stream": [(OPEN_CONTROL, START + REQUEST, False)],
    "SETTINGS on a request": [(OPEN_CONTROL, START, False), (BIDI, frame(SETTINGS), False)],
    "GOAWAY on a request": [(OPEN_CONTROL, START, False), (BIDI, frame(GOAWAY, b"\0"), False)],
    "PUSH_PROMISE on a request": [
        (OPEN_CONTROL, START, False),
        (BIDI, frame(PUSH_PROMISE, b"\0\0\0"), False),
    ],
    "a setting of HTTP/2": [(OPEN_CONTROL, varint(CONTROL) + frame(SETTINGS, b"\2\0"), False)],
    "a setting twice": [(OPEN_CONTROL, varint(CONTROL) + frame(SETTINGS, b"\6\x10\6\x10"), False)],
    "truncated SETTINGS": [(OPEN_CONTROL, varint(CONTROL) + frame(SETTINGS, b"\6"), False)],
    "a frame type of HTTP/2": [(OPEN_CONTROL, START, False), (BIDI, frame(2) + REQUEST, True)],
    "reserved frames": [(OPEN_CONTROL, START, False), (BIDI, frame(0x21, b"ab") + REQUEST, True)],
    "a reserved stream": [
        (OPEN_CONTROL, START, False),
        (SECOND_UNI, varint(0x21) + b"abc", True),
        (BIDI, REQUEST, True),
    ],
    "two control streams": [(OPEN_CONTROL, START, False), (SECOND_UNI, START, False)],
    "two encoder streams": [
        (OPEN_CONTROL, START, False),
        (SECOND_UNI, varint(ENCODER), False),
        (THIRD_UNI, varint(ENCODER), False),
    ],
    "a push stream of a client": [(OPEN_CONTROL, START, False), (SECOND_UNI, varint(PUSH), False)],
    "the end of the control stream": [(OPEN_CONTROL, START, True)],
    "the end of the encoder stream": [
        (OPEN_CONTROL, START, False),
        (SECOND_UNI, varint(ENCODER), True),
    ],
    "GOAWAY with a push ID": [
        (OPEN_CONTROL, START + frame(GOAWAY, varint(5)), False),
        (BIDI, REQUEST, True),
    ],
    "GOAWAY with a larger push ID": [
        (OPEN_CONTROL, START + frame(GOAWAY, varint(5)) + frame(GOAWAY, varint(9)), False),
        (BIDI, REQUEST, True),
    ],
    "MAX_PUSH_ID that shrinks": [
        (OPEN_CONTROL, START + frame(MAX_PUSH_ID, varint(5)) + frame(MAX_PUSH_ID, varint(3)), False),
        (BIDI, REQUEST, True),
    ],
    "CANCEL_PUSH": [
        (OPEN_CONTROL, START + frame(CANCEL_PUSH, varint(5)), False),
        (BIDI, REQUEST, True),
    ],
    "an invalid field section": [
        (OPEN_CONTROL, START, False),
        (BIDI, frame(HEADERS, b"\0\0\xff\xff\xff\xff"), True),
    ],
    "a reference to the dynamic table": [
        (OPEN_CONTROL, START, False),
        (BIDI, frame(HEADERS, b"\2\0\x80"), True),
    ],
    "an invalid encoder instruction": [
        (OPEN_CONTROL, START, False),
        (SECOND_UNI, varint(ENCODER) + b"\x3f\xff\xff\xff\xff", False),
    ],
    "an invalid decoder instruction": [
        (OPEN_CONTROL, START, False),
        (SECOND_UNI, varint(DECODER) + b"\0", False),
    ],
    "no method": [(OPEN_CONTROL, START, False), (BIDI, fields(*GET[1:]), True)],
    "no path": [(OPEN_CONTROL, START, False), (BIDI, fields(*GET[:3]), True)],
    "no authority": [(OPEN_CONTROL, START, False), (BIDI, fields(*GET[:2], GET[3]), True)],
    "no scheme": [(OPEN_CONTROL, START, False), (BIDI, fields(GET[0], *GET[2:]), True)],
    "a pseudo-field twice": [(OPEN_CONTROL, START, False), (BIDI, fields(*GET, GET[0]), True)],
    "an unknown pseudo-field": [(OPEN_CONTROL, START, False), (BIDI, fields(*GET, (":x", "y")), True)],
    "a pseudo-field after others": [
        (OPEN_CONTROL, START, False),
        (BIDI, fields(("a", "b"), *GET), True),
    ],
    "a name in upper case": [(OPEN_CONTROL, START, False), (BIDI, fields(*GET, ("A", "b")), True)],
    "a field of a connection": [
        (OPEN_CONTROL, START, False),
        (BIDI, fields(*GET, ("connection", "close")), True),
    ],
    "te: gzip": [(OPEN_CONTROL, START, False), (BIDI, fields(*GET, ("te", "gzip")), True)],
    "oversize fields": [(OPEN_CONTROL, START, False), (BIDI, fields(*GET, ("a", "b" * 60000)), True)],
    "a body shorter than its length": [
        (OPEN_CONTROL, START, False),
        (BIDI, fields(*GET, ("content-length", "5")) + frame(DATA, b"abc"), True),
    ],
    "a body longer than its length": [
        (OPEN_CONTROL, START, False),
        (BIDI, fields(*GET, ("content-length", "2")) + frame(DATA, b"abc"), True),
    ],
    "CONNECT": [
        (OPEN_CONTROL, START, False),
        (BIDI, fields((":method", "CONNECT"), (":authority", "a.example:443")), True),
    ],
    "half a frame, and the end": [(OPEN_CONTROL, START, False), (BIDI, REQUEST[:-2], True)],
    "an empty request": [(OPEN_CONTROL, START, False), (BIDI, b"", True)],
    "a frame longer than the stream": [
        (OPEN_CONTROL, START, False),
        (BIDI, REQUEST + varint(DATA) + varint(2**40) + b"abc", True),
    ],
}


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.seen = {}
        self.data = b""

    def quic_event_received(self, event):
        if isinstance(event, StreamReset) and event.stream_id == BIDI:
            self.seen["reset"] = hex(event.error_code)
        elif isinstance(event, StopSendingReceived) and event.stream_id == BIDI:
            self.seen["stopped"] = hex(event.error_code)
        elif isinstance(event, StreamDataReceived) and event.stream_id == BIDI:
            self.data += event.data
            if event.end_stream:
                self.seen["status"] = status(self.data)


def status(data):
    """The status of the response that a stream has, by the length of its first frame."""
    length = data[1] & 0x3F if data[1] < 0x40 else ((data[1] & 0x3F) << 8) | data[2]
    start = 2 if data[1] < 0x40 else 3
    decoder = pylsqpack.Decoder(0, 0)
    _, headers = decoder.feed_header(BIDI, data[start : start + length])
    return dict(headers).get(b":status", b"").decode()


async def attempt(steps):
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, server_name=SERVER_NAME)
    configuration.load_verify_locations(CA)
    async with connect("127.0.0.1", PORT, configuration=configuration, create_protocol=Client) as client:
        for stream, data, ends in steps:
            client._quic.send_stream_data(stream, data, ends)
        client.transmit()
        await asyncio.sleep(PATIENCE)
        # aioquic reports the end of a connection only after its draining period.
        closed = client._quic._close_event
        if closed is not None:
            client.seen["closed"] = hex(closed.error_code)
        return dict(client.seen)


async def main():
    results = await asyncio.gather(*(attempt(steps) for steps in SEQUENCES.values()))
    print(json.dumps(dict(zip(SEQUENCES, results))))


asyncio.run(main())
