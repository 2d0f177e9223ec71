import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { QuicError, TransportErrorCode } from '../../../../src/quic/errors.ts';
import {
  OneRttKeys,
  type KeyLimits,
  type OpenResult,
} from '../../../../src/quic/protection/one-rtt-keys.ts';
import { CipherSuite } from '../../../../src/quic/protection/packet-keys.ts';
import { numberSizeOf, writeShortHeader } from '../../../../src/quic/wire/packet-header.ts';
import { writePacketNumber } from '../../../../src/quic/wire/packet-number.ts';

const SUITE = CipherSuite.AES_128_GCM_SHA256;
const NO_ID = new Uint8Array(0);
const PTO = 100;

/** One end: it numbers its packets, and knows the largest number received. */
class Role {
  readonly keys: OneRttKeys;
  #next = 0;
  #largest = -1;

  constructor(t: TestContext, write: number, read: number, limits?: KeyLimits) {
    this.keys = new OneRttKeys(limits);
    this.keys.installWrite(SUITE, new Uint8Array(32).fill(write));
    this.keys.installRead(SUITE, new Uint8Array(32).fill(read));
    t.after(() => this.keys[Symbol.dispose]());
  }

  seal(): Uint8Array {
    const bytes = new Uint8Array(40);
    const number = this.#next++;
    const numberAt = writeShortHeader(bytes, 0, 2, this.keys.writePhase, NO_ID);
    writePacketNumber(bytes, numberAt, number, 2);
    this.keys.seal(bytes, 0, numberAt, 2, 24, number);
    this.keys.protectHeaders();
    return bytes;
  }

