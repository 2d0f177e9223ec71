import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { BoundedReader, linkPair } from '@weir/io/links';
import { ProtocolError } from '@weir/io';
import {
  ADDRESS_LIMIT,
  MESSAGE_LIMIT,
  PADDING_LIMIT,
  READER_LIMIT,
} from '../../../../src/protocols/hysteria2/limits.ts';
import {
  padding,
  PADDING_RANGES,
  decodeUdpMessage,
  encodeTcpRequest,
  encodeTcpResponse,
  encodeUdpMessage,
  LastAddress,
  parseHostPort,
  readTcpRequest,
  readTcpResponse,
  udpHeaderSize,
} from '../../../../src/protocols/hysteria2/wire.ts';
import { chunksOf, cuts } from '../../../../../../test/support/data/chunks.ts';
import { SeededRandom } from '../../../../../../test/support/simnet/seeded-random.ts';

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const random = new SeededRandom(1);

/** A reader of bytes that arrive in pieces, and then end. */
async function readerOf(chunks: readonly Uint8Array[]): Promise<BoundedReader> {
  const [near, far] = linkPair();
  for (const chunk of chunks) void far.write(chunk);
  await far.closeWrite();
  return new BoundedReader(near, READER_LIMIT);
}

const read = async <Value>(
  how: (reader: BoundedReader) => Promise<Value>,
  bytes: Uint8Array,
): Promise<Value> => how(await readerOf([bytes]));

/** core/internal/protocol/proxy_test.go, TestReadTCPRequest. */
for (const [name, bytes, address] of [
  ['normal no padding', '\x0egoogle.com:443\x00', 'google.com:443'],
  ['normal with padding', '\x0bholy.cc:443\x02gg', 'holy.cc:443'],
  ['incomplete 1', '\x0bhoho', undefined],
  ['incomplete 2', '\x0bholy.cc:443\x05x', undefined],
] as const) {
  test(`a TCP request is read as by the reference: ${name}`, async () => {
    const result = read(readTcpRequest, latin1(bytes));
    if (address === undefined) await assert.rejects(result, ProtocolError);
    else assert.equal(await result, address);
  });
}

/** TestReadTCPResponse. */
for (const [name, bytes, response] of [
  ['normal ok no padding', '\x00\x0bhello world\x00', { ok: true, message: 'hello world' }],
  ['normal error with padding', '\x01\x06stop!!\x05xxxxx', { ok: false, message: 'stop!!' }],
  ['normal ok no message with padding', '\x01\x00\x05xxxxx', { ok: false, message: '' }],
  ['incomplete 1', '\x00\x0bhoho', undefined],
  ['incomplete 2', '\x01\x05jesus\x05x', undefined],
] as const) {
  test(`a TCP response is read as by the reference: ${name}`, async () => {
    const result = read(readTcpResponse, latin1(bytes));
    if (response === undefined) await assert.rejects(result, ProtocolError);
    else assert.deepEqual(await result, response);
  });
}

/** TestWriteTCPRequest. */
for (const [address, prefix] of [
  ['google.com:443', '\x44\x01\x0egoogle.com:443'],
  ['client-api.arkoselabs.com:8080', '\x44\x01\x1eclient-api.arkoselabs.com:8080'],
] as const) {
  test(`a TCP request begins as the reference's: ${address}`, () => {
    const bytes = Buffer.from(encodeTcpRequest(address, random));
    assert.equal(bytes.toString('latin1', 0, prefix.length), prefix);
    assert.ok(bytes.length > prefix.length);
  });
}

/** TestWriteTCPResponse. */
for (const [response, prefix] of [
  [{ ok: true, message: 'hello world' }, '\x00\x0bhello world'],
  [{ ok: false, message: 'stop!!' }, '\x01\x06stop!!'],
  [{ ok: true, message: '' }, '\x00\x00'],
] as const) {
  test(`a TCP response begins as the reference's: ${JSON.stringify(response)}`, () => {
    const bytes = Buffer.from(encodeTcpResponse(response, random));
    assert.equal(bytes.toString('latin1', 0, prefix.length), prefix);
    assert.ok(bytes.length > prefix.length);
  });
}

