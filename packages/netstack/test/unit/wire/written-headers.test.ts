import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { writePartialChecksum, writeTransportChecksum } from '../../../src/wire/ip-packet.ts';
import { emptyDatagram, readUdpDatagram, UdpDatagram } from '../../../src/wire/udp.ts';
import { rewriteIPv4Header } from '../../../src/wire/ipv4.ts';
import { writeIPv6Header } from '../../../src/wire/ipv6.ts';
import { TcpFlag, tcpHeaderSize, type TcpSegment, writeTcpHeader } from '../../../src/wire/tcp.ts';
import {
  CLIENT4,
  CLIENT6,
  parsed,
  segment,
  SERVER4,
  SERVER6,
  writtenOver,
} from '../../../../../test/support/data/ip-packets.ts';

/*
 * Headers are written into arenas, at any offset and over earlier packets. Bytes of IPv4 headers, and of SYNs, are
 * those that Linux 6 wrote to a TUN device for the same fields.
 */

const ADDRESSES_6 = '20010db800000000000000000000000120010db8000100000000000000000002';
const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'));

describe('an IPv4 header over other bytes', () => {
  test('becomes that of a packet of another length, which is not to be fragmented', () => {
    const written = writtenOver(20, (bytes, at) => {
      bytes.set(bytesOf('450005dc000100004006ffffc0000201c6336402'), at);
      rewriteIPv4Header(bytes, at, 20, 60, 0x8e67, 0, false, true);
    });
    assert.equal(written, '4500003c8e6740004006c01dc0000201c6336402');
  });

  test('keeps its options, which the checksum counts', () => {
    const written = writtenOver(24, (bytes, at) => {
      bytes.set(bytesOf('4600003c8e6740004006ffffc0000201c633640201010100'), at);
      rewriteIPv4Header(bytes, at, 24, 60, 0x8e67, 0, false, true);
    });
    // 0xc01d less the difference of the first byte, 0x0100, and the options, 0x0101 and 0x0100.
    assert.equal(written, '4600003c8e6740004006bd1cc0000201c633640201010100');
  });
});

describe('an IPv6 header over other bytes', () => {
  test('has version, traffic class and no flow label', () => {
    const written = writtenOver(40, (bytes, at) =>
      writeIPv6Header(bytes, at, CLIENT6, SERVER6, 17, 0x1234, 63, 0xb9),
    );
    assert.equal(written, `6b9000001234113f${ADDRESSES_6}`);
  });
});

describe('a UDP header over other bytes', () => {
  test('has a checksum that does not depend on what was in its place', () => {
    const written = writtenOver(8, (bytes, at) => {
      bytes.set(bytesOf('8b85003500081111'), at);
      writeTransportChecksum(bytes, at, at + 8, at + 6, 0x1234);
    });
    // ~(0x8b85 + 0x0035 + 0x0008 + 0x1234)
    assert.equal(written, '8b85003500086209');
  });
});

test('a partial checksum is the sum of the pseudo-header, for the device to complete', () => {
  const written = writtenOver(2, (bytes, at) => writePartialChecksum(bytes, at, 0x1234));
  assert.equal(written, '1234');
});

test('an empty datagram is a valid packet of either version', () => {
  for (const [from, to, expected] of [
    [CLIENT4, SERVER4, '4500001c0000000040118e9ac0000201c63364029c4001bb00080000'],
    [CLIENT6, SERVER6, `6000000000081140${ADDRESSES_6}9c4001bb00080000`],
  ] as const) {
    const bytes = emptyDatagram(from, to);
    assert.equal(Buffer.from(bytes).toString('hex'), expected);
    const datagram = new UdpDatagram();
    assert.equal(readUdpDatagram(parsed(bytes), true, datagram), undefined);
    assert.equal(datagram.payload, datagram.payloadEnd);
  }
});

