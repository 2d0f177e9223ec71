import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSameAddress, type IpEndpoint } from '../../../../src/ip/ip-endpoint.ts';
import {
  IcmpErrorLimit,
  icmpErrorSize,
  mayCauseError,
  writeIcmpError,
  type IcmpError,
} from '../../../../src/netstack/ip/icmp-replies.ts';
import { IcmpMessage, IcmpQuote, readIcmp, readQuote } from '../../../../src/netstack/wire/icmp.ts';
import type { IpPacket } from '../../../../src/netstack/wire/ip-packet.ts';
import {
  amid,
  CLIENT4,
  CLIENT6,
  endpoint,
  IPV6,
  ipPacket,
  parsed,
  pattern,
  SERVER4,
  SERVER6,
  segment,
  tcpPacket,
  transportPacket,
  udpPacket,
  type PacketParts,
} from '../../../support/data/ip-packets.ts';

const VERSIONS: readonly PacketParts[] = [{}, IPV6];
const isV6 = (parts: PacketParts): boolean => parts === IPV6;

function icmpPacket(parts: PacketParts, type: number, code: number, body: Uint8Array): Uint8Array {
  const message = Uint8Array.of(type, code, 0, 0, ...body);
  return transportPacket(isV6(parts) ? 58 : 1, message, 2, parts);
}

function readMessage(packet: IpPacket): IcmpMessage {
  const message = new IcmpMessage();
  assert.equal(readIcmp(packet, false, message), undefined);
  return message;
}

const ECHO = Uint8Array.of(0x12, 0x34, 0, 9, ...pattern(1000));

/** The error about `cause`, as its sender reads it. */
function errorAbout(error: IcmpError, cause: IpPacket, mtu = 0): [IcmpMessage, IcmpQuote] {
  const bytes = new Uint8Array(icmpErrorSize(cause));
  assert.equal(writeIcmpError(error, cause, cause.destination, mtu, bytes, 0), bytes.length);
  const packet = parsed(bytes);
  assert.ok(isSameAddress(packet.destination, cause.source));
  assert.equal(mayCauseError(packet), false);
  const message = readMessage(packet);
  const quote = new IcmpQuote();
  assert.equal(readQuote(message, quote), true);
  return [message, quote];
}

test('errors have the type, code and parameter of their version', () => {
  const expected: Record<IcmpError, readonly [v4: string, v6: string]> = {
    'no route': ['3 0 unreachable', '1 0 unreachable'],
    'host unreachable': ['3 1 unreachable', '1 3 unreachable'],
    'protocol unreachable': ['3 2 unreachable', '4 1 parameter problem'],
    'port unreachable': ['3 3 unreachable', '1 4 unreachable'],
    prohibited: ['3 13 unreachable', '1 1 unreachable'],
    'too big': ['3 4 too big', '2 0 too big'],
    'hop limit': ['11 0 time exceeded', '3 0 time exceeded'],
    reassembly: ['11 1 time exceeded', '3 1 time exceeded'],
  };
  for (const error of Object.keys(expected) as IcmpError[]) {
    for (const [index, parts] of VERSIONS.entries()) {
      const cause = parsed(udpPacket(pattern(100), parts));
      const [{ type, code, kind, mtu }] = errorAbout(error, cause, 1400);
      assert.equal(`${type} ${code} ${kind}`, expected[error][index]);
      assert.equal(mtu, error === 'too big' ? 1400 : 0);
    }
  }
});

test('the pointer of an unknown protocol is the field that names it', () => {
  const extensions = Uint8Array.of(200, 0, 1, 4, 0, 0, 0, 0);
  const cause = parsed(ipPacket(200, pattern(50), { ...IPV6, extensions, nextHeader: 60 }));
  const [{ bytes, start }] = errorAbout('protocol unreachable', cause);
  assert.deepEqual([...bytes.subarray(start + 4, start + 8)], [0, 0, 0, 40]);
});

test('an error quotes what caused it, as much as it may', () => {
  for (const [parts, most] of [
    [{}, 576],
    [IPV6, 1280],
  ] as const) {
    const sent = segment({ flags: 0x10, sequence: 0xcafebabe });
    for (const size of [0, 100, 3000]) {
      const cause = parsed(tcpPacket(sent, pattern(size), parts));
      const [message, quote] = errorAbout('port unreachable', cause);
      assert.ok(message.end <= most);
      if (size === 3000) assert.equal(message.end, most);
      assert.equal(quote.protocol, 6);
      assert.equal(quote.sequence, 0xcafebabe);
      assert.equal(quote.size, cause.end);
      assert.equal(quote.source.port, 40_000);
      assert.equal(quote.destination.port, 443);
      assert.ok(isSameAddress(quote.source, cause.source));
      assert.ok(isSameAddress(quote.destination, cause.destination));
    }
  }
});

