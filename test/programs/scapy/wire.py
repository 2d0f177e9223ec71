"""Packets of scapy on a TUN device, and a TCP client that sends whatever segments a case wants."""

import itertools
import socket
import time

from scapy.all import ICMP, IP, TCP, IPv6, raw

ETH_P_ALL = 0x0003
ETH_P = {4: 0x0800, 6: 0x86DD}
PACKET_OUTGOING = 4
# Seconds for a response that must come; what must not come is seen by `quiet`, without waiting.
PATIENCE = 10
# Clients of the device's networks that this host does not have, so that its kernel answers nothing.
CLIENT = "10.66.0.5"
CLIENT6 = "fd66::5"

ADDRESS = socket.inet_aton(CLIENT)
ADDRESS6 = socket.inet_pton(socket.AF_INET6, CLIENT6)

_ports = itertools.count(20_000)
_echoes = itertools.count(1)


def next_port():
    """A port that no other case has."""
    return next(_ports)


class Missing(AssertionError):
    """A response that should have come."""


class Wire:
    """Sends by a device as if the kernel had routed packets there, and reads what comes out of it."""

    def __init__(self, device):
        self.device = device
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        self.socket.bind((device, ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 << 20)
        self.kept = []

    def send(self, packet):
        """Sends a packet, or bytes that pretend to be one."""
        data = bytes(packet)
        version = 6 if data[:1] and data[0] >> 4 == 6 else 4
        self.socket.sendto(data, (self.device, ETH_P[version]))

    def read(self, until):
        """The next packet out of the device; None at the time `until`."""
        while True:
            left = until - time.monotonic()
            if left <= 0:
                return None
            self.socket.settimeout(left)
            try:
                data, address = self.socket.recvfrom(1 << 17)
            except TimeoutError:
                return None
            if address[2] == PACKET_OUTGOING or not data:
                continue
            # Responses to other addresses, of a flood, are not worth the time that scapy takes to read them.
            if data[0] >> 4 == 6:
                if data[24:40] == ADDRESS6:
                    return IPv6(data)
            elif data[16:20] == ADDRESS:
                return IP(data)

    def expect(self, what, match):
        """The next packet that matches; those before it are kept for other cases of `expect`."""
        packet = self.find(match, PATIENCE)
        if packet is None:
            seen = [packet.summary() for packet in self.kept[-5:]]
            raise Missing(f"no {what}; seen {seen}")
        return packet

    def find(self, match, patience):
        """The same, or None after `patience` seconds."""
        for index, packet in enumerate(self.kept):
            if match(packet):
                return self.kept.pop(index)
        until = time.monotonic() + patience
        while (packet := self.read(until)) is not None:
            if match(packet):
                return packet
            self.kept.append(packet)
        return None

    def quiet(self, what, match):
        """Fails if something that matches has come in response to what was sent before."""
        self.flush()
        for packet in self.kept:
            assert not match(packet), f"{what}: {packet.summary()}"

    def count(self, match):
        """How many packets that match have come in response to what was sent before."""
        self.flush()
        return sum(1 for packet in self.kept if match(packet))

    def flush(self):
        """Returns when all that was sent before has been processed: two echoes later, as segments leave at the
        end of the turn in which the first is answered. The queue of the device may be full, so one may be lost."""
        for _ in range(2):
            for _ in range(20):
                number = next(_echoes) & 0xFFFF
                self.send(IP(src=CLIENT, dst="203.0.113.7") / ICMP(id=0x7777, seq=number))
                if self.find(lambda packet: is_echo_reply(packet, number), PATIENCE / 20):
                    break
            else:
                raise Missing("no echo reply")

    def clear(self):
        self.kept.clear()


def is_echo_reply(packet, number):
    return ICMP in packet and packet[ICMP].type == 0 and packet[ICMP].seq == number


class Client:
    """One end of a TCP connection, of which every number may be wrong."""

    def __init__(self, wire, host, port, *, isn=1000, window=64_240, options=None, sport=None):
        self.wire = wire
        self.host = host
        self.port = port
        self.sport = next_port() if sport is None else sport
        self.seq = isn
        self.ack = 0
        self.window = window
        self.options = [("MSS", 1460)] if options is None else options
        self.received = b""

    @property
    def ip(self):
        if ":" in self.host:
            return IPv6(src=CLIENT6, dst=self.host)
        return IP(src=CLIENT, dst=self.host)

    def segment(self, flags, payload=b"", *, seq=None, ack=None, **fields):
        fields.setdefault("window", self.window)
        header = TCP(
            sport=self.sport,
            dport=self.port,
            seq=(self.seq if seq is None else seq) & 0xFFFFFFFF,
            ack=(self.ack if ack is None else ack) & 0xFFFFFFFF,
            flags=flags,
            **fields,
        )
        return self.ip / header / payload

    def send(self, flags, payload=b"", **fields):
        self.wire.send(self.segment(flags, payload, **fields))

    def matches(self, packet):
        return TCP in packet and packet[TCP].dport == self.sport and packet[TCP].sport == self.port

    def expect(self, what, match=lambda _: True):
        return self.wire.expect(
            what, lambda packet: self.matches(packet) and match(packet[TCP])
        )[TCP]

    def quiet(self, what, match=lambda _: True):
        self.wire.quiet(what, lambda packet: self.matches(packet) and match(packet[TCP]))

    def count(self, match=lambda _: True):
        return self.wire.count(lambda packet: self.matches(packet) and match(packet[TCP]))

    def connect(self):
        self.send("S", options=self.options)
        return self.established(self.expect("SYN-ACK", lambda tcp: tcp.flags == "SA"))

    def connect_patiently(self):
        """Repeats its SYN each second, as hosts do."""
        for _ in range(PATIENCE):
            self.send("S", options=self.options)
            reply = self.wire.find(
                lambda packet: self.matches(packet) and packet[TCP].flags == "SA", 1
            )
            if reply is not None:
                return self.established(reply[TCP])
        raise Missing("no SYN-ACK")

    def established(self, reply):
        """Acknowledges a SYN-ACK."""
        assert reply.ack == (self.seq + 1) & 0xFFFFFFFF, "the SYN-ACK acknowledges the SYN"
        self.seq = (self.seq + 1) & 0xFFFFFFFF
        self.ack = (reply.seq + 1) & 0xFFFFFFFF
        self.send("A")
        return self

    def write(self, payload):
        """Sends the next bytes of the stream."""
        self.send("PA", payload)
        self.seq = (self.seq + len(payload)) & 0xFFFFFFFF

    def read(self, size, *, window=None):
        """The next bytes of the other stream, acknowledged one by one."""
        start = len(self.received)
        while len(self.received) < start + size:
            tcp = self.expect(
                f"{size} bytes, {len(self.received) - start} have come",
                lambda tcp: len(raw(tcp.payload)) > 0 and tcp.seq == self.ack,
            )
            assert "R" not in tcp.flags, "a reset"
            payload = raw(tcp.payload)
            self.received += payload
            self.ack = (self.ack + len(payload)) & 0xFFFFFFFF
            self.send("A", **({} if window is None else {"window": window}))
        return self.received[start:]

    def echo(self, payload=b"still here"):
        """Shows that the connection works."""
        self.write(payload)
        assert self.read(len(payload)) == payload, "other bytes than were sent"

    def is_ack(self, tcp):
        """An ACK without text of where both ends are."""
        return tcp.flags == "A" and tcp.ack == self.seq and not raw(tcp.payload)

    def abort(self):
        self.send("R")
        self.wire.clear()
