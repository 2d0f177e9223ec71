import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SeededRandom } from '../../../support/simnet/seeded-random.ts';
import { TcpPair, pattern, readAll } from '../../../support/netstack/tcp/tcp-pair.ts';
import type { Driven } from '../../../support/netstack/tcp/tcp-rig.ts';

const states = ({ client, server }: TcpPair): string[] => [
  client.connection.state,
  server.connection.state,
];

/** Writes as far as the connection takes it. @returns bytes written. */
function feed(side: Driven, data: Buffer, from: number): number {
  let at = from;
  while (at < data.length) {
    const chunk = data.subarray(at, at + 8192);
    const more = side.connection.write(chunk);
    at += chunk.length;
    if (!more) break;
  }
  return at;
}

describe('two connections', () => {
  test('the handshake takes three segments', () => {
    const pair = new TcpPair();
    assert.ok(pair.step('server'));
    assert.ok(pair.step('client'));
    assert.ok(pair.step('server'));
    assert.deepEqual(states(pair), ['ESTABLISHED', 'ESTABLISHED']);
    assert.deepEqual([pair.toClient, pair.toServer], [[], []]);
  });

  test('each segment of the handshake may be lost', () => {
    for (let lost = 0; lost < 3; lost++) {
      const pair = new TcpPair();
      for (let delivered = 0; delivered < lost; delivered++) {
        pair.step(delivered % 2 === 0 ? 'server' : 'client');
      }
      pair.drop('server');
      pair.drop('client');
      pair.run(3000);
      assert.deepEqual(states(pair), ['ESTABLISHED', 'ESTABLISHED'], `segment ${lost}`);
    }
  });

  test('simultaneous open: two active sides (RFC 9293 §3.5)', () => {
    const pair = new TcpPair({}, { role: 'active' });
    pair.deliver();
    assert.deepEqual(states(pair), ['ESTABLISHED', 'ESTABLISHED']);
    pair.client.connection.write(pattern(10_000));
    pair.deliver();
    assert.deepEqual(readAll(pair.server), pattern(10_000));
  });

  test('simultaneous close', () => {
    const pair = TcpPair.established();
    pair.client.connection.closeWrite();
    pair.server.connection.closeWrite();
    pair.deliver();
    assert.deepEqual(states(pair), ['TIME-WAIT', 'TIME-WAIT']);
    pair.run(60_000);
    assert.deepEqual(states(pair), ['CLOSED', 'CLOSED']);
  });

  test('half-close in one direction, 1 MB in the other', () => {
    for (const [from, to] of [
      ['client', 'server'],
      ['server', 'client'],
    ] as const) {
      const pair = TcpPair.established();
      const data = pattern(1_000_000);
      pair[to].connection.closeWrite();
      pair.deliver();
      assert.ok(pair[from].connection.isEnded);
      const received: Buffer[] = [];
      let at = 0;
      for (let rounds = 0; !pair[to].connection.isEnded; rounds++) {
        assert.ok(rounds < 10_000, 'it goes on');
        if (at < data.length) at = feed(pair[from], data, at);
        else pair[from].connection.closeWrite();
        pair.run(1);
        received.push(readAll(pair[to]));
      }
      pair.deliver();
      assert.ok(Buffer.concat(received).equals(data));
      assert.equal(pair[from].connection.state, 'CLOSED');
      assert.equal(pair[to].connection.state, 'TIME-WAIT');
    }
  });

  test('every segment of a closing may be lost', () => {
    for (const lost of [0, 1, 2, 3]) {
      const pair = TcpPair.established();
      pair.client.connection.closeWrite();
      pair.settle();
      let count = 0;
      const step = (to: 'client' | 'server'): void => {
        const queue = to === 'client' ? pair.toClient : pair.toServer;
        if (queue.length > 0 && count++ === lost) queue.shift();
        else pair.step(to);
      };
      step('server');
      step('client');
      pair.server.connection.closeWrite();
      pair.settle();
      step('client');
      step('server');
      pair.run(5000);
      // Where the first FIN is lost, the second one makes it a simultaneous close.
      const server = lost === 0 ? 'TIME-WAIT' : 'CLOSED';
      assert.deepEqual(states(pair), ['TIME-WAIT', server], `segment ${lost}`);
    }
  });

  test('an abort resets the other side, which can read what had arrived', () => {
    const pair = TcpPair.established();
    pair.client.connection.write(pattern(5000));
    pair.deliver();
    pair.client.connection.abort(pair.now);
    pair.deliver();
    assert.deepEqual(states(pair), ['CLOSED', 'CLOSED']);
    assert.equal(pair.server.connection.failure, 'reset');
    assert.deepEqual(readAll(pair.server), pattern(5000));
  });

  test('a slow reader closes the window, and nothing is lost when it opens', () => {
    const pair = TcpPair.established({}, { settings: { receiveBuffer: 20_000 } });
    const data = pattern(100_000);
    let at = feed(pair.client, data, 0);
    pair.run(30_000);
    const received = [readAll(pair.server)];
    // The window, and what its scale rounds up.
    const first = received[0]?.length ?? 0;
    assert.ok(first >= 20_000 && first < 21_000, `${first} bytes`);
    for (let rounds = 0; Buffer.concat(received).length < data.length; rounds++) {
      assert.ok(rounds < 100, 'it goes on');
      at = feed(pair.client, data, at);
      pair.run(1000);
      received.push(readAll(pair.server));
    }
    assert.ok(Buffer.concat(received).equals(data));
  });

  test('the update of a closed window may be lost: the probe asks for it', () => {
    const pair = TcpPair.established({}, { settings: { receiveBuffer: 10_000 } });
    pair.client.connection.write(pattern(15_000));
    pair.run(10);
    const first = readAll(pair.server);
    pair.drop('client');
    pair.run(1000);
    assert.deepEqual(Buffer.concat([first, readAll(pair.server)]), pattern(15_000));
  });

  test('a keep-alive probe is answered, and both go on', () => {
    const pair = TcpPair.established(
      { settings: { keepAlive: 60_000 } },
      { settings: { keepAlive: 60_000 } },
    );
    pair.run(24 * 3600 * 1000);
    assert.deepEqual(states(pair), ['ESTABLISHED', 'ESTABLISHED']);
  });

  test('two ends that disagree do not keep each other busy', () => {
    const pair = TcpPair.established();
    // Both are behind what the other thinks: each ACK is outside of the other's window.
    const other = TcpPair.established({ initialSequence: 1 }, { initialSequence: 2 });
    pair.client.receive({
      flags: '.',
      sequence: 5,
      acknowledgment: 7,
      window: 0,
      payload: new Uint8Array(0),
    });
    let segments = 0;
    for (; segments < 100; segments++) {
      const [segment] = pair.client.out.take();
      if (segment === undefined) break;
      other.server.receive(segment);
      const [response] = other.server.out.take();
      if (response === undefined) break;
      pair.client.receive(response);
    }
    assert.ok(segments < 20, `${segments} segments`);
  });

  test('4 GiB and more: the sequence numbers wrap', () => {
    // Large segments, whose bytes matter little: only one in a thousand is compared.
    const path = { segmentBytes: 1460, announcedMss: 1460, largestPayload: 64_000 };
    const pair = TcpPair.established({ path }, { path, settings: { receiveBuffer: 1 << 20 } });
    const chunk = pattern(1 << 16);
    const total = 2 ** 32 + 2 ** 24;
    let written = 0;
    let read = 0;
    while (read < total) {
      while (written - read < 1 << 18 && pair.client.connection.write(chunk)) {
        written += chunk.length;
      }
      if (pair.client.connection.unacknowledged === 0) assert.fail('nothing is on its way');
      pair.now += 1;
      pair.client.now = pair.server.now = pair.now;
      pair.deliver();
      for (;;) {
        const bytes = pair.server.connection.read(pair.now);
        if (bytes === undefined) break;
        if ((read >>> 16) % 1000 === 0) {
          assert.equal(bytes[0], chunk[read % chunk.length]);
        }
        read += bytes.length;
      }
      written = read + pair.client.connection.unacknowledged;
    }
    assert.ok(read >= total);
    assert.deepEqual(states(pair), ['ESTABLISHED', 'ESTABLISHED']);
  });
});