const { SYN, ACK, PSH } = TcpFlag;
const PORTS = '9c4001bb';
/** All options, though a segment other than a SYN has no place for most. */
const ALL = {
  mss: 1460,
  windowScale: 10,
  sackPermitted: true,
  hasTimestamps: true,
  timestamp: 0x32b0c826,
  timestampEcho: 0x89abcdef,
};
const NO_TIMESTAMPS = { ...ALL, hasTimestamps: false };
const BLOCKS = ['0000000a', '00000014', 'fffffff0', '00000005', '00000064', '000000c8'];
const [SACK_1, SACK_2, SACK_3] = [2, 4, 6].map((edges) => BLOCKS.slice(0, edges).join(''));

/** What of `sackBlocks` is written is that of `BLOCKS`. */
function withBlocks(fields: Partial<TcpSegment>): TcpSegment {
  const written = segment(fields);
  written.sackBlocks.set(BLOCKS.map((edge) => Number.parseInt(edge, 16)));
  return written;
}

describe('a TCP header over other bytes', () => {
  for (const [name, fields, options] of [
    ['an ACK', { flags: ACK }, ''],
    ['a SYN without options', { flags: SYN }, ''],
    // The SYN of Linux, but for the echo.
    ['a SYN with all options', { ...ALL, flags: SYN }, '020405b40402080a32b0c82689abcdef0103030a'],
    ['a SYN without timestamps', { ...NO_TIMESTAMPS, flags: SYN }, '020405b4010104020103030a'],
    [
      'a SYN without SACK permitted',
      { ...ALL, sackPermitted: false, flags: SYN },
      '020405b40101080a32b0c82689abcdef0103030a',
    ],
    ['a SYN with the least scale alone', { flags: SYN, windowScale: 0 }, '01030300'],
    ['a SYN with SACK permitted alone', { flags: SYN, sackPermitted: true }, '01010402'],
    ['a SYN with a size alone', { flags: SYN | ACK, mss: 1 }, '02040001'],
    ['data, with timestamps alone', { ...ALL, flags: ACK | PSH }, '0101080a32b0c82689abcdef'],
    ['data, without any option of SYNs', { ...NO_TIMESTAMPS, flags: ACK | PSH }, ''],
    ['one SACK block', { flags: ACK, sackCount: 1 }, `0101050a${SACK_1}`],
    [
      'three SACK blocks of four beside timestamps',
      { ...ALL, flags: ACK, sackCount: 4 },
      `0101080a32b0c82689abcdef0101051a${SACK_3}`,
    ],
    [
      'two SACK blocks of four in a SYN',
      { ...ALL, flags: SYN, sackCount: 4 },
      `020405b40402080a32b0c82689abcdef0103030a01010512${SACK_2}`,
    ],
  ] as const) {
    test(`is that of ${name}`, () => {
      const header = withBlocks({
        ...fields,
        sequence: 0xcafebabe,
        acknowledgment: 0x01020304,
        window: 0xfaf0,
        urgent: 0x0506,
      });
      const size = 20 + options.length / 2;
      assert.equal(tcpHeaderSize(header), size);
      const written = writtenOver(size, (bytes, at) =>
        assert.equal(writeTcpHeader(header, bytes, at), size),
      );
      const offset = (size / 4).toString(16);
      const flags = fields.flags.toString(16).padStart(2, '0');
      const fixed = `${PORTS}cafebabe01020304${offset}0${flags}faf000000506`;
      assert.equal(written, fixed + options);
    });
  }

  test('of a cleared record has its ports alone', () => {
    const used = withBlocks({ ...ALL, flags: SYN, sequence: 1, acknowledgment: 2, sackCount: 2 });
    Object.assign(used, {
      window: 3,
      urgent: 4,
      payload: 5,
      payloadEnd: 6,
      bytes: new Uint8Array(6),
    });
    used.clear();
    const fresh = segment();
    fresh.sackBlocks.set(used.sackBlocks);
    assert.deepEqual(used, fresh);
  });
});
