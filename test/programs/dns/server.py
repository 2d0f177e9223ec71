"""A DNS server whose first label says how hostile it is: server.py ADDRESS PORT. UDP and TCP."""

import socket
import socketserver
import sys
import threading

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

HONEST = "203.0.113.7"
FORGED = "198.51.100.66"
LONG = 3600


def reply(query, *records, rcode=dns.rcode.NOERROR):
    response = dns.message.make_response(query, recursion_available=True)
    response.set_rcode(rcode)
    for name, kind, data in records:
        response.answer.append(dns.rrset.from_text(name, LONG, "IN", kind, data))
    return response


def wire(message):
    return message.to_wire(max_size=65_535)


def honest(query):
    return wire(reply(query, (query.question[0].name, "A", HONEST)))


def forged(query):
    return reply(query, (query.question[0].name, "A", FORGED))


def question_end(data):
    """The offset behind the question."""
    at = 12
    while data[at] != 0:
        at += 1 + data[at]
    return at + 5


def with_answer(query, name, rdata, kind=1, length=None, count=1):
    """A response whose answers are raw bytes."""
    data = bytearray(honest(query))
    data = data[: question_end(data)]
    data[6:12] = count.to_bytes(2, "big") + bytes(4)
    size = len(rdata) if length is None else length
    record = name + kind.to_bytes(2, "big") + b"\0\x01\0\0\x0e\x10" + size.to_bytes(2, "big") + rdata
    return bytes(data + record * min(count, 4000))


def wrong_id(query):
    message = forged(query)
    message.id = (query.id + 1) & 0xFFFF
    return [wire(message), honest(query)]


def every_other_id(query):
    message = bytearray(wire(forged(query)))
    guesses = []
    for number in range(500):
        message[0:2] = ((query.id + 1 + number) & 0xFFFF).to_bytes(2, "big")
        guesses.append(bytes(message))
    return [*guesses, honest(query)]


def wrong_question(query):
    other = dns.message.make_query("victim.hostile.test", "A")
    other.id = query.id
    return [wire(reply(other, ("victim.hostile.test.", "A", FORGED))), honest(query)]


def wrong_type(query):
    other = dns.message.make_query(query.question[0].name, "TXT")
    other.id = query.id
    return [wire(reply(other)), honest(query)]


def no_question(query):
    message = forged(query)
    message.question.clear()
    return [wire(message), honest(query)]


def not_a_response(query):
    message = forged(query)
    message.flags &= ~dns.flags.QR
    return [wire(message), honest(query)]


def garbage(query):
    return [b"", b"\0", b"\xff" * 12, bytes(11), b"\xff" * 1400, honest(query)]


def other_opcode(query):
    message = forged(query)
    message.set_opcode(4)
    return [wire(message), honest(query)]


def cname(query, target):
    return reply(query, (query.question[0].name, "CNAME", target))


def cname_chain(query, length):
    name = query.question[0].name
    records = []
    for number in range(length):
        target = dns.name.from_text(f"{number}.chain.test.")
        records.append((name, "CNAME", str(target)))
        name = target
    return wire(reply(query, *records, (name, "A", HONEST)))


def cname_circle(query):
    name = query.question[0].name
    message = cname(query, "a.circle.test.")
    for start, end in (("a.circle.test.", "b.circle.test."), ("b.circle.test.", str(name))):
        message.answer.append(dns.rrset.from_text(start, LONG, "IN", "CNAME", end))
    return wire(message)


def poisoned(query):
    """Records of a name that was not asked for, in all sections."""
    message = reply(query, (query.question[0].name, "A", HONEST))
    for section in (message.answer, message.authority, message.additional):
        section.append(dns.rrset.from_text("victim.hostile.test.", LONG, "IN", "A", FORGED))
    return wire(message)


def truncated(query):
    message = dns.message.make_response(query)
    message.flags |= dns.flags.TC
    return wire(message)


def mixed_case(query):
    message = honest(query)
    name = message[12 : question_end(message) - 5]
    return message.replace(name, name.swapcase(), 1)


def many_records(query, count):
    name = query.question[0].name
    addresses = [f"203.0.{number >> 8}.{number & 255}" for number in range(count)]
    message = reply(query)
    message.answer.append(dns.rrset.from_text(name, LONG, "IN", "A", *addresses))
    return wire(message)


