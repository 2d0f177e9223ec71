import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addressText } from '../../../../src/ip/ip-endpoint.ts';
import { IcmpMessage, IcmpQuote, readIcmp, readQuote } from '../../../../src/netstack/wire/icmp.ts';
import {
  amid,
  endpoint,
  IPV6,
  ipPacket,
  parsed,
  segment,
  tcpPacket,
  transportPacket,
  udpPacket,
  type PacketParts,
} from '../../../support/data/ip-packets.ts';

const BEFORE = 9;

/** From a router to another address than that of the packets quoted, so that one is not taken for the other. */
const FROM_ROUTER = { source: endpoint('203.0.113.9'), destination: endpoint('192.0.2.9') };
const FROM_ROUTER_6 = { source: endpoint('2001:db8:9::9'), destination: endpoint('2001:db8::8') };

/**
 * An ICMP message from a router, in the version of `parts`, the checksum right, in memory that goes on around it.
 */
function inMemory(parts: PacketParts, bytes: readonly number[]): Uint8Array {
  const [protocol, outer] = parts === IPV6 ? [58, FROM_ROUTER_6] : [1, FROM_ROUTER];
  return amid(transportPacket(protocol, Uint8Array.from(bytes), 2, outer), BEFORE, 20);
}

/** One record for all messages, as in the stack: nothing of the one before may remain. */
const message = new IcmpMessage();

function read(parts: PacketParts, bytes: readonly number[]): IcmpMessage {
  const memory = inMemory(parts, bytes);
  assert.equal(readIcmp(parsed(memory, BEFORE), false, message), undefined);
  assert.equal(message.bytes, memory);
  const start = BEFORE + (parts === IPV6 ? 40 : 20);
  assert.equal(message.start, start);
  assert.equal(message.payload, start + 8);
  assert.equal(message.end, start + bytes.length);
  assert.equal(message.version, parts === IPV6 ? 6 : 4);
  assert.deepEqual([message.type, message.code], bytes.slice(0, 2));
  return message;
}

const REST = [0x12, 0x34, 0x56, 0x78] as const;
const NOTHING = { identifier: 0, sequence: 0, mtu: 0 };
const ECHO = { identifier: 0x1234, sequence: 0x5678, mtu: 0 };

describe('an ICMP message', () => {
  for (const [name, parts, types] of [
    [
      'IPv4 has the types of RFC 792, and the MTU of RFC 1191',
      {},
      [
        [8, 0, 'echo request', ECHO],
        [3, 0, 'unreachable', NOTHING],
        [3, 3, 'unreachable', NOTHING],
        [0, 0, 'echo reply', ECHO],
        [3, 4, 'too big', { ...NOTHING, mtu: 0x5678 }],
        [11, 0, 'time exceeded', NOTHING],
        [12, 0, 'parameter problem', NOTHING],
        [5, 1, 'other', NOTHING],
        [129, 0, 'other', NOTHING],
      ],
    ],
    [
      'IPv6 has the types of RFC 4443',
      IPV6,
      [
        [128, 0, 'echo request', ECHO],
        [1, 4, 'unreachable', NOTHING],
        [129, 0, 'echo reply', ECHO],
        [2, 0, 'too big', { ...NOTHING, mtu: 0x12345678 }],
        [3, 0, 'time exceeded', NOTHING],
        [4, 1, 'parameter problem', NOTHING],
        [135, 0, 'other', NOTHING],
        [8, 0, 'other', NOTHING],
      ],
    ],
  ] as const) {
    test(`of ${name}`, () => {
      for (const [type, code, kind, fields] of types) {
        const found = read(parts, [type, code, 0, 0, ...REST, 1, 2, 3]);
        assert.equal(found.kind, kind, `${type} ${code}`);
        const { identifier, sequence, mtu } = found;
        assert.deepEqual({ identifier, sequence, mtu }, fields, `${type} ${code}`);
      }
    });
  }
});

const TCP_QUOTE = tcpPacket(segment({ flags: 0x10, sequence: 0xcafebabe })).subarray(0, 28);
const UDP_QUOTE = udpPacket(new Uint8Array(0));
const UDP6_QUOTE = udpPacket(new Uint8Array(0), IPV6);
const FIRST_FRAGMENT = udpPacket(new Uint8Array(8), {
  ...IPV6,
  extensions: Uint8Array.of(17, 0, 0, 1, 0, 0, 0, 1),
  nextHeader: 44,
});

/** Reads what an error of the version of `parts` quotes. */
function quoted(parts: PacketParts, quote: Uint8Array, record = new IcmpQuote()): boolean {
  const type = parts === IPV6 ? 1 : 3;
  return readQuote(read(parts, [type, 1, 0, 0, 0, 0, 0, 0, ...quote]), record);
}

