"""
qh3 as a client and prober of a Hysteria 2 server, one case on connections of its own; prints as JSON what it
has seen. It does its own input and output, so that its port can change at any time.

`qh3-client.py PORT CA SERVER_NAME PASSWORD CASE`
"""

import json
import os
import select
import socket
import sys
import time

from qh3.h3.connection import H3_ALPN, H3Connection
from qh3.h3.events import DataReceived, HeadersReceived
from qh3.quic.configuration import QuicConfiguration
from qh3.quic.connection import QuicConnection, QuicConnectionError
from qh3.quic.events import ConnectionTerminated, HandshakeCompleted, PingAcknowledged
from qh3.quic.packet import QuicProtocolVersion

SERVER, CA, SERVER_NAME, PASSWORD = ("127.0.0.1", int(sys.argv[1])), *sys.argv[2:5]
# Seconds.
PATIENCE = 20
# How long nothing has to come to count as silence; another packet is responded to after it.
SILENCE = 1
VERSION_1, VERSION_2 = int(QuicProtocolVersion.VERSION_1), int(QuicProtocolVersion.VERSION_2)
UNKNOWN_VERSION = 0x1A2A3A4A
# RFC 8446 §4.6.1, RFC 9001 §4.6.1: what a server of QUIC that takes early data says.
TAKES_EARLY_DATA = 0xFFFFFFFF
TRIES = 5
# Initial packets after which the server demands a token.
HALF_OPEN = 80


def udp():
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    return sock


def configuration(**options):
    made = QuicConfiguration(
        is_client=True, alpn_protocols=H3_ALPN, server_name=SERVER_NAME, **options
    )
    made.load_verify_locations(CA)
    return made


class Client:
    def __init__(self, **options):
        self.tickets, self.responses, self.pings = [], {}, set()
        self.connected, self.terminated = False, None
        self.quic = QuicConnection(
            configuration=configuration(**options), session_ticket_handler=self.tickets.append
        )
        self.sock = udp()
        self.http = H3Connection(self.quic)
        self.quic.connect(SERVER, now=time.monotonic())

    def open(self):
        self.until(lambda: self.connected)
        return self

    def settle(self):
        """Waits until all has come that a server sends at the end of a handshake."""
        self.until(lambda: self.quic._handshake_confirmed)
        self.ping()

    def ping(self):
        uid = len(self.pings) + 1
        self.quic.send_ping(uid)
        self.until(lambda: uid in self.pings)

    def until(self, check):
        """Sends and receives until something is so; fails when the connection ends before."""
        limit = time.monotonic() + PATIENCE
        while True:
            now = time.monotonic()
            for data, _ in self.quic.datagrams_to_send(now=now):
                self.sock.sendto(data, SERVER)
            if check():
                return
            if self.terminated is not None:
                raise ConnectionError(repr(self.terminated))
            if now > limit:
                raise TimeoutError
            timer = min(self.quic.get_timer() or limit, limit)
            if select.select([self.sock], [], [], max(0, timer - now))[0]:
                self.quic.receive_datagram(self.sock.recv(65536), SERVER, now=time.monotonic())
            elif timer < limit:
                self.quic.handle_timer(now=max(timer, time.monotonic()))
            self.take_events()

    def take_events(self):
        while (event := self.quic.next_event()) is not None:
            if isinstance(event, HandshakeCompleted):
                self.connected = True
            elif isinstance(event, ConnectionTerminated):
                self.terminated = event
            elif isinstance(event, PingAcknowledged):
                self.pings.add(event.uid)
            for of_http in self.http.handle_event(event):
                response = self.responses.get(getattr(of_http, "stream_id", None))
                if response is None or not isinstance(of_http, (HeadersReceived, DataReceived)):
                    continue
                if isinstance(of_http, HeadersReceived):
                    response["headers"] = {n.decode(): v.decode() for n, v in of_http.headers}
                else:
                    response["body"] += of_http.data
                response["ended"] |= of_http.stream_ended

    def request(self, method="GET", path="/", authority=SERVER_NAME, fields=(), body=b""):
        stream = self.quic.get_next_available_stream_id()
        self.responses[stream] = response = {"headers": {}, "body": b"", "ended": False}
        head = [(":method", method), (":scheme", "https"), (":authority", authority)]
        head += [(":path", path), *fields]
        self.http.send_headers(stream, [(n.encode(), v.encode()) for n, v in head], not body)
        if body:
            self.http.send_data(stream, body, True)
        self.until(lambda: response["ended"])
        return response

    def page(self, **options):
        """The status and the body of a response."""
        response = self.request(**options)
        return f"{response['headers'][':status']} {response['body'].decode().strip()}"

    def authenticate(self, password):
        fields = (("hysteria-auth", password), ("hysteria-cc-rx", "0"), ("hysteria-padding", "xx"))
        return self.page(method="POST", path="/auth", authority="hysteria", fields=fields)

    def move(self):
        """Continues from another port; the old one is closed."""
        self.sock.close()
        self.sock = udp()

    def version(self):
        return self.quic._version


def page(**options):
    return {"page": Client(**options).open().page()}


def password(value):
    return {"page": Client().open().authenticate(value)}


def another_version(version):
    client = Client(supported_versions=[version, VERSION_1], original_version=version).open()
    negotiated = client.quic._version_negotiated
    return {"negotiated": negotiated, "version": client.version(), "page": client.page()}


