"""IPv4, IPv6, UDP and ICMP: packets that RFC 791, 1122, 8200, 5722, 7112 and 4443 have rules for, and worse."""

from cases import case, echo_client, only
from scapy.all import (
    ICMP,
    IP,
    TCP,
    UDP,
    HBHOptUnknown,
    ICMPv6DestUnreach,
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    ICMPv6PacketTooBig,
    IPOption,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    Jumbo,
    Pad1,
    PadN,
    Raw,
    raw,
)
from wire import CLIENT, CLIENT6, Client, next_port

ECHO = 7
V4 = "203.0.113.7"
V6 = "2001:db8::7"


def ip_to(host):
    return IPv6(src=CLIENT6, dst=host) if ":" in host else IP(src=CLIENT, dst=host)


class Datagrams:
    """A UDP client of the echo service."""

    def __init__(self, wire, host):
        self.wire = wire
        self.host = host
        self.sport = next_port()

    def datagram(self, payload, **fields):
        return UDP(sport=self.sport, dport=ECHO, **fields) / Raw(payload)

    def packet(self, payload, **fields):
        return ip_to(self.host) / self.datagram(payload, **fields)

    def bytes(self, payload):
        """UDP header and payload with their checksum."""
        packet = type(ip_to(self.host))(raw(self.packet(payload)))
        return raw(packet[UDP])

    def is_echo(self, packet):
        return UDP in packet and packet[UDP].dport == self.sport and packet[UDP].sport == ECHO

    def expect(self, payload):
        def match(packet):
            return self.is_echo(packet) and raw(packet[UDP].payload) == payload

        return self.wire.expect(f"echo of {len(payload)} bytes", match)

    def works(self, payload=b"still here"):
        self.wire.send(self.packet(payload))
        self.expect(payload)

    def quiet(self, what):
        """Shows that nothing of what was sent has been taken: a later datagram has come back alone."""
        self.works()
        self.wire.quiet(what, self.is_echo)


def is_icmp(*kinds):
    """Whether a packet is an ICMP message of one of these types, as (type, code)."""

    def match(packet):
        if ICMP in packet:
            return (packet[ICMP].type, packet[ICMP].code) in kinds
        if IPv6 in packet and packet[IPv6].nh == 58:
            message = raw(packet[IPv6].payload)
            return (message[0], message[1]) in kinds
        return False

    return match


# ---- IPv4 ----


@case
@only(4)
def ipv4_options_are_skipped(wire, host):
    client = Datagrams(wire, host)
    options = {
        "record route": b"\x07\x07\x04\x00\x00\x00\x00\x00",
        "timestamp": b"\x44\x08\x05\x00\x00\x00\x00\x00",
        "router alert": b"\x94\x04\x00\x00",
        "loose source route": b"\x83\x07\x08\x0a\x01\x01\x01\x00",
        "length 0": b"\x9e\x00\x00\x00",
        "length beyond the header": b"\x9e\xff\x00\x00",
        "40 bytes of no operation": b"\x01" * 40,
    }
    for name, data in options.items():
        # scapy would compute the checksum for the last address of a source route.
        payload = Raw(client.bytes(name.encode()))
        packet = IP(src=CLIENT, dst=host, proto=17, options=IPOption(data)) / payload
        wire.send(packet)
        client.expect(name.encode())


@case
@only(4)
def wrong_ipv4_headers_are_dropped(wire, host):
    client = Datagrams(wire, host)
    good = raw(client.packet(b"never"))
    for at, value in ((0, 0x44), (0, 0x4F), (0, 0x40), (2, 0xFF), (3, 5), (3, 19), (8, 0), (10, 0)):
        bad = bytearray(good)
        bad[at] = value
        wire.send(bytes(bad))
    for size in range(1, len(good)):
        wire.send(good[:size])
    for source in ("127.0.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", host):
        packet = client.packet(b"never")
        packet.src = source
        wire.send(packet)
    client.quiet("an echo of a packet with a wrong header")


