"""Sends frames of RFC 6455, wrong ones too, over upgrades by wsproto, which also reads the responses.

Reads one JSON object from standard input: the port, the path, the bytes that open a flow and those that its
response begins with, and the cases. Prints one JSON object for each case.
"""

import json
import os
import socket
import struct
import sys
import threading

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Pong,
    RejectConnection,
    Request,
    TextMessage,
)

PATIENCE = 20  # seconds without a byte
LENGTH_FORMS = {"short": 0, "16": 126, "64": 127}


def payload_of(frame, offset):
    if "hex" in frame:
        return bytes.fromhex(frame["hex"])
    pattern = bytes(range(251))
    size = frame.get("size", 0)
    at = offset % 251
    return (pattern * (size // 251 + 2))[at : at + size]


def encode(frame, payload):
    """The bytes of a frame; `lengthForm` and `length` make lengths that are wrong."""
    first = (0x80 if frame.get("fin", True) else 0) | frame.get("rsv", 0) << 4 | frame["opcode"]
    length = frame.get("length", len(payload))
    form = frame.get("lengthForm") or ("short" if length < 126 else "16" if length < 65536 else "64")
    masked = frame.get("masked", True)
    second = (0x80 if masked else 0) | (LENGTH_FORMS[form] or length)
    header = bytes([first, second])
    if form == "16":
        header += struct.pack("!H", length)
    elif form == "64":
        header += struct.pack("!Q", length)
    if not masked:
        return header + payload
    key = os.urandom(4)
    mask = (key * (len(payload) // 4 + 1))[: len(payload)]
    both = int.from_bytes(payload, "big") ^ int.from_bytes(mask, "big")
    return header + key + both.to_bytes(len(payload), "big")


class Case:
    def __init__(self, plan, case):
        self.plan = plan
        self.case = case
        self.data = bytearray()
        self.pongs = []
        self.close = None
        self.has_close = False
        self.extensions = None
        self.sent = b""
        self.ended = "timeout"

    def frames(self):
        """The frames as bytes; the first one with data also opens the flow."""
        head = bytes.fromhex(self.plan["head"]) if self.case.get("opens", True) else b""
        offset = 0
        out = []
        sent = bytearray()
        for frame in self.case["frames"]:
            payload = payload_of(frame, offset)
            if frame["opcode"] < 8:
                offset += len(payload)
                sent += payload
                payload, head = head + payload, b""
            out.append(encode(frame, payload))
        self.sent = bytes(sent)
        return b"".join(out)

    def run(self):
        with socket.create_connection(("127.0.0.1", self.plan["port"]), timeout=PATIENCE) as link:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ws = WSConnection(ConnectionType.CLIENT)
            link.sendall(ws.send(Request(host="server.test", target=self.plan["path"])))
            while self.extensions is None:
                self.take(ws, link.recv(65536))
            wire = self.frames()
            sender = threading.Thread(target=self.send, args=(link, wire))
            sender.start()
            self.read(ws, link)
            sender.join()
        head = bytes.fromhex(self.plan["replyHead"])
        same = bytes(self.data) == head + self.sent
        return {
            "id": self.case["id"],
            "received": len(self.data),
            "same": same,
            "pongs": self.pongs,
            "close": self.close if self.has_close else None,
            "extensions": self.extensions,
            "ended": self.ended,
        }

    def send(self, link, wire):
        step = self.case.get("chop") or len(wire)
        try:
            for at in range(0, len(wire), step):
                link.sendall(wire[at : at + step])
        except OSError:
            pass  # the server has closed the connection: seen by the reader

    def read(self, ws, link):
        """Reads to the end; closes a case that has brought what it waits for."""
        wanted = len(bytes.fromhex(self.plan["replyHead"])) + len(self.sent)
        is_closing = not self.case.get("closes", False)
        try:
            while True:
                if not is_closing and len(self.data) >= wanted and self.has_pongs():
                    is_closing = True
                    link.sendall(encode({"opcode": 8}, struct.pack("!H", 1000)))
                received = link.recv(65536)
                if not received:
                    self.ended = "end"
                    return
                self.take(ws, received)
        except ConnectionResetError:
            self.ended = "reset"
        except TimeoutError:
            self.ended = "timeout"

    def has_pongs(self):
        last = self.case.get("lastPong")
        return last is None or (self.pongs and self.pongs[-1] == last)

    def take(self, ws, received):
        ws.receive_data(received)
        for event in ws.events():
            if isinstance(event, AcceptConnection):
                self.extensions = len(event.extensions)
            elif isinstance(event, RejectConnection):
                raise RuntimeError(f"the upgrade was refused with {event.status_code}")
            elif isinstance(event, BytesMessage):
                self.data += event.data
            elif isinstance(event, TextMessage):
                raise RuntimeError("the server sent text")
            elif isinstance(event, Pong):
                self.pongs.append(bytes(event.payload).hex())
            elif isinstance(event, CloseConnection):
                self.has_close = True
                self.close = int(event.code)


plan = json.load(sys.stdin)
for case in plan["cases"]:
    try:
        result = Case(plan, case).run()
    except Exception as error:  # one case does not end the others
        result = {"id": case["id"], "error": repr(error)}
    print(json.dumps(result), flush=True)
