"""
TLS clients on tlslite-ng that do what few clients do, and what none should. Prints as JSON the version of the
handshake that was completed, the alerts that came, and how it ended: `served` if an echo came through the
tunnel that REQUEST opens, `open` for a server of which none is wanted, or `end`, `reset` or `timeout`.

`handshakes.py PORT REQUEST_IN_HEX COUNT CASE`, where COUNT is the size of a flood; without a request there is
no echo.
"""

import json
import socket
import sys

from tlslite.api import HandshakeSettings, TLSConnection
from tlslite.constants import AlertDescription, AlertLevel, ContentType, ExtensionType
from tlslite.errors import TLSAbruptCloseError, TLSRemoteAlert
from tlslite.extensions import KeyShareEntry, TLSExtension
from tlslite.messages import Alert, ApplicationData, ClientHello, KeyUpdate, Message

PORT, REQUEST, COUNT = int(sys.argv[1]), bytes.fromhex(sys.argv[2]), int(sys.argv[3])
# Seconds; longer than the time limit of a handshake and of an authentication.
PATIENCE = 25
PAYLOAD = b"honest"
VERSIONS = {(3, 3): "TLS 1.2", (3, 4): "TLS 1.3"}
# RFC 8701.
GREASE, GREASE_EXTENSION, LAST_GREASE = 0x0A0A, 0x1A1A, 0xFAFA
KEY_UPDATE, UPDATE_REQUESTED = 24, 1

result = {"version": None, "alerts": [], "ended": None}


class Dribble:
    """A socket whose bytes each leave in a segment of their own while `dribbles` is set."""

    def __init__(self, sock):
        self.sock, self.dribbles = sock, False
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def sendall(self, data):
        for i in range(0, len(data), 1 if self.dribbles else len(data)):
            self.sock.sendall(data[i : i + 1] if self.dribbles else data)

    def send(self, data):
        self.sendall(data)
        return len(data)

    def __getattr__(self, name):
        return getattr(self.sock, name)


class Client(TLSConnection):
    """`edit` changes the ClientHello, and `after` follows it in plaintext."""

    def __init__(self, edit=None, after=b""):
        self.raw = Dribble(socket.create_connection(("127.0.0.1", PORT), timeout=PATIENCE))
        super().__init__(self.raw)
        self.edit, self.after, self.hello = edit, after, None

    def _sendMsg(self, msg, *args, **options):
        if isinstance(msg, ClientHello):
            if self.edit:
                self.edit(msg)
            self.hello = msg
        yield from super()._sendMsg(msg, *args, **options)
        if isinstance(msg, ClientHello) and self.after:
            self.sock.flush()
            self.raw.sendall(self.after)

    def open(self, lowest=(3, 3), highest=(3, 4)):
        settings = HandshakeSettings()
        settings.minVersion, settings.maxVersion = lowest, highest
        settings.eccCurves = ["x25519", "secp256r1"]
        settings.keyShares = ["x25519"]
        self.handshakeClientCert(settings=settings, serverName="server.test")
        result["version"] = VERSIONS[self.version]
        return self

    def put(self, *messages):
        """Sends messages, encrypted, in as few segments as possible."""
        self.sock.buffer_writes = True
        for message in messages:
            for _ in self._sendMsg(message, update_hashes=False):
                pass
        self.sock.flush()
        self.sock.buffer_writes = False

    def update_keys(self, count):
        """Updates the keys of this side `count` times, and wants the other side to do so each time."""
        self.sock.buffer_writes = True
        for _ in range(count):
            for _ in self.send_keyupdate_request(UPDATE_REQUESTED):
                pass
        self.sock.flush()
        self.sock.buffer_writes = False

    def received(self, size):
        """Payload of the records that come, until there are `size` bytes; alerts are kept."""
        payload = b""
        while len(payload) < size:
            for result in self._recordLayer.recvRecord():
                if result not in (0, 1):
                    break
            header, parser = result
            if header.type == ContentType.application_data:
                payload += bytes(parser.bytes)
            elif header.type == ContentType.alert:
                keep_alert(parser.bytes)
            elif header.type == ContentType.handshake and parser.bytes[0] == KEY_UPDATE:
                session = self.session
                secrets = (session.cipherSuite, session.cl_app_secret, session.sr_app_secret)
                updated = self._recordLayer.calcTLS1_3KeyUpdate_sender(*secrets)
                session.cl_app_secret, session.sr_app_secret = updated
        return payload

    def outcome(self):
        """Whether the tunnel works; without one, what comes until both sides have closed."""
        if REQUEST:
            self.put(ApplicationData().create(bytearray(REQUEST + PAYLOAD)))
            assert self.received(len(PAYLOAD)) == PAYLOAD
            return "served"
        self.put(warning(AlertDescription.close_notify))
        try:
            self.received(1)
        except TLSAbruptCloseError:
            pass
        return "open"