@case
@only(4)
def ping_of_death_is_dropped(wire, host):
    client = Datagrams(wire, host)
    for payload in (b"x" * 1000, b"x" * 65):
        wire.send(IP(src=CLIENT, dst=host, id=77, frag=8189, proto=1) / Raw(payload))
        wire.send(IP(src=CLIENT, dst=host, id=77, flags="MF", frag=0, proto=1) / Raw(b"x" * 8))
    client.quiet("a response to a datagram of more than 65,535 bytes")


# ---- Fragments ----


def fragments(host, payload, size, identification, chain=()):
    """A transport payload as fragments of `size` bytes."""
    protocol = 17
    pieces = []
    for start in range(0, len(payload), size):
        more = start + size < len(payload)
        data = payload[start : start + size]
        if ":" in host:
            header = IPv6ExtHdrFragment(
                nh=protocol, offset=start // 8, m=int(more), id=identification
            )
            pieces.append(ip_to(host) / header / Raw(data))
        else:
            pieces.append(
                IP(
                    src=CLIENT,
                    dst=host,
                    id=identification & 0xFFFF,
                    flags="MF" if more else 0,
                    frag=start // 8,
                    proto=protocol,
                )
                / Raw(data)
            )
    return pieces


@case
def fragments_in_any_order_are_one_datagram(wire, host):
    client = Datagrams(wire, host)
    payload = bytes(range(256)) * 5
    for number, order in enumerate((1, -1)):
        for piece in fragments(host, client.bytes(payload), 256, 100 + number)[::order]:
            wire.send(piece)
        client.expect(payload)
    # Each twice: the second is a repetition, not an overlap.
    for piece in fragments(host, client.bytes(payload), 512, 103):
        wire.send(piece)
        wire.send(piece)
    client.expect(payload)


@case
def tiny_fragments_are_one_datagram_or_none(wire, host):
    client = Datagrams(wire, host)
    for piece in fragments(host, client.bytes(b"t" * 100), 8, 200):
        wire.send(piece)
    client.works()


@case
def overlapping_fragments_discard_the_datagram(wire, host):
    """RFC 5722, RFC 8200 §4.5: teardrop. Fragments of it that come later do not complete it either."""
    client = Datagrams(wire, host)
    data = client.bytes(b"o" * 504)
    for number, (start, end) in enumerate(((64, 320), (248, 512), (0, 8), (256, 264))):
        first, second = fragments(host, data, 256, 300 + number)
        evil = data[start:end]
        (piece,) = fragments(host, evil, 1024, 300 + number)
        if ":" in host:
            piece[IPv6ExtHdrFragment].offset = start // 8
            piece[IPv6ExtHdrFragment].m = 1
        else:
            piece.frag = start // 8
            piece.flags = "MF"
        # Other bytes, or the end would be a mere repetition.
        piece[Raw].load = b"!" * len(evil)
        wire.send(first)
        wire.send(piece)
        wire.send(second)
        wire.send(first)
    client.quiet("an echo of a datagram with overlapping fragments")


@case
def fragments_that_contradict_about_the_end_discard_the_datagram(wire, host):
    client = Datagrams(wire, host)
    first, middle, last = fragments(host, client.bytes(b"e" * 700), 256, 400)
    wire.send(last)
    end = middle.copy()
    if ":" in host:
        end[IPv6ExtHdrFragment].m = 0
    else:
        end.flags = 0
    wire.send(end)
    for piece in (first, middle, last):
        wire.send(piece)
    client.quiet("an echo of a datagram with two ends")


