import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QuicError, TransportErrorCode } from '../../../src/errors.ts';
import {
  decodeTransportParameters,
  DEFAULT_TRANSPORT_PARAMETERS,
  encodeTransportParameters,
  type TransportParameters,
} from '../../../src/wire/transport-parameters.ts';

const ID = Uint8Array.of(1, 2, 3);
const hex = (text: string): Buffer => Buffer.from(text, 'hex');
/** initial_source_connection_id, which has to be there. */
const SOURCE = hex('0f03010203');

function fault(bytes: Uint8Array, sender: 'client' | 'server' = 'client'): string | undefined {
  const result = decodeTransportParameters(bytes, sender);
  if (!(result instanceof QuicError)) return undefined;
  assert.equal(result.code, TransportErrorCode.TRANSPORT_PARAMETER_ERROR);
  return result.reason;
}

test('parameters survive, and those at their defaults take no bytes', () => {
  const parameters: TransportParameters = {
    originalDestinationConnectionId: Uint8Array.of(9),
    maxIdleTimeout: 30_000,
    statelessResetToken: new Uint8Array(16).fill(4),
    maxUdpPayloadSize: 1_452,
    initialMaxData: 20_971_520,
    initialMaxStreamDataBidiLocal: 8_388_608,
    initialMaxStreamDataBidiRemote: 8_388_609,
    initialMaxStreamDataUni: 65_536,
    initialMaxStreamsBidi: 1_024,
    initialMaxStreamsUni: 16,
    ackDelayExponent: 4,
    maxAckDelay: 26,
    disableActiveMigration: true,
    preferredAddress: {
      ipv4: Uint8Array.of(192, 0, 2, 1),
      ipv4Port: 443,
      ipv6: new Uint8Array(16).fill(6),
      ipv6Port: 8443,
      connectionId: Uint8Array.of(5, 5, 5, 5),
      resetToken: new Uint8Array(16).fill(7),
    },
    activeConnectionIdLimit: 4,
    initialSourceConnectionId: ID,
    retrySourceConnectionId: new Uint8Array(0),
    maxDatagramFrameSize: 65_535,
  };
  const bytes = encodeTransportParameters(parameters);
  assert.deepEqual(decodeTransportParameters(bytes, 'server'), parameters);
  assert.equal(encodeTransportParameters(DEFAULT_TRANSPORT_PARAMETERS).length, 0);
  assert.equal(encodeTransportParameters({}).length, 0);
  assert.deepEqual(decodeTransportParameters(SOURCE, 'client'), {
    ...DEFAULT_TRANSPORT_PARAMETERS,
    initialSourceConnectionId: ID,
  });
});

test('unknown parameters are ignored, with ids and lengths of any size', () => {
  // 0x1b + 31 * N, reserved for GREASE; the last id is 2^62 - 1, twice.
  const grease = ['1b00', '3a0101', 'ffffffffffffffff02aabb', 'ffffffffffffffff00'].map(hex);
  assert.equal(fault(Buffer.concat([...grease, SOURCE])), undefined);
});

test('a parameter that occurs twice is an error, known or not', () => {
  assert.match(fault(Buffer.concat([SOURCE, SOURCE])) ?? '', /0xf occurs twice/);
  assert.match(fault(Buffer.concat([hex('1b001b00'), SOURCE])) ?? '', /0x1b occurs twice/);
});

test('values outside of their ranges are errors', () => {
  const cases: readonly (readonly [string, RegExp | undefined])[] = [
    ['030244af', /0x3 is too small/],
    ['030244b0', undefined],
    ['0a0115', /0xa is too large/],
    ['0a0114', undefined],
    ['0b0480004000', /0xb is too large/],
    ['0b027fff', undefined],
    ['0e0101', /0xe is too small/],
    ['0e0102', undefined],
    ['0808d000000000000001', /0x8 is too large/],
    ['0808d000000000000000', undefined],
    ['0908ffffffffffffffff', /0x9 is too large/],
    ['0408ffffffffffffffff', undefined],
    ['0c0100', /0xc is not empty/],
    ['0c00', undefined],
    ['010140', /0x1 is no integer/],
    ['0100', /0x1 is no integer/],
    ['01020505', /0x1 is no integer/],
    ['200480010000', undefined],
    ['0f15' + '00'.repeat(21), /0xf has a wrong length/],
  ];
  for (const [text, expected] of cases) {
    const reason = fault(Buffer.concat([hex(text), expected ? hex('') : SOURCE]));
    if (expected) assert.match(reason ?? '', expected, text);
    else assert.equal(reason, undefined, text);
  }
});

