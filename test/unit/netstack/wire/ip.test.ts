import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressText, isSameAddress } from '../../../../src/ip/ip-endpoint.ts';
import { IpProtocol } from '../../../../src/netstack/wire/ip-packet.ts';
import {
  CLIENT4,
  CLIENT6,
  endpoint,
  ipFault,
  ipPacket,
  IPV6,
  parsed,
  pattern,
  repairIPv4Checksum,
  SERVER4,
  SERVER6,
} from '../../../support/data/ip-packets.ts';

const { UDP, TCP } = IpProtocol;
const DATA = pattern(32);

test('an IPv4 packet is read as it was written', () => {
  const bytes = ipPacket(UDP, DATA, {
    hopLimit: 3,
    trafficClass: 0xb9,
    identification: 0xbeef,
    dontFragment: true,
  });
  const packet = parsed(bytes);
  assert.equal(packet.version, 4);
  assert.equal(packet.protocol, UDP);
  assert.equal(packet.hopLimit, 3);
  assert.equal(packet.trafficClass, 0xb9);
  assert.equal(packet.identification, 0xbeef);
  assert.equal(packet.dontFragment, true);
  assert.equal(packet.isFragment, false);
  assert.equal(packet.toGroup, false);
  assert.equal(packet.payload, 20);
  assert.equal(packet.end, 52);
  assert.ok(isSameAddress(packet.source, CLIENT4));
  assert.ok(isSameAddress(packet.destination, SERVER4));
});

test('an IPv6 packet is read as it was written', () => {
  const packet = parsed(ipPacket(TCP, DATA, { ...IPV6, hopLimit: 255, trafficClass: 0xb9 }));
  assert.equal(packet.version, 6);
  assert.equal(packet.protocol, TCP);
  assert.equal(packet.hopLimit, 255);
  assert.equal(packet.trafficClass, 0xb9);
  assert.equal(packet.dontFragment, true);
  assert.equal(packet.payload, 40);
  assert.equal(packet.end, 72);
  assert.ok(isSameAddress(packet.source, CLIENT6));
  assert.ok(isSameAddress(packet.destination, SERVER6));
});

test('padding behind a packet is cut off', () => {
  for (const parts of [{}, IPV6]) {
    const bytes = ipPacket(UDP, DATA, parts);
    const padded = new Uint8Array(bytes.length + 18);
    padded.set(bytes, 5);
    assert.equal(parsed(padded, 5).end, 5 + bytes.length);
  }
});

test('a packet that lacks any of its bytes is dropped', () => {
  for (const parts of [{}, IPV6]) {
    const bytes = ipPacket(UDP, DATA, parts);
    for (let end = 0; end < bytes.length; end++) assert.ok(ipFault(bytes, end), String(end));
  }
});

test('IPv4 options are skipped', () => {
  const bytes = new Uint8Array(24 + DATA.length);
  bytes.set(ipPacket(UDP, DATA).subarray(0, 20));
  bytes.set([0x94, 4, 0, 0], 20);
  bytes.set(DATA, 24);
  bytes[0] = 0x46;
  bytes[3] = bytes.length;
  const packet = parsed(repairIPv4Checksum(bytes));
  assert.equal(packet.payload, 24);
  assert.equal(packet.end, bytes.length);
});

/** Changes the bytes of a valid IPv4 header, and makes its checksum right. */
function changed(changes: Record<number, number>): Uint8Array {
  const bytes = ipPacket(UDP, DATA);
  for (const [at, value] of Object.entries(changes)) bytes[Number(at)] = value;
  return repairIPv4Checksum(bytes);
}

test('an invalid IPv4 header is dropped with its reason', () => {
  assert.equal(ipFault(changed({ 0: 0x44 })), 'ipv4 header length');
  assert.equal(ipFault(changed({ 0: 0x4f })), 'ipv4 header length');
  assert.equal(ipFault(changed({ 3: 19 })), 'ipv4 total length');
  assert.equal(ipFault(changed({ 3: 53 })), 'ipv4 total length');
  assert.equal(ipFault(changed({ 8: 0 })), 'ipv4 ttl zero');
  assert.equal(ipFault(changed({ 0: 0x55 })), 'unknown version');
  const damaged = ipPacket(UDP, DATA);
  damaged[8] = 65;
  assert.equal(ipFault(damaged), 'ipv4 checksum');
});

