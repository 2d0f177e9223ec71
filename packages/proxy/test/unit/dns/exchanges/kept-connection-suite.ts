import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { DnsExchange } from '../../../../src/dns/exchanges/exchange.ts';
import {
  a,
  reply,
  type Asked,
  type Script,
} from '../../../../../../test/support/peers/dns-server.ts';
import type { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { settle } from '../../../../../../test/support/settle.ts';

/** An exchange, and the server that it asks. */
export interface ExchangeHarness {
  readonly server: {
    readonly asked: readonly Asked[];
    readonly port: number;
    disconnect(): void;
  };
  readonly clock: ManualClock;
  readonly exchange: DnsExchange;
}

export const never = new AbortController().signal;
export const question = (name: string) => ({ name, type: 'A' }) as const;
export const good = (asked: Asked): Buffer =>
  reply(asked, { answers: [a(asked.name, '192.0.2.1', 60)] });

const connectionsOf = ({ asked }: ExchangeHarness['server']): number =>
  new Set(asked.map(({ from }) => from)).size;

/** Tests of an exchange whose questions share a connection. */
export function keptConnectionSuite(
  named: string,
  harness: (t: TestContext, script: Script) => Promise<ExchangeHarness>,
): void {
  test(`${named}: questions one after the other share a connection, and are padded`, async (t) => {
    const { server, exchange } = await harness(t, good);
    for (const name of ['a.example', 'b.example', 'a-longer-name.example']) {
      const found = await exchange.ask(question(name), never);
      assert.equal(found.records[0]?.owner, name);
      await settle();
    }
    assert.equal(connectionsOf(server), 1);
    for (const { message } of server.asked) assert.equal(message.length, 128);
  });

  test(`${named}: a lost connection is opened anew and the question asked once more`, async (t) => {
    let cut = true;
    const { server, exchange } = await harness(t, (asked) => {
      if (!cut) return good(asked);
      cut = false;
      server.disconnect();
      return undefined;
    });
    const found = await exchange.ask(question('a.example'), never);
    assert.equal(found.records.length, 1);
    assert.deepEqual([server.asked.length, connectionsOf(server)], [2, 2]);
  });

  test(`${named}: a kept connection that the server has closed is no failure`, async (t) => {
    const { server, exchange } = await harness(t, good);
    await exchange.ask(question('a.example'), never);
    server.disconnect();
    assert.equal((await exchange.ask(question('b.example'), never)).records.length, 1);
  });

  test(`${named}: a server that always closes the connection is asked twice`, async (t) => {
    const { server, exchange } = await harness(t, () => {
      server.disconnect();
      return undefined;
    });
    await assert.rejects(exchange.ask(question('a.example'), never), { code: 'upstream' });
    assert.deepEqual([server.asked.length, connectionsOf(server)], [2, 2]);
  });

  test(`${named}: a silent connection is replaced once, then the question has timed out`, async (t) => {
    const arrivals = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { server, clock, exchange } = await harness(t, () => {
      arrivals[server.asked.length - 1]?.resolve();
      return undefined;
    });
    const failed = assert.rejects(exchange.ask(question('a.example'), never), {
      code: 'timed_out',
      message: `DNS server 127.0.0.1:${server.port}: no answer`,
    });
    for (const arrival of arrivals) {
      await arrival.promise;
      clock.advance(4000);
    }
    await failed;
    assert.equal(connectionsOf(server), 2);
    assert.equal(clock.timers, 0);
  });

  test(`${named}: a connection without questions is closed after 30 s and opened when needed`, async (t) => {
    const { server, clock, exchange } = await harness(t, good);
    await exchange.ask(question('a.example'), never);
    await settle();
    assert.equal(clock.timers, 1);
    clock.advance(30_000);
    assert.equal(clock.timers, 0);
    assert.equal((await exchange.ask(question('b.example'), never)).records.length, 1);
    assert.equal(connectionsOf(server), 2);
  });
}