test('data goes both ways over a path that loses, duplicates and reorders', () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = new SeededRandom(seed);
    const withSack = seed % 2 === 0;
    const pair = new TcpPair();
    if (!withSack) {
      // A peer without options: strip them from both SYNs.
      for (const queue of [pair.toServer]) {
        for (const [index, segment] of queue.entries()) {
          const { flags, sequence, acknowledgment, window, payload } = segment;
          queue[index] = { flags, sequence, acknowledgment, window, payload, mss: 1000 };
        }
      }
    }
    const data = { client: pattern(60_000), server: pattern(90_000, 7) };
    const at = { client: 0, server: 0 };
    const received = { client: [] as Buffer[], server: [] as Buffer[] };
    const isDone = (): boolean => pair.client.connection.isEnded && pair.server.connection.isEnded;
    for (let rounds = 0; !isDone(); rounds++) {
      assert.ok(rounds < 200_000, `seed ${seed} stalls: ${states(pair).join(', ')}`);
      for (const side of ['client', 'server'] as const) {
        const queue = side === 'client' ? pair.toClient : pair.toServer;
        const chance = random.below(100);
        if (queue.length > 0 && chance < 5) queue.shift();
        else if (queue.length > 1 && chance < 10) queue.push(...queue.splice(0, 1));
        else if (queue.length > 0 && chance < 15) queue.unshift(...queue.slice(0, 1));
        else pair.step(side);
        const driven = pair[side];
        received[side].push(readAll(driven));
        if (at[side] < data[side].length) {
          if (driven.connection.unacknowledged < 30_000) {
            at[side] = feed(driven, data[side], at[side]);
          }
        } else driven.connection.closeWrite();
      }
      if (pair.toClient.length + pair.toServer.length === 0) pair.advance(50);
      pair.settle();
    }
    assert.ok(Buffer.concat(received.server).equals(data.client), `seed ${seed}`);
    assert.ok(Buffer.concat(received.client).equals(data.server), `seed ${seed}`);
  }
});
