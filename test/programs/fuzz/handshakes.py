"""boofuzz against one inbound: handshakes.py HOST PORT HANDSHAKE COUNT. Prints how many cases were sent.

Each case changes one field of a valid handshake; the cases are spread over the fields, a bounded number in all.
"""

import itertools
import os
import sys
import tempfile

from boofuzz import (
    Block,
    Byte,
    Bytes,
    Delim,
    DWord,
    Group,
    Request,
    Session,
    Size,
    Static,
    String,
    Target,
    TCPSocketConnection,
    Word,
)



def socks5():
    return Request(
        "socks5",
        children=(
            Byte("version", 5),
            Size("count", block_name="methods", length=1, fuzzable=True),
            Block("methods", children=(Bytes("method", b"\0", max_len=300),)),
            Byte("again", 5),
            Group("command", values=[b"\x01", b"\x02", b"\x03", b"\xff"]),
            Byte("reserved", 0),
            Group("type", values=[b"\x03", b"\x01", b"\x04", b"\x00", b"\xff"]),
            Size("length", block_name="name", length=1, fuzzable=True),
            Block("name", children=(String("host", "localhost", max_len=300),)),
            Word("port", 1, endian=">"),
            Bytes("payload", b"hello", max_len=2000),
        ),
    )


def socks4():
    return Request(
        "socks4",
        children=(
            Byte("version", 4),
            Byte("command", 1),
            Word("port", 1, endian=">"),
            Bytes("address", b"\0\0\0\x01", size=4),
            String("user", "user", max_len=2000),
            Static("end of user", b"\0"),
            String("host", "localhost", max_len=2000),
            Static("end of host", b"\0"),
        ),
    )


def http():
    return Request(
        "http",
        children=(
            Group("method", values=["CONNECT", "GET", "POST", "TRACE"]),
            Delim("space", " "),
            String("target", "http://localhost:1/", max_len=20_000),
            Delim("second space", " "),
            String("version", "HTTP/1.1", max_len=2000),
            Static("line", "\r\n"),
            String("name", "Host", max_len=20_000),
            Delim("colon", ": "),
            String("value", "localhost:1", max_len=20_000),
            Static("second line", "\r\nContent-Length: "),
            String("content length", "5", max_len=400),
            Static("third line", "\r\nTransfer-Encoding: "),
            String("coding", "chunked", max_len=400),
            Static("end", "\r\n\r\n"),
            Bytes("body", b"5\r\nhello\r\n0\r\n\r\n", max_len=2000),
        ),
    )


def trojan(password):
    return Request(
        "trojan",
        children=(
            String("password", password, max_len=300),
            Static("line", b"\r\n"),
            Byte("command", 1),
            Group("type", values=[b"\x03", b"\x01", b"\x04", b"\x00", b"\xff"]),
            Size("length", block_name="name", length=1, fuzzable=True),
            Block("name", children=(String("host", "localhost", max_len=300),)),
            Word("port", 1, endian=">"),
            Static("second line", b"\r\n"),
            Bytes("payload", b"hello", max_len=2000),
        ),
    )


def vless(user):
    return Request(
        "vless",
        children=(
            Byte("version", 0),
            Bytes("user", bytes.fromhex(user.replace("-", "")), size=16),
            Size("addons length", block_name="addons", length=1, fuzzable=True),
            Block("addons", children=(Bytes("addon", b"", max_len=300),)),
            Group("command", values=[b"\x01", b"\x02", b"\x03", b"\x00", b"\xff"]),
            Word("port", 1, endian=">"),
            Group("type", values=[b"\x02", b"\x01", b"\x03", b"\x00", b"\xff"]),
            Size("length", block_name="name", length=1, fuzzable=True),
            Block("name", children=(String("host", "localhost", max_len=300),)),
            Bytes("payload", b"hello", max_len=2000),
        ),
    )


def sealed():
    """Protocols whose handshake is encrypted: what comes before the key is known."""
    return Request(
        "sealed",
        children=(
            Bytes("salt", bytes(range(16)), max_len=64),
            DWord("number", 1, endian=">"),
            Bytes("text", bytes(100), max_len=5000),
        ),
    )


