"""
A QUIC client that a test steers: commands come as lines of JSON on the standard input, and for each one
line of JSON goes out, {"error": ...} when it failed.

`client.py PORT CA SERVER_NAME` connects to 127.0.0.1:PORT.
"""

import asyncio
import hashlib
import json
import socket
import sys

from aioquic import tls
from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, StreamDataReceived, StreamReset

from wire import TCP_REQUEST, Short, parse, pattern, say, text

PORT, CA, SERVER_NAME = int(sys.argv[1]), sys.argv[2], sys.argv[3]
PATIENCE = 20
CHUNK = 16 * 1024
# Echoed bytes that may be under way.
WINDOW = 512 * 1024


def configuration(**options):
    made = QuicConfiguration(
        is_client=True,
        alpn_protocols=H3_ALPN,
        server_name=SERVER_NAME,
        max_datagram_frame_size=65536,
        **options,
    )
    made.load_verify_locations(CA)
    return made


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.http = H3Connection(self._quic)
        self.responses = {}
        self.proxied = {}
        self.terminated = None
        self.changed = asyncio.Event()

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            self.terminated = event
        if isinstance(event, StreamReset) and event.stream_id in self.responses:
            self.responses[event.stream_id]["reset"] = event.error_code
        if isinstance(event, StreamDataReceived) and event.stream_id in self.proxied:
            stream = self.proxied[event.stream_id]
            stream["data"] += event.data
            stream["ended"] |= event.end_stream
        else:
            for of_http in self.http.handle_event(event):
                self.http_event_received(of_http)
        self.changed.set()

    def http_event_received(self, event):
        response = self.responses.get(event.stream_id)
        if response is None:
            return
        if isinstance(event, HeadersReceived):
            response["headers"] = [[n.decode(), v.decode("latin1")] for n, v in event.headers]
        elif isinstance(event, DataReceived):
            response["body"] += event.data.decode()
        response["ended"] |= event.stream_ended

    async def until(self, check):
        """Waits until something is so; fails when the connection ends before."""

        async def wait():
            while not check():
                if self.terminated is not None:
                    error = self.terminated
                    raise ConnectionError(f"{error.error_code:#x} {error.reason_phrase}")
                self.changed.clear()
                await self.changed.wait()

        await asyncio.wait_for(wait(), PATIENCE)

    async def request(self, headers, body="", before="", stream_type=None):
        """`before` is bytes in hex in front of the HEADERS frame, `stream_type` one of an extra stream."""
        if stream_type is not None:
            extra = self._quic.get_next_available_stream_id(is_unidirectional=True)
            self._quic.send_stream_data(extra, encode_uint_var(stream_type) + b"noise")
        stream = self._quic.get_next_available_stream_id()
        self.responses[stream] = response = {"headers": [], "body": "", "ended": False}
        if before:
            self._quic.send_stream_data(stream, bytes.fromhex(before))
        self.http.send_headers(stream, [(n.encode(), v.encode()) for n, v in headers], not body)
        if body:
            self.http.send_data(stream, body.encode(), True)
        self.transmit()
        await self.until(lambda: response["ended"] or "reset" in response)
        return response

    async def open(self, address):
        """A stream with a TCP request, and the status and the message of the response."""
        stream_id = self._quic.get_next_available_stream_id()
        self.proxied[stream_id] = stream = {"data": bytearray(), "ended": False}
        head = encode_uint_var(TCP_REQUEST) + text(address.encode()) + text(b"padding")
        self._quic.send_stream_data(stream_id, head)
        self.transmit()
        read = []

        def complete():
            try:
                read[:] = parse(stream["data"], "byte", "text", "text")
                return True
            except Short:
                return False

        await self.until(lambda: complete() or stream["ended"])
        if not read:
            raise ConnectionError("the stream ended before its response")
        (status, message, _), length = read
        del stream["data"][:length]
        return stream_id, {"status": status, "message": message.decode()}

    async def echo(self, address, size, halfway):
        """Sends bytes to an echo server, and at half of them does what `halfway` names."""
        stream_id, response = await self.open(address)
        if response["status"] != 0:
            return response
        stream = self.proxied[stream_id]
        sent = pattern(size)
        for at in range(0, size, CHUNK):
            if at <= size // 2 < at + CHUNK:
                await self.HALFWAY[halfway](self)
            chunk = sent[at : at + CHUNK]
            end = at + len(chunk)
            self._quic.send_stream_data(stream_id, chunk, end == size)
            self.transmit()
            await self.until(lambda: len(stream["data"]) >= end - WINDOW)
        await self.until(lambda: stream["ended"])
        received = hashlib.sha256(stream["data"]).hexdigest()
        return {
            "size": len(stream["data"]),
            "same": received == hashlib.sha256(sent).hexdigest(),
            "port": self.port,
        }

    async def crypto(self, data):
        """Sends messages of TLS, in hex, after the handshake; the code with which the connection ends."""
        self._quic._crypto_streams[tls.Epoch.ONE_RTT].sender.write(bytes.fromhex(data))
        self.transmit()
        await self.until_over()
        return {"code": self.terminated.error_code, "reason": self.terminated.reason_phrase}

    async def drop_http(self):
        """Ends the control stream, as a client that has no further use for HTTP/3."""
        self._quic.send_stream_data(self.http._local_control_stream_id, b"", end_stream=True)
        self.transmit()
        await self.ping()
        return {}

    async def until_over(self):
        while self.terminated is None:
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), PATIENCE)

    @property
    def port(self):
        return self._transport.get_extra_info("sockname")[1]

    async def nothing(self):
        pass

    async def update_keys(self):
        self.request_key_update()

    async def migrate(self):
        """Continues from another port with another connection id, and forgets the old port."""
        old = self._transport
        sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(("::", 0))
        await self._loop.create_datagram_endpoint(lambda: self, sock=sock)
        self.change_connection_id()
        old.abort()

    async def rebind(self):
        """Continues from another port with the same connection id, as behind a NAT that forgot it."""
        change, self.change_connection_id = self.change_connection_id, lambda: None
        await self.migrate()
        self.change_connection_id = change

    def connection_lost(self, _):
        """Of the abandoned socket."""

    HALFWAY = {
        "nothing": nothing,
        "update_keys": update_keys,
        "migrate": migrate,
        "rebind": rebind,
    }


