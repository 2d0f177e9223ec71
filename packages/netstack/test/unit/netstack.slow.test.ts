import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import { OWNED, type ByteLink } from '@weir/io/links';
import { DialError } from '@weir/io';
import { FLOWS_ENDED_A_TURN } from '../../../io/src/net/links/relay.ts';
import type { ConnectionRequest } from '../../src/netstack.ts';
import {
  LINGER,
  RESTING_LINGER,
  ICMP_ERRORS_A_SECOND,
  FIRST_RECEIVE_WINDOW,
} from '../../src/limits.ts';
import type { RefusalReason } from '../../src/stack.ts';
import { udpPacket } from '../../../../test/support/data/ip-packets.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { offloadTraits, plainTraits } from '../../../../test/support/netstack/device-pair.ts';
import {
  endpoint,
  settings,
  stackPair,
  type StackPair,
  type StackPairOptions,
} from '../../../../test/support/netstack/stack-pair.ts';
import { readAll } from '../../../io/test/conformance/byte-link.ts';
import { settle } from '../../../../test/support/settle.ts';

const TARGET = endpoint('192.0.2.7', 443);
const TARGET_V6 = endpoint('2001:db8::7', 443);
const forever = (): AbortSignal => new AbortController().signal;

/** Runs a test with a pair of stacks, which are closed afterwards. */
function check(
  title: string,
  body: (pair: StackPair, clock: ManualClock) => Promise<void>,
  options: Omit<StackPairOptions, 'clock'> = {},
): void {
  test(title, async () => {
    const clock = new ManualClock();
    const pair = stackPair({ ...options, clock });
    try {
      await body(pair, clock);
    } finally {
      pair.client.close();
      pair.server.close();
      await Promise.all([pair.client.closed, pair.server.closed]);
      assert.equal(clock.timers, 0, 'a timer is left');
    }
  });
}

interface Connected {
  readonly left: ByteLink;
  readonly right: ByteLink;
  readonly request: ConnectionRequest;
}

async function connected(pair: StackPair, to = TARGET): Promise<Connected> {
  const connecting = pair.client.connect(to, forever());
  const request = await pair.connection();
  const [left, right] = await Promise.all([connecting, request.accept()]);
  return { left, right, request };
}

/** Lets time pass a second at a time, so that what the stacks send arrives when it is sent. */
async function pass(clock: ManualClock, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    clock.advance(1000);
    await settle(20);
  }
}

const failsWith =
  (code: string) =>
  (error: unknown): boolean =>
    error instanceof DialError && error.code === code;

describe('requests for connections', () => {
  check('name their client and their destination', async (pair) => {
    const { request } = await connected(pair, TARGET_V6);
    assert.deepEqual(request.destination, { host: '2001:db8::7', port: 443 });
    assert.equal(request.source.host, 'fd00::1');
    assert.ok(request.source.port >= 49_152);
  });

  const outcomes: readonly (readonly [RefusalReason, string])[] = [
    ['refused', 'refused'],
    ['host unreachable', 'unreachable_host'],
    ['network unreachable', 'unreachable_host'],
    ['prohibited', 'unreachable_host'],
  ];
  for (const [reason, code] of outcomes) {
    for (const to of [TARGET, TARGET_V6]) {
      const family = to === TARGET ? 'IPv4' : 'IPv6';
      check(`that are refused as '${reason}' fail at once, over ${family}`, async (pair) => {
        const connecting = pair.client.connect(to, forever());
        const request = await pair.connection();
        request.refuse(reason);
        await assert.rejects(connecting, failsWith(code));
        await assert.rejects(request.accept());
        await assert.rejects(request.link.read());
        await settle(20);
        assert.equal(pair.client.flows, 0);
      });
    }
  }

  check('that time out leave their client in silence until it gives up', async (pair, clock) => {
    const connecting = pair.client.connect(TARGET, forever());
    const gaveUp = assert.rejects(connecting, failsWith('timed_out'));
    const request = await pair.connection();
    request.refuse('timeout');
    let hasEnded = false;
    void gaveUp.then(() => (hasEnded = true));
    for (let seconds = 0; seconds < 60; seconds++) {
      await pass(clock, 1);
    }
    assert.equal(hasEnded, false);
    for (let seconds = 0; seconds < 120 && !hasEnded; seconds++) await pass(clock, 1);
    await gaveUp;
  });

  check(
    'that time out are requests again with the next SYN of their client',
    async (pair, clock) => {
      const connecting = pair.client.connect(TARGET, forever());
      const first = await pair.connection();
      // The SYNs of these seconds are absorbed: the dial that they are for goes on.
      await pass(clock, 10);
      first.refuse('timeout');
      await first.link.closed;
      await settle(20);
      assert.equal(pair.server.flows, 0, 'what was refused occupies no place');
      const repeated = pair.connection();
      await pass(clock, 6);
      const [left, right] = await Promise.all([connecting, (await repeated).accept()]);
      await left.write(Buffer.from('after the outage'));
      assert.equal((await right.read())?.toString(), 'after the outage');
    },
  );

  check('that their client takes back fail at the server', async (pair) => {
    const abort = new AbortController();
    const { left, request } = await connected(pair);
    left.destroy(new Error('gone'));
    await assert.rejects(readAll(request.link), /reset/);
    const dial = pair.client.connect(TARGET, abort.signal);
    const next = await pair.connection();
    abort.abort(new Error('not needed any more'));
    await assert.rejects(dial, failsWith('aborted'));
    next.refuse('refused');
  });
});