test('IPv4 fragments that cannot be part of a packet are dropped', () => {
  // More to come, but not a multiple of 8 bytes.
  assert.equal(ipFault(changed({ 3: 51, 6: 0x20 })), 'ipv4 fragment');
  // Without data.
  assert.equal(ipFault(changed({ 3: 20, 6: 0x20 })), 'ipv4 fragment');
  // Beyond 65,535 bytes.
  assert.equal(ipFault(changed({ 6: 0x1f, 7: 0xff })), 'ipv4 fragment');
  assert.equal(parsed(changed({ 6: 0x20 })).isFragment, true);
  assert.equal(parsed(changed({ 6: 0x00, 7: 0x02 })).fragmentOffset, 16);
});

test('sources that are no host of a network are dropped', () => {
  const hosts = ['0.0.0.0', '0.1.2.3', '127.0.0.1', '127.9.9.9', '224.0.0.1', '239.1.1.1'];
  for (const host of [...hosts, '255.255.255.255']) {
    assert.equal(ipFault(ipPacket(UDP, DATA, { source: endpoint(host) })), 'ipv4 source', host);
  }
  for (const host of ['::', '::1', 'ff02::1', 'ff0e::1']) {
    const parts = { source: endpoint(host), destination: SERVER6 };
    assert.equal(ipFault(ipPacket(UDP, DATA, parts)), 'ipv6 source', host);
  }
});

test('destinations that are never on a wire are dropped', () => {
  for (const host of ['0.0.0.0', '127.0.0.1']) {
    const destination = endpoint(host);
    assert.equal(ipFault(ipPacket(UDP, DATA, { destination })), 'ipv4 destination', host);
  }
  for (const host of ['::', '::1']) {
    const parts = { source: CLIENT6, destination: endpoint(host) };
    assert.equal(ipFault(ipPacket(UDP, DATA, parts)), 'ipv6 destination', host);
  }
});

test('an IPv4-mapped address on the wire is not taken for an IPv4 endpoint', () => {
  const bytes = ipPacket(UDP, DATA, IPV6);
  bytes.fill(0, 8, 18);
  bytes.fill(0xff, 18, 20);
  assert.equal(ipFault(bytes), 'ipv6 source');
  const other = ipPacket(UDP, DATA, IPV6);
  other.fill(0, 24, 34);
  other.fill(0xff, 34, 36);
  assert.equal(ipFault(other), 'ipv6 destination');
});

test('a packet from its own destination is dropped', () => {
  const parts4 = { source: SERVER4, destination: SERVER4 };
  const parts6 = { source: SERVER6, destination: SERVER6 };
  assert.equal(ipFault(ipPacket(TCP, DATA, parts4)), 'ipv4 source is destination');
  assert.equal(ipFault(ipPacket(TCP, DATA, parts6)), 'ipv6 source is destination');
});

test('groups are recognised as destinations', () => {
  for (const host of ['224.0.0.251', '255.255.255.255']) {
    assert.equal(parsed(ipPacket(UDP, DATA, { destination: endpoint(host) })).toGroup, true, host);
  }
  const parts = { source: CLIENT6, destination: endpoint('ff02::fb') };
  assert.equal(parsed(ipPacket(UDP, DATA, parts)).toGroup, true);
  // Class E is not a group, and some networks use it.
  assert.equal(parsed(ipPacket(UDP, DATA, { destination: endpoint('240.0.0.1') })).toGroup, false);
});

const HOP_BY_HOP = 0;
const ROUTING = 43;
const FRAGMENT = 44;
const NO_NEXT = 59;
const DESTINATION = 60;

/** A chain of extension headers before UDP. */
function chain(...headers: readonly (readonly [type: number, ...body: number[]])[]): Uint8Array {
  const bytes: number[] = [];
  for (const [index, [, ...body]] of headers.entries()) {
    bytes.push(headers[index + 1]?.[0] ?? UDP, ...body);
  }
  const nextHeader = headers[0]?.[0] ?? UDP;
  return ipPacket(UDP, DATA, { ...IPV6, extensions: Uint8Array.from(bytes), nextHeader });
}

