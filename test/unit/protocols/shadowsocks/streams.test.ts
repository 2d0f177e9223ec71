import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { METHODS } from '../../../../src/protocols/shadowsocks/methods.ts';
import type { Endpoint } from '../../../../src/net/address.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import {
  client,
  clientAt,
  connectTo,
  dialOptions,
  expire,
  keyFor,
  LEGACY,
  METHOD_NAMES,
  MODERN,
  readAll,
  server,
  type Server,
  settle,
  WITH_IDENTITIES,
} from './harness.ts';

const SITE = { host: 'example.com', port: 443 };

/** What a client says first when it has `payload` to send. */
async function firstBytes(
  from: ReturnType<typeof client>,
  payload: string,
  destination = SITE,
): Promise<Buffer> {
  const link = await from.outbound.connect(destination, dialOptions());
  await link.write(Buffer.from(payload));
  const [far] = from.dialled.splice(0);
  assert.ok(far);
  const chunk = await far.read();
  assert.ok(chunk);
  return Buffer.from(chunk);
}

for (const method of METHOD_NAMES) {
  describe(method, () => {
    test('carries payload of any size both ways, and half-closes', async () => {
      const to = server(method);
      const { outbound } = client(method, undefined, to);
      const link = await outbound.connect(SITE, dialOptions());
      const sent: Buffer[] = [];
      for (const size of [1, 0, 100, 16_383, 16_384, 65_535, 65_536, 200_000]) {
        const chunk = Buffer.alloc(size, size & 0xff);
        sent.push(chunk);
        void link.write(chunk);
      }
      void link.closeWrite();
      assert.deepEqual(await readAll(link), Buffer.concat(sent));
      const [request] = to.dispatcher.streams;
      assert.deepEqual(request?.destination, SITE);
      assert.equal(request.origin.source, '192.0.2.7');
      assert.equal(request.sniff, true);
    });

    test('goes to names, IPv4 and IPv6 addresses', async () => {
      const to = server(method);
      const { outbound } = client(method, undefined, to);
      const targets = [
        { host: 'a'.repeat(255), port: 1 },
        { host: '192.0.2.1', port: 65_535 },
        { host: '2001:db8::1', port: 80 },
      ];
      for (const target of targets) {
        const link = await outbound.connect(target, dialOptions());
        await link.write(Buffer.from('x'));
        await link.closeWrite();
        await readAll(link);
      }
      assert.deepEqual(
        to.dispatcher.streams.map(({ destination }) => destination),
        targets,
      );
    });

    test('lets a server speak first: the header does not wait for payload for ever', async () => {
      const to = server(method);
      to.dispatcher.banner = '220 hello';
      const { outbound, clock } = client(method, undefined, to);
      const link = await outbound.connect(SITE, dialOptions());
      const first = link.read();
      await settle();
      assert.equal(to.dispatcher.streams.length, 0);
      clock.advance(100);
      assert.equal(String(await first), '220 hello');
      await link.closeWrite();
      assert.equal((await readAll(link)).length, 0);
    });

    test('carries a stream in which nobody says anything', async () => {
      const to = server(method);
      const { outbound, clock } = client(method, undefined, to);
      const link = await outbound.connect(SITE, dialOptions());
      await link.closeWrite();
      assert.equal(await link.read(), undefined);
      assert.equal(to.dispatcher.streams.length, 1);
      assert.equal(clock.timers, 0);
    });

    test('says salt, headers and first payload in one write', async () => {
      const from = client(method);
      const bytes = await firstBytes(from, 'hello');
      const { keyLength, edition } = METHODS[method];
      const address = 1 + 1 + SITE.host.length + 2;
      const expected =
        edition === 'legacy'
          ? keyLength + 18 + address + 5 + 16
          : keyLength + 11 + 16 + address + 2 + 5 + 16;
      assert.equal(bytes.length, expected);
    });

    test('does not take the same first bytes twice', async () => {
      const to = server(method);
      const bytes = await firstBytes(client(method), 'hello');
      const once = connectTo(to);
      await once.far.write(Buffer.from(bytes));
      await settle();
      assert.equal(to.dispatcher.streams.length, 1);
      const twice = connectTo(to);
      await twice.far.write(Buffer.from(bytes));
      await expire(to);
      assert.match(String(await twice.served), /repeated salt/);
      assert.equal(to.dispatcher.streams.length, 1);
      once.far.destroy();
    });

    test('does not take its own answers for a request', async () => {
      const to = server(method);
      const first = connectTo(to);
      await first.far.write(await firstBytes(client(method), 'hello'));
      const answer = await first.far.read();
      assert.ok(answer);
      const reflected = connectTo(to);
      await reflected.far.write(answer);
      await expire(to);
      assert.ok(await reflected.served);
      assert.equal(to.dispatcher.streams.length, 1);
      first.far.destroy();
    });

    test('gives a wrong key nothing, and says so to nobody', async () => {
      const to = server(method);
      const { outbound } = client(method, [keyFor(method, 2)], to);
      const link = await outbound.connect(SITE, dialOptions());
      await link.write(Buffer.from('let me in'));
      const answer = link.read().then(
        (chunk) => chunk,
        (error: unknown) => error,
      );
      await expire(to);
      const seen = await answer;
      assert.ok(seen === undefined || seen instanceof Error);
      assert.equal(to.dispatcher.streams.length, 0);
    });

    test('notices a changed byte anywhere, and a cut stream', async () => {
      const bytes = await firstBytes(client(method), 'hello');
      for (let at = 0; at < bytes.length; at += 5) {
        const to = server(method);
        const changed = Buffer.from(bytes);
        changed[at]! ^= 0x40;
        const { far, served } = connectTo(to);
        await far.write(changed);
        await expire(to);
        // What follows a good first chunk is judged by who reads on.
        assert.ok((await served) instanceof Error || to.dispatcher.streams.length === 0, `${at}`);
        far.destroy();
      }
      const to = server(method);
      const { far, served } = connectTo(to);
      await far.write(bytes.subarray(0, -1));
      await far.closeWrite();
      await expire(to);
      assert.ok((await served) instanceof Error);
    });
  });
}