  open(packet: Uint8Array, now = 0): OpenResult {
    const bytes = Uint8Array.from(packet);
    const number = this.keys.unprotect(bytes, 0, 1, bytes.length, this.#largest);
    assert.equal(numberSizeOf(bytes[0]!), 2);
    const result = this.keys.open(bytes, 0, 1, bytes.length, number, now, PTO);
    if (result === 'opened') this.#largest = Math.max(this.#largest, number);
    return result;
  }
}

function pair(t: TestContext, limits?: KeyLimits): { client: Role; server: Role } {
  const client = new Role(t, 1, 2, limits);
  const server = new Role(t, 2, 1, limits);
  for (const { keys } of [client, server]) keys.onConfirmed();
  return { client, server };
}

/** Sends a packet each way, acknowledged, and lets the old keys expire. */
function settle(client: Role, server: Role, first: number): void {
  assert.equal(server.open(client.seal()), 'opened');
  assert.equal(client.open(server.seal()), 'opened');
  for (const { keys } of [client, server]) {
    keys.onAcknowledged(first);
    keys.onTimeout(keys.nextTimeout() ?? 0);
  }
}

test('an update is followed by the other side, and packets flow both ways (§6.2)', (t) => {
  const { client, server } = pair(t);
  settle(client, server, 0);
  assert.equal(client.keys.initiateUpdate(), true);
  assert.equal(client.keys.writePhase, 1);
  assert.equal(server.open(client.seal()), 'opened');
  assert.equal(server.keys.writePhase, 1);
  assert.equal(client.open(server.seal()), 'opened');
  assert.deepEqual([client.keys.updates, server.keys.updates], [1, 1]);
});

test('both sides may update at once', (t) => {
  const { client, server } = pair(t);
  settle(client, server, 0);
  client.keys.initiateUpdate();
  server.keys.initiateUpdate();
  assert.equal(server.open(client.seal()), 'opened');
  assert.equal(client.open(server.seal()), 'opened');
  assert.deepEqual([client.keys.writePhase, server.keys.writePhase], [1, 1]);
  assert.deepEqual([client.keys.updates, server.keys.updates], [1, 1]);
});

test('packets from before an update open for three probe timeouts, and not after (§6.5)', (t) => {
  const { client, server } = pair(t);
  settle(client, server, 0);
  const [late, later] = [client.seal(), client.seal()];
  client.keys.initiateUpdate();
  assert.equal(server.open(client.seal(), 1000), 'opened');
  assert.equal(server.keys.nextTimeout(), 1000 + 3 * PTO);
  server.keys.onTimeout(1000 + 3 * PTO - 1);
  assert.equal(server.open(late, 1000), 'opened');
  server.keys.onTimeout(1000 + 3 * PTO);
  assert.equal(server.keys.nextTimeout(), undefined);
  assert.equal(server.open(later, 1000), 'dropped');
});

test('the side that updates reads packets of the old phase until the other follows', (t) => {
  const { client, server } = pair(t);
  settle(client, server, 0);
  const crossing = server.seal();
  client.keys.initiateUpdate();
  assert.equal(client.open(crossing), 'opened');
  assert.equal(client.keys.nextTimeout(), undefined);
});

test('an update waits for the handshake, for an acknowledgement and for the old keys to go (§6.1)', (t) => {
  const client = new Role(t, 1, 2);
  const server = new Role(t, 2, 1);
  server.keys.onConfirmed();
  settle(client, server, 0);
  assert.equal(client.keys.initiateUpdate(), false);
  client.keys.onConfirmed();
  assert.equal(client.keys.initiateUpdate(), true);
  assert.equal(client.keys.initiateUpdate(), false, 'nothing was sent in this phase');
  server.open(client.seal()); // number 1
  client.keys.onAcknowledged(0);
  client.open(server.seal(), 50);
  client.keys.onTimeout(50 + 3 * PTO);
  assert.equal(client.keys.initiateUpdate(), false, 'only the phase before was acknowledged');
  client.keys.onAcknowledged(1);
  assert.equal(client.keys.initiateUpdate(), true);
  assert.equal(server.open(client.seal(), 60), 'opened');
  assert.equal(server.keys.initiateUpdate(), false, 'the old keys are still there');
});

test('an update is due after so many packets', (t) => {
  const { client, server } = pair(t, { updateAfter: 3 });
  settle(client, server, 0);
  client.seal();
  assert.equal(client.keys.updateDue, false);
  client.seal();
  assert.equal(client.keys.updateDue, true);
  client.keys.initiateUpdate();
  assert.equal(client.keys.updateDue, false);
});

test('a hundred updates in turn', (t) => {
  const { client, server } = pair(t);
  settle(client, server, 0);
  for (let i = 1; i <= 100; i++) {
    const [one, two] = i % 3 === 0 ? [server, client] : [client, server];
    assert.equal(one.keys.initiateUpdate(), true);
    assert.equal(two.open(one.seal()), 'opened');
    assert.equal(one.open(two.seal()), 'opened');
    for (const { keys } of [client, server]) {
      keys.onAcknowledged(i);
      keys.onTimeout(keys.nextTimeout() ?? 0);
    }
  }
  assert.deepEqual([client.keys.updates, server.keys.updates], [100, 100]);
});

test('a second update before the first was followed is a KEY_UPDATE_ERROR (§6.2)', (t) => {
  const { server } = pair(t);
  const hasty = new Role(t, 1, 2);
  hasty.keys.onConfirmed();
  const updateAtOnce = (): void => {
    hasty.keys.onAcknowledged(Number.MAX_SAFE_INTEGER);
    hasty.keys.onTimeout(Infinity);
    assert.equal(hasty.keys.initiateUpdate(), true);
  };
  hasty.seal();
  updateAtOnce();
  assert.equal(server.open(hasty.seal()), 'opened');
  // The server has not sent anything since; what the peer takes for its answer is another's.
  const other = new Role(t, 2, 1);
  other.open(hasty.seal());
  hasty.open(other.seal());
  updateAtOnce();
  const result = server.open(hasty.seal());
  assert.ok(result instanceof QuicError);
  assert.equal(result.code, TransportErrorCode.KEY_UPDATE_ERROR);
});

test('a forged key phase changes nothing', (t) => {
  const { client, server } = pair(t);
  settle(client, server, 0);
  const packet = client.seal();
  const forged = Uint8Array.from(packet);
  forged[0]! ^= 0x04; // header protection covers the bit, and flips with it
  assert.equal(server.open(forged), 'dropped');
  assert.deepEqual([server.keys.updates, server.keys.nextTimeout()], [0, undefined]);
  assert.equal(server.open(packet), 'opened');
});

test('without keys nothing is opened, and sealing is a mistake of the caller', () => {
  using keys = new OneRttKeys();
  const bytes = new Uint8Array(64);
  assert.deepEqual([keys.canRead, keys.canWrite], [false, false]);
  assert.equal(keys.unprotect(bytes, 0, 1, 64, -1), -1);
  assert.equal(keys.prepareMasks(bytes, 1, 64, 64), 0);
  assert.equal(keys.open(bytes, 0, 1, 64, 0, 0, PTO), 'dropped');
  assert.throws(() => keys.seal(bytes, 0, 1, 2, 30, 0), TypeError);
  assert.equal(keys.exhausted, undefined);
});

test('keys that have sealed all but 16 of the packets that they may are exhausted until the next update (§6.6)', (t) => {
  const { client, server } = pair(t, { confidentiality: 20 });
  settle(client, server, 0);
  const exhausted = (): number | undefined => client.keys.exhausted?.code;
  for (let i = 1; i < 3; i++) client.seal();
  assert.equal(exhausted(), undefined);
  client.seal();
  assert.equal(exhausted(), TransportErrorCode.AEAD_LIMIT_REACHED);
  client.keys.initiateUpdate();
  assert.equal(exhausted(), undefined);
});

test('too many forged packets end the connection, keys before an update counted (§6.6)', (t) => {
  const { client, server } = pair(t, { integrity: 3 });
  settle(client, server, 0);
  const forge = (): OpenResult => {
    const packet = client.seal();
    packet[39]! ^= 1;
    return server.open(packet);
  };
  assert.equal(forge(), 'dropped');
  client.keys.initiateUpdate();
  assert.equal(server.open(client.seal()), 'opened');
  assert.equal(forge(), 'dropped');
  const last = forge();
  assert.ok(last instanceof QuicError);
  assert.equal(last.code, TransportErrorCode.AEAD_LIMIT_REACHED);
});