describe('connections', () => {
  check('are forgotten when both sides have ended', async (pair, clock) => {
    const { left, right } = await connected(pair);
    await left.closeWrite();
    await right.closeWrite();
    await Promise.all([readAll(left), readAll(right)]);
    assert.equal(await left.closed, undefined);
    assert.equal(await right.closed, undefined);
    await settle(20);
    assert.equal(pair.client.flows + pair.server.flows, 0);
    // Nothing but TIME-WAIT is left, and later not even that.
    clock.advance(61_000);
    await settle(20);
    assert.equal(clock.timers, 0);
  });

  check('hold no more than their first window for a reader that rests', async (pair) => {
    const { left, right } = await connected(pair);
    const chunk = 64 << 10;
    let written = 0;
    const writing = (async () => {
      for (;;) {
        const full = left.write(new Uint8Array(chunk));
        written += chunk;
        if (full) await full;
      }
    })();
    const failed = assert.rejects(writing);
    for (let round = 0; round < 50; round++) await settle(20);
    const held = written;
    assert.ok(held < 4 * FIRST_RECEIVE_WINDOW, `${held} bytes`);
    for (let round = 0; round < 50; round++) await settle(20);
    assert.equal(written, held, 'the writer went on');
    let received = 0;
    while (received < held) received += (await right.read())?.length ?? 0;
    right.destroy();
    await failed;
  });

  check('free what was given to them when it is acknowledged, and not before', async (pair) => {
    const { left, right } = await connected(pair);
    const chunk = (fill: number): Uint8Array => new Uint8Array(64 << 10).fill(fill);
    const first = chunk(1);
    await left.write(first, OWNED);
    assert.equal(first.length, 64 << 10);
    await settle(20);
    assert.equal(first.length, 0, 'it was acknowledged');
    const more = Array.from({ length: 16 }, (_, index) => chunk(index));
    for (const each of more) left.write(each, OWNED)?.catch(() => undefined);
    await settle(20);
    // More than the window of a reader that rests.
    assert.equal(more.at(-1)?.length, 64 << 10);
    await left.closeWrite();
    const all = await readAll(right);
    assert.equal(all.length, 17 * (64 << 10));
    for (const [index] of more.entries()) assert.equal(all[(index + 1) * (64 << 10)], index);
    await settle(20);
    assert.ok(more.every(({ length }) => length === 0));
  });

  const LARGER_THAN_WINDOW = 4 * FIRST_RECEIVE_WINDOW;

  check(
    'deliver all to a half-closed reader that lives and pauses for 75 s',
    async (pair, clock) => {
      const { left, right } = await connected(pair);
      await right.closeWrite();
      assert.equal(await left.read(), undefined);
      left.write(new Uint8Array(LARGER_THAN_WINDOW).fill(7))?.catch(() => undefined);
      await left.closeWrite();
      assert.equal(await left.closed, undefined, 'its owner has done all it can do');
      await pass(clock, 75);
      const all = await readAll(right);
      assert.equal(all.length, LARGER_THAN_WINDOW);
      assert.ok(all.every((byte) => byte === 7));
    },
  );

  check('that were released are reset when their peer never reads', async (pair, clock) => {
    const { left, right } = await connected(pair);
    left.write(new Uint8Array(LARGER_THAN_WINDOW))?.catch(() => undefined);
    await left.closeWrite();
    left.destroy();
    await pass(clock, RESTING_LINGER / 1000 - 1);
    assert.equal(pair.client.flows, 1);
    await pass(clock, (2 * LINGER) / 1000);
    assert.equal(pair.client.flows, 0);
    await assert.rejects(readAll(right), /reset/);
  });

  check('that were released are reset when their peer has gone', async (pair, clock) => {
    const { left } = await connected(pair);
    left.write(new Uint8Array(LARGER_THAN_WINDOW))?.catch(() => undefined);
    await left.closeWrite();
    await settle(20);
    // Without its device the peer responds to nothing, and cannot say so.
    pair.devices[1].close();
    left.destroy();
    await pass(clock, (3 * LINGER) / 1000);
    assert.equal(pair.client.flows, 0);
  });

  check('that were released are reset when their peer never ends', async (pair, clock) => {
    const { left, right } = await connected(pair);
    await left.write(Buffer.from('all of it'));
    await left.closeWrite();
    left.destroy();
    assert.equal((await readAll(right)).toString(), 'all of it');
    for (let step = 0; step < 3; step++) {
      await settle(20);
      clock.advance(LINGER);
    }
    await settle(20);
    assert.equal(pair.client.flows, 0);
    await assert.rejects(async () => right.write(Buffer.from('late')));
  });

  check('go on with smaller packets after a change of the MTU', async (pair) => {
    const { left, right } = await connected(pair);
    const writing = (async () => {
      for (let i = 0; i < 64; i++) await left.write(new Uint8Array(32 << 10).fill(i));
      await left.closeWrite();
    })();
    await right.read();
    for (const device of pair.devices) device.change(plainTraits(1280));
    const rest = await readAll(right);
    await writing;
    assert.ok(rest.length > 0);
    assert.equal(rest.at(-1), 63);
  });

  check(
    'are segmented by a device that can',
    async (pair) => {
      let largest = 0;
      const [device] = pair.devices;
      const commit = device.commit.bind(device);
      device.commit = (length, segmentSize, start) => {
        largest = Math.max(largest, length);
        commit(length, segmentSize, start);
      };
      const { left, right } = await connected(pair);
      const reading = readAll(right);
      for (let i = 0; i < 32; i++) await left.write(new Uint8Array(64 << 10));
      await left.closeWrite();
      assert.equal((await reading).length, 2 << 20);
      assert.ok(largest > 32_000, `at most ${largest} bytes`);
    },
    { traits: offloadTraits() },
  );
});

