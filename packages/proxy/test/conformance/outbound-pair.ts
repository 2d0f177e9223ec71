import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { KeptObjects } from '@weir/base/collections';
import { WeirError } from '@weir/base';
import { silentLogger } from '@weir/base/log';
import type { Endpoint } from '@weir/io/addresses';
import { DialError, type DialErrorCode } from '@weir/io';
import { type ByteLink, type PacketLink, linkPair } from '@weir/io/links';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { FIRST_PAYLOAD_MS } from '@weir/io/time';
import type { Outbound, OutboundContext } from '../../src/protocols/contract.ts';
import { chunksOf, cuts, nearly } from '../../../../test/support/data/chunks.ts';
import type { ManualClock } from '../../../../test/support/manual-clock.ts';
import { settle } from '../../../../test/support/settle.ts';
import { Watched } from '../../../../test/support/protocols/inbounds/engine.ts';
import type { InboundHarness, User } from './inbound/harness.ts';
import { Rig } from './inbound/rig.ts';

/** An outbound beside the inbound of its protocol, whose clients `inbound.ts` has in a form of their own. */
export interface PairHarness {
  readonly inbound: InboundHarness;
  readonly outbound: (user: User, context: OutboundContext) => Outbound;
  /** The code of a dial that failed at the server, where the client is told; otherwise its stream is reset. */
  readonly failure?: (code: DialErrorCode) => DialErrorCode;
  readonly packets: 'carried' | 'unsupported' | 'elsewhere';
  /** The longest datagram, where one more byte does not fit. */
  readonly longest?: number;
  /** Of an empty datagram. */
  readonly dropsEmpty?: boolean;
}

const SITE: Endpoint = { host: 'www.example', port: 80 };
const PATIENCE_MS = 60_000;
const text = (payload: string): Buffer => Buffer.from(payload);
const options = () => ({ signal: new AbortController().signal });

/** An outbound, and the carriers that it has dialled: to an inbound, or to the test. */
class Pair {
  readonly rig: Rig;
  readonly clock: ManualClock;
  readonly outbound: Outbound;
  /** Ends of the server, where that is the test. */
  readonly dialled: ByteLink[] = [];
  /** To the carriers. */
  writes = 0;
  failure: DialError | undefined;

  constructor(
    { inbound, outbound }: PairHarness,
    { isAlone = false, user = 'ann' }: { readonly isAlone?: boolean; readonly user?: User } = {},
  ) {
    this.rig = new Rig(inbound);
    this.clock = this.rig.clock;
    this.outbound = outbound(user, {
      tag: 'out',
      family: 'auto',
      resolver: { resolve: () => Promise.reject(new Error('nothing is resolved here')) },
      clock: this.clock,
      log: silentLogger,
      ownListeners: new OwnListeners(),
      shared: new KeptObjects(),
      server: { host: 'proxy.example', port: 443 },
      dial: () => {
        if (this.failure) return Promise.reject(this.failure);
        const [near, far] = linkPair();
        if (isAlone) this.dialled.push(far);
        else this.rig.serve(far).catch(() => undefined); // told by what the client sees
        const output = near.writeOutput.bind(near);
        near.writeOutput = (chunks) => {
          this.writes++;
          return output(chunks);
        };
        return Promise.resolve({
          link: near,
          wire: { bytesRead: 0, bytesWritten: 0 },
          remote: { host: '192.0.2.1', port: 443 },
          local: { host: '192.0.2.9', port: 40_000 },
        });
      },
    });
  }

  /** A stream whose request has reached the server. */
  async open(destination = SITE): Promise<{ client: Watched; origin: Watched }> {
    const client = new Watched(await this.outbound.connect(destination, options()));
    await settle();
    this.clock.advance(FIRST_PAYLOAD_MS);
    await settle();
    const origin = this.rig.engine.origins.at(-1);
    assert.ok(origin);
    return { client, origin };
  }
}