test('requests and responses survive a round trip in pieces of any size, and leave what follows', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ minLength: 1, maxLength: 300, size: 'max' }),
      cuts,
      async (text, at) => {
        const address = Buffer.from(text).toString('utf8');
        const bytes = Buffer.concat([
          encodeTcpRequest(address, random).subarray(2),
          encodeTcpResponse({ ok: false, message: address }, random),
          latin1('payload'),
        ]);
        const reader = await readerOf(chunksOf(bytes, at));
        assert.equal(await readTcpRequest(reader), address);
        assert.deepEqual(await readTcpResponse(reader), { ok: false, message: address });
        assert.equal((await reader.bytes(7)).toString(), 'payload');
      },
    ),
  );
});

/** A varint of two octets for each length. */
const long = (length: number): Buffer => Buffer.from([0x40 | (length >> 8), length & 0xff]);

test('lengths at their limits are read, and those beyond are refused before their bytes arrive', async () => {
  const address = 'a'.repeat(ADDRESS_LIMIT);
  const request = Buffer.concat([
    long(ADDRESS_LIMIT),
    latin1(address),
    long(PADDING_LIMIT),
    Buffer.alloc(PADDING_LIMIT),
  ]);
  assert.equal(await read(readTcpRequest, request), address);
  const message = 'm'.repeat(MESSAGE_LIMIT);
  const response = Buffer.concat([latin1('\x00'), long(MESSAGE_LIMIT), latin1(`${message}\x00`)]);
  assert.deepEqual(await read(readTcpResponse, response), { ok: true, message });
  for (const bytes of [
    long(ADDRESS_LIMIT + 1),
    Buffer.concat([latin1('\x01a'), long(PADDING_LIMIT + 1)]),
    Buffer.from('ffffffffffffffff', 'hex'),
  ]) {
    await assert.rejects(read(readTcpRequest, bytes), /is longer than/);
  }
  const tooLong = Buffer.concat([latin1('\x00'), long(MESSAGE_LIMIT + 1)]);
  await assert.rejects(read(readTcpResponse, tooLong), /is longer than/);
});

test('an empty address is refused', async () => {
  await assert.rejects(read(readTcpRequest, latin1('\x00\x00')), ProtocolError);
});

test('a message beyond the limit is cut before it is sent', async () => {
  const bytes = encodeTcpResponse({ ok: false, message: 'm'.repeat(5000) }, random);
  assert.equal((await read(readTcpResponse, bytes)).message.length, MESSAGE_LIMIT);
});

const LONG_NAME = `${Array.from({ length: 10 }, () => 'some_random_goofy_ahh_address_which_is_very_long').join('_')}:9000`;

/** TestUDPMessage. */
const UDP_VECTORS = [
  {
    fields: { sessionId: 1, packetId: 1, fragmentId: 0, fragmentCount: 1 },
    address: 'example.com:80',
    data: 'GET /nothing HTTP/1.1\r\n',
    head: '00000001 0001 00 01 0e',
  },
  {
    fields: { sessionId: 1_329_655_244, packetId: 62_233, fragmentId: 8, fragmentCount: 19 },
    address: LONG_NAME,
    data: 'God is great, beer is good, and people are crazy.',
    head: '4f40edcc f319 08 13 41ee',
  },
] as const;

for (const { fields, address, data, head } of UDP_VECTORS) {
  test(`the reference's UDP message of session ${fields.sessionId} is written and read`, () => {
    const expected = Buffer.concat([
      Buffer.from(head.replaceAll(' ', ''), 'hex'),
      Buffer.from(address),
      Buffer.from(data),
    ]);
    const message = { ...fields, data: Buffer.from(data) };
    const bytes = encodeUdpMessage({ ...message, address: Buffer.from(address) });
    assert.deepEqual(Buffer.from(bytes), expected);
    assert.equal(bytes.length, udpHeaderSize(address.length) + data.length);
    const decoded = decodeUdpMessage(bytes);
    assert.ok(decoded);
    assert.deepEqual({ ...decoded, data: Buffer.from(decoded.data) }, { ...message, address });
  });
}