@case
def fragments_that_are_never_completed_leave_room(wire, host):
    """The rose attack: the first and the last fragment of thousands of datagrams."""
    client = Datagrams(wire, host)
    first, *_, last = fragments(host, client.bytes(b"r" * 4000), 1024, 1)
    for number in range(3000):
        for piece in (first, last):
            if ":" in host:
                piece[IPv6ExtHdrFragment].id = number
            else:
                piece.id = number
            wire.send(piece)
    payload = b"complete" * 150
    for piece in fragments(host, client.bytes(payload), 512, 70_000):
        wire.send(piece)
    client.expect(payload)


@case
def fragments_of_wrong_sizes_are_dropped(wire, host):
    client = Datagrams(wire, host)
    data = client.bytes(b"w" * 100)
    first, last = fragments(host, data, 64, 500)
    short = first.copy()
    short[Raw].load = short[Raw].load[:-3]
    wire.send(short)
    empty = first.copy()
    empty[Raw].load = b""
    wire.send(empty)
    wire.send(last)
    client.quiet("an echo of a datagram with a gap")


# ---- IPv6 extension headers ----


@case
@only(6)
def atomic_fragments_are_whole_packets(wire, host):
    """RFC 6946: not mixed with fragments of the same identification."""
    client = Datagrams(wire, host)
    first, _ = fragments(host, client.bytes(b"a" * 504), 256, 600)
    wire.send(first)
    wire.send(ip_to(host) / IPv6ExtHdrFragment(id=600) / client.datagram(b"atomic"))
    client.expect(b"atomic")


@case
@only(6)
def chains_of_known_extension_headers_are_walked(wire, host):
    client = Datagrams(wire, host)
    chains = {
        "hop by hop": IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0" * 4)]),
        "destination options": IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)]),
        "all of them": IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / IPv6ExtHdrDestOpt(),
        "a routing header that has arrived": IPv6ExtHdrRouting(type=4, segleft=0, addresses=[V6]),
        "an option to skip": IPv6ExtHdrDestOpt(options=[HBHOptUnknown(otype=0x1E, optdata=b"1234")]),
        "options of padding": IPv6ExtHdrDestOpt(options=[Pad1()] * 6),
    }
    for name, chain in chains.items():
        wire.send(ip_to(host) / chain / client.datagram(name.encode()))
        client.expect(name.encode())


@case
@only(6)
def forbidden_extension_headers_are_dropped(wire, host):
    client = Datagrams(wire, host)
    chains = [
        # RFC 5095: the routing header of type 0, in whatever state.
        IPv6ExtHdrRouting(type=0, segleft=1, addresses=["2001:db8::9"]),
        IPv6ExtHdrRouting(type=0, segleft=0, addresses=["2001:db8::9"]),
        IPv6ExtHdrRouting(type=0, segleft=255, addresses=["2001:db8::9"] * 40),
        IPv6ExtHdrRouting(type=253, segleft=1, addresses=[]),
        # RFC 8200 §4.1: hop by hop comes first.
        IPv6ExtHdrDestOpt() / IPv6ExtHdrHopByHop(),
        IPv6ExtHdrHopByHop() / IPv6ExtHdrHopByHop(),
        # Options that must not be skipped.
        IPv6ExtHdrDestOpt(options=[HBHOptUnknown(otype=0x5E, optdata=b"1234")]),
        IPv6ExtHdrDestOpt(options=[HBHOptUnknown(otype=0x9E, optdata=b"1234")]),
        IPv6ExtHdrDestOpt(options=[HBHOptUnknown(otype=0xDE, optdata=b"1234")]),
        # RFC 2675: no link here takes jumbograms.
        IPv6ExtHdrHopByHop(options=[Jumbo(jumboplen=70_000)]),
        IPv6ExtHdrHopByHop(options=[Jumbo(jumboplen=1)]),
    ]
    for chain in chains:
        wire.send(ip_to(host) / chain / client.datagram(b"never"))
    long = ip_to(host)
    for _ in range(50):
        long = long / IPv6ExtHdrDestOpt()
    wire.send(long / client.datagram(b"never"))
    options = IPv6ExtHdrDestOpt(options=[HBHOptUnknown(otype=0x1E, optdata=b"")] * 100)
    wire.send(ip_to(host) / options / client.datagram(b"never"))
    client.quiet("an echo of a packet with forbidden headers")


