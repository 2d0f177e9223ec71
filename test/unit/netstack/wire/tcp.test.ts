import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writePartialChecksum, packetPseudoSum } from '../../../../src/netstack/wire/ip-packet.ts';
import {
  readTcpSegment,
  sequenceLength,
  TcpFlag,
  TcpSegment,
  tcpHeaderSize,
  type TcpFault,
} from '../../../../src/netstack/wire/tcp.ts';
import {
  endpoint,
  IPV6,
  parsed,
  pattern,
  segment,
  tcpPacket,
  transportPacket,
} from '../../../support/data/ip-packets.ts';

const { FIN, SYN, RST, PSH, ACK, URG, ECE, CWR } = TcpFlag;
const NONE = new Uint8Array(0);

function read(bytes: Uint8Array, checksumVouched = false): TcpSegment {
  const into = new TcpSegment();
  assert.equal(readTcpSegment(parsed(bytes), checksumVouched, into), undefined);
  return into;
}

const fault = (bytes: Uint8Array, checksumVouched = false): TcpFault | undefined =>
  readTcpSegment(parsed(bytes), checksumVouched, new TcpSegment());

const SHAPES: readonly (readonly [name: string, fields: Partial<TcpSegment>, header: number])[] = [
  ['an ACK', { flags: ACK, sequence: 0xffffffff, acknowledgment: 1, window: 65_535 }, 20],
  ['data', { flags: ACK | PSH, sequence: 0x80000000, acknowledgment: 0x7fffffff }, 20],
  ['urgent data', { flags: ACK | URG, urgent: 0xabcd }, 20],
  ['a SYN without options', { flags: SYN }, 20],
  [
    'a SYN with all options',
    {
      flags: SYN,
      mss: 1460,
      windowScale: 7,
      sackPermitted: true,
      hasTimestamps: true,
      timestamp: 0xdeadbeef,
    },
    40,
  ],
  [
    'a SYN-ACK without timestamps',
    { flags: SYN | ACK, mss: 65_495, windowScale: 0, sackPermitted: true },
    32,
  ],
  ['timestamps', { flags: ACK, hasTimestamps: true, timestamp: 1, timestampEcho: 2 ** 32 - 1 }, 32],
  ['ECN', { flags: ACK | ECE | CWR }, 20],
  ['a FIN', { flags: FIN | ACK }, 20],
  ['a reset', { flags: RST }, 20],
];

for (const [name, fields, header] of SHAPES) {
  test(`${name} is read as it was written`, () => {
    for (const parts of [{}, IPV6]) {
      const sent = segment(fields);
      assert.equal(tcpHeaderSize(sent), header);
      const got = read(tcpPacket(sent, pattern(9), parts));
      assert.deepEqual(got.bytes.subarray(got.payload, got.payloadEnd), pattern(9));
      // Where the payload lies is known of segments that were read alone.
      sent.bytes = got.bytes;
      sent.payload = got.payload;
      sent.payloadEnd = got.payloadEnd;
      assert.deepEqual(got, sent);
    }
  });
}

test('SACK blocks are read as they were written, as many as there is room for', () => {
  const edges = Uint32Array.of(10, 20, 0xfffffff0, 5, 100, 200, 300, 400);
  for (const [hasTimestamps, room] of [
    [false, 4],
    [true, 3],
  ] as const) {
    for (let count = 1; count <= 4; count++) {
      const sent = segment({ flags: ACK, hasTimestamps, sackCount: count });
      sent.sackBlocks.set(edges);
      const got = read(tcpPacket(sent));
      assert.equal(got.sackCount, Math.min(room, count));
      const written = got.sackBlocks.subarray(0, 2 * got.sackCount);
      assert.deepEqual(written, edges.subarray(0, 2 * got.sackCount));
    }
  }
});