describe('limits of flows', () => {
  check(
    'drop SYNs and datagrams of new clients, and admit them when there is room',
    async (pair, clock) => {
      const { left, right } = await connected(pair);
      const own = pair.client.bindUdp();
      const second = pair.client.connect(TARGET, forever());
      own.send({ data: Uint8Array.of(1), peer: { host: '192.0.2.53', port: 53 } });
      await settle(20);
      assert.equal(pair.server.flows, 1);
      left.destroy();
      right.destroy();
      await settle(20);
      clock.advance(1000);
      const request = await pair.connection();
      await request.accept();
      await second;
    },
    { settings: { ...settings, maxFlows: 1 }, clientSettings: settings },
  );
});

describe('the end of a stack', () => {
  check('resets its connections and ends its associations', async (pair) => {
    const { left, right } = await connected(pair);
    const own = pair.client.bindUdp();
    own.send({ data: Uint8Array.of(1), peer: { host: '192.0.2.53', port: 53 } });
    const { link } = await pair.association();
    await link.receive();
    const pending = link.receive();
    pair.server.close();
    assert.equal(await pending, undefined);
    await assert.rejects(right.read(), /the stack is closed/);
    await assert.rejects(readAll(left), /reset/);
    assert.equal(await pair.server.closed, undefined);
    own.close();
  });

  for (const how of ['closed', 'left by its device'] as const) {
    check(`that is ${how} ends thousands of flows in turns of the event loop`, async (pair) => {
      const all: Connected[] = [];
      for (let i = 0; i < 3 * FLOWS_ENDED_A_TURN; i++) all.push(await connected(pair));
      const own = pair.client.bindUdp();
      own.send({ data: Uint8Array.of(1), peer: { host: '192.0.2.53', port: 53 } });
      await pair.association();
      let ended = 0;
      const ends = all.map(({ right }) => right.closed.finally(() => ended++));
      const { server, devices } = pair;
      if (how === 'closed') server.close();
      else devices[1].close();
      for (let turns = 1; ended < all.length; turns++) {
        await new Promise((resolve) => setImmediate(resolve));
        assert.ok(ended <= (turns + 1) * FLOWS_ENDED_A_TURN, `${ended} in ${turns} turns`);
      }
      await Promise.all([...ends, server.closed]);
      if (how === 'closed')
        for (const { left } of all) await assert.rejects(readAll(left), /reset/);
      for (const { left } of all) left.destroy();
      own.close();
    });
  }

  check('comes with its device, and with its error', async (pair) => {
    const { left, right } = await connected(pair);
    const gone = new Error('the device is gone');
    pair.devices[0].close(gone);
    await assert.rejects(left.read(), gone);
    assert.equal(await pair.client.closed, gone);
    await assert.rejects(pair.client.connect(TARGET, forever()), failsWith('failed'));
    assert.throws(() => pair.client.bindUdp(), failsWith('failed'));
    right.destroy();
  });
});