def half_open():
    """Leaves so many handshakes open that the server demands a token of those that follow."""
    for _ in range(HALF_OPEN):
        quic = QuicConnection(configuration=configuration())
        quic.connect(SERVER, now=time.monotonic())
        with udp() as sock:
            for data, _ in quic.datagrams_to_send(now=time.monotonic()):
                sock.sendto(data, SERVER)


def retry():
    half_open()
    client = Client().open()
    return {"retried": client.quic._retry_count == 1, "page": client.authenticate(PASSWORD)}


def token():
    """The token of an earlier connection (RFC 9000 §8.1.3) in place of a Retry."""
    client = Client().open()
    client.settle()
    half_open()
    again = Client()
    again.quic._core.set_initial_token(client.quic._peer_token)
    again.open()
    return {"retried": again.quic._retry_count == 1, "page": again.page()}


def key_updates():
    client = Client().open()
    client.settle()
    phases = []
    for _ in range(20):
        client.quic.request_key_update()
        # The phase of both sides, once the server has followed.
        page = client.page()
        phases.append((client.quic._core.send_key_phase, client.quic._core.receive_key_phase))
    changes = sum(a != b for a, b in zip(phases, phases[1:]))
    return {"changes": changes, "followed": all(a == b for a, b in phases), "page": page}


def moved(count, renewed):
    client = Client(active_connection_id_limit=8).open()
    client.authenticate(PASSWORD)
    for _ in range(count):
        client.move()
        if renewed:
            client.quic.change_connection_id()
        page = client.page()
    return {"page": page}


def pings(count):
    client = Client().open()
    for _ in range(count):
        client.ping()
    return {"pings": len(client.pings)}


def ticket():
    """Whether sessions can be resumed, and with early data."""
    client = Client().open()
    client.page()
    client.settle()
    early = [ticket.max_early_data_size for ticket in client.tickets]
    return {"tickets": len(client.tickets), "early": any(early), "token": client.quic._peer_token != b""}


def early_data():
    """0-RTT by a ticket that does not allow it."""
    client = Client().open()
    client.page()
    client.settle()
    if not client.tickets:
        return {"tickets": 0}
    ticket = client.tickets[-1]
    ticket.max_early_data_size = TAKES_EARLY_DATA
    again, page = resumed(ticket)
    return {
        "attempted": again.quic._early_data_attempted,
        "accepted": bool(again.quic._tls.tls.early_data_accepted),
        "page": page,
    }


def resumed(ticket):
    """On a busy machine qh3 may send by keys that it does not have yet, which is a defect of its own."""
    for left in reversed(range(TRIES)):
        client = Client(session_ticket=ticket)
        try:
            return client, client.page()
        except QuicConnectionError:
            if left == 0:
                raise


def body(size):
    return {"page": Client().open().page(method="POST", body=os.urandom(size))}


def response_to(*datagrams):
    """What comes for packets of no connection."""
    with udp() as sock:
        for datagram in datagrams:
            sock.sendto(datagram, SERVER)
        sock.settimeout(SILENCE)
        try:
            return sock.recv(65536)
        except TimeoutError:
            return b""


def long_header(version, size):
    head = bytes([0xC0]) + version.to_bytes(4, "big") + b"\x08" + b"destined" + b"\x08" + b"sourceid"
    return head.ljust(size, b"\0")


def negotiation(size):
    received = response_to(long_header(UNKNOWN_VERSION, size))
    if not received:
        return {"versions": None}
    assert received[1:5] == bytes(4) and received[5:23] == b"\x08sourceid\x08destined"
    offered = [int.from_bytes(received[i : i + 4], "big") for i in range(23, len(received), 4)]
    # RFC 9000 §15: reserved versions make clients ignore what they do not know.
    return {"versions": [v for v in offered if v & 0x0F0F0F0F != 0x0A0A0A0A]}


def stateless_reset(size):
    """A packet of a connection that the server does not know."""
    received = response_to(bytes([0x40]) + os.urandom(size - 1))
    is_short = bool(received) and received[0] & 0xC0 == 0x40
    return {"reset": is_short, "shorter": len(received) < size}


CASES = {
    "a page": page,
    "a page by packets of 1,200 bytes": lambda: page(
        max_datagram_size=1200, probe_datagram_size=False
    ),
    "a page by packets of 1,452 bytes": lambda: page(max_datagram_size=1452),
    "a page by connection ids of 20 bytes": lambda: page(connection_id_length=20),
    "a wrong password": lambda: password("wrong"),
    "the password": lambda: password(PASSWORD),
    "a body of 1 MiB": lambda: body(1 << 20),
    "pings": lambda: pings(100),
    "an unknown version": lambda: another_version(UNKNOWN_VERSION),
    "version 2": lambda: another_version(VERSION_2),
    "version negotiation": lambda: negotiation(1200),
    "version negotiation for a small packet": lambda: negotiation(1199),
    "a Retry": retry,
    "a token": token,
    "key updates": key_updates,
    "other ports": lambda: moved(3, False),
    "other ports and connection ids": lambda: moved(3, True),
    "tickets": ticket,
    "early data": early_data,
    "a packet of no connection": lambda: stateless_reset(100),
    "a small packet of no connection": lambda: stateless_reset(21),
}

print(json.dumps(CASES[sys.argv[5]]()))