@case
@only(6)
def extension_headers_that_end_early_are_dropped(wire, host):
    client = Datagrams(wire, host)
    whole = raw(ip_to(host) / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / client.datagram(b"never"))
    for size in range(40, len(whole)):
        piece = bytearray(whole[:size])
        piece[4:6] = (size - 40).to_bytes(2, "big")
        wire.send(bytes(piece))
    for length in (1, 2, 100, 255):
        piece = bytearray(whole)
        piece[41] = length
        wire.send(bytes(piece))
    for length in range(256):
        wire.send(ip_to(host) / Raw(bytes([60, length]) + bytes(6)))
    client.quiet("an echo of a packet with a header that ends early")


@case
@only(6)
def first_fragment_without_the_header_chain_is_dropped(wire, host):
    """RFC 7112: the headers must not hide in the second fragment."""
    client = Datagrams(wire, host)
    data = raw(IPv6ExtHdrDestOpt(nh=17)) + client.bytes(b"h" * 96)
    first = IPv6ExtHdrFragment(nh=60, offset=0, m=1, id=700) / Raw(data[:8])
    second = IPv6ExtHdrFragment(nh=60, offset=1, m=0, id=700) / Raw(data[8:])
    wire.send(ip_to(host) / first)
    wire.send(ip_to(host) / second)
    client.quiet("an echo of a datagram whose first fragment ends before its headers do")