/** The promises of an outbound to the flows of the engine, and to the servers of its protocol. */
export function outboundPairConformance(name: string, harness: PairHarness): void {
  describe(`${name}: an outbound beside the inbound`, () => {
    test('carries payload of any size, and half-closes of either side first', async () => {
      const pair = new Pair(harness);
      const sizes = [1, 0, 100, 16_383, 16_384, 65_535, 65_536, 200_000];
      const all = sizes.map((size, i) => Buffer.alloc(size, i));
      for (const first of ['client', 'origin'] as const) {
        const ends = await pair.open();
        const second = first === 'client' ? 'origin' : 'client';
        for (const chunk of all) ends[first].write(chunk);
        ends[first].closeWrite();
        await settle();
        assert.ok(ends[second].received.equals(Buffer.concat(all)));
        assert.equal(ends[second].state, 'end');
        for (const chunk of all) ends[second].write(chunk);
        ends[second].closeWrite();
        await settle();
        assert.ok(ends[first].received.equals(Buffer.concat(all)));
        assert.equal(ends[first].state, 'end');
        assert.equal(await ends.client.link.closed, undefined);
      }
      assert.equal(pair.rig.engine.live, 0);
      assert.equal(pair.clock.timers, 0);
    });

    test('names destinations of every kind, and dials for none that does not fit', async () => {
      const pair = new Pair(harness);
      for (const destination of [
        { host: '192.0.2.7', port: 443 },
        { host: '2001:db8::7', port: 65_535 },
        { host: 'a'.repeat(255), port: 1 },
      ]) {
        await pair.open(destination);
        assert.deepEqual(pair.rig.engine.streams.at(-1)?.destination, destination);
        assert.equal(pair.rig.engine.streams.at(-1)?.origin.user, harness.inbound.label?.('ann'));
      }
      const alone = new Pair(harness, { isAlone: true });
      for (const host of ['x'.repeat(256), '']) {
        await assert.rejects(alone.outbound.connect({ host, port: 1 }, options()), DialError);
      }
      await Promise.all(alone.dialled.map(({ closed }) => closed));
      assert.equal(alone.clock.timers, 0);
    });

    if (!harness.failure) {
      test('sends its request in one write with the first payload, and alone when the server is to speak', async () => {
        for (const payload of ['hello', '']) {
          const pair = new Pair(harness, { isAlone: true });
          const link = await pair.outbound.connect(SITE, options());
          const [far] = pair.dialled;
          assert.ok(far);
          const server = new Watched(far);
          pair.clock.advance(FIRST_PAYLOAD_MS - 1);
          if (payload !== '') await link.write(text(payload));
          await settle();
          assert.equal(pair.writes, payload === '' ? 0 : 1);
          pair.clock.advance(1);
          await settle();
          assert.equal(pair.writes, 1);
          assert.equal(pair.clock.timers, 0);
          const rig = new Rig(harness.inbound);
          await rig.send(server.received);
          await settle();
          assert.equal(rig.engine.origins[0]?.text, payload);
          assert.deepEqual(rig.engine.streams[0]?.destination, SITE);
          if (harness.inbound.sealed === true) continue;
          const client = harness.inbound.client('ann', SITE, name);
          assert.deepEqual(server.received, client?.first(text(payload)));
        }
      });

      test('forgets its request when the stream is destroyed', async () => {
        const { outbound, clock, dialled } = new Pair(harness, { isAlone: true });
        (await outbound.connect(SITE, options())).destroy();
        await settle();
        assert.equal(clock.timers, 0);
        await assert.rejects(async () => dialled[0]?.read());
      });
    }

    test('passes a reset on in both directions, and takes neither for an end', async () => {
      const pair = new Pair(harness);
      const gone = new Error('gone');
      const one = await pair.open();
      one.client.link.destroy(gone);
      const two = await pair.open();
      two.origin.link.destroy(gone);
      await settle();
      assert.equal(one.origin.state, 'reset');
      assert.equal(two.client.state, 'reset');
      assert.equal(pair.clock.timers, 0);
    });

    test('passes on why its server was not reached', async () => {
      const pair = new Pair(harness);
      pair.failure = new DialError('refused', 'nothing listens');
      await assert.rejects(pair.outbound.connect(SITE, options()), pair.failure);
      assert.equal(pair.clock.timers, 0);
    });

    test('learns of a dial that failed at the server as far as the protocol tells', async () => {
      for (const code of [
        'refused',
        'unreachable_host',
        'unreachable_network',
        'not_found',
        'unresolved',
        'timed_out',
        'blocked',
        'unsupported',
        'upstream',
        'aborted',
        'failed',
      ] as const) {
        const pair = new Pair(harness);
        pair.rig.engine.failure = new DialError(code, 'no');
        const connecting = pair.outbound.connect(SITE, options());
        if (harness.failure) {
          await assert.rejects(connecting, { name: 'DialError', code: harness.failure(code) });
        } else {
          const link = await connecting;
          await link.write(text('hello'));
          await assert.rejects(link.read());
        }
        assert.equal(pair.clock.timers, 0);
      }
    });

    test('fails with other credentials, and is told no payload', async () => {
      const pair = new Pair(harness, { user: 'eve' });
      const connecting = pair.outbound.connect(SITE, options());
      const failed = harness.failure
        ? assert.rejects(connecting, { name: 'DialError', code: 'upstream' })
        : connecting.then(async (link) => {
            await link.write(text('let me in'));
            const heard = await link.read().catch(() => undefined);
            assert.equal(heard, undefined);
            link.destroy();
          });
      for (let step = 0; step < 3; step++) {
        await settle();
        pair.clock.advance(PATIENCE_MS);
      }
      await failed;
      assert.equal(pair.rig.engine.requests, 0);
      await settle();
      assert.equal(pair.clock.timers, 0);
    });

    test('makes payload or a named error of any response in any pieces, in time', async () => {
      const good = await responseTo(harness);
      const serve = async (pieces: readonly Uint8Array[]): Promise<unknown> => {
        const { outbound, clock, dialled } = new Pair(harness, { isAlone: true });
        const connecting = outbound.connect(SITE, options());
        connecting.catch(() => undefined);
        await settle();
        const server = dialled[0];
        assert.ok(server);
        for (const piece of pieces) Promise.resolve(server.write(piece)).catch(() => undefined);
        server.closeWrite().catch(() => undefined);
        await settle();
        clock.advance(PATIENCE_MS);
        try {
          const client = new Watched(await connecting);
          await settle();
          assert.notEqual(client.state, 'open');
          client.link.destroy();
          return [client.text, client.state];
        } catch (error) {
          assert.ok(error instanceof WeirError, String(error));
          return error.message;
        } finally {
          assert.equal(clock.timers, 0);
        }
      };
      await fc.assert(
        fc.asyncProperty(nearly(good), cuts, async (all, at) => {
          const outcome = await serve(chunksOf(all, at));
          if (harness.inbound.sealed !== true)
            assert.deepEqual(outcome, await serve([all.slice()]));
        }),
        { numRuns: 60 },
      );
    });

    if (harness.packets === 'unsupported') {
      test('has no datagrams, and says so', async () => {
        const { outbound } = new Pair(harness);
        const failure = {
          name: 'DialError',
          code: 'unsupported',
          message: /^\w+ outbound out cannot carry UDP/,
        };
        await assert.rejects(outbound.associate(options()), failure);
      });
    }
    if (harness.packets === 'carried') carriesPackets();
  });

  function carriesPackets(): void {
    const PEERS: readonly Endpoint[] = [
      { host: '192.0.2.7', port: 53 },
      { host: '2001:db8::7', port: 54 },
      { host: 'dns.example', port: 65_535 },
    ];
    const [peer] = PEERS;
    assert.ok(peer);

    /** Datagrams that have arrived, in the order of their arrival. */
    function watch(link: PacketLink): [string, Endpoint][] {
      const received: [string, Endpoint][] = [];
      void (async () => {
        for (let next = await link.receive(); next; next = await link.receive()) {
          received.push([Buffer.from(next.data).toString('latin1'), { ...next.peer }]);
        }
      })().catch(() => undefined);
      return received;
    }

    test('carries datagrams to peers of every kind, and back', async () => {
      const pair = new Pair(harness);
      const link = await pair.outbound.associate(options());
      const received = watch(link);
      const sent: [string, Endpoint][] = [];
      for (const round of ['first', 'second']) {
        for (const to of PEERS) {
          link.send({ data: text(`${round} to ${to.host}`), peer: { ...to } });
          sent.push([`${round} to ${to.host}`, to]);
          await settle();
        }
      }
      assert.deepEqual(received, sent);
      const [association] = pair.rig.engine.associations;
      assert.equal(association?.origin.user, harness.inbound.label?.('ann'));
      link.close();
      await settle();
      assert.equal(await link.closed, undefined);
      assert.equal(pair.rig.engine.live, 0);
      assert.equal(pair.clock.timers, 0);
    });

    test('drops and counts datagrams that do not fit, and goes on', async () => {
      const pair = new Pair(harness);
      const link = await pair.outbound.associate(options());
      const received = watch(link);
      link.send({ data: Buffer.alloc(harness.longest ?? 0, 'x'), peer });
      link.send({ data: Buffer.alloc((harness.longest ?? 0) + 1), peer });
      link.send({ data: text('x'), peer: { host: 'x'.repeat(256), port: 1 } });
      link.send({ data: text('x'), peer: { host: '', port: 1 } });
      if (harness.dropsEmpty === true) link.send({ data: text(''), peer });
      link.send({ data: text('last'), peer });
      await settle();
      assert.deepEqual(
        received.map(([data]) => data.length),
        [harness.longest, 4],
      );
      const dropped = harness.dropsEmpty === true ? 4 : 3;
      assert.equal(link.dropped, dropped);
      link.close();
      link.send({ data: text('late'), peer });
      assert.equal(link.dropped, dropped + 1);
    });
  }
}

/** What a server sends when a stream is echoed. */
async function responseTo(harness: PairHarness): Promise<Buffer> {
  const { inbound } = harness;
  const rig = new Rig(inbound);
  const client = inbound.client('ann', SITE, 'a response');
  assert.ok(client);
  const connection = await rig.send(client.first(text('hello')));
  await settle();
  rig.engine.origins[0]?.write(text('response'));
  await settle();
  return connection.received;
}