POINTER = b"\xc0\x0c"
# By the first label; a list is sent in order, in one go.
CASES = {
    "victim": honest,
    "honest": honest,
    "wrong-id": wrong_id,
    "every-other-id": every_other_id,
    "wrong-question": wrong_question,
    "wrong-type": wrong_type,
    "no-question": no_question,
    "not-a-response": not_a_response,
    "garbage": garbage,
    "other-opcode": other_opcode,
    "mixed-case": mixed_case,
    "poisoned": poisoned,
    "truncated": truncated,
    "truncated-twice": truncated,
    "name-loop": lambda q: with_answer(q, b"\xc0" + bytes([question_end(honest(q))]), b"\xcb\0\x71\x07"),
    "name-forward": lambda q: with_answer(q, b"\xff\xff", b"\xcb\0\x71\x07"),
    "name-beyond": lambda q: with_answer(q, b"\x3f" + b"x" * 5, b""),
    "name-of-reserved-bits": lambda q: with_answer(q, b"\x80\x0c", b"\xcb\0\x71\x07"),
    "name-too-long": lambda q: with_answer(q, (b"\x3f" + b"x" * 63) * 5 + b"\0", b"\xcb\0\x71\x07"),
    "short-address": lambda q: with_answer(q, POINTER, b"\xcb\0\x71"),
    "long-address": lambda q: with_answer(q, POINTER, b"\xcb\0\x71\x07\x07"),
    "length-beyond": lambda q: with_answer(q, POINTER, b"\xcb\0\x71\x07", length=65_535),
    "count-beyond": lambda q: with_answer(q, POINTER, b"\xcb\0\x71\x07", count=1)[:6]
    + b"\xff\xff" + with_answer(q, POINTER, b"\xcb\0\x71\x07", count=1)[8:],
    "unknown-kind": lambda q: with_answer(q, POINTER, bytes(100), kind=65_280),
    "alias-to-itself": lambda q: wire(cname(q, str(q.question[0].name))),
    "alias-circle": cname_circle,
    "alias-loop-in-rdata": lambda q: with_answer(
        q, POINTER, b"\xc0" + bytes([question_end(honest(q)) + 12]), kind=5
    ),
    "alias-chain-5": lambda q: cname_chain(q, 5),
    "alias-chain-200": lambda q: cname_chain(q, 200),
    "records-60": lambda q: many_records(q, 60),
    "records-900": truncated,
    "records-4000": truncated,
    "nothing": lambda q: [],
    "refused": lambda q: wire(reply(q, rcode=dns.rcode.REFUSED)),
    "no-such-name": lambda q: wire(reply(q, rcode=dns.rcode.NXDOMAIN)),
    "reserved-code": lambda q: wire(reply(q, rcode=15)),
}
# Over TCP, after a truncated response.
OVER_TCP = {
    "truncated": honest,
    "truncated-twice": truncated,
    "alias-chain-200": lambda q: cname_chain(q, 200),
    "records-900": lambda q: many_records(q, 900),
    "records-4000": lambda q: many_records(q, 4000),
}


def case_of(query):
    return query.question[0].name.labels[0].decode().lower()


class Stream(socketserver.BaseRequestHandler):
    def handle(self):
        stream = self.request.makefile("rb")
        while head := stream.read(2):
            query = dns.message.from_wire(stream.read(int.from_bytes(head, "big")))
            message = OVER_TCP.get(case_of(query), honest)(query)
            self.request.sendall(len(message).to_bytes(2, "big") + message)


def main(host, port):
    socketserver.ThreadingTCPServer.allow_reuse_address = True
    streams = socketserver.ThreadingTCPServer((host, port), Stream)
    threading.Thread(target=streams.serve_forever, daemon=True).start()
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind((host, port))
    other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    other.bind((host, 0))
    print("ready", flush=True)
    while True:
        data, client = datagrams.recvfrom(65_535)
        query = dns.message.from_wire(data)
        case = case_of(query)
        if case == "other-port":
            other.sendto(wire(forged(query)), client)
            datagrams.sendto(honest(query), client)
            continue
        messages = CASES[case](query)
        for message in messages if isinstance(messages, list) else [messages]:
            if len(message) > 1472:
                # As a server does: the rest by TCP.
                message = truncated(query)
            datagrams.sendto(message, client)


main(sys.argv[1], int(sys.argv[2]))