test('a reused record keeps nothing of the segment before', () => {
  const into = new TcpSegment();
  const all = segment({
    flags: SYN,
    mss: 1,
    windowScale: 2,
    sackPermitted: true,
    hasTimestamps: true,
  });
  readTcpSegment(parsed(tcpPacket(all)), false, into);
  const sack = segment({ flags: ACK, sackCount: 1 });
  readTcpSegment(parsed(tcpPacket(sack)), false, into);
  readTcpSegment(parsed(tcpPacket(segment({ flags: ACK }))), false, into);
  assert.deepEqual(
    [into.mss, into.windowScale, into.sackPermitted, into.hasTimestamps, into.sackCount],
    [0, -1, false, false, 0],
  );
});

/** A segment with options as they stand, padded to a multiple of 4 bytes. */
function withOptions(
  flags: number,
  options: readonly number[],
  payload: readonly number[] = [],
): Uint8Array {
  const padded = [...options, ...Array.from({ length: -options.length & 3 }, () => 0)];
  const bytes = new Uint8Array(20 + padded.length + payload.length);
  bytes.set([0x9c, 0x40, 1, 0xbb]);
  bytes[12] = ((20 + padded.length) / 4) << 4;
  bytes[13] = flags;
  bytes.set(padded, 20);
  bytes.set(payload, 20 + padded.length);
  return transportPacket(6, bytes, 16);
}

test('unknown options, and known ones of a wrong length, are skipped', () => {
  const got = read(
    withOptions(
      SYN,
      [30, 4, 1, 2, 2, 3, 9, 3, 4, 1, 1, 8, 6, 0, 0, 0, 0, 5, 3, 0, 1, 2, 4, 5, 0xb4],
    ),
  );
  assert.equal(got.mss, 1460);
  assert.equal(got.windowScale, -1);
  assert.equal(got.hasTimestamps, false);
  assert.equal(got.sackCount, 0);
});

test('behind a length that cannot be, no option is read', () => {
  for (const broken of [[30, 0], [30, 1], [30, 200], [30]]) {
    const got = read(
      withOptions(SYN, [3, 3, 9, 1, ...broken, ...(broken.length > 1 ? [2, 4, 5, 0xb4] : [])]),
    );
    assert.equal(got.windowScale, 9);
    assert.equal(got.mss, 0);
  }
});

test('behind the end of the options there is nothing', () => {
  for (const end of [[0], [0, 2]]) {
    assert.equal(read(withOptions(SYN, [...end, 2, 4, 5, 0xb4])).mss, 0);
  }
});

test('an option of a wrong length or an unknown kind does not replace one before it', () => {
  const valid = [2, 4, 5, 0xb4, 3, 3, 7, 1];
  for (const option of [
    [30, 4, 1, 2],
    [30, 3, 9, 1],
    [2, 3, 9, 1],
    [2, 6, 0, 9, 0, 9],
    [3, 4, 9, 9],
    [3, 2, 1, 1],
  ]) {
    const got = read(withOptions(SYN, [...valid, ...option]));
    assert.deepEqual([got.mss, got.windowScale, got.sackPermitted], [1460, 7, false]);
  }
  for (const option of [
    [4, 3, 1, 1],
    [4, 4, 1, 1],
    [30, 2, 1, 1],
  ]) {
    assert.equal(read(withOptions(SYN, option)).sackPermitted, false);
  }
});

test('the last option may end with the header', () => {
  assert.equal(read(withOptions(SYN, [1, 1, 4, 2])).sackPermitted, true);
  assert.equal(read(withOptions(SYN, [2, 4, 5, 0xb4])).mss, 1460);
});

test('an option that does not end within the header is not read from the payload', () => {
  for (const [options, payload] of [
    [
      [1, 1, 2, 4],
      [5, 0xb4],
    ],
    [
      [1, 1, 1, 2],
      [4, 5, 0xb4],
    ],
    [
      [1, 1, 1, 1],
      [2, 4, 5, 0xb4],
    ],
    [
      [1, 3, 3, 7, 1, 1, 3, 3],
      [9, 0],
    ],
  ] as const) {
    const got = read(withOptions(SYN, options, payload));
    assert.equal(got.mss, 0);
    assert.equal(got.windowScale, options.length > 4 ? 7 : -1);
    assert.deepEqual([...got.bytes.subarray(got.payload, got.payloadEnd)], payload);
  }
});

