import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Endpoint } from '../../../../../src/net/addresses/address.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import {
  client,
  clientAt,
  connectTo,
  dialOptions,
  firstBytes,
  keyFor,
  LEGACY,
  server,
  settle,
  SITE,
  type Server,
} from '../../../../support/protocols/shadowsocks/harness.ts';

for (const method of LEGACY) {
  test(`${method}: each of many users is identified and has its label`, async () => {
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
    // With users the shared password is not a key.
    const { outbound } = client(method, undefined, to);
    const link = await outbound.connect(SITE, dialOptions());
    await link.write(Buffer.from('x'));
    await settle();
    assert.equal(to.dispatcher.streams.length, users.length);
    link.destroy();
  });

  test(`${method}: an unauthenticated client is reset after ten seconds, as one that sends nothing`, async () => {
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

    /** Reading the clock takes 5 ms, and so does a trial. */
    class SlowClock extends ManualClock {
      override now(): number {
        this.advance(5);
        return super.now();
      }
    }

    /** Connects with the key of a user and sends a request. */
    async function request(to: Server, byte: number, seed: string, remote = clientAt) {
      const from = client(method, [keyFor(method, byte)], undefined, seed);
      await connectTo(to, remote).far.write(await firstBytes(from, 'hello'));
      await settle();
    }

    const served = ({ dispatcher: { streams } }: Server): (string | undefined)[] =>
      streams.map(({ origin: { user } }) => user);

    /** Lets time pass, in which the budget for searches recovers. */
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

    test('serves a user at once from an address that it has connected from', async () => {
      const to = await busy();
      await request(to, 12, 'again');
      assert.deepEqual(served(to), ['12', '12']);
    });

    test('serves a user from a new address when the budget allows a search again', async () => {
      const to = await busy();
      await request(to, 11, 'elsewhere', NEW);
      assert.deepEqual(served(to), ['12']);
      await pass(to, 7_000);
      assert.deepEqual(served(to), ['12', '11']);
    });
  });
}