test('limits above 2^53 are read as 2^53 - 1', () => {
  const result = decodeTransportParameters(
    Buffer.concat([hex('0408ffffffffffffffff0808d000000000000000'), SOURCE]),
    'client',
  );
  assert.ok(!(result instanceof QuicError));
  assert.equal(result.initialMaxData, Number.MAX_SAFE_INTEGER);
  assert.equal(result.initialMaxStreamsBidi, Number.MAX_SAFE_INTEGER);
});

test('what only servers send is an error from a client', () => {
  const only = [
    hex('0000'),
    Buffer.concat([hex('0210'), Buffer.alloc(16)]),
    hex('1000'),
    Buffer.concat([hex('0d2a'), Buffer.alloc(24), hex('01ff'), Buffer.alloc(16)]),
  ];
  for (const parameter of only) {
    assert.match(fault(Buffer.concat([parameter, SOURCE])) ?? '', /is only for servers/);
    const original = parameter[0] === 0 ? hex('') : hex('0000');
    assert.equal(fault(Buffer.concat([original, parameter, SOURCE]), 'server'), undefined);
  }
});

test('parameters that are truncated anywhere are an error', () => {
  for (const text of ['0f', '0f05010203', '40', '0f40', '01', '0140', '1b02ff']) {
    assert.match(fault(hex(text)) ?? '', /are truncated/, text);
  }
});

test('a token has exactly 16 bytes, and a connection id 20 at most', () => {
  const head = Buffer.concat([hex('0000'), SOURCE]);
  for (const [id, size, isValid] of [
    [0x02, 15, false],
    [0x02, 16, true],
    [0x02, 17, false],
    [0x10, 20, true],
    [0x10, 21, false],
  ] as const) {
    const bytes = Buffer.concat([head, Buffer.of(id, size), Buffer.alloc(size)]);
    if (isValid) assert.equal(fault(bytes, 'server'), undefined);
    else assert.match(fault(bytes, 'server') ?? '', /has a wrong length/);
  }
});

test('the connection ids of the handshake are required', () => {
  assert.match(fault(new Uint8Array(0)) ?? '', /initial_source_connection_id is missing/);
  assert.match(fault(SOURCE, 'server') ?? '', /original_destination_connection_id is missing/);
});

test('a preferred address has a connection id, and so has its server', () => {
  const head = Buffer.concat([hex('0000'), SOURCE]);
  const noId = Buffer.concat([head, hex('0d29'), Buffer.alloc(41)]);
  assert.match(fault(noId, 'server') ?? '', /0xd is no address/);
  const short = Buffer.concat([head, hex('0d03'), Buffer.alloc(3)]);
  assert.match(fault(short, 'server') ?? '', /0xd is no address/);
  const address = Buffer.concat([hex('0d2a'), Buffer.alloc(24), hex('01ff'), Buffer.alloc(16)]);
  const emptyId = Buffer.concat([hex('00000f00'), address]);
  assert.match(fault(emptyId, 'server') ?? '', /empty connection id/);
});

test('a preferred address has exactly the size that its connection id gives it (RFC 9000 §18.2)', () => {
  const parameter = (idSize: number, size: number): Buffer => {
    const address = Buffer.alloc(size);
    address[24] = idSize;
    return Buffer.concat([hex('0d40'), Buffer.of(size), address, hex('000109'), SOURCE]);
  };
  assert.equal(fault(parameter(8, 49), 'server'), undefined);
  assert.equal(fault(parameter(20, 61), 'server'), undefined);
  for (const [idSize, size] of [
    [8, 48],
    [8, 50],
    [0, 41],
    [21, 62],
    [8, 24],
  ] as const) {
    assert.match(
      fault(parameter(idSize, size), 'server') ?? '',
      /0xd|preferred/,
      `${idSize} ${size}`,
    );
  }
});

test('more parameters than a peer needs are a fault', () => {
  const many = Buffer.concat(Array.from({ length: 100 }, (_, i) => Buffer.of(0x7f, i, 0)));
  assert.match(fault(many) ?? '', /too many/);
});
