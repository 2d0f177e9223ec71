"""
A Hysteria 2 server without any network behind it: what a stream gets is said by the host of its request.

`server.py CERT KEY PASSWORD [retry]` listens on a port of 127.0.0.1 that it prints as a line of JSON.
"""

import asyncio
import os
import sys

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import H3_ALPN, FrameType, H3Connection, encode_frame
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamDataReceived

from wire import RESERVED, TCP_REQUEST, Short, parse, say, text

CERT, KEY, PASSWORD, *REST = sys.argv[1:]


class Server(QuicConnectionProtocol):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.http = H3Connection(self._quic)
        self.authenticated = False
        # Bytes of streams until it is known what they are, and then what serves them.
        self.begun = {}
        self.echoed = set()

    def quic_event_received(self, event):
        of_request = isinstance(event, StreamDataReceived) and event.stream_id % 4 == 0
        if of_request and self.authenticated:
            self.proxy(event)
        else:
            for of_http in self.http.handle_event(event):
                if isinstance(of_http, HeadersReceived):
                    self.respond(of_http.stream_id, dict(of_http.headers))

    def respond(self, stream, headers):
        known = headers.get(b"hysteria-auth") == PASSWORD.encode()
        status = b"233" if known and headers.get(b":path") == b"/auth" else b"404"
        self.authenticated |= status == b"233"
        # An unknown frame before the response, and a stream of an unknown type.
        noise = self._quic.get_next_available_stream_id(is_unidirectional=True)
        self._quic.send_stream_data(noise, encode_uint_var(RESERVED) + b"noise")
        self._quic.send_stream_data(stream, encode_frame(RESERVED, b"noise"))
        fields = [(b"hysteria-udp", b"false"), (b"hysteria-cc-rx", b"auto")]
        self.http.send_headers(stream, [(b":status", status), *fields], True)
        self.transmit()

    def proxy(self, event):
        stream, data = event.stream_id, event.data
        if stream not in self.echoed:
            begun = self.begun.setdefault(stream, bytearray())
            begun += data
            try:
                (kind, address, _), length = parse(begun, "varint", "text", "text")
            except Short:
                return
            if kind != TCP_REQUEST:
                raise ValueError(kind)
            data = bytes(begun[length:])
            del self.begun[stream]
            self.echoed.add(stream)
            if not self.begin(stream, address.decode().split(":")[0]):
                return
        self._quic.send_stream_data(stream, data, event.end_stream)
        self.transmit()

    def begin(self, stream, host):
        """Whether the stream is one to be echoed."""
        ok = bytes([0]) + text(b"Connected") + text(b"padding")
        if host == "refuse.test":
            refusal = bytes([1]) + text(b"no such\nplace") + text(b"")
            self._quic.send_stream_data(stream, refusal, True)
        elif host == "close.test":
            self.close(0x107, "an end")
        elif host == "reset.test":
            self._quic.reset_stream(stream, 0x10C)
        elif host == "forget.test":
            self.forget()
        else:
            if host == "goaway.test":
                frame = encode_frame(FrameType.GOAWAY, encode_uint_var(stream + 4))
                self._quic.send_stream_data(self.http._local_control_stream_id, frame)
            if host == "keys.test":
                self.request_key_update()
            self._quic.send_stream_data(stream, ok)
            self.transmit()
            return True
        self.transmit()
        return False

    def forget(self):
        """Forgets the connection, as after a restart, and sends a stateless reset."""
        for cid in self._quic._host_cids:
            self._connection_id_retired_handler(cid.cid)
            first = bytes([0x40 | os.urandom(1)[0] & 0x3F])
            datagram = first + os.urandom(24) + cid.stateless_reset_token
            self._transport.sendto(datagram, self._quic._network_paths[0].addr)
        self._quic.datagrams_to_send = lambda now: []


async def main():
    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    configuration.load_cert_chain(CERT, KEY)
    server = await serve(
        "127.0.0.1",
        0,
        configuration=configuration,
        create_protocol=Server,
        retry="retry" in REST,
    )
    say({"port": server._transport.get_extra_info("sockname")[1]})
    await asyncio.Future()


asyncio.run(main())
