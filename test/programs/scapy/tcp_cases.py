"""TCP by the cases of packetdrill's kind: what RFC 9293, 5961, 7323 and 2018 want of hostile segments."""

import time

from cases import case, echo_client
from scapy.all import TCP, Raw, in4_chksum, in6_chksum, raw
from wire import Client

ECHO = 7
CLOSED = 81
MASK = 0xFFFFFFFF


# ---- RFC 5961: blind attacks ----


@case
def rst_at_rcv_nxt_resets(wire, host):
    client = echo_client(wire, host)
    client.send("R")
    # Segments of the same turn are dropped with the connection; later ones are for no connection.
    wire.flush()
    client.send("A", b"x")
    client.expect("RST for data after the reset", lambda tcp: "R" in tcp.flags)


@case
def rst_elsewhere_in_window_gets_challenge_ack(wire, host):
    client = echo_client(wire, host)
    for offset in (1, 100, 30_000):
        client.send("R", seq=client.seq + offset)
        client.expect("challenge ACK", client.is_ack)
    client.echo()
    client.abort()


@case
def rst_out_of_window_is_ignored(wire, host):
    client = echo_client(wire, host)
    client.echo()
    wire.flush()
    wire.clear()
    for seq in (client.seq - 1, client.seq - 70_000, client.seq + (1 << 30), client.seq + (1 << 31)):
        client.send("R", seq=seq)
        client.send("RA", seq=seq)
    client.quiet("a response to a RST outside of the window")
    client.echo()
    client.abort()


@case
def syn_in_established_gets_challenge_ack(wire, host):
    client = echo_client(wire, host)
    for seq in (client.seq, client.seq + 5, client.seq - 1, client.seq + (1 << 31)):
        for flags in ("S", "SA"):
            client.send(flags, seq=seq)
            client.expect("challenge ACK", client.is_ack)
    client.echo()
    client.abort()


@case
def ack_of_unsent_data_gets_ack(wire, host):
    client = echo_client(wire, host)
    client.send("A", ack=client.ack + 50_000)
    client.expect("ACK", client.is_ack)
    client.send("A", b"injected", ack=client.ack + 1)
    client.expect("ACK", client.is_ack)
    client.echo()
    client.abort()


@case
def data_with_ack_far_in_the_past_is_not_taken(wire, host):
    client = echo_client(wire, host)
    client.send("A", b"injected", ack=client.ack - (1 << 30))
    client.expect("challenge ACK", client.is_ack)
    client.echo()
    client.abort()


@case
def challenge_acks_are_limited(wire, host):
    client = echo_client(wire, host)
    syn = bytes(client.segment("S"))
    start = time.monotonic()
    for _ in range(2000):
        wire.send(syn)
    answers = client.count(client.is_ack)
    # Ten within each second that has begun (RFC 5961 §7 suggests ten within five).
    most = 10 * (2 + int(time.monotonic() - start))
    assert 1 <= answers <= most, f"{answers} challenge ACKs for 2,000 SYNs"
    client.echo()
    client.abort()


@case
def data_out_of_window_gets_ack(wire, host):
    client = echo_client(wire, host)
    for seq in (client.seq - 9, client.seq + (1 << 24), client.seq + (1 << 31) - 1):
        client.send("A", b"injected"[: 9], seq=seq)
        client.expect("ACK", client.is_ack)
    client.echo()
    client.abort()


# ---- RFC 9293: flags ----


@case
def christmas_tree_gets_nothing(wire, host):
    client = Client(wire, host, ECHO)
    client.send("FSRPAUEC")
    client.send("FSRPAU")
    client.quiet("a response to a segment with RST")


@case
def christmas_tree_in_established_changes_nothing(wire, host):
    client = echo_client(wire, host)
    client.send("FSRPAUEC", b"x" * 10, seq=client.seq + 1)
    client.send("FSPAUEC", b"x" * 10, seq=client.seq)
    client.echo()
    client.abort()


@case
def null_segment_in_established_is_dropped(wire, host):
    client = echo_client(wire, host)
    client.send("", b"without ACK")
    client.echo()
    client.abort()