for (const method of METHOD_NAMES) {
  test(`a server of ${method} has nothing for clients of other methods`, async () => {
    for (const other of METHOD_NAMES.filter((name) => name !== method)) {
      const to = server(method);
      const { far, served } = connectTo(to);
      await far.write(await firstBytes(client(other), 'hello'));
      await expire(to);
      assert.ok((await served) instanceof Error);
      assert.equal(to.dispatcher.streams.length, 0);
    }
  });
}

for (const method of LEGACY) {
  test(`${method}: each of many users is found and named by label`, async () => {
    const users = Array.from({ length: 40 }, (_, i) => ({
      key: keyFor(method, i + 10),
      email: i % 2 === 0 ? `user ${i}` : '',
    }));
    const to = server(method, { users });
    for (const [i, { key, email }] of users.entries()) {
      const seed = `client ${i}`;
      const { outbound } = client(method, [key], to, seed);
      const link = await outbound.connect(SITE, dialOptions());
      await link.write(Buffer.from('x'));
      assert.equal(String(await link.read()), 'x');
      assert.equal(to.dispatcher.streams[i]?.origin.user, email === '' ? undefined : email);
      link.destroy();
    }
    // With users the shared password opens nothing.
    const { outbound } = client(method, undefined, to);
    const link = await outbound.connect(SITE, dialOptions());
    await link.write(Buffer.from('x'));
    await settle();
    assert.equal(to.dispatcher.streams.length, users.length);
    link.destroy();
  });

  test(`${method}: a stranger sees what one sees who says nothing: a reset after ten seconds`, async () => {
    for (const bytes of [0, 1, 49, 50, 51, 1000]) {
      const to = server(method);
      const { far, served } = connectTo(to);
      let ended = false;
      void far.closed.then(() => (ended = true));
      for (let i = 0; i < bytes; i += 10) await far.write(Buffer.alloc(Math.min(10, bytes - i), 5));
      await settle();
      to.clock.advance(9_999);
      await settle();
      assert.equal(ended, false, `${bytes} bytes`);
      to.clock.advance(1);
      assert.ok((await served) instanceof Error);
      await assert.rejects(async () => {
        while (await far.read());
      });
    }
  });
}

