import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { AddressTokens, ResetTokens, type TokenClaim } from '../../../src/protection/tokens.ts';
import { PeerConnectionIds } from '../../../src/path/connection-ids.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';

const V4 = Uint8Array.of(192, 0, 2, 1);
const V6 = new Uint8Array(16).fill(0x20);
const ORIGINAL = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const SOURCE = Uint8Array.of(9, 9);

const open = (
  tokens: AddressTokens,
  token: Uint8Array,
  { address = V4, port = 4000, now = 1000 }: { address?: Uint8Array; port?: number; now?: number },
): TokenClaim | undefined => {
  const around = Buffer.concat([Buffer.alloc(5), token, Buffer.alloc(5)]);
  return tokens.open(around, 5, token.length, address, port, now);
};

test('a Retry token gives back the connection ids, for its address, port and ten seconds', () => {
  using tokens = new AddressTokens(new SeededRandom(1));
  for (const address of [V4, V6]) {
    const token = tokens.retryToken(address, 4000, ORIGINAL, SOURCE, 1000);
    const valid = { kind: 'retry', originalId: ORIGINAL, retrySourceId: SOURCE };
    assert.deepEqual(open(tokens, token, { address }), valid);
    assert.deepEqual(open(tokens, token, { address, now: 11_000 }), valid);
    const invalid = { kind: 'invalid-retry' };
    assert.deepEqual(open(tokens, token, { address, now: 11_001 }), invalid);
    assert.deepEqual(open(tokens, token, { address, now: 999 }), invalid);
    assert.deepEqual(open(tokens, token, { address, port: 4001 }), invalid);
    assert.deepEqual(open(tokens, token, { address: address === V4 ? V6 : V4 }), invalid);
    assert.deepEqual(open(tokens, token, { address: address.map((byte) => byte ^ 1) }), invalid);
  }
});

test('a token of NEW_TOKEN is valid for its address from any port, for an hour', () => {
  using tokens = new AddressTokens(new SeededRandom(2));
  const token = tokens.newToken(V6, 1000);
  assert.deepEqual(open(tokens, token, { address: V6, port: 1 }), { kind: 'new-token' });
  assert.equal(open(tokens, token, { address: V6, now: 3_601_001 }), undefined);
  assert.equal(open(tokens, token, { address: V4 }), undefined);
  assert.notDeepEqual(tokens.newToken(V6, 1000), token);
});

test('tokens with connection ids of every length survive', () => {
  using tokens = new AddressTokens(new SeededRandom(3));
  const id = fc.uint8Array({ maxLength: 20 });
  fc.assert(
    fc.property(id, id, (originalId, retrySourceId) => {
      const token = tokens.retryToken(V6, 65_535, originalId, retrySourceId, 1000);
      assert.deepEqual(open(tokens, token, { address: V6, port: 65_535 }), {
        kind: 'retry',
        originalId,
        retrySourceId,
      });
    }),
  );
});

test('changed tokens and those of another process are unknown', () => {
  using tokens = new AddressTokens(new SeededRandom(4));
  using others = new AddressTokens(new SeededRandom(5));
  const token = tokens.retryToken(V4, 4000, ORIGINAL, SOURCE, 1000);
  assert.equal(open(others, token, {}), undefined);
  for (let i = 0; i < token.length; i++) {
    const changed = Uint8Array.from(token);
    changed[i]! ^= 1;
    assert.equal(open(tokens, changed, {}), undefined);
    assert.equal(open(tokens, token.subarray(0, i), {}), undefined);
  }
});

test('reset tokens depend on the connection id and on the key', () => {
  const [one, two] = [new ResetTokens(new SeededRandom(6)), new ResetTokens(new SeededRandom(7))];
  const token = one.tokenFor(ORIGINAL);
  assert.equal(token.length, 16);
  assert.deepEqual(one.tokenFor(ORIGINAL), token);
  assert.notDeepEqual(one.tokenFor(SOURCE), token);
  assert.notDeepEqual(two.tokenFor(ORIGINAL), token);
});

test('a stateless reset is known by its last 16 bytes, in a datagram of 21 bytes at least', () => {
  const token = new Uint8Array(16).fill(7);
  const ids = new PeerConnectionIds(ORIGINAL);
  const datagram = Buffer.concat([Buffer.alloc(8, 0x41), token, Buffer.alloc(3)]);
  assert.equal(ids.isStatelessReset(datagram, 0, 24), false, 'there is no token yet');
  ids.setFirst(ORIGINAL, token);
  assert.equal(ids.isStatelessReset(datagram, 0, 24), true);
  assert.equal(ids.isStatelessReset(datagram, 3, 21), true);
  assert.equal(ids.isStatelessReset(datagram, 4, 20), false);
  assert.equal(ids.isStatelessReset(datagram, 0, 23), false);
  assert.equal(ids.isStatelessReset(datagram, 0, 10), false);
});