@case
def ack_without_connection_gets_rst_of_its_number(wire, host):
    for flags in ("A", "FA", "PA", "SA"):
        client = Client(wire, host, ECHO)
        client.send(flags, ack=0x12345678)
        reply = client.expect("RST", lambda tcp: "R" in tcp.flags)
        assert reply.flags == "R" and reply.seq == 0x12345678, reply.summary()


@case
def invalid_flags_without_connection_get_nothing(wire, host):
    """No host sends a FIN or text without ACK: scans do, and learn nothing."""
    client = Client(wire, host, ECHO)
    for flags in ("", "F", "FPU", "SF", "SR", "U", "P"):
        client.send(flags, b"abc", seq=77)
    client.quiet("a response to invalid flags")


@case
def rst_without_connection_gets_nothing(wire, host):
    client = Client(wire, host, ECHO)
    client.send("R")
    client.send("RA")
    client.quiet("a response to a RST")


@case
def land_attack_gets_nothing(wire, host):
    packet = Client(wire, host, ECHO, sport=ECHO)
    segment = packet.segment("S")
    segment.src = segment.dst = host
    wire.send(segment)
    packet.quiet("a response to a SYN from its own destination")


@case
def closed_port_refuses(wire, host):
    client = Client(wire, host, CLOSED)
    client.send("S")
    reply = client.expect("RST", lambda tcp: "R" in tcp.flags)
    assert reply.flags == "RA" and reply.ack == client.seq + 1, reply.summary()


# ---- Handshake ----


@case
def repeated_syn_gets_the_same_syn_ack(wire, host):
    client = Client(wire, host, ECHO)
    client.send("S")
    first = client.expect("SYN-ACK", lambda tcp: tcp.flags == "SA")
    client.send("S")
    second = client.expect("SYN-ACK", lambda tcp: tcp.flags == "SA")
    assert (first.seq, first.ack) == (second.seq, second.ack), "another ISN"
    client.seq += 1
    client.ack = first.seq + 1
    client.send("A")
    client.echo()
    client.abort()


@case
def wrong_ack_in_syn_received_gets_rst(wire, host):
    client = Client(wire, host, ECHO)
    client.send("S")
    reply = client.expect("SYN-ACK", lambda tcp: tcp.flags == "SA")
    client.send("A", seq=client.seq + 1, ack=reply.seq + 1000)
    rst = client.expect("RST", lambda tcp: "R" in tcp.flags)
    assert rst.seq == reply.seq + 1000 & MASK, rst.summary()
    client.seq += 1
    client.ack = reply.seq + 1
    client.send("A")
    client.echo()
    client.abort()


@case
def data_in_syn_is_taken_once(wire, host):
    client = Client(wire, host, ECHO)
    client.send("S", b"early")
    reply = client.expect("SYN-ACK", lambda tcp: tcp.flags == "SA")
    assert reply.ack in (client.seq + 1, client.seq + 6), reply.summary()
    taken = reply.ack - client.seq - 1
    client.seq += 1 + taken
    client.ack = reply.seq + 1
    client.write(b"early and late"[taken:])
    assert client.read(14) == b"early and late"
    client.abort()


@case
def sequence_numbers_wrap(wire, host):
    for isn in (0xFFFFFFFE, 0xFFFFFFF0, 0x7FFFFFFE, 0x7FFFFFF0):
        client = echo_client(wire, host, isn=isn)
        for _ in range(3):
            client.echo(b"around the corner")
        client.abort()


@case
def isns_of_one_client_are_not_to_be_guessed(wire, host):
    """RFC 6528: over connections of other ports the differences of the ISNs vary."""
    numbers = []
    for _ in range(8):
        client = Client(wire, host, ECHO)
        client.send("S")
        numbers.append(client.expect("SYN-ACK", lambda tcp: tcp.flags == "SA").seq)
        client.send("R", seq=client.seq + 1)
    steps = {(b - a) & MASK for a, b in zip(numbers, numbers[1:])}
    assert len(steps) == 7 and max(steps) > 1 << 24, numbers


@case
def syn_flood_leaves_room(wire, host):
    """Of as many addresses as SYNs: no client has more than another, so a SYN may have to be repeated."""
    template = Client(wire, host, ECHO).segment("S")
    for number in range(5000):
        template.src = f"fd66::1:{number:x}" if ":" in host else f"10.70.{number >> 8}.{number & 255}"
        wire.send(template)
    client = Client(wire, host, ECHO).connect_patiently()
    client.echo()
    client.abort()