for (const method of LEGACY) {
  describe(`a ${method} server of many users that unauthenticated clients connect to`, () => {
    const users = [10, 11, 12].map((byte) => ({ key: keyFor(method, byte), email: `${byte}` }));
    const NEW: Endpoint = { host: '192.0.2.8', port: 50_000 };

    /** Looking at the clock takes 5 ms: so does a trial. */
    class SlowClock extends ManualClock {
      override now(): number {
        this.advance(5);
        return super.now();
      }
    }

    /** Connects as the user with that key and sends a request. */
    async function request(to: Server, byte: number, seed: string, remote = clientAt) {
      const from = client(method, [keyFor(method, byte)], undefined, seed);
      await connectTo(to, remote).far.write(await firstBytes(from, 'hello'));
      await settle();
    }

    const served = ({ dispatcher: { streams } }: Server): (string | undefined)[] =>
      streams.map(({ origin: { user } }) => user);

    /** Lets time pass in which searches are paid for. */
    async function pass({ clock }: Server, milliseconds: number): Promise<void> {
      for (let left = milliseconds; left > 0; left -= 100) {
        clock.advance(100);
        await settle();
      }
    }

    /** A server that has served one user, and spends its time on searches for others. */
    async function busy(): Promise<Server> {
      const to = server(method, { users }, 'server', new SlowClock());
      await request(to, 12, 'known');
      await pass(to, 1_000);
      assert.deepEqual(served(to), ['12']);
      for (let i = 0; i < 8; i++) {
        const { far } = connectTo(to, { host: `203.0.113.${i}`, port: 9 });
        await far.write(Buffer.alloc(100, i));
        await settle();
      }
      return to;
    }

    test('serves a user at once where one of its connections came from before', async () => {
      const to = await busy();
      await request(to, 12, 'again');
      assert.deepEqual(served(to), ['12', '12']);
    });

    test('serves a user from elsewhere when there is time for a search again', async () => {
      const to = await busy();
      await request(to, 11, 'elsewhere', NEW);
      assert.deepEqual(served(to), ['12']);
      await pass(to, 7_000);
      assert.deepEqual(served(to), ['12', '11']);
    });
  });
}

