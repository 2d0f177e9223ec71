import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AddressTokens } from '../../../src/protection/tokens.ts';
import { writeRetryTag } from '../../../src/protection/initial-secrets.ts';
import { TransportErrorCode } from '../../../src/errors.ts';
import {
  type PacketHeader,
  writeRetry,
  writeVersionNegotiation,
} from '../../../src/wire/packet-header.ts';
import { forgeInitial } from '../../../../../test/support/quic/forge.ts';
import { CLIENT_ADDRESS, Pair, SERVER_ADDRESS } from '../../../../../test/support/quic/pair.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';

const RETRY_ID = Buffer.from('a1a2a3a4a5a6a7a8', 'hex');
const ADDRESS = Buffer.from([192, 0, 2, 1]);

const idsOf = (data: Uint8Array, header: PacketHeader): [Uint8Array, Uint8Array] => [
  data.slice(header.destinationIdOffset, header.destinationIdOffset + header.destinationIdSize),
  data.slice(header.sourceIdOffset, header.sourceIdOffset + header.sourceIdSize),
];

function retryPacket(data: Uint8Array, header: PacketHeader, token: Uint8Array): Uint8Array {
  const [originalId, clientId] = idsOf(data, header);
  const out = Buffer.alloc(300);
  const end = writeRetry(out, 0, clientId, RETRY_ID, token, 0);
  return out.subarray(0, writeRetryTag(out, 0, end, originalId));
}

/** A server that sends a Retry first, with the id that it then puts into its transport parameters. */
function retryingPair(): Pair {
  const tokens = new AddressTokens(new SeededRandom(7));
  return new Pair({
    delay: 10,
    answer: (data, header) => {
      const { tokenOffset, tokenSize } = header;
      if (tokenSize === 0) {
        const [originalId] = idsOf(data, header);
        const token = tokens.retryToken(ADDRESS, 40_000, originalId, RETRY_ID, 0);
        return retryPacket(data, header, token);
      }
      const claim = tokens.open(data, tokenOffset, tokenSize, ADDRESS, 40_000, 0);
      assert.ok(claim?.kind === 'retry');
      return { originalId: claim.originalId, retrySourceId: RETRY_ID, isValidated: true };
    },
  });
}

test('a client obeys a Retry, and both know its ids (RFC 9000 §7.3, §8.1.2)', () => {
  const pair = retryingPair().connect();
  assert.ok(pair.client.trace.some(({ kind }) => kind === 'retry'));
});

test('a client closes when the server denies its Retry (RFC 9000 §7.3)', () => {
  const pair = new Pair({
    delay: 10,
    answer: (data, header) => {
      if (header.tokenSize === 0) return retryPacket(data, header, Buffer.from('token'));
      const [destinationId] = idsOf(data, header);
      // As if there had been no Retry: keys of the new id, but the original id in the parameters.
      return { originalId: destinationId };
    },
  });
  pair.run(() => pair.client.connection.closeReason !== undefined);
  assert.equal(
    pair.client.connection.closeReason?.code,
    TransportErrorCode.TRANSPORT_PARAMETER_ERROR,
  );
});

test('a client ignores a second Retry, and one that is not authentic (RFC 9000 §17.2.5.2)', () => {
  let count = 0;
  const pair = new Pair({
    delay: 10,
    answer: (data, header) => {
      count++;
      if (count > 4) return {};
      const retry = retryPacket(data, header, Buffer.from('token'));
      if (count < 3) retry[retry.length - 1] = (retry.at(-1) ?? 0) ^ 1;
      return retry;
    },
  });
  pair.run(() => count > 4 && pair.hasServer);
  assert.equal(pair.client.trace.filter(({ kind }) => kind === 'retry').length, 1);
});

test('a client gives up when the server does not speak its version (RFC 9000 §6.2)', () => {
  const pair = new Pair({
    delay: 10,
    answer: (data, header) => {
      const [originalId, clientId] = idsOf(data, header);
      const out = Buffer.alloc(100);
      return out.subarray(0, writeVersionNegotiation(out, 0, clientId, originalId, [0xaabb], 0));
    },
  });
  pair.run(() => pair.client.connection.state === 'closed');
  assert.equal(pair.client.connection.closeReason?.kind, 'version');
});

test('a client ignores a version negotiation that lists its version, or comes later (RFC 9000 §6.2)', () => {
  const pair = new Pair({ delay: 10 });
  pair.flush();
  const [first] = pair.flying;
  assert.ok(first);
  const clientId = first.data.slice(15, 23);
  const originalId = first.data.slice(6, 14);
  const forge = (versions: readonly number[]): Uint8Array => {
    const out = Buffer.alloc(100);
    return out.subarray(0, writeVersionNegotiation(out, 0, clientId, originalId, versions, 0));
  };
  const arrive = (data: Uint8Array): void => {
    pair.arrive({ data, from: SERVER_ADDRESS, to: CLIENT_ADDRESS, ecn: 0 }, 'client');
  };
  arrive(forge([1, 2]));
  assert.equal(pair.client.connection.state, 'handshaking');
  pair.advance(20);
  arrive(forge([2]));
  pair.connect();
});

