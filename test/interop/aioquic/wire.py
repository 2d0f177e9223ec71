"""What both ends need of HTTP/3 and of Hysteria 2's protocol, beside aioquic's own."""

import hashlib
import json
import sys

from aioquic.buffer import Buffer, encode_uint_var

# The frame type that begins a stream with a TCP request.
TCP_REQUEST = 0x401
# A reserved frame and stream type, which is to be ignored (RFC 9114 section 7.2.8).
RESERVED = 0x21


def say(value):
    """One line of JSON to the test."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def text(data):
    """A string behind its length."""
    return encode_uint_var(len(data)) + data


def pattern(size):
    """Bytes of which a lost, doubled or swapped piece changes the digest."""
    return hashlib.shake_128(b"weir").digest(size)


class Short(Exception):
    """More bytes are needed."""


def parse(data, *fields):
    """Reads fields of kind "byte", "varint" and "text"; returns them and the number of bytes read."""
    buffer = Buffer(data=bytes(data))
    values = []
    try:
        for field in fields:
            if field == "byte":
                values.append(buffer.pull_uint8())
            elif field == "varint":
                values.append(buffer.pull_uint_var())
            else:
                values.append(buffer.pull_bytes(buffer.pull_uint_var()))
    except ValueError as error:
        raise Short from error
    return values, buffer.tell()