@case
@only(6)
def fragments_in_fragments_are_dropped(wire, host):
    client = Datagrams(wire, host)
    inner = raw(IPv6ExtHdrFragment(nh=17, offset=0, m=0, id=1)) + client.bytes(b"n" * 96)
    for start in range(0, len(inner), 64):
        more = start + 64 < len(inner)
        header = IPv6ExtHdrFragment(nh=44, offset=start // 8, m=int(more), id=800)
        wire.send(ip_to(host) / header / Raw(inner[start : start + 64]))
    client.quiet("an echo of a fragment in a fragment")


@case
@only(6)
def no_next_header_gets_nothing(wire, host):
    wire.send(IPv6(src=CLIENT6, dst=host, nh=59) / Raw(b"anything"))
    wire.quiet("a response to no next header", lambda packet: IPv6 in packet and packet[IPv6].nh == 58)


@case
def unknown_protocol_is_reported(wire, host):
    """Protocol unreachable (RFC 1122 §3.2.2.1); unknown next header, with its place (RFC 8200 §4)."""
    if ":" in host:
        wire.send(IPv6(src=CLIENT6, dst=host, nh=253) / Raw(b"experiment"))
        packet = wire.expect("parameter problem", is_icmp((4, 1)))
        message = raw(packet[IPv6].payload)
        assert int.from_bytes(message[4:8], "big") == 6, "the pointer is at the next header field"
    else:
        wire.send(IP(src=CLIENT, dst=host, proto=253) / Raw(b"experiment"))
        wire.expect("protocol unreachable", is_icmp((3, 2)))


@case
@only(6)
def wrong_sources_of_ipv6_are_dropped(wire, host):
    client = Datagrams(wire, host)
    for source in ("::", "::1", "ff02::1", "::ffff:10.66.0.5", host):
        packet = client.packet(b"never")
        packet.src = source
        wire.send(packet)
    client.quiet("an echo of a packet with a wrong source")


# ---- UDP ----


@case
def udp_with_wrong_lengths_is_dropped(wire, host):
    client = Datagrams(wire, host)
    # A shorter length is valid: what is beyond it is padding.
    for length in (0, 1, 7, 16, 2000, 65_535):
        wire.send(client.packet(b"never 1", len=length))
    whole = client.bytes(b"")
    for size in range(8):
        if ":" in host:
            wire.send(IPv6(src=CLIENT6, dst=host, nh=17) / Raw(whole[:size]))
        else:
            wire.send(IP(src=CLIENT, dst=host, proto=17) / Raw(whole[:size]))
    client.quiet("an echo of a datagram with a wrong length")


@case
def udp_with_a_wrong_checksum_is_dropped(wire, host):
    client = Datagrams(wire, host)
    wire.send(client.packet(b"never", chksum=0x1234))
    if ":" in host:
        # RFC 8200 §8.1: zero is not "none".
        wire.send(client.packet(b"never", chksum=0))
    client.quiet("an echo of a datagram with a wrong checksum")


@case
@only(4)
def udp_without_a_checksum_is_taken(wire, host):
    client = Datagrams(wire, host)
    wire.send(client.packet(b"unchecked", chksum=0))
    client.expect(b"unchecked")


@case
def empty_datagrams_come_back(wire, host):
    client = Datagrams(wire, host)
    wire.send(client.packet(b""))
    client.expect(b"")


@case
def udp_to_port_zero_or_from_it_breaks_nothing(wire, host):
    client = Datagrams(wire, host)
    for sport, dport in ((0, ECHO), (client.sport, 0), (0, 0)):
        wire.send(ip_to(host) / UDP(sport=sport, dport=dport) / Raw(b"zero"))
    client.works()


# ---- ICMP ----


@case
def echo_requests_are_answered(wire, host):
    for size in (0, 1, 56, 1400):
        data = bytes(size)
        if ":" in host:
            wire.send(ip_to(host) / ICMPv6EchoRequest(id=5, seq=size, data=data))
            back = wire.expect("echo reply", lambda p: ICMPv6EchoReply in p)
            assert back[ICMPv6EchoReply].data == data and back[ICMPv6EchoReply].seq == size
        else:
            wire.send(ip_to(host) / ICMP(id=5, seq=size) / Raw(data))
            back = wire.expect("echo reply", lambda p: ICMP in p and p[ICMP].id == 5)
            assert back[ICMP].type == 0 and raw(back[ICMP].payload) == data


@case
def errors_get_no_errors(wire, host):
    """RFC 1122 §3.2.2, RFC 4443 §2.4: not for an error, a later fragment, a group or an unknown error type."""
    quote = Raw(raw(ip_to(host) / UDP(dport=9) / Raw(b"quoted")))
    if ":" in host:
        for kind in (1, 2, 3, 4, 100, 127):
            wire.send(IPv6(src=CLIENT6, dst=host, nh=58) / Raw(bytes([kind, 9, 0, 0, 0, 0, 0, 0]) + raw(quote)))
        wire.send(IPv6(src=CLIENT6, dst="ff02::1", nh=253) / quote)
    else:
        for kind in (3, 4, 5, 11, 12, 1, 255):
            wire.send(ip_to(host) / ICMP(type=kind, code=9) / quote)
        wire.send(IP(src=CLIENT, dst=host, proto=253, frag=10) / quote)
        wire.send(IP(src=CLIENT, dst="224.0.0.1", proto=253) / quote)
        wire.send(IP(src=CLIENT, dst="255.255.255.255", proto=253) / quote)
    errors = is_icmp(*((kind, code) for kind in (1, 2, 3, 4, 11, 12) for code in range(16)))
    wire.quiet("an error about an error", errors)


@case
def forged_unreachables_do_not_end_a_connection(wire, host):
    """RFC 5927: neither with a guessed sequence number nor with the right one, once it is established."""
    client = echo_client(wire, host)
    for seq in (client.ack, client.ack - 1, client.ack + 5, client.ack ^ 0x55555555):
        header = TCP(sport=ECHO, dport=client.sport, seq=seq & 0xFFFFFFFF, flags="A")
        if ":" in host:
            quote = IPv6(src=host, dst=CLIENT6) / header
            for code in range(7):
                wire.send(ip_to(host) / ICMPv6DestUnreach(code=code) / quote)
        else:
            quote = IP(src=host, dst=CLIENT) / header
            for code in (0, 1, 2, 3, 9, 10, 13):
                wire.send(ip_to(host) / ICMP(type=3, code=code) / quote)
    client.echo()
    client.abort()


@case
def forged_path_mtus_do_not_shrink_segments(wire, host):
    """RFC 5927 §7: a quote of a segment that is not in flight says nothing, and no MTU is below the least."""
    client = Client(wire, host, 19).connect()
    header = TCP(sport=19, dport=client.sport, seq=client.ack ^ 0x10101010, flags="A")
    for mtu in (0, 1, 68, 600, 1280):
        if ":" in host:
            wire.send(ip_to(host) / ICMPv6PacketTooBig(mtu=mtu) / IPv6(src=host, dst=CLIENT6) / header)
        else:
            wire.send(
                ip_to(host) / ICMP(type=3, code=4, nexthopmtu=mtu) / IP(src=host, dst=CLIENT) / header
            )
    client.write(b"4000\n")
    first = client.expect("data", lambda tcp: len(raw(tcp.payload)) > 0)
    assert len(raw(first.payload)) >= 1400, f"segments of {len(raw(first.payload))} bytes"
    client.abort()


@case
def truncated_quotes_are_ignored(wire, host):
    client = echo_client(wire, host)
    header = TCP(sport=ECHO, dport=client.sport, seq=client.ack, flags="A")
    if ":" in host:
        quote = raw(IPv6(src=host, dst=CLIENT6) / header)
        head = bytes([1, 4, 0, 0, 0, 0, 0, 0])
        for size in range(len(quote)):
            wire.send(ip_to(host) / ICMPv6DestUnreach(code=4) / Raw(quote[:size]))
            wire.send(ip_to(host) / ICMPv6PacketTooBig(mtu=1280) / Raw(quote[:size]))
        wire.send(IPv6(src=CLIENT6, dst=host, nh=58) / Raw(head[:4]))
    else:
        quote = raw(IP(src=host, dst=CLIENT) / header)
        for size in range(len(quote)):
            wire.send(ip_to(host) / ICMP(type=3, code=3) / Raw(quote[:size]))
            wire.send(ip_to(host) / ICMP(type=3, code=4, nexthopmtu=600) / Raw(quote[:size]))
        wire.send(IP(src=CLIENT, dst=host, proto=1) / Raw(b"\x03\x03"))
    client.echo()
    client.abort()


@case
@only(4)
def redirects_and_old_queries_change_nothing(wire, host):
    """Redirect, source quench, router advertisement, timestamp, mask: none is a matter of this host."""
    client = echo_client(wire, host)
    quote = IP(src=host, dst=CLIENT) / TCP(sport=ECHO, dport=client.sport, seq=client.ack, flags="A")
    for message in (
        ICMP(type=5, code=1, gw="10.66.0.66") / quote,
        ICMP(type=4) / quote,
        ICMP(type=9) / Raw(bytes(8)),
        ICMP(type=13) / Raw(bytes(12)),
        ICMP(type=17),
    ):
        wire.send(ip_to(host) / message)
    client.echo()
    client.abort()


@case
@only(6)
def neighbour_and_router_messages_change_nothing(wire, host):
    """A TUN device has no neighbours: solicitations, advertisements, redirects and MLD are ignored."""
    client = echo_client(wire, host)
    for kind in (130, 131, 132, 133, 134, 135, 136, 137, 143):
        for target in (host, "ff02::1"):
            message = bytes([kind, 0, 0, 0]) + bytes(20)
            wire.send(IPv6(src=CLIENT6, dst=target, nh=58, hlim=255) / Raw(message))
    client.echo()
    client.abort()
