import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  createStaticKeys,
  derive,
  Initiator,
  Responder,
  type StaticKeys,
} from '../../../../../src/protocols/wireguard/handshake/noise.ts';
import { X25519PrivateKey } from '@weir/crypto/x25519';
import { TransportSession } from '../../../../../src/protocols/wireguard/transport-session.ts';
import {
  HANDSHAKES,
  INITIATOR_INDEX,
  KDF_VECTORS,
  RESPONDER_INDEX,
  TIMESTAMP,
} from '../../../../../../../test/support/protocols/wireguard/vectors.ts';

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');
const filled = (octet: number): Uint8Array => new Uint8Array(32).fill(octet);
const publicOf = (octet: number): Uint8Array => new X25519PrivateKey(filled(octet)).publicKey;

function staticKeys(own: number, peer: number, presharedKey?: string): StaticKeys {
  const psk = presharedKey === undefined ? undefined : bytes(presharedKey);
  const made = createStaticKeys(filled(own), publicOf(peer), psk);
  assert.ok(made);
  return made;
}

/** Bytes of a handshake message without its codes. */
const withoutCodes = (message: Uint8Array): string =>
  Buffer.from(message.subarray(0, -32)).toString('hex');

describe('the key derivation', () => {
  test('is that of the reference', () => {
    for (const [key, input, ...outputs] of KDF_VECTORS) {
      const derived = derive(bytes(key), bytes(input), 3);
      assert.deepEqual(
        derived.map((part) => Buffer.from(part).toString('hex')),
        outputs,
      );
    }
  });
});

for (const vector of HANDSHAKES) {
  const { presharedKey, initiation, response } = vector;
  describe(`a handshake ${presharedKey === undefined ? 'without' : 'with'} a pre-shared key`, () => {
    const begin = (): Initiator =>
      new Initiator(staticKeys(0x11, 0x22, presharedKey), INITIATOR_INDEX, filled(0x33));
    const read = (message: Uint8Array): Responder | undefined =>
      Responder.read(staticKeys(0x22, 0x11, presharedKey), message);

    test('begins as the whitepaper says', () => {
      const message = begin().initiation(bytes(TIMESTAMP));
      assert.equal(withoutCodes(message), withoutCodes(bytes(initiation)));
    });

    test('is read and responded to as the whitepaper says', () => {
      const responder = read(bytes(initiation));
      assert.ok(responder);
      assert.equal(Buffer.from(responder.timestamp).toString('hex'), TIMESTAMP);
      assert.equal(responder.peerIndex, INITIATOR_INDEX);
      const responded = responder.respond(RESPONDER_INDEX, filled(0x44));
      assert.ok(responded);
      assert.equal(withoutCodes(responded.message), withoutCodes(bytes(response)));
      assert.deepEqual(responded.keys, {
        sending: bytes(vector.responders),
        receiving: bytes(vector.initiators),
      });
    });

    test('leads to the same keys on both sides', () => {
      const initiator = begin();
      initiator.initiation(bytes(TIMESTAMP));
      assert.deepEqual(initiator.accept(bytes(response)), {
        peerIndex: RESPONDER_INDEX,
        keys: { sending: bytes(vector.initiators), receiving: bytes(vector.responders) },
      });
    });

    test('leads to the data message of the whitepaper', () => {
      const keys = { sending: bytes(vector.initiators), receiving: bytes(vector.responders) };
      using session = new TransportSession(keys, {
        index: INITIATOR_INDEX,
        peerIndex: RESPONDER_INDEX,
        isInitiator: true,
        createdAt: 0,
      });
      const message = new Uint8Array(64);
      for (let counter = 0; counter <= 7; counter++) {
        message.set(
          Uint8Array.from({ length: 32 }, (_, at) => at),
          16,
        );
        assert.equal(session.seal(message, 0, 32), 64);
      }
      assert.equal(Buffer.from(message).toString('hex'), vector.data);
      assert.ok(
        keys.sending.every((octet) => octet === 0),
        'the keys are overwritten',
      );
      assert.ok(
        keys.receiving.every((octet) => octet === 0),
        'the keys are overwritten',
      );
    });

    test('is not completed by a changed response, and is by the genuine one after it', () => {
      const initiator = begin();
      initiator.initiation(bytes(TIMESTAMP));
      for (const at of [12, 30, 44, 59]) {
        const changed = bytes(response);
        changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
        assert.equal(initiator.accept(changed), undefined, `byte ${at}`);
      }
      assert.ok(initiator.accept(bytes(response)));
    });

    test('is not begun by a changed initiation', () => {
      for (const at of [8, 39, 40, 87, 88, 115]) {
        const changed = bytes(initiation);
        changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
        assert.equal(read(changed), undefined, `byte ${at}`);
      }
    });
  });
}

describe('an initiation', () => {
  test('of another key than the peer’s is rejected', () => {
    const other = new Initiator(staticKeys(0x55, 0x22), 1, filled(0x33));
    const message = other.initiation(bytes(TIMESTAMP));
    assert.equal(Responder.read(staticKeys(0x22, 0x11), message), undefined);
  });

  test('for another key is rejected', () => {
    const other = new Initiator(staticKeys(0x11, 0x55), 1, filled(0x33));
    const message = other.initiation(bytes(TIMESTAMP));
    assert.equal(Responder.read(staticKeys(0x22, 0x11), message), undefined);
  });

  test('overwrites the bytes of its ephemeral key', () => {
    const ephemeral = filled(0x33);
    const initiator = new Initiator(staticKeys(0x11, 0x22), 1, ephemeral);
    assert.deepEqual(ephemeral, filled(0));
    initiator.erase();
  });

  test('with an ephemeral key of low order is rejected', () => {
    const message = bytes(HANDSHAKES[0]?.initiation ?? '');
    message.fill(0, 8, 40);
    assert.equal(Responder.read(staticKeys(0x22, 0x11), message), undefined);
  });
});

test('a response with an ephemeral key of low order is rejected', () => {
  const initiator = new Initiator(staticKeys(0x11, 0x22), INITIATOR_INDEX, filled(0x33));
  initiator.initiation(bytes(TIMESTAMP));
  const message = bytes(HANDSHAKES[0]?.response ?? '').fill(0, 12, 44);
  assert.equal(initiator.accept(message), undefined);
});

test('a response with another pre-shared key is rejected', () => {
  const initiator = new Initiator(staticKeys(0x11, 0x22, '01'.repeat(32)), 1, filled(0x33));
  const message = initiator.initiation(bytes(TIMESTAMP));
  const responder = Responder.read(staticKeys(0x22, 0x11, '02'.repeat(32)), message);
  const responded = responder?.respond(2, filled(0x44));
  assert.ok(responded);
  assert.equal(initiator.accept(responded.message), undefined);
});

test('a public key of low order is rejected', () => {
  assert.equal(createStaticKeys(filled(1), new Uint8Array(32)), undefined);
});
