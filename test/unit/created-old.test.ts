import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceFiles, sourceText } from '../../tools/architecture/imports.ts';
import { createdOld } from '../../tools/library/created-old.ts';

/** What a connection, a datagram or a packet runs through. */
const CARRYING = /^(base|congestion|crypto|http|io|netstack|proxy|quic)\//;

/** Functions that are created once in a process or a configuration. */
const RARE = [
  'io/net/sockets/kernel/kernel-sockets.ts',
  'proxy/protocols/wireguard/shared-tunnels.ts',
];

test('the check finds functions that V8 creates in the old generation', () => {
  const text = `
    const made = { get once() { return 1; } };
    function dial(socket, list) {
      socket.done = () => list;
      socket.#failed ??= (async (error) => list);
      socket[0] = function () { return list; };
      const done = () => list;
      socket.done = done;
      return { done: () => list, get list() { return list; } };
    }
    class Held { done = () => this.list; get list() { return 1; } }`;
  assert.deepEqual(createdOld(text), [4, 5, 6, 9]);
});

test('no function of a connection is created in the old generation', async () => {
  const files = (await sourceFiles()).filter((file) => CARRYING.test(file));
  const found = files.filter((file) => createdOld(sourceText(file)).length > 0);
  assert.deepEqual(found, RARE, `${found.join(', ')}: a variable first, or a class for accessors`);
});
