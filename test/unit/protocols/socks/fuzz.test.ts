import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { WeirError, codeOf } from '../../../../src/errors.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';
import type { ByteLink, PacketLink } from '../../../../src/net/links/link.ts';
import { DialError } from '../../../../src/net/errors.ts';
import type { Outbound } from '../../../../src/protocols/contract.ts';
import type { ManualClock } from '../../../support/manual-clock.ts';
import {
  bytes,
  carrierOf,
  connectTo,
  inbound,
  neverAborted,
  outbound,
  plainSettings,
  withAccounts,
} from '../../../support/protocols/socks/harness.ts';

/** Bytes that begin like the protocol and go wrong anywhere, or are nothing of the kind. */
const nearly = (...good: string[]): fc.Arbitrary<Buffer> =>
  fc.oneof(
    {
      weight: 1,
      arbitrary: fc
        .uint8Array({ maxLength: 600, size: 'max' })
        .map((random) => Buffer.from(random)),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(
          fc.constantFrom(...good.map((each) => bytes(each))),
          fc.array(fc.tuple(fc.nat(40), fc.nat(255)), { maxLength: 2 }),
          fc.nat(60),
          fc.uint8Array({ maxLength: 40, size: 'max' }),
        )
        .map(([whole, changes, length, tail]) => {
          const changed = Buffer.from(whole);
          for (const [at, value] of changes) changed[at] = value;
          return Buffer.concat([changed.subarray(0, length), tail]);
        }),
    },
  );

/** Where bytes are split into chunks. */
const cuts = fc.array(fc.nat(60), { maxLength: 6 }).map((all) => all.toSorted((a, b) => a - b));

function chunksOf(whole: Buffer, at: readonly number[]): Buffer[] {
  const edges = [0, ...at.filter((edge) => edge < whole.length), whole.length];
  return edges.slice(1).map((edge, index) => whole.subarray(edges[index], edge));
}

/** Advances the clock, step by step, until `promise` settles. */
async function inTime<T>(promise: Promise<T>, clock: ManualClock): Promise<T> {
  let settled = false;
  const watched = promise.finally(() => (settled = true));
  watched.catch(() => undefined);
  for (let step = 0; step < 4 && !settled; step++) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(step < 2 ? 0 : 10_000);
  }
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(settled, 'everything ends by its limit');
  return watched;
}

/** What came out of a link so far and after it, errors aside. */
async function heard(link: ByteLink): Promise<string> {
  let all = '';
  try {
    for (;;) {
      const chunk = await link.read();
      if (!chunk) break;
      all += Buffer.from(chunk).toString('hex');
    }
  } catch {
    // Reset: what was read before counts.
  }
  return all;
}

describe('whatever a client sends', () => {
  const clients = nearly(
    `05 01 00 05 01 00 03 0b 'www.example' 0050 'payload'`,
    '05 01 00 05 01 00 01 c0000207 0050',
    '05 01 00 05 02 00 04 20010db8000000000000000000000007 0050',
    `05 02 00 02 01 03 'kim' 06 'sesame' 05 01 00 01 c0000207 0050`,
    `04 01 0050 c0000207 'kim' 00 'payload'`,
    `04 01 0050 00000001 'kim' 00 'www.example' 00`,
  );
  // Associations have a file of their own; here each would open a socket.
  for (const [name, settings] of [
    ['without accounts', { ...plainSettings, udp: false }],
    ['with accounts', { ...withAccounts(['kim', 'sesame']), udp: false }],
  ] as const) {
    test(`the inbound ${name} ends in time and fails by its own errors alone`, async () => {
      const run = fc.asyncProperty(clients, cuts, fc.boolean(), async (sent, at, ends) => {
        const fixture = inbound(settings);
        fixture.dispatcher.failure = new DialError('refused', 'connection refused');
        const { client, served } = connectTo(fixture);
        for (const chunk of chunksOf(sent, at)) void client.write(chunk);
        if (ends) await client.closeWrite();
        const error = await inTime(served, fixture.clock);
        assert.ok(error === undefined || error instanceof WeirError, String(error));
        assert.equal(fixture.clock.timers, 0);
      });
      await fc.assert(run, { numRuns: 250 });
    });
  }

  test('the inbound reads it the same, wherever it is split into chunks', async () => {
    const serve = async (chunks: readonly Buffer[]): Promise<unknown[]> => {
      const fixture = inbound({ ...plainSettings, udp: false });
      const { client, served } = connectTo(fixture);
      for (const chunk of chunks) void client.write(chunk);
      await client.closeWrite();
      const [said, error] = await Promise.all([heard(client), inTime(served, fixture.clock)]);
      const asked = fixture.dispatcher.streams.map(({ destination }) => destination);
      return [asked, codeOf(error), codeOf(error) === 'protocol' ? undefined : said];
    };
    const run = fc.asyncProperty(clients, cuts, async (sent, at) => {
      assert.deepEqual(await serve(chunksOf(sent, at)), await serve([sent]));
    });
    await fc.assert(run, { numRuns: 150 });
  });
});

describe('any reply of a server', () => {
  const servers = nearly(
    `05 00 05 00 00 01 00000000 0000 'payload'`,
    `05 00 05 00 00 03 0b 'www.example' 0050`,
    '05 00 05 05 00 01 00000000 0000',
  );
  const answer = async <T>(
    ask: (client: Outbound) => Promise<T>,
    sent: readonly Buffer[],
    ends: boolean,
  ): Promise<T | undefined> => {
    const [near, server] = linkPair();
    const { outbound: client, clock } = outbound({ account: undefined }, () => carrierOf(near));
    for (const chunk of sent) void server.write(chunk);
    if (ends) await server.closeWrite();
    try {
      return await inTime(ask(client), clock);
    } catch (error) {
      assert.ok(error instanceof DialError, String(error));
      await server.closed;
      return undefined;
    } finally {
      assert.equal(clock.timers, 0);
    }
  };

  test('the outbound connects or fails by a dial error, in time', async () => {
    const site = { host: 'a.example', port: 80 };
    const run = fc.asyncProperty(servers, cuts, fc.boolean(), async (sent, at, ends) => {
      await answer((client) => client.connect(site, neverAborted()), chunksOf(sent, at), ends);
    });
    await fc.assert(run, { numRuns: 250 });
  });

  test('the outbound associates or fails by a dial error, in time', async () => {
    const run = fc.asyncProperty(servers, cuts, async (sent, at) => {
      const ask = (client: Outbound): Promise<PacketLink> => client.associate(neverAborted());
      const link = await answer(ask, chunksOf(sent, at), false);
      link?.close();
      await link?.closed;
    });
    await fc.assert(run, { numRuns: 50 });
  });

  test('the outbound connects the same, wherever the reply is split into chunks', async () => {
    const site = { host: 'a.example', port: 80 };
    const first = async (chunks: readonly Buffer[]): Promise<string | undefined> => {
      const link = await answer((client) => client.connect(site, neverAborted()), chunks, true);
      return link && heard(link);
    };
    const run = fc.asyncProperty(servers, cuts, async (sent, at) => {
      assert.equal(await first(chunksOf(sent, at)), await first([sent]));
    });
    await fc.assert(run, { numRuns: 150 });
  });
});