/** The fields of a quote in one line. */
function show({ version, protocol, source, destination, sequence, size }: IcmpQuote): string {
  const from = `${addressText(source)} ${source.port}`;
  const to = `${addressText(destination)} ${destination.port}`;
  return `IPv${version} protocol ${protocol}, ${from} to ${to}, sequence ${sequence}, ${size} bytes`;
}

describe('what an ICMP error quotes', () => {
  test('is read from the header and its first 8 bytes, in one record', () => {
    const record = new IcmpQuote();
    for (const [parts, quote, expected] of [
      [
        {},
        TCP_QUOTE,
        'IPv4 protocol 6, 192.0.2.1 40000 to 198.51.100.2 443, sequence 3405691582, 40 bytes',
      ],
      // Ports of the packet quoted before are not those of this one.
      [
        {},
        ipPacket(47, new Uint8Array(8).fill(9)),
        'IPv4 protocol 47, 192.0.2.1 0 to 198.51.100.2 0, sequence 0, 28 bytes',
      ],
      [
        IPV6,
        UDP6_QUOTE,
        'IPv6 protocol 17, 2001:db8::1 40000 to 2001:db8:1::2 443, sequence 0, 48 bytes',
      ],
      [
        {},
        UDP_QUOTE,
        'IPv4 protocol 17, 192.0.2.1 40000 to 198.51.100.2 443, sequence 0, 28 bytes',
      ],
      [
        IPV6,
        FIRST_FRAGMENT,
        'IPv6 protocol 17, 2001:db8::1 40000 to 2001:db8:1::2 443, sequence 0, 64 bytes',
      ],
      [
        IPV6,
        ipPacket(58, new Uint8Array(8).fill(9), IPV6),
        'IPv6 protocol 58, 2001:db8::1 0 to 2001:db8:1::2 0, sequence 0, 48 bytes',
      ],
    ] as const) {
      assert.equal(quoted(parts, quote, record), true);
      assert.equal(show(record), expected);
    }
  });

  test('may have IPv4 options', () => {
    const record = new IcmpQuote();
    const quote = Uint8Array.of(
      0x46,
      ...UDP_QUOTE.subarray(1, 20),
      1,
      1,
      1,
      0,
      ...UDP_QUOTE.subarray(20),
    );
    assert.equal(quoted({}, quote, record), true);
    assert.equal(record.source.port, 40_000);
  });

  test('is not read when a byte of the header, or of the 8 that follow, is missing', () => {
    for (const [parts, quote] of [
      [{}, UDP_QUOTE],
      [IPV6, UDP6_QUOTE],
      [IPV6, FIRST_FRAGMENT.subarray(0, 56)],
    ] as const) {
      assert.equal(quoted(parts, quote), true);
      for (let size = 0; size < quote.length; size++) {
        assert.equal(quoted(parts, quote.subarray(0, size)), false, `${size} bytes`);
      }
    }
  });

  test('is not read with an IPv4 header of less than 20 bytes', () => {
    const quote = Uint8Array.from([...UDP_QUOTE, ...new Uint8Array(8)]);
    quote[0] = 0x44;
    assert.equal(quoted({}, quote), false);
  });

  test('is not read of a fragment other than the first, which has no ports', () => {
    for (const [first, second] of [
      [0x20, 0],
      [0x40, 0],
    ] as const) {
      const quote = UDP_QUOTE.slice();
      quote.set([first, second], 6);
      assert.equal(quoted({}, quote), true);
    }
    for (const [first, second] of [
      [0x20, 1],
      [0x10, 0],
      [0, 1],
    ] as const) {
      const quote = UDP_QUOTE.slice();
      quote.set([first, second], 6);
      assert.equal(quoted({}, quote), false);
    }
    for (const [flags, isFirst] of [
      [[0, 1], true],
      [[0, 7], true],
      [[0, 9], false],
      [[0, 8], false],
      [[0x80, 1], false],
    ] as const) {
      const extensions = Uint8Array.of(17, 0, ...flags, 0, 0, 0, 1);
      const quote = udpPacket(new Uint8Array(8), { ...IPV6, extensions, nextHeader: 44 });
      assert.equal(quoted(IPV6, quote), isFirst, flags.join());
    }
  });

  test('is a packet of the version of the error', () => {
    assert.equal(quoted({}, UDP6_QUOTE), false);
    assert.equal(quoted(IPV6, Uint8Array.from([...UDP_QUOTE, ...new Uint8Array(40)])), false);
  });
});
