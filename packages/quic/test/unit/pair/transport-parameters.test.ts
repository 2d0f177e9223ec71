import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QuicError, TransportErrorCode } from '../../../src/errors.ts';
import {
  decodeTransportParameters,
  encodeTransportParameters,
  type TransportParameters,
} from '../../../src/wire/transport-parameters.ts';
import { OpenTls } from '../../../../../test/support/quic/open-tls.ts';
import { Pair } from '../../../../../test/support/quic/pair.ts';
import { testClientTls, testServerTls } from '../../../../../test/support/quic/tls.ts';

const { TRANSPORT_PARAMETER_ERROR } = TransportErrorCode;
const SOME_ID = Buffer.from('0102030405060708', 'hex');

const changing =
  (sender: 'client' | 'server', change: Partial<TransportParameters>) =>
  (bytes: Uint8Array): Uint8Array => {
    const parameters = decodeTransportParameters(bytes, sender);
    assert.ok(!(parameters instanceof QuicError));
    return encodeTransportParameters({ ...parameters, ...change });
  };

/** What the other side makes of it. */
function codeOf(sender: 'client' | 'server', change: (bytes: Uint8Array) => Uint8Array): unknown {
  const pair = new Pair({
    delay: 10,
    ...(sender === 'client'
      ? { clientTls: new OpenTls(testClientTls(), change) }
      : { serverTls: new OpenTls(testServerTls(), change) }),
  });
  pair.advance(200);
  const { closeReason } = (sender === 'client' ? pair.server : pair.client).connection;
  assert.equal(closeReason?.by, 'self');
  return closeReason.code;
}

const WRONG: readonly (readonly [string, 'client' | 'server', Partial<TransportParameters>])[] = [
  ['another initial_source_connection_id', 'client', { initialSourceConnectionId: SOME_ID }],
  ['another initial_source_connection_id', 'server', { initialSourceConnectionId: SOME_ID }],
  ['no initial_source_connection_id', 'client', { initialSourceConnectionId: undefined }],
  ['another original id', 'server', { originalDestinationConnectionId: SOME_ID }],
  ['no original id', 'server', { originalDestinationConnectionId: undefined }],
  ['the id of a Retry without one', 'server', { retrySourceConnectionId: SOME_ID }],
  ['a stateless_reset_token', 'client', { statelessResetToken: Buffer.alloc(16) }],
  ['an ack_delay_exponent of 21', 'server', { ackDelayExponent: 21 }],
  ['an active_connection_id_limit of 1', 'client', { activeConnectionIdLimit: 1 }],
  ['a max_udp_payload_size of 1,000', 'client', { maxUdpPayloadSize: 1000 }],
];

for (const [name, sender, change] of WRONG) {
  test(`the handshake fails when a ${sender} sends ${name} (RFC 9000 §7.3, §18.2)`, () => {
    assert.equal(codeOf(sender, changing(sender, change)), TRANSPORT_PARAMETER_ERROR);
  });
}

test('the handshake fails for transport parameters that are no such (RFC 9000 §7.4)', () => {
  assert.equal(
    codeOf('client', () => Buffer.from([1, 200, 3])),
    TRANSPORT_PARAMETER_ERROR,
  );
});

test('unknown transport parameters are ignored (RFC 9000 §7.4.2)', () => {
  const grease = Buffer.from('5f3a0461626364', 'hex');
  const change = (bytes: Uint8Array): Uint8Array => Buffer.concat([grease, bytes]);
  new Pair({ clientTls: new OpenTls(testClientTls(), change) }).connect();
});

test('the peer’s max_udp_payload_size bounds what is sent to it (RFC 9000 §18.2)', () => {
  const change = changing('client', { maxUdpPayloadSize: 1300 });
  const pair = new Pair({
    delay: 10,
    clientTls: new OpenTls(testClientTls(), change),
  }).connect();
  pair.advance(5000);
  assert.equal(pair.server.connection.statistics().datagramSize, 1300);
  assert.equal(pair.client.connection.statistics().datagramSize, 1472);
});
