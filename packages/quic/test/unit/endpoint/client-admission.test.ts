import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressBytes } from '@weir/base/ip';
import { TransportErrorCode } from '../../../src/errors.ts';
import {
  ClientAdmission,
  type Occupancy,
  type AdmissionVerdict,
  UsedTokens,
} from '../../../src/endpoint/client-admission.ts';
import { MAX_UNVALIDATED_HANDSHAKES, MAX_USED_TOKENS } from '../../../src/limits.ts';
import { initialKeys, isRetryAuthentic } from '../../../src/protection/initial-secrets.ts';
import {
  offersVersion,
  PacketHeader,
  PacketType,
  readPacketHeader,
  VERSION_1,
} from '../../../src/wire/packet-header.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';
import { numeric } from '../../../../../test/support/quic/endpoint/memory-network.ts';
import {
  clientInitial,
  type InitialOptions,
} from '../../../../../test/support/quic/endpoint/packets.ts';

const CLIENT = numeric('192.0.2.7', 4242);
const ID = Buffer.from('11223344556677', 'hex');
const CHOSEN = Buffer.concat([ID, Buffer.of(0x88)]);
const CLIENT_ID = new Uint8Array(8).fill(0xcc);
const EMPTY: Occupancy = {
  connections: 0,
  unvalidatedHandshakes: 0,
  isCrowded: false,
  hasVictim: false,
};
const CROWDED: Occupancy = {
  ...EMPTY,
  connections: MAX_UNVALIDATED_HANDSHAKES,
  unvalidatedHandshakes: MAX_UNVALIDATED_HANDSHAKES,
};
const MOST = 1000;

/** An admission, and what it writes. */
class Door implements Disposable {
  readonly admission = new ClientAdmission(new SeededRandom(7));
  readonly out = Buffer.alloc(2000);
  now = 0;

  judge(datagram: Uint8Array, occupancy = EMPTY, most = MOST, from = CLIENT): AdmissionVerdict {
    return this.admission.judge(
      datagram,
      0,
      datagram.length,
      from,
      occupancy,
      most,
      this.now,
      this.out,
    );
  }

  /** The response, with its header. */
  response(verdict: AdmissionVerdict): { packet: Buffer; header: PacketHeader } {
    assert.equal(verdict.kind, 'respond');
    assert.ok(verdict.kind === 'respond');
    const packet = Buffer.from(this.out.subarray(0, verdict.length));
    const header = new PacketHeader();
    assert.equal(readPacketHeader(packet, 0, packet.length, 8, header), undefined);
    return { packet, header };
  }

  [Symbol.dispose](): void {
    this.admission[Symbol.dispose]();
  }
}

const initial = (options: Partial<InitialOptions> = {}): Buffer =>
  clientInitial({ destinationId: CHOSEN, sourceId: CLIENT_ID, ...options });

const slice = (bytes: Uint8Array, at: number, size: number): Buffer =>
  Buffer.from(bytes.subarray(at, at + size));

/** The code of the CONNECTION_CLOSE that a refused client gets. */
function closeCode(packet: Buffer, header: PacketHeader, chosen: Uint8Array): number {
  assert.equal(header.type, PacketType.INITIAL);
  const keys = initialKeys(chosen, 'client');
  keys.sealer[Symbol.dispose]();
  using opener = keys.opener;
  const number = opener.unprotect(packet, 0, header.numberOffset, header.end, -1);
  assert.ok(opener.open(packet, 0, header.numberOffset, header.end, number));
  const frame = header.numberOffset + 4;
  assert.equal(packet[frame], 0x1c);
  return packet[frame + 1] as number;
}

test('a client gets a connection with the ids of its first packet', () => {
  using door = new Door();
  const verdict = door.judge(initial());
  assert.ok(verdict.kind === 'accept');
  assert.deepEqual(Buffer.from(verdict.originalId), CHOSEN);
  assert.deepEqual(Buffer.from(verdict.clientId), Buffer.from(CLIENT_ID));
  assert.equal(verdict.retrySourceId, undefined);
  assert.equal(verdict.isValidated, false);
});

test('the packet of a new client is not changed, so that its connection can open it', () => {
  using door = new Door();
  const packet = initial();
  const before = Buffer.from(packet);
  door.judge(packet);
  assert.deepEqual(packet, before);
});

test('an Initial packet in a datagram below 1,200 bytes is dropped (RFC 9000 §14.1)', () => {
  using door = new Door();
  assert.equal(door.judge(initial({ size: 1199 })).kind, 'drop');
});

test('an Initial packet to an id below 8 bytes is dropped (RFC 9000 §7.2)', () => {
  using door = new Door();
  assert.equal(door.judge(initial({ destinationId: ID })).kind, 'drop');
});