const PADDED = [0, 1, 4, 0, 0, 0, 0] as const;

test('IPv6 extension headers are walked to the transport header', () => {
  const bytes = chain(
    [HOP_BY_HOP, ...PADDED],
    [DESTINATION, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    // A routing header that has nothing left to say, and an atomic fragment (RFC 6946).
    [ROUTING, 0, 2, 0, 0, 0, 0, 0],
    [FRAGMENT, 0, 0, 0, 1, 2, 3, 4],
    [DESTINATION, ...PADDED],
  );
  const packet = parsed(bytes);
  assert.equal(packet.protocol, UDP);
  assert.equal(packet.isFragment, false);
  assert.deepEqual(bytes.subarray(packet.payload, packet.end), DATA);
  assert.equal(bytes[packet.protocolField], UDP);
});

test('a packet without next header has no transport', () => {
  const packet = parsed(ipPacket(NO_NEXT, DATA, IPV6));
  assert.equal(packet.protocol, NO_NEXT);
});

test('extension headers are bounded, and must be within the packet', () => {
  const eight = Array.from({ length: 8 }, () => [DESTINATION, ...PADDED] as const);
  assert.equal(ipFault(chain(...eight)), undefined);
  const nine = chain(...eight, [DESTINATION, ...PADDED]);
  assert.equal(ipFault(nine), 'ipv6 too many extension headers');
  assert.equal(ipFault(chain([DESTINATION, 200, 1, 4, 0, 0, 0, 0])), 'ipv6 extension header');
  // RFC 8200 §4.1: hop-by-hop options are first.
  const late = chain([DESTINATION, ...PADDED], [HOP_BY_HOP, ...PADDED]);
  assert.equal(ipFault(late), 'ipv6 extension header');
});

test('routing headers of type 0, and those to a further destination, are refused', () => {
  assert.equal(ipFault(chain([ROUTING, 0, 0, 0, 0, 0, 0, 0])), 'ipv6 routing header');
  assert.equal(ipFault(chain([ROUTING, 0, 4, 1, 0, 0, 0, 0])), 'ipv6 routing header');
});

test('unknown options are skipped or refused as their type demands', () => {
  // RFC 8200 §4.2: the two highest bits.
  assert.equal(ipFault(chain([DESTINATION, 0, 0x1e, 4, 0, 0, 0, 0])), undefined);
  for (const type of [0x5e, 0x9e, 0xde, 0xc2]) {
    assert.equal(
      ipFault(chain([DESTINATION, 0, type, 4, 0, 0, 0, 0])),
      'ipv6 option',
      String(type),
    );
  }
  // An option that reaches beyond its header; nine options without data.
  assert.equal(ipFault(chain([DESTINATION, 0, 0x1e, 5, 0, 0, 0, 0])), 'ipv6 option');
  const options = Array.from({ length: 9 }, () => [0x1e, 0]).flat();
  assert.equal(ipFault(chain([DESTINATION, 2, ...options, 1, 2, 0, 0])), 'ipv6 option');
});

test('IPv6 fragments that cannot be part of a packet are dropped', () => {
  const first = chain([FRAGMENT, 0, 0, 1, 0, 0, 0, 9]);
  assert.equal(parsed(first).isFragment, true);
  assert.equal(parsed(first).identification, 9);
  assert.equal(ipFault(chain([FRAGMENT, 0, 0xff, 0xf8, 0, 0, 0, 9])), 'ipv6 fragment');
  const odd = first.slice(0, -1);
  odd[5] = (odd[5] ?? 0) - 1;
  assert.equal(ipFault(odd), 'ipv6 fragment');
});

test('addresses are those of their text', () => {
  const packet = parsed(ipPacket(UDP, DATA, { source: endpoint('203.0.113.200') }));
  assert.equal(addressText(packet.source), '203.0.113.200');
  assert.equal(addressText(parsed(ipPacket(UDP, DATA, IPV6)).destination), '2001:db8:1::2');
});