/** A server that has got the first datagram of a client, and what arrives when the client sends such an Initial packet. */
function initialAfter(frames: Uint8Array, sourceId?: Uint8Array): Pair {
  const pair = new Pair({ delay: 10 });
  pair.flush();
  const [first, ...others] = pair.flying;
  assert.ok(first);
  for (const datagram of [first, ...others]) pair.arrive(datagram, 'server');
  const data = forgeInitial(
    first.data.slice(6, 14),
    sourceId ?? first.data.slice(15, 23),
    50,
    frames,
  );
  pair.arrive({ ...first, data }, 'server');
  return pair;
}

const padded = (...bytes: readonly number[]): Buffer =>
  Buffer.concat([Buffer.from(bytes), Buffer.alloc(1200)]);

for (const [name, reason, frames, sourceId] of [
  ['in a datagram below 1,200 bytes (RFC 9000 §14.1)', 'small-initial', Buffer.alloc(100, 1)],
  ['with another source id (§7.2)', 'connection-id', padded(1), Buffer.from('anotherid')],
] as const) {
  test(`a server drops a client’s Initial packet ${name}`, () => {
    const pair = initialAfter(frames, sourceId);
    assert.equal(pair.server.dropped(reason), 1);
    assert.equal(pair.server.connection.closeReason, undefined);
    pair.connect();
  });
}

test('STREAM frames in an Initial packet close the connection (RFC 9000 §12.4)', () => {
  const { closeReason } = initialAfter(padded(0x0a, 0, 1, 1)).server.connection;
  assert.equal(closeReason?.code, TransportErrorCode.PROTOCOL_VIOLATION);
});

test('RFC 9000 §17.2.2: a server’s Initial packet with a token is discarded', () => {
  const pair = new Pair({ delay: 10 });
  pair.flush();
  const [first] = pair.flying;
  assert.ok(first);
  const keyId = first.data.slice(6, 14);
  const clientId = first.data.slice(15, 23);
  const frames = Buffer.alloc(1200, 1);
  for (const token of [Buffer.from('token'), Buffer.alloc(0)]) {
    const data = forgeInitial(clientId, Buffer.from('serverid'), 50, frames, { keyId, token });
    pair.arrive({ ...first, data, from: SERVER_ADDRESS }, 'client');
  }
  assert.equal(pair.client.dropped('token'), 1);
  assert.equal(pair.client.dropped('authentication'), 0);
  assert.equal(pair.client.connection.statistics().packetsReceived, 1, 'the one without a token');
});

test('a server gives a token, and the client passes it on (RFC 9000 §8.1.3)', () => {
  const token = Buffer.from('a token for the next time');
  const pair = new Pair({
    delay: 10,
    serverOptions: { makeToken: () => token },
  }).connect();
  pair.advance(100);
  const event = pair.client.events.find(({ kind }) => kind === 'token');
  assert.ok(event?.kind === 'token');
  assert.deepEqual(Buffer.from(event.token), token);
  let seen: Uint8Array | undefined;
  new Pair({
    token: event.token,
    answer: (data, { tokenOffset, tokenSize }) => {
      seen = data.slice(tokenOffset, tokenOffset + tokenSize);
      return { isValidated: true };
    },
  }).connect();
  assert.deepEqual(seen, new Uint8Array(token));
});

test('a stateless reset ends the connection (RFC 9000 §10.3.1)', () => {
  const pair = new Pair({ delay: 10, client: { idleTimeout: 0 } });
  const tokens: Uint8Array[] = [];
  const issue = pair.serverIds.issue.bind(pair.serverIds);
  pair.serverIds.issue = () => {
    const issued = issue();
    tokens.push(issued.resetToken);
    return issued;
  };
  pair.connect();
  const [token] = tokens;
  assert.ok(token);
  const noise = Buffer.concat([Buffer.of(0x42), pair.random.bytes(40), token]);
  const stray = Buffer.from(noise);
  stray[stray.length - 1] = (stray.at(-1) ?? 0) ^ 1;
  const arrive = (data: Uint8Array): void => {
    pair.arrive({ data, from: SERVER_ADDRESS, to: CLIENT_ADDRESS, ecn: 0 }, 'client');
  };
  arrive(stray);
  assert.equal(pair.client.connection.state, 'confirmed');
  assert.equal(pair.client.connection.isStatelessReset(noise, 0, noise.length), true);
  arrive(noise);
  assert.equal(pair.client.connection.closeReason?.kind, 'stateless-reset');
});