test('an Initial packet that is not authentic is dropped, in whichever byte it is wrong', () => {
  using door = new Door();
  for (const at of [6, 20, 100, 1199]) {
    const packet = initial();
    packet[at] = (packet[at] as number) ^ 1;
    assert.equal(door.judge(packet).kind, 'drop', `byte ${at}`);
  }
});

test('other long headers without a connection are dropped', () => {
  using door = new Door();
  for (const type of [PacketType.ZERO_RTT, PacketType.HANDSHAKE, PacketType.RETRY]) {
    const packet = initial();
    packet[0] = 0xc0 | (type << 4);
    assert.equal(door.judge(packet).kind, 'drop', `type ${type}`);
  }
});

test('another version gets version negotiation, with the ids exchanged (RFC 9000 §6.1)', () => {
  using door = new Door();
  const packet = initial();
  packet.writeUInt32BE(0xface_b00c, 1);
  const { packet: response, header } = door.response(door.judge(packet));
  assert.equal(header.type, PacketType.VERSION_NEGOTIATION);
  assert.ok(offersVersion(response, header, VERSION_1));
  assert.deepEqual(slice(response, header.destinationIdOffset, 8), Buffer.from(CLIENT_ID));
  assert.deepEqual(slice(response, header.sourceIdOffset, 8), CHOSEN);
  assert.ok(response.length < packet.length);
});

test('a version negotiation packet, and another version below 1,200 bytes, get nothing', () => {
  using door = new Door();
  const negotiation = initial();
  negotiation.writeUInt32BE(0, 1);
  assert.equal(door.judge(negotiation).kind, 'drop');
  const short = initial({ size: 1199 });
  short.writeUInt32BE(2, 1);
  assert.equal(door.judge(short).kind, 'drop');
});

test('ids of another version may have 255 bytes (RFC 8999 §5.1)', () => {
  using door = new Door();
  const packet = Buffer.alloc(1200, 7);
  packet[0] = 0xc0;
  packet.writeUInt32BE(0x0a0a_0a0a, 1);
  packet[5] = 255;
  packet[6 + 255] = 255;
  const { packet: response, header } = door.response(door.judge(packet));
  assert.equal(header.destinationIdSize, 255);
  assert.equal(header.sourceIdSize, 255);
  assert.ok(response.length < packet.length);
});

test('when handshakes pile up, a client gets a Retry packet, and is accepted with its token', () => {
  using door = new Door();
  const { packet: response, header } = door.response(door.judge(initial(), CROWDED));
  assert.equal(header.type, PacketType.RETRY);
  assert.ok(isRetryAuthentic(response, 0, response.length, CHOSEN));
  assert.deepEqual(slice(response, header.destinationIdOffset, 8), Buffer.from(CLIENT_ID));
  const retryId = slice(response, header.sourceIdOffset, header.sourceIdSize);
  const token = slice(response, header.tokenOffset, header.tokenSize);

  const verdict = door.judge(initial({ destinationId: retryId, token }), CROWDED);
  assert.ok(verdict.kind === 'accept');
  assert.deepEqual(Buffer.from(verdict.originalId), CHOSEN);
  assert.deepEqual(Buffer.from(verdict.retrySourceId ?? []), retryId);
  assert.equal(verdict.isValidated, true);
});

test('a Retry token for another address, another id, or too old, is refused with INVALID_TOKEN', () => {
  using door = new Door();
  const { packet: response, header } = door.response(door.judge(initial(), CROWDED));
  const retryId = slice(response, header.sourceIdOffset, header.sourceIdSize);
  const token = slice(response, header.tokenOffset, header.tokenSize);
  const again = initial({ destinationId: retryId, token });
  const refused = (verdict: AdmissionVerdict, chosen: Uint8Array): void => {
    const refusal = door.response(verdict);
    const code = closeCode(refusal.packet, refusal.header, chosen);
    assert.equal(code, TransportErrorCode.INVALID_TOKEN);
  };
  refused(door.judge(again, EMPTY, MOST, numeric('192.0.2.8', 4242)), retryId);
  refused(door.judge(again, EMPTY, MOST, numeric('192.0.2.7', 4243)), retryId);
  refused(door.judge(initial({ token })), CHOSEN);
  door.now += 10_001;
  refused(door.judge(again), retryId);
});

test('a token of NEW_TOKEN validates the address, and a wrong one counts as no token', () => {
  using door = new Door();
  const token = door.admission.tokens.newToken(addressBytes(CLIENT), 0);
  const verdict = door.judge(initial({ token }), CROWDED);
  assert.ok(verdict.kind === 'accept');
  assert.equal(verdict.isValidated, true);
  for (const wrong of [Buffer.alloc(100, 1), token.subarray(1)]) {
    const unvalidated = door.judge(initial({ token: wrong }));
    assert.ok(unvalidated.kind === 'accept');
    assert.equal(unvalidated.isValidated, false);
    const { header } = door.response(door.judge(initial({ token: wrong }), CROWDED));
    assert.equal(header.type, PacketType.RETRY);
  }
});