describe('datagrams', () => {
  const resolver = { host: '192.0.2.53', port: 53 };

  check('of any size arrive whole in both directions', async (pair) => {
    const own = pair.client.bindUdp();
    for (const size of [0, 1, 1472, 1473, 9000, 60_000, 65_507]) {
      const data = Uint8Array.from({ length: size }, (_, at) => (at * 7) & 0xff);
      own.send({ data, peer: resolver });
    }
    const { link } = await pair.association();
    for (const size of [0, 1, 1472, 1473, 9000, 60_000, 65_507]) {
      const packet = await link.receive();
      assert.equal(packet?.data.length, size);
      assert.ok(packet.data.every((byte, at) => byte === ((at * 7) & 0xff)));
      link.send(packet);
      const back = await own.receive();
      assert.ok(back && Buffer.from(back.data).equals(packet.data));
    }
    own.send({ data: new Uint8Array(65_508), peer: resolver });
    assert.equal(own.dropped, 1);
  });

  const refusals: string[] = [];
  check(
    'that go nowhere are reported to their client by ICMP, a bounded number of times',
    async (pair) => {
      for (const peer of [resolver, { host: '2001:db8::53', port: 53 }]) {
        refusals.length = 0;
        const own = pair.client.bindUdp();
        own.send({ data: Uint8Array.of(1), peer });
        const { link } = await pair.association();
        link.refuse?.(peer, 'network unreachable');
        link.refuse?.({ host: 'not an address', port: 1 }, 'network unreachable');
        link.refuse?.({ ...peer, port: 54 }, 'host unreachable');
        link.refuse?.(peer, 'port unreachable');
        assert.deepEqual(refusals, ['no route', 'host unreachable', 'port unreachable']);
        for (let i = 0; i < 10_000; i++) link.refuse?.(peer, 'network unreachable');
        assert.ok(refusals.length <= ICMP_ERRORS_A_SECOND);
        link.close();
        const before = refusals.length;
        link.refuse?.(peer, 'network unreachable');
        assert.equal(refusals.length, before);
      }
    },
    {
      trace: (event) => {
        if (event.kind === 'icmp-sent') refusals.push(event.error);
      },
    },
  );

  check(
    'that come in a burst beyond the queue are passed on to a reader of all',
    async (pair) => {
      const [device] = pair.devices;
      const send = (payload: Uint8Array, segmentSize: number): void => {
        const bytes = udpPacket(payload);
        const at = device.reserve(bytes.length);
        device.buffer.set(bytes, at);
        device.commit(bytes.length, segmentSize, 20);
      };
      send(Uint8Array.of(1), 0);
      device.flush();
      const { link } = await pair.association();
      let datagrams = 0;
      const all = link.receiveAll?.(() => void datagrams++);
      // Merged packets of a hundred each, in one turn of the device.
      for (let count = 0; count < 10; count++) send(new Uint8Array(1000), 10);
      device.flush();
      await settle(20);
      assert.equal(datagrams, 1001);
      assert.equal(link.dropped, 0);
      link.close();
      await all;
    },
    { traits: offloadTraits() },
  );

  check('come back from any peer, with that peer as their source (RFC 4787)', async (pair) => {
    const own = pair.client.bindUdp();
    own.send({ data: Uint8Array.of(1), peer: resolver });
    const { link, source } = await pair.association();
    assert.equal(source.host, '10.0.0.1');
    const other = { host: '203.0.113.200', port: 9999 };
    link.send({ data: Uint8Array.of(2), peer: other });
    assert.deepEqual(await own.receive(), { data: Uint8Array.of(2), peer: other });
    link.send({ data: Uint8Array.of(3), peer: { host: '2001:db8::1', port: 1 } });
    assert.equal(link.dropped, 1, 'a peer of the other family');
  });

  check(
    'end their association when there were none for so long',
    async (pair, clock) => {
      const own = pair.client.bindUdp();
      own.send({ data: Uint8Array.of(1), peer: resolver });
      const { link } = await pair.association();
      await link.receive();
      clock.advance(4000);
      link.send({ data: Uint8Array.of(2), peer: resolver });
      clock.advance(4999);
      await settle(20);
      assert.equal(pair.server.flows, 1);
      clock.advance(1);
      assert.equal(await link.receive(), undefined);
      assert.equal(await link.closed, undefined);
      assert.equal(pair.server.flows, 0);
      own.send({ data: Uint8Array.of(3), peer: resolver });
      const next = await pair.association();
      assert.deepEqual((await next.link.receive())?.data, Uint8Array.of(3));
    },
    { settings: { ...settings, udpIdle: 5000 } },
  );

  check(
    'end their association after the first where no time is allowed',
    async (pair, clock) => {
      const own = pair.client.bindUdp();
      own.send({ data: Uint8Array.of(1), peer: resolver });
      const { link } = await pair.association();
      clock.advance(1);
      await link.closed;
      assert.equal(pair.server.flows, 0);
    },
    { settings: { ...settings, udpIdle: 0 } },
  );
});