def tls():
    return Request(
        "tls",
        children=(
            Byte("kind", 22),
            Word("version", 0x0301, endian=">"),
            Size("length", block_name="record", length=2, endian=">", fuzzable=True),
            Block(
                "record",
                children=(
                    Byte("message", 1),
                    Static("high", b"\0"),
                    Size("size", block_name="hello", length=2, endian=">", fuzzable=True),
                    Block(
                        "hello",
                        children=(
                            Word("client version", 0x0303, endian=">"),
                            Bytes("random", bytes(32), size=32),
                            Size("session length", block_name="session", length=1, fuzzable=True),
                            Block("session", children=(Bytes("id", bytes(32), max_len=64),)),
                            Static("suites", b"\0\x02\x13\x01"),
                            Static("compression", b"\x01\0"),
                            Size("extensions length", block_name="extensions", length=2, endian=">", fuzzable=True),
                            Block("extensions", children=(Bytes("extension", b"\0\x2b\0\x03\x02\x03\x04", max_len=2000),)),
                        ),
                    ),
                ),
            ),
        ),
    )


def websocket():
    return Request(
        "websocket",
        children=(
            Static("line", "GET "),
            String("path", "/tunnel", max_len=5000),
            Static("host", " HTTP/1.1\r\nHost: localhost\r\nUpgrade: "),
            String("upgrade", "websocket", max_len=400),
            Static("connection", "\r\nConnection: "),
            String("option", "Upgrade", max_len=400),
            Static("version", "\r\nSec-WebSocket-Version: "),
            String("number", "13", max_len=400),
            Static("key line", "\r\nSec-WebSocket-Key: "),
            String("key", "dGhlIHNhbXBsZSBub25jZQ==", max_len=400),
            Static("end", "\r\n\r\n"),
            Byte("opcode", 0x82),
            Byte("length", 0x85),
            Bytes("mask", b"\1\2\3\4", size=4),
            Bytes("payload", b"hello", max_len=2000),
        ),
    )


def http2():
    return Request(
        "http2",
        children=(
            Static("preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
            Static("settings", b"\0\0\0\x04\0\0\0\0\0"),
            Static("high", b"\0"),
            Size("length", block_name="headers", length=2, endian=">", fuzzable=True),
            Byte("type", 1),
            Byte("flags", 4),
            DWord("stream", 1, endian=">"),
            Block("headers", children=(Bytes("block", b"\x83\x86\x04\x0b/Tunnel/Tun\x41\x09localhost", max_len=2000),)),
        ),
    )


HANDSHAKES = {
    function.__name__: function
    for function in (socks5, socks4, http, trojan, vless, sealed, tls, websocket, http2)
}


class Sampled(Session):
    """Sends only some of the cases, spread evenly over all fields."""

    def __init__(self, count, *arguments, **options):
        super().__init__(*arguments, **options)
        self.count = count

    def _generate_mutations_indefinitely(self, max_depth=None, path=None):
        step = max(1, self.num_mutations(max_depth=1) // self.count)
        cases = super()._generate_mutations_indefinitely(max_depth=1, path=path)
        return itertools.islice(cases, 0, step * self.count, step)


def main(host, port, name, count, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        connection = TCPSocketConnection(host, int(port), send_timeout=5, recv_timeout=0.01)
        session = Sampled(
            int(count),
            target=Target(connection=connection),
            sleep_time=0,
            web_port=None,
            keep_web_open=False,
            fuzz_loggers=[],
            receive_data_after_each_request=False,
            # A rejected client is disconnected, as it should be.
            ignore_connection_reset=True,
            ignore_connection_aborted=True,
            db_filename=os.path.join(folder, "results.db"),
        )
        session.connect(HANDSHAKES[name](*arguments))
        session.fuzz(max_depth=1)
        print(session.num_cases_actually_fuzzed, flush=True)


main(*sys.argv[1:])
