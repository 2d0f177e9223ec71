import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { test } from 'node:test';
import { portOf } from '../../support/data/address.ts';
import { Weir } from '../../support/process/weir.ts';
import { ID, PASSWORD } from '../../support/ways/secrets.ts';
import { SILENT_PROTOCOLS, silentConfig, type SilentProtocol } from '../support/bare-inbounds.ts';

/*
 * The attack by which Shadowsocks servers were found: bytes of every length are sent, and the length at
 * which the server begins to close otherwise is that of its header.
 */

/** All lengths around headers, and some up to 2,000. */
const LENGTHS = [
  ...Array.from({ length: 120 }, (_, length) => length),
  ...Array.from({ length: 40 }, (_, step) => 120 + 47 * step),
];

/** The time limit of a handshake is 10 s; an earlier end shows where the server stopped to read. */
const NOT_BEFORE_MS = 9_000;

/** How a connection ends for a client that sends these bytes and then waits. */
function endOf(port: number, bytes: Uint8Array): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect({ host: '127.0.0.1', port });
  let received = 0;
  let startedAt = 0;
  const end = (how: string): void => {
    const isEarly = performance.now() - startedAt < NOT_BEFORE_MS;
    resolve(`${how}${isEarly ? ' at once' : ''} after ${received} bytes`);
    socket.destroy();
  };
  socket.on('connect', () => {
    startedAt = performance.now();
    socket.write(bytes);
  });
  socket.on('data', ({ length }) => (received += length));
  socket.on('end', () => end('end of stream'));
  socket.on('error', ({ message }) => end(/ECONNRESET/.test(message) ? 'reset' : message));
  return promise;
}

/** Requests whose beginnings are valid, and that no server accepts as a whole. */
const VALID: Readonly<Partial<Record<SilentProtocol, Buffer>>> = {
  trojan: Buffer.from(`${createHash('sha224').update(PASSWORD).digest('hex')}\r\n\x09`),
  vless: Buffer.concat([Buffer.of(0), Buffer.from(ID.replaceAll('-', ''), 'hex'), Buffer.of(0, 9)]),
};

const EXPECTED: Readonly<Record<SilentProtocol, string>> = {
  trojan: 'end of stream after 0 bytes',
  vless: 'end of stream after 0 bytes',
  vmess: 'end of stream after 0 bytes',
  shadowsocks: 'reset after 0 bytes',
};

for (const protocol of SILENT_PROTOCOLS) {
  test(`${protocol}: how a client without a password is disconnected depends on no byte`, async () => {
    await using weir = await Weir.start(silentConfig());
    const port = portOf(weir.address(protocol));
    const random = LENGTHS.map((length) => randomBytes(length));
    const valid = VALID[protocol] ?? Buffer.alloc(0);
    const beginnings = Array.from(valid, (_, length) => valid.subarray(0, length + 1));
    const ends = await Promise.all([...random, ...beginnings].map((bytes) => endOf(port, bytes)));
    assert.deepEqual(new Set(ends), new Set([EXPECTED[protocol]]));
  });
}
