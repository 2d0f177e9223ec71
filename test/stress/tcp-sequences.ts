import assert from 'node:assert/strict';
import { Driven } from '../support/netstack/tcp/tcp-rig.ts';

/**
 * More than 4 GiB through one connection of the own TCP, back to back and in virtual time, so that offsets of the
 * stream pass all sequence numbers. Every byte is compared.
 */
const TOTAL = 2 ** 32 + 2 ** 24;
const PATH = { segmentBytes: 1460, announcedMss: 1460, largestPayload: 64_000 };
const CHUNK = Uint8Array.from({ length: 1 << 16 }, (_, at) => Math.imul(at, 0x9e37_79b1) >>> 13);

const settings = { receiveBuffer: 1 << 20 };
const client = new Driven({ role: 'active', path: PATH, settings });
const server = new Driven({ role: 'passive', path: PATH, settings });
server.connection.accept();

/** Everything arrives, and what is sent in response, until it is quiet. */
function deliver(): void {
  for (let moved = true; moved;) {
    moved = false;
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.settle();
      for (const segment of from.out.take()) {
        moved = true;
        to.receive(segment);
      }
    }
  }
}

let written = 0;
let read = 0;
deliver();
while (read < TOTAL) {
  while (written < TOTAL && client.connection.write(CHUNK)) written += CHUNK.length;
  client.now = ++server.now;
  deliver();
  for (let bytes = server.connection.read(server.now); bytes !== undefined;) {
    for (let at = 0; at < bytes.length;) {
      const start = (read + at) % CHUNK.length;
      const size = Math.min(bytes.length - at, CHUNK.length - start);
      const expected = CHUNK.subarray(start, start + size);
      assert.ok(Buffer.from(bytes.subarray(at, at + size)).equals(expected), `at ${read + at}`);
      at += size;
    }
    read += bytes.length;
    bytes = server.connection.read(server.now);
  }
  // `write` has taken the chunk for which it says that no more is to follow.
  written = read + client.connection.unacknowledged;
  client.takeEvents();
  server.takeEvents();
}
assert.equal(client.connection.state, 'ESTABLISHED');
process.stdout.write(`${read} bytes arrived, each the right one\n`);