def keep_alert(record):
    level, description = record
    if description != AlertDescription.close_notify:
        result["alerts"].append(description)


def records(kind, payload=b"", size=16384):
    """Plaintext records."""
    pieces = [payload[i : i + size] for i in range(0, len(payload), size)] or [b""]
    return b"".join(bytes([kind, 3, 3]) + len(p).to_bytes(2, "big") + p for p in pieces)


def without_handshake(data):
    """Sends bytes in place of a handshake, and waits for the end."""
    with socket.create_connection(("127.0.0.1", PORT), timeout=PATIENCE) as sock:
        received = b""
        try:
            sock.sendall(data)
        except ConnectionError:
            pass  # seen by the reads
        while chunk := sock.recv(4096):
            received += chunk
    if received[:1] == bytes([ContentType.alert]):
        keep_alert(received[5:7])
    return "end"


def whole(client, *versions):
    client.open(*versions)
    client.raw.dribbles = False
    client.recordSize = 16384
    return client.outcome()


def small_records():
    client = Client()
    client.recordSize = 1
    return whole(client)


def small_segments():
    client = Client()
    client.raw.dribbles = True
    return whole(client)


def small_both():
    client = Client()
    client.recordSize = 1
    client.raw.dribbles = True
    return whole(client)


def extension(hello, kind):
    return hello.getExtension(kind)


def grease(hello):
    """GREASE as browsers send it: first, and last among the extensions too."""
    hello.cipher_suites.insert(0, GREASE)
    hello.extensions.insert(0, TLSExtension(extType=GREASE_EXTENSION).create(bytearray()))
    hello.extensions.append(TLSExtension(extType=LAST_GREASE).create(bytearray(1)))
    extension(hello, ExtensionType.supported_groups).groups.insert(0, GREASE)
    extension(hello, ExtensionType.signature_algorithms).sigalgs.insert(0, (0x0A, 0x0A))
    extension(hello, ExtensionType.supported_versions).versions.insert(0, (0x0A, 0x0A))
    shares = extension(hello, ExtensionType.key_share).client_shares
    shares.insert(0, KeyShareEntry().create(GREASE, bytearray(1)))


def versions(*values):
    def edit(hello):
        extension(hello, ExtensionType.supported_versions).versions = list(values)

    return edit


def legacy_version(value):
    def edit(hello):
        hello.client_version = value

    return edit


def large(hello):
    hello.extensions.append(TLSExtension(extType=GREASE_EXTENSION).create(bytearray(60_000)))


def after_handshake(make, version=(3, 4)):
    """A flood of what `make` returns."""
    client = Client().open(version, version)
    client.put(*[make() for _ in range(COUNT)])
    return client.outcome()


def refused_after_handshake(message):
    """Sends nothing after it, so that the alert is not overtaken by a reset."""
    client = Client().open((3, 4), (3, 4))
    client.put(message)
    client.received(1)
    return "open"


def raw_after_handshake(data, version=(3, 4)):
    """Bytes in place of a record; none for the end of the connection without close_notify."""
    client = Client().open(version, version)
    if data:
        client.raw.sendall(data)
    else:
        client.raw.shutdown(socket.SHUT_WR)
    client.received(1)
    return "open"


def renegotiation():
    client = Client().open((3, 3), (3, 3))
    client.put(client.hello)
    return client.outcome()


def renegotiations():
    client = Client().open((3, 3), (3, 3))
    client.put(*[client.hello] * COUNT)
    return client.outcome()


def key_updates(count):
    client = Client().open((3, 4), (3, 4))
    client.update_keys(count)
    return client.outcome()