for (const method of MODERN) {
  const { keyLength } = METHODS[method];

  test(`${method}: a probe of any length is hung up on at once, and read to its end`, async () => {
    for (const bytes of [1, keyLength, keyLength + 26, keyLength + 27, keyLength + 28, 5000]) {
      const to = server(method);
      const { far, served } = connectTo(to);
      await far.write(Buffer.alloc(bytes, 5));
      assert.equal(await far.read(), undefined, `${bytes} bytes`);
      await far.write(Buffer.alloc(100_000));
      await far.closeWrite();
      assert.ok((await served) instanceof Error);
    }
  });

  test(`${method}: bytes that come one by one are no request, whatever they are`, async () => {
    const bytes = await firstBytes(client(method), 'hello');
    const to = server(method);
    const { far, served } = connectTo(to);
    for (const byte of bytes) await far.write(Uint8Array.of(byte));
    await far.closeWrite();
    assert.match(String(await served), /too short/);
    assert.equal(to.dispatcher.streams.length, 0);
  });

  test(`${method}: what follows the first header may come in any pieces`, async () => {
    const bytes = await firstBytes(client(method), 'hello');
    const to = server(method);
    const { far } = connectTo(to);
    await far.write(bytes.subarray(0, keyLength + 27));
    for (const byte of bytes.subarray(keyLength + 27)) {
      await far.write(Uint8Array.of(byte));
      await settle();
    }
    await settle();
    assert.equal(to.dispatcher.streams.length, 1);
    far.destroy();
  });

  for (const [skew, accepted] of [
    [-31, false],
    [-30, true],
    [30, true],
    [31, false],
  ] as const) {
    test(`${method}: a clock that is ${skew} s off is ${accepted ? 'taken' : 'refused'}`, async () => {
      const to = server(method);
      const from = client(method);
      from.clock.stepWall(skew * 1000);
      const { far, served } = connectTo(to);
      await far.write(await firstBytes(from, 'hello'));
      await settle();
      assert.equal(to.dispatcher.streams.length, accepted ? 1 : 0);
      if (accepted) far.destroy();
      else {
        await far.closeWrite();
        assert.match(String(await served), /clocks/);
      }
    });

    test(`${method}: a client judges a server's clock that is ${skew} s off likewise`, async () => {
      const to = server(method);
      const { outbound, clock } = client(method, undefined, to);
      const link = await outbound.connect(SITE, dialOptions());
      await link.write(Buffer.from('x'));
      clock.stepWall(skew * 1000);
      if (accepted) assert.equal(String(await link.read()), 'x');
      else await assert.rejects(link.read(), /clocks/);
    });
  }

  test(`${method}: a response to another request is refused`, async () => {
    const to = server(method);
    const answers: Uint8Array[] = [];
    for (const seed of ['one', 'two']) {
      const { far } = connectTo(to);
      await far.write(await firstBytes(client(method, undefined, undefined, seed), 'x'));
      const answer = await far.read();
      assert.ok(answer);
      answers.push(answer);
    }
    const from = client(method, undefined, undefined, 'one');
    const link = await from.outbound.connect(SITE, dialOptions());
    await link.write(Buffer.from('x'));
    const [, second] = answers;
    await from.dialled[0]?.write(second ?? Buffer.alloc(0));
    await assert.rejects(link.read(), /another request/);
  });

  test(`${method}: a header without payload has padding of 1 to 900 bytes`, async () => {
    const lengths = new Set<number>();
    for (let i = 0; i < 50; i++) {
      const from = client(method, undefined, undefined, `seed ${i}`);
      const link = await from.outbound.connect(SITE, dialOptions());
      const [far] = from.dialled;
      await link.closeWrite();
      const bytes = await readAll(far ?? link);
      const padding =
        bytes.length - (keyLength + 11 + 16 + (1 + 1 + SITE.host.length + 2) + 2 + 16);
      assert.ok(padding >= 1 && padding <= 900);
      lengths.add(padding);
    }
    assert.ok(lengths.size > 20);
  });
}

for (const method of WITH_IDENTITIES) {
  const users = [
    { key: keyFor(method, 10), email: 'first' },
    { key: keyFor(method, 11), email: 'second' },
  ];
  const identity = keyFor(method, 1);

  test(`${method}: users are known by their identity headers`, async () => {
    const to = server(method, { users });
    for (const [i, { key, email }] of users.entries()) {
      const { outbound } = client(method, [identity, key], to, `client ${i}`);
      const link = await outbound.connect(SITE, dialOptions());
      await link.write(Buffer.from('x'));
      assert.equal(String(await link.read()), 'x');
      assert.equal(to.dispatcher.streams[i]?.origin.user, email);
      link.destroy();
    }
  });

  test(`${method}: nobody comes in with the identity key alone, another one, or no such user`, async () => {
    const chains = [
      [identity],
      [users[0]!.key],
      [keyFor(method, 2), users[0]!.key],
      [identity, keyFor(method, 12)],
      [identity, users[1]!.key, users[0]!.key],
    ];
    for (const keys of chains) {
      const to = server(method, { users });
      const { far, served } = connectTo(to);
      await far.write(await firstBytes(client(method, keys), 'hello'));
      await far.closeWrite();
      assert.ok((await served) instanceof Error);
      assert.equal(to.dispatcher.streams.length, 0);
    }
  });

  test(`${method}: a longer chain has a header for each key but the last`, async () => {
    const one = await firstBytes(client(method, [identity]), 'x');
    const three = await firstBytes(client(method, [identity, identity, users[0]!.key]), 'x');
    assert.equal(three.length - one.length, 32);
  });
}