# ---- Options ----


def syn_with(client, data):
    """A SYN whose options are these bytes, which scapy would not write."""
    data += bytes(-len(data) % 4)
    header = bytearray(bytes(client.segment("S")[TCP])[:20] + data)
    header[12] = (5 + len(data) // 4) << 4
    header[16:18] = b"\0\0"
    ip = client.ip
    if ":" in client.host:
        ip.nh = 6
        total = in6_chksum(6, ip, bytes(header))
    else:
        ip.proto = 6
        total = in4_chksum(6, ip, bytes(header))
    header[16:18] = total.to_bytes(2, "big")
    return ip / Raw(bytes(header))


BAD_OPTIONS = {
    "length 0": b"\x05\x00\x01\x02",
    "length 1": b"\x08\x01\x01\x01",
    "beyond the header": b"\xfe\x40\x01\x01",
    "a kind alone at the end": b"\x01\x01\x01\x02",
    "unknown kinds": b"\xfd\x04\xab\xcd\x1e\x04\x00\x00",
    "MSS of 0": b"\x02\x04\x00\x00",
    "MSS of 1": b"\x02\x04\x00\x01",
    "MSS of 65535": b"\x02\x04\xff\xff",
    "MSS of a wrong length": b"\x02\x03\x05\x01",
    "window scale of 255": b"\x03\x03\xff\x01",
    "two MSS": b"\x02\x04\x05\xb4\x02\x04\x00\x40",
    "40 bytes of the end": bytes(40),
    "40 bytes of no operation": b"\x01" * 40,
    "timestamps of a wrong length": b"\x08\x0b" + bytes(9) + b"\x01",
    "SACK blocks in a SYN": b"\x05\x0a" + bytes(8) + b"\x01\x01",
    "MD5 signature": b"\x13\x12" + bytes(16) + b"\x01\x01",
    "fast open cookie": b"\x22\x0a" + bytes(8) + b"\x01\x01",
}


@case
def bad_options_of_a_syn_do_not_prevent_a_connection(wire, host):
    for name, data in BAD_OPTIONS.items():
        client = Client(wire, host, ECHO)
        wire.send(syn_with(client, data))
        try:
            reply = client.expect("SYN-ACK", lambda tcp: tcp.flags == "SA")
            client.seq += 1
            client.ack = reply.seq + 1
            client.send("A")
            # No more than a full segment of the default MSS: the peer's may be smaller than this.
            client.write(b"with " + name.encode())
            assert client.read(5 + len(name)) == b"with " + name.encode(), name
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
        client.abort()


@case
def header_lengths_beyond_the_segment_are_dropped(wire, host):
    client = Client(wire, host, ECHO)
    for offset in (0, 1, 4, 6, 15):
        client.send("S", dataofs=offset)
    client.quiet("a response to a header with a wrong length")
    client.connect()
    client.echo()
    client.abort()


@case
def wrong_checksum_is_dropped(wire, host):
    client = echo_client(wire, host)
    client.send("PA", b"garbled", chksum=0x1234)
    client.quiet("a response to a wrong checksum", lambda tcp: tcp.ack == client.seq + 7)
    client.echo()
    client.abort()


@case
def tiny_mss_is_not_obeyed_to_the_byte(wire, host):
    """An MSS of 1 would make a packet of every byte."""
    client = echo_client(wire, host, options=[("MSS", 1)])
    client.write(b"z" * 1000)
    segments = 0
    got = b""
    while len(got) < 1000:
        tcp = client.expect("data", lambda tcp: raw(tcp.payload) and tcp.seq == client.ack)
        got += raw(tcp.payload)
        client.ack += len(raw(tcp.payload))
        client.send("A")
        segments += 1
    assert segments <= 50, f"{segments} segments for 1,000 bytes"
    client.abort()


@case
def old_timestamps_are_refused(wire, host):
    """PAWS, RFC 7323 §5."""
    stamps = lambda value: [("NOP", None), ("NOP", None), ("Timestamp", (value, 0))]
    client = Client(wire, host, ECHO, options=[("MSS", 1460), ("Timestamp", (5_000_000, 0))])
    client.send("S", options=client.options)
    reply = client.expect("SYN-ACK", lambda tcp: tcp.flags == "SA")
    assert any(kind == "Timestamp" for kind, _ in reply.options), "no timestamps"
    client.seq += 1
    client.ack = reply.seq + 1
    client.send("A", options=stamps(5_000_001))
    client.send("PA", b"old news", options=stamps(4_000_000))
    client.expect("ACK", lambda tcp: tcp.ack == client.seq)
    client.send("PA", b"new", options=stamps(5_000_002))
    tcp = client.expect("echo", lambda tcp: raw(tcp.payload))
    assert raw(tcp.payload) == b"new", raw(tcp.payload)
    client.send("R")
    wire.clear()


@case
def forged_sack_blocks_change_nothing(wire, host):
    client = echo_client(wire, host, options=[("MSS", 1460), ("SAckOK", b"")])
    client.echo()
    far = client.ack + (1 << 30)
    for blocks in (
        (client.ack, client.ack + 1000),
        (client.ack + 1000, client.ack + 10),
        (client.ack - 500, client.ack - 100),
        (far & MASK, (far + 10) & MASK),
        (client.ack, client.ack),
        (0, MASK),
    ):
        pairs = tuple(value & MASK for value in blocks)
        client.send("A", options=[("NOP", None), ("NOP", None), ("SAck", pairs)])
    client.echo()
    client.abort()


# ---- Streams ----


@case
def urgent_data_stays_in_its_place(wire, host):
    client = echo_client(wire, host)
    client.send("PAU", b"abcdef", urgptr=3)
    client.seq += 6
    assert client.read(6) == b"abcdef"
    client.send("PAU", b"ghi", urgptr=0xFFFF)
    client.seq += 3
    client.send("PAU", b"jkl", urgptr=0)
    client.seq += 3
    assert client.read(6) == b"ghijkl"
    client.abort()


@case
def overlaps_with_other_bytes_keep_one_stream(wire, host):
    """What was acknowledged stays; what waits out of order is never exchanged for later bytes in part."""
    client = echo_client(wire, host)
    base = client.seq
    client.send("PA", b"AAAA", seq=base)
    client.expect("ACK", lambda tcp: tcp.ack == base + 4)
    client.send("PA", b"bbbbCCCC", seq=base)
    client.seq = base + 8
    assert client.read(8) == b"AAAACCCC"
    base = client.seq
    client.send("PA", b"2222", seq=base + 4)
    client.send("PA", b"xxxxxx", seq=base + 2)
    client.send("PA", b"1111", seq=base)
    client.seq = base + 8
    answer = client.read(8)
    assert answer[:2] == b"11" and answer[4:] in (b"2222", b"xxxx"), answer
    client.abort()


@case
def segments_out_of_order_and_twice_come_in_order_and_once(wire, host):
    client = echo_client(wire, host)
    text = bytes(range(256)) * 4
    base = client.seq
    for start in [*range(1000, -1, -8), *range(0, 1001, 8)]:
        client.send("PA", text[start : start + 24], seq=base + start)
    client.seq = (base + len(text)) & MASK
    assert client.read(len(text)) == text
    client.abort()


@case
def thousands_of_holes_are_bounded(wire, host):
    """One byte in two: each would be a block of its own for as long as the first is missing."""
    client = echo_client(wire, host)
    base = client.seq
    for start in range(1, 6001, 2):
        client.send("A", b"h", seq=base + start)
    wire.flush()
    wire.clear()
    # What is left of them comes after this one, or in it, depending on how much was held.
    client.write(b"f")
    assert client.read(1)[:1] == b"f"
    client.abort()


@case
def zero_window_is_probed_and_opens(wire, host):
    client = echo_client(wire, host)
    client.window = 0
    client.write(b"held back")
    probe = client.expect("probe or ACK", lambda tcp: tcp.ack == client.seq)
    client.send("A", window=0)
    # A probe has at most one byte beyond the window (RFC 9293 §3.8.6.1).
    probe = client.expect("probe", lambda tcp: "R" not in tcp.flags)
    assert len(raw(probe.payload)) <= 1, probe.summary()
    client.window = 64_240
    client.send("A")
    assert client.read(9) == b"held back"
    client.abort()


@case
def window_of_one_byte_makes_no_flood(wire, host):
    """Silly window avoidance (RFC 9293 §3.8.6.2.1)."""
    client = echo_client(wire, host)
    client.window = 1
    client.send("A")
    client.write(b"s" * 500)
    for _ in range(200):
        client.send("A", window=1)
    data = client.count(lambda tcp: len(raw(tcp.payload)) > 0)
    assert data <= 20, f"{data} segments into a window of one byte"
    client.window = 64_240
    client.send("A")
    assert client.read(500) == b"s" * 500
    client.abort()


@case
def window_that_shrinks_is_survived(wire, host):
    client = echo_client(wire, host)
    client.write(b"w" * 1000)
    client.expect("data", lambda tcp: raw(tcp.payload))
    for window in (10, 0, 3, 0):
        client.send("A", window=window)
    client.send("A")
    client.wire.clear()
    assert client.read(1000) == b"w" * 1000
    client.abort()


@case
def optimistic_acks_get_no_more_data(wire, host):
    """ACKs of data that was not sent (RFC 5681 §6) do not open the congestion window."""
    client = Client(wire, host, 19).connect()
    client.write(b"2000000\n")
    client.expect("data", lambda tcp: raw(tcp.payload))
    for step in range(1, 200):
        client.send("A", ack=client.ack + 1_000_000 + step)
    sent = sum(len(raw(p[TCP].payload)) for p in wire.kept if client.matches(p))
    assert sent < 1_000_000, f"{sent} bytes"
    client.send("R")
    wire.clear()


# ---- Ends ----


@case
def fin_before_its_data_waits(wire, host):
    client = echo_client(wire, host)
    client.send("FPA", b"last", seq=client.seq + 6)
    client.write(b"first ")
    client.seq += 5
    text = client.read(10)
    assert text == b"first last", text
    client.expect("FIN", lambda tcp: "F" in tcp.flags)
    client.ack += 1
    client.send("A")


@case
def data_after_fin_is_not_taken(wire, host):
    client = echo_client(wire, host)
    client.send("FA")
    client.seq += 1
    client.send("PA", b"too late")
    fin = client.expect("FIN", lambda tcp: "F" in tcp.flags)
    assert not raw(fin.payload)
    client.ack += 1
    client.send("A")
    client.quiet("an echo of what came after the FIN", lambda tcp: len(raw(tcp.payload)) > 0)


@case
def simultaneous_close(wire, host):
    client = Client(wire, host, 13).connect()
    assert client.read(8) == b"welcome\n"
    client.send("FA", ack=client.ack)
    client.expect("FIN", lambda tcp: "F" in tcp.flags)
    client.seq += 1
    client.ack += 1
    client.send("A")
    client.wire.flush()
    client.send("FA", seq=client.seq - 1)
    client.expect("ACK of the FIN again, or a RST", lambda tcp: tcp.flags in ("A", "R"))


@case
def new_syn_in_time_wait_reopens(wire, host):
    """RFC 9293 §3.10.7.4, RFC 6191: a client may use its port again at once."""
    client = Client(wire, host, 13).connect()
    assert client.read(8) == b"welcome\n"
    client.expect("FIN", lambda tcp: "F" in tcp.flags)
    client.ack += 1
    client.send("FA")
    client.expect("ACK of the FIN", lambda tcp: "A" in tcp.flags and tcp.ack == client.seq + 1)
    again = Client(wire, host, 13, isn=client.seq + 100_000, sport=client.sport).connect()
    assert again.read(8) == b"welcome\n"
    again.abort()


@case
def rst_in_time_wait_is_survived(wire, host):
    """RFC 1337: TIME-WAIT assassination."""
    client = Client(wire, host, 13).connect()
    client.read(8)
    client.expect("FIN", lambda tcp: "F" in tcp.flags)
    client.ack += 1
    client.send("FA")
    client.expect("ACK of the FIN", lambda tcp: tcp.ack == client.seq + 1)
    client.send("R", seq=client.seq + 1)
    client.send("R", seq=client.seq + 1000)
    client.send("A", b"old duplicate", seq=client.seq - 5)
    wire.flush()
    wire.clear()