describe('turns', () => {
  check('what one callback writes leaves as one, before the event loop goes on', async (pair) => {
    const { left, right } = await connected(pair);
    await settle(20);
    const commit = mock.method(pair.devices[0], 'commit');
    void left.write(Buffer.from('one, '));
    await Promise.resolve();
    void left.write(Buffer.from('two'));
    assert.equal(commit.mock.callCount(), 0);
    await new Promise<void>((resolve) => process.nextTick(resolve));
    assert.equal(commit.mock.callCount(), 1);
    assert.equal(String(await right.read()), 'one, two');
  });

  test('a turn that throws leaves the stack in service', async () => {
    const clock = new ManualClock();
    const tasks: (() => void)[] = [];
    const errors: string[] = [];
    const pair = stackPair({ clock, soon: (task) => void tasks.push(task) });
    const runTasks = async (): Promise<void> => {
      for (let i = 0; i < 20; i++) {
        for (const task of tasks.splice(0)) {
          try {
            task();
          } catch (error) {
            errors.push(String(error));
          }
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const flush = mock.method(pair.devices[0], 'flush', () => {
      throw new Error('a defect');
    });
    const first = pair.client.connect(TARGET, forever());
    first.catch(() => undefined);
    await runTasks();
    flush.mock.restore();
    assert.ok(errors.length > 0);
    const second = pair.client.connect(TARGET_V6, forever());
    await runTasks();
    for (const connecting of [first, second]) {
      const accepted = (await pair.connection()).accept();
      await runTasks();
      await Promise.all([connecting, accepted]);
    }
    pair.client.close();
    pair.server.close();
    await runTasks();
    await Promise.all([pair.client.closed, pair.server.closed]);
  });
});