def half_open(count):
    """Initial packets of `count` clients that send nothing else; they are made first, so that all come at once."""
    initials = []
    for _ in range(count):
        quic = QuicConnection(configuration=configuration())
        quic.connect(("127.0.0.1", PORT), now=0)
        initials.append([data for data, _ in quic.datagrams_to_send(now=0)])
    for datagrams in initials:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            for data in datagrams:
                sock.sendto(data, ("127.0.0.1", PORT))


async def run(command, client):
    kind = command.pop("do")
    if kind == "request":
        return await client.request(**command)
    if kind == "echo":
        return await client.echo(**command)
    if kind == "crypto":
        return await client.crypto(**command)
    if kind == "drop-http":
        return await client.drop_http()
    raise ValueError(kind)


async def session(options, lines):
    """One connection; ends with the command "close"."""
    async with connect(
        "127.0.0.1",
        PORT,
        configuration=configuration(**options),
        create_protocol=Client,
    ) as client:
        quic = client._quic
        say(
            {
                "port": client.port,
                "retried": quic._retry_count > 0,
                "negotiated": quic._version_negotiated_incompatible,
                "version": quic._version,
            }
        )
        while (command := json.loads(await lines.get()))["do"] != "close":
            try:
                say(await run(command, client))
            except (ConnectionError, asyncio.TimeoutError) as error:
                say({"error": repr(error)})
    say({})


async def main():
    lines = asyncio.Queue()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin, lambda: lines.put_nowait(sys.stdin.readline()))
    while line := await lines.get():
        command = json.loads(line)
        try:
            if command["do"] == "half-open":
                half_open(command["count"])
                say({})
            else:
                await asyncio.wait_for(session(command["options"], lines), 3 * PATIENCE)
        except (ConnectionError, asyncio.TimeoutError) as error:
            say({"error": repr(error)})


asyncio.run(main())