test('timestamps are read alone, and after other options', () => {
  const timestamps = [8, 10, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 9];
  for (const options of [
    [1, 1, ...timestamps],
    [...timestamps, 1, 1],
    [1, ...timestamps, 1],
    [30, 4, 0, 0, 1, 1, ...timestamps],
  ]) {
    const got = read(withOptions(ACK, options));
    assert.deepEqual(
      [got.hasTimestamps, got.timestamp, got.timestampEcho],
      [true, 0xdeadbeef, 9],
      options.join(),
    );
  }
});

test('a window scale above 14 counts as 14', () => {
  assert.equal(read(withOptions(SYN, [3, 3, 200])).windowScale, 14);
});

test('options of a handshake are ignored behind it', () => {
  const got = read(withOptions(ACK, [2, 4, 5, 0xb4, 3, 3, 7, 4, 2]));
  assert.deepEqual([got.mss, got.windowScale, got.sackPermitted], [0, -1, false]);
});

test('flags that no state sends are dropped', () => {
  const invalid = [0, SYN | RST, SYN | FIN, FIN, RST | FIN, SYN | FIN | ACK, SYN | RST | ACK];
  for (const flags of [...invalid, PSH | URG, FIN | PSH | URG, 0xff]) {
    assert.equal(fault(tcpPacket(segment({ flags }))), 'tcp flags', flags.toString(2));
  }
  const valid = [SYN, SYN | ACK, SYN | ECE | CWR, ACK, FIN | ACK, RST, RST | ACK, ACK | PSH | URG];
  for (const flags of valid) assert.equal(fault(tcpPacket(segment({ flags }))), undefined);
});

test('a header that does not fit is dropped', () => {
  const bytes = tcpPacket(segment({ flags: ACK }));
  for (const [offset, reason] of [
    [4, 'tcp data offset'],
    [0, 'tcp data offset'],
    [6, 'tcp data offset'],
    [15, 'tcp data offset'],
  ] as const) {
    const changed = bytes.slice();
    changed[32] = offset << 4;
    assert.equal(fault(changed), reason);
  }
  assert.equal(fault(transportPacket(6, new Uint8Array(19), 16)), 'tcp truncated');
});

test('a bad checksum is dropped unless the device vouches for it', () => {
  for (const parts of [{}, IPV6]) {
    const bytes = tcpPacket(segment({ flags: ACK }), pattern(100), parts);
    for (const at of [bytes.length - 1, bytes.length - 110, bytes.length - 105]) {
      const changed = bytes.slice();
      changed[at] = (changed[at] ?? 0) ^ 0x10;
      assert.equal(fault(changed), 'tcp checksum');
    }
    const partial = bytes.slice();
    const packet = parsed(partial);
    writePartialChecksum(partial, packet.payload + 16, packetPseudoSum(packet, 120));
    assert.equal(fault(partial), 'tcp checksum');
    assert.equal(fault(partial, true), undefined);
  }
});

test('ports of zero and groups are dropped', () => {
  assert.equal(fault(tcpPacket(segment({ flags: SYN, sourcePort: 0 }))), 'tcp port zero');
  assert.equal(fault(tcpPacket(segment({ flags: SYN, destinationPort: 0 }))), 'tcp port zero');
  const destination = endpoint('224.0.0.1', 80);
  assert.equal(fault(tcpPacket(segment({ flags: SYN }), NONE, { destination })), 'tcp to group');
});

test('the endpoints of the packet have the ports', () => {
  const packet = parsed(tcpPacket(segment({ flags: ACK })));
  assert.equal(packet.source.port, 0);
  readTcpSegment(packet, false, new TcpSegment());
  assert.equal(packet.source.port, 40_000);
  assert.equal(packet.destination.port, 443);
});

test('SYN and FIN take a sequence number each', () => {
  assert.equal(sequenceLength(ACK, 100), 100);
  assert.equal(sequenceLength(SYN, 0), 1);
  assert.equal(sequenceLength(FIN | ACK, 10), 11);
});