def key_updates_with_responses():
    """What is echoed between them makes the server send the KeyUpdate that it owes."""
    client = Client().open((3, 4), (3, 4))
    ended = client.outcome()
    for _ in range(COUNT // 10):
        client.update_keys(10)
        client.put(ApplicationData().create(bytearray(PAYLOAD)))
        assert client.received(len(PAYLOAD)) == PAYLOAD
    return ended


def warning(description):
    return Alert().create(description, AlertLevel.warning)


def empty():
    return Message(ContentType.application_data, bytearray())


def message(kind, length, body=b""):
    """A handshake message that says it has `length` bytes."""
    return bytes([kind]) + length.to_bytes(3, "big") + body


CLIENT_HELLO, HUGE = 1, 0xFFFFFF
WRONG = records(ContentType.application_data, bytes(32))
CHANGE = records(ContentType.change_cipher_spec, b"\1")

CASES = {
    "a ClientHello in records of one byte": small_records,
    "a ClientHello in TCP segments of one byte": small_segments,
    "a ClientHello in records and TCP segments of one byte": small_both,
    "a ClientHello of 60 KB": lambda: whole(Client(large)),
    "GREASE": lambda: whole(Client(grease)),
    "unknown versions beside known ones": lambda: whole(
        Client(versions((0x7F, 0x1C), (3, 5), (3, 4), (3, 3)))
    ),
    "unknown versions alone": lambda: whole(Client(versions((0x7F, 0x1C), (3, 5)))),
    "a later version without supported_versions": lambda: whole(
        Client(legacy_version((3, 9))), (3, 3), (3, 3)
    ),
    "another major version": lambda: whole(Client(legacy_version((2, 9))), (3, 3), (3, 3)),
    "TLS 1.1": lambda: whole(Client(), (3, 1), (3, 2)),
    "early data that was not offered": lambda: whole(
        Client(after=records(ContentType.application_data, bytes(100))), (3, 4), (3, 4)
    ),
    "one ChangeCipherSpec after the ClientHello": lambda: whole(
        Client(after=CHANGE), (3, 4), (3, 4)
    ),
    "an oversized ClientHello": lambda: without_handshake(
        records(ContentType.handshake, message(CLIENT_HELLO, HUGE, bytes(100)))
    ),
    "an oversized handshake message after the handshake": lambda: refused_after_handshake(
        Message(ContentType.handshake, bytearray(message(KEY_UPDATE, HUGE, bytes(100))))
    ),
    "a KeyUpdate that asks for something unknown": lambda: refused_after_handshake(
        KeyUpdate().create(7)
    ),
    "a record that cannot be decrypted": lambda: raw_after_handshake(WRONG),
    "a record that cannot be decrypted in TLS 1.2": lambda: raw_after_handshake(WRONG, (3, 3)),
    "a record of another version": lambda: raw_after_handshake(
        bytes([ContentType.application_data, 5, 5, 0, 32]) + bytes(32)
    ),
    "a record of 65,535 bytes": lambda: raw_after_handshake(
        bytes([ContentType.application_data, 3, 3, 0xFF, 0xFF])
    ),
    "an alert that is not encrypted": lambda: raw_after_handshake(
        records(ContentType.alert, bytes([AlertLevel.fatal, AlertDescription.handshake_failure]))
    ),
    "HTTP in place of a record": lambda: raw_after_handshake(b"GET / HTTP/1.1\r\n\r\n"),
    "an end without close_notify": lambda: raw_after_handshake(b""),
    "an end without close_notify in TLS 1.2": lambda: raw_after_handshake(b"", (3, 3)),
    "renegotiation": renegotiation,
    "a flood of renegotiations": renegotiations,
    "a flood of warnings in TLS 1.2": lambda: after_handshake(
        lambda: warning(AlertDescription.no_renegotiation), (3, 3)
    ),
    "a flood of warnings in TLS 1.3": lambda: after_handshake(
        lambda: warning(AlertDescription.user_canceled)
    ),
    "a flood of warnings before the handshake": lambda: without_handshake(
        records(ContentType.alert, bytes([AlertLevel.warning, AlertDescription.user_canceled]))
        * COUNT
    ),
    "a flood of empty records in TLS 1.2": lambda: after_handshake(empty, (3, 3)),
    "a flood of empty records in TLS 1.3": lambda: after_handshake(empty),
    "a flood of empty records before the handshake": lambda: without_handshake(
        records(ContentType.handshake) * COUNT
    ),
    "a flood of ChangeCipherSpec": lambda: whole(Client(after=CHANGE * COUNT), (3, 4), (3, 4)),
    "a flood of KeyUpdate": lambda: key_updates(COUNT),
    "a flood of KeyUpdate with responses": key_updates_with_responses,
}


def ending():
    try:
        return CASES[sys.argv[4]]()
    except TLSRemoteAlert as alert:
        keep_alert((alert.level, alert.description))
        return "end"
    except TLSAbruptCloseError:
        return "end"
    except ConnectionError:
        return "reset"
    except TimeoutError:
        return "timeout"


result["ended"] = ending()
print(json.dumps(result))
