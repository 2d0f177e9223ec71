"""A client on tlslite-ng whose ClientHello can be changed, and what it has seen, for `handshakes.py`."""

import socket
import sys

from tlslite.api import HandshakeSettings, TLSConnection
from tlslite.constants import AlertDescription, AlertLevel, ContentType
from tlslite.errors import TLSAbruptCloseError
from tlslite.messages import Alert, ApplicationData, ClientHello

PORT, REQUEST = int(sys.argv[1]), bytes.fromhex(sys.argv[2])
# Seconds; longer than the time limit of a handshake and of an authentication.
PATIENCE = 25
PAYLOAD = b"honest"
VERSIONS = {(3, 3): "TLS 1.2", (3, 4): "TLS 1.3"}
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


def warning(description):
    return Alert().create(description, AlertLevel.warning)
