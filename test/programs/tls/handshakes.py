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

from tlslite.constants import AlertDescription, AlertLevel, ContentType, ExtensionType
from tlslite.errors import TLSAbruptCloseError, TLSRemoteAlert
from tlslite.messages import ApplicationData, KeyUpdate, Message

from handshake_client import (
    KEY_UPDATE,
    PATIENCE,
    PAYLOAD,
    PORT,
    Client,
    keep_alert,
    result,
    warning,
)
from hellos import (
    GREASE,
    attribute,
    broken_share,
    grease,
    groups,
    large,
    legacy_version,
    protocols,
    server_name,
    signatures,
    twice,
    versions,
    without,
)

COUNT = int(sys.argv[3])


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


def edited(edit):
    return lambda: whole(Client(edit))


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
    "no cipher in common": edited(attribute("cipher_suites", [GREASE])),
    "no group in common": edited(groups),
    "no signature algorithm in common": edited(signatures),
    "no groups": edited(without(ExtensionType.supported_groups)),
    "no signature algorithms": edited(without(ExtensionType.signature_algorithms)),
    "no server name": edited(without(ExtensionType.server_name)),
    "another server name": edited(server_name(b"other.test")),
    "an invalid server name": edited(server_name(b"a..b")),
    "a server name with a zero": edited(server_name(b"server\0test")),
    "no protocol in common": edited(protocols(b"ftp")),
    "one protocol of two": edited(protocols(b"ftp", b"http/1.1")),
    "an empty protocol": edited(protocols(b"")),
    "compression": edited(attribute("compression_methods", [1])),
    "an extension twice": edited(twice),
    "a session id of 33 bytes": edited(attribute("session_id", bytearray(33))),
    "a key share off the curve": edited(broken_share),
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