/** TestUDPMessageMalformed, and the rules that it implies. */
for (const [name, hex] of [
  ['empty', ''],
  ['zeroes 1', '00000000'],
  ['zeroes 2', '000000000000000000000000'],
  ['incomplete 1', '66ccffff1122334455'],
  ['incomplete 2', '66ccffff1122334490aabbccddeeff'],
  ['without a length of the address', '0000000100010001'],
  ['without data', '0000000100010001 03 613a31'],
  ['with an address beyond the limit', `0000000100010001 4801 ${'61'.repeat(2050)}`],
  ['with a length beyond 2^53', '0000000100010001 ffffffffffffffff 61'],
] as const) {
  test(`a malformed UDP message is dropped: ${name}`, () => {
    assert.equal(decodeUdpMessage(Buffer.from(hex.replaceAll(' ', ''), 'hex')), undefined);
  });
}

test('a UDP message may have an address of ADDRESS_LIMIT bytes', () => {
  const address = 'a'.repeat(ADDRESS_LIMIT);
  assert.equal(decodeUdpMessage(udpMessageTo(address))?.address, address);
});

test('the cached address is only used for messages that have it', () => {
  const last = new LastAddress();
  for (const address of ['aaa', 'bbb', 'a:1', 'a:1', 'a:2', 'b:2', 'b:2', 'b:22', 'b:2', 'b:2']) {
    const bytes = udpMessageTo(address);
    assert.equal(decodeUdpMessage(bytes, last)?.address, address);
    bytes.fill(0); // the cache has a copy
  }
});

const udpMessageTo = (address: string): Uint8Array =>
  encodeUdpMessage({
    sessionId: 1,
    packetId: 0,
    fragmentId: 0,
    fragmentCount: 1,
    address: Buffer.from(address),
    data: Buffer.of(1),
  });

for (const [address, endpoint] of [
  ['example.com:80', { host: 'example.com', port: 80 }],
  ['192.0.2.1:65535', { host: '192.0.2.1', port: 65535 }],
  ['[2001:db8::1]:443', { host: '2001:db8::1', port: 443 }],
  ['[::ffff:192.0.2.1]:443', { host: '192.0.2.1', port: 443 }],
  ['[example.com]:80', { host: 'example.com', port: 80 }],
  ['example.com', undefined],
  ['example.com:', undefined],
  [':80', undefined],
  ['[]:80', undefined],
  ['2001:db8::1:443', undefined],
  ['example.com:65536', undefined],
  ['example.com:-1', undefined],
  ['example.com:80x', undefined],
  ['exa mple.com:80', undefined],
  ['exa\nmple.com:80', undefined],
  ['exa\ufffdmple.com:80', undefined],
] as const) {
  test(`the address ${JSON.stringify(address)} is ${endpoint ? 'read' : 'refused'}`, () => {
    assert.deepEqual(parseHostPort(address), endpoint);
  });
}

test('padding has letters and digits, and lengths over the whole range of the reference', () => {
  const range = PADDING_RANGES.tcpRequest;
  const lengths = new Set<number>();
  for (let round = 0; round < 20_000; round++) lengths.add(padding(range, random).length);
  assert.equal(Math.min(...lengths), range.min);
  assert.equal(Math.max(...lengths), range.limit - 1);
  assert.match(padding(PADDING_RANGES.authentication, random).toString('latin1'), /^[A-Za-z0-9]+$/);
  assert.deepEqual(PADDING_RANGES, {
    authentication: { min: 256, limit: 2048 },
    tcpRequest: { min: 64, limit: 512 },
    tcpResponse: { min: 128, limit: 1024 },
  });
});