test('beyond the most connections a client is refused with CONNECTION_REFUSED', () => {
  using door = new Door();
  const { packet, header } = door.response(door.judge(initial(), EMPTY, 0));
  assert.equal(closeCode(packet, header, CHOSEN), TransportErrorCode.CONNECTION_REFUSED);
  assert.deepEqual(slice(packet, header.destinationIdOffset, 8), Buffer.from(CLIENT_ID));
  assert.ok(packet.length < 100);
});

test('garbage is not refused either, but dropped', () => {
  using door = new Door();
  const packet = initial();
  packet[700] = (packet[700] as number) ^ 1;
  assert.equal(door.judge(packet, EMPTY, 0).kind, 'drop');
});

test('with too many clients that are not known, and none that gives way, further ones get nothing', () => {
  using door = new Door();
  assert.equal(door.judge(initial(), { ...CROWDED, isCrowded: true }).kind, 'drop');
});

for (const most of [1, 2, 3, 16, 200, 4096]) {
  test(`forged addresses take a quarter of ${most} connections at most`, () => {
    using door = new Door();
    const unvalidated = Math.min(MAX_UNVALIDATED_HANDSHAKES, Math.floor(most / 4));
    const occupancy = { ...EMPTY, connections: unvalidated, unvalidatedHandshakes: unvalidated };
    const { header } = door.response(door.judge(initial(), occupancy, most));
    assert.equal(header.type, PacketType.RETRY);
    if (unvalidated === 0) return;
    const before = { ...occupancy, unvalidatedHandshakes: unvalidated - 1 };
    assert.equal(door.judge(initial(), before, most).kind, 'accept');
  });
}

test('a client gets the place of another one when its address is validated, and not before', () => {
  using door = new Door();
  for (const occupancy of [
    { ...EMPTY, connections: MOST, hasVictim: true },
    { ...EMPTY, isCrowded: true, hasVictim: true },
  ]) {
    const { packet, header } = door.response(door.judge(initial(), occupancy));
    assert.equal(header.type, PacketType.RETRY);
    const destinationId = slice(packet, header.sourceIdOffset, header.sourceIdSize);
    const token = slice(packet, header.tokenOffset, header.tokenSize);
    const verdict = door.judge(initial({ destinationId, token }), occupancy);
    assert.ok(verdict.kind === 'accept' && verdict.isValidated);
  }
});

test('RFC 9000 §8.1.4: a token of NEW_TOKEN validates an address once', () => {
  using door = new Door();
  const tokens = [0, 1].map((now) => door.admission.tokens.newToken(addressBytes(CLIENT), now));
  const isValidated = (token: Uint8Array | undefined, flip = false): boolean | undefined => {
    const packet = initial({ token: token ?? new Uint8Array() });
    if (flip) packet[700] = (packet[700] as number) ^ 1;
    const verdict = door.judge(packet);
    return verdict.kind === 'accept' ? verdict.isValidated : undefined;
  };
  door.now = 1;
  assert.equal(
    isValidated(tokens[0], true),
    undefined,
    'a packet that is not authentic uses nothing',
  );
  assert.equal(isValidated(tokens[0]), true);
  assert.equal(isValidated(tokens[0]), false);
  assert.equal(isValidated(tokens[1]), true);
  // In a crowd, a client with a used token validates its address with a Retry packet.
  const again = door.judge(initial({ token: tokens[1] as Uint8Array }), CROWDED);
  assert.equal(door.response(again).header.type, PacketType.RETRY);
});

test('used tokens are remembered within bounds, the newest for sure', () => {
  const used = new UsedTokens();
  const tokenOf = (number: number): Buffer => {
    const token = Buffer.alloc(64);
    token.writeUInt32BE(number, 20);
    return token;
  };
  const COUNT = 3 * MAX_USED_TOKENS;
  for (let i = 0; i < COUNT; i++) used.add(tokenOf(i), 8);
  let remembered = 0;
  for (let i = 0; i < COUNT; i++) if (used.has(tokenOf(i), 8)) remembered++;
  assert.ok(remembered >= MAX_USED_TOKENS && remembered <= 2 * MAX_USED_TOKENS);
  assert.ok(used.has(tokenOf(COUNT - 1), 8));
});

test('no bytes make it throw, and what is no client gets nothing', () => {
  using door = new Door();
  const random = new SeededRandom(99);
  for (let i = 0; i < 3000; i++) {
    const packet = i % 3 === 0 ? random.bytes(1200) : initial();
    for (let flips = random.below(6); flips > 0; flips--) {
      packet[random.below(i % 2 === 0 ? 40 : packet.length)] = random.below(256);
    }
    const verdict = door.judge(packet.subarray(0, 1200 - (i % 5 === 0 ? random.below(1200) : 0)));
    if (verdict.kind === 'respond') assert.ok(verdict.length < packet.length);
  }
});