test('errors, groups and later fragments cause no error', () => {
  assert.equal(mayCauseError(parsed(udpPacket(pattern(8)))), true);
  for (const parts of VERSIONS) {
    const [unreachable, echo] = isV6(parts) ? [1, 128] : [3, 8];
    const body = Uint8Array.of(0, 0, 0, 0, ...udpPacket(pattern(8), parts));
    assert.equal(mayCauseError(parsed(icmpPacket(parts, unreachable, 3, body))), false);
    assert.equal(mayCauseError(parsed(icmpPacket(parts, echo, 0, ECHO))), true);
    // Types that are not known may be errors.
    assert.equal(mayCauseError(parsed(icmpPacket(parts, 99, 0, ECHO))), false);
    assert.equal(
      mayCauseError(parsed(ipPacket(isV6(parts) ? 58 : 1, new Uint8Array(0), parts))),
      false,
    );
  }
  const toGroup = { destination: endpoint('224.0.0.1', 9) };
  assert.equal(mayCauseError(parsed(udpPacket(pattern(8), toGroup))), false);
  const later = parsed(udpPacket(pattern(8)));
  later.fragmentOffset = 8;
  assert.equal(mayCauseError(later), false);
});

test('what causes an error is told by the protocol, and by what is in the packet', () => {
  // UDP from a low port: its first byte is not a type of ICMP.
  const low = { source: { ...CLIENT4, port: 53 } };
  assert.equal(mayCauseError(parsed(udpPacket(pattern(8), low))), true);
  const low6 = { ...IPV6, source: { ...CLIENT6, port: 53 } };
  assert.equal(mayCauseError(parsed(udpPacket(pattern(8), low6))), true);
  for (const parts of VERSIONS) {
    // Without a type: what follows in memory is none.
    const empty = ipPacket(isV6(parts) ? 58 : 1, new Uint8Array(0), parts);
    const echo = Uint8Array.of(isV6(parts) ? 128 : 8);
    assert.equal(mayCauseError(parsed(amid(empty, 0, echo))), false);
    assert.equal(mayCauseError(parsed(ipPacket(isV6(parts) ? 58 : 1, echo, parts))), true);
  }
});

test('an error is written at any place, about a packet at any place', () => {
  for (const parts of VERSIONS) {
    const bytes = udpPacket(pattern(100), parts);
    const cause = parsed(amid(bytes, 7, 5), 7);
    const size = icmpErrorSize(cause);
    assert.equal(size, (isV6(parts) ? 40 : 20) + 8 + bytes.length);
    const into = amid(new Uint8Array(size).fill(0xa5), 13, 9);
    const from = isV6(parts) ? SERVER6 : SERVER4;
    assert.equal(writeIcmpError('no route', cause, from, 0, into, 13), size);
    const packet = parsed(into, 13);
    assert.equal(packet.end, 13 + size);
    const message = readMessage(packet);
    assert.deepEqual(into.slice(message.payload, message.end), bytes);
    assert.equal(
      into.subarray(13 + size).every((byte) => byte === 0xa5),
      true,
    );
    // RFC 1812 §4.3.2.5: internetwork control; an error may be fragmented on its way.
    assert.equal(packet.trafficClass, isV6(parts) ? 0 : 0xc0);
    assert.equal(packet.dontFragment, isV6(parts));
  }
});

test('the second word of an error is 0 but for an MTU and a pointer', () => {
  const secondWord = (error: IcmpError, parts: PacketParts, mtu: number): number => {
    const cause = parsed(amid(udpPacket(pattern(8), parts), 7, 5), 7);
    const bytes = new Uint8Array(icmpErrorSize(cause));
    writeIcmpError(error, cause, cause.destination, mtu, bytes, 0);
    return new DataView(bytes.buffer).getUint32(isV6(parts) ? 44 : 24);
  };
  assert.equal(secondWord('protocol unreachable', {}, 1400), 0);
  assert.equal(secondWord('protocol unreachable', IPV6, 1400), 6);
  for (const parts of VERSIONS) {
    assert.equal(secondWord('port unreachable', parts, 1400), 0);
    assert.equal(secondWord('too big', parts, 1400), 1400);
  }
  assert.equal(secondWord('too big', {}, 70_000), 0xffff);
  assert.equal(secondWord('too big', IPV6, 70_000), 70_000);
});

test('an error that the total forbids is not counted for its address', () => {
  const limit = new IcmpErrorLimit(1);
  const toMany = (index: number): IpEndpoint => ({ ...CLIENT6, d: index });
  for (let index = 0; index < 5000; index++) limit.take(toMany(index), 0);
  for (let count = 0; count < 500; count++) assert.equal(limit.take(CLIENT4, 0), false);
  let granted = 0;
  for (let count = 0; count < 500; count++) if (limit.take(CLIENT4, 100)) granted++;
  assert.equal(granted, 100, 'all that the total has again');
});

test('errors are limited to one address and in total', () => {
  const limit = new IcmpErrorLimit(1);
  const taken = (
    count: number,
    now: number,
    to: (index: number) => IpEndpoint = () => CLIENT4,
  ): number => {
    let granted = 0;
    for (let index = 0; index < count; index++) if (limit.take(to(index), now)) granted++;
    return granted;
  };
  assert.equal(taken(1000, 0), 200);
  assert.equal(
    taken(10, 0, () => SERVER4),
    10,
  );
  // A tenth of a second later 20 more to this address, 100 more in total.
  assert.equal(taken(1000, 100), 20);
  const toMany = (index: number): IpEndpoint => ({ ...CLIENT6, d: index });
  assert.equal(taken(5000, 100, toMany), 1000 - 200 - 10 + 100 - 20);
  assert.equal(taken(5000, 10_000, toMany), 1000);
});
