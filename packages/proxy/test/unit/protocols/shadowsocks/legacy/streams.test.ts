import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Endpoint } from '@weir/io/addresses';
import { ManualClock } from '../../../../../../../test/support/manual-clock.ts';
import { setImmediate as settle } from 'node:timers/promises';
import {
  client,
  clientAt,
  connectTo,
  firstBytes,
  keyFor,
  LEGACY,
  server,
  type Server,
} from '../../../../../../../test/support/protocols/shadowsocks/harness.ts';

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
