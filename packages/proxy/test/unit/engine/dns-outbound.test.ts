import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decode, encode } from 'dns-packet';
import { UnitCost } from '@weir/io/bounds';
import { GRANT_UNITS, GRANTS_A_TURN } from '../../../../io/src/net/bounds/units.ts';
import type { DnsAnswer, DnsService } from '../../../src/dns/backend.ts';
import { frame, FramedMessageReader } from '../../../src/dns/exchanges/exchange.ts';
import { DnsOutbound } from '../../../src/engine/dns-outbound.ts';
import type { Origin } from '../../../src/protocols/contract.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import { settle } from '../../../../../test/support/settle.ts';

const { signal } = new AbortController();
const origin: Origin = { inbound: 'tun', source: '10.0.0.9', user: undefined, session: undefined };
const resolver = { host: '172.19.0.2', port: 53 };

const query = (id: number, name = `n${id}.example`): Buffer =>
  encode({ type: 'query', id, questions: [{ name, type: 'A' }] });

/** Questions that are answered by hand. */
function start() {
  const waiting = new Map<string, (answer: DnsAnswer) => void>();
  const signals: AbortSignal[] = [];
  const service: { -readonly [Key in keyof DnsService]: DnsService[Key] } = {
    lookup: (name, _type, abort) => {
      const { promise, resolve } = Promise.withResolvers<DnsAnswer>();
      waiting.set(name, resolve);
      if (abort) signals.push(abort);
      return promise;
    },
    forward: () => Promise.reject(new Error('not asked for')),
  };
  const clock = new ManualClock();
  const outbound = new DnsOutbound(service, clock);
  const answer = (id: number): void =>
    waiting.get(`n${id}.example`)?.({ addresses: ['192.0.2.1'], ttl: 9 });
  return { waiting, signals, clock, outbound, answer, service };
}

describe('the outbound of the own resolver', () => {
  test('answers a stream in the order in which answers come', async () => {
    const { outbound, answer, clock } = start();
    const link = await outbound.connect(resolver, { signal, origin });
    await link.writeOutput([frame(query(1)), frame(query(2))]);
    await settle(1);
    const responses = new FramedMessageReader(link);
    answer(2);
    assert.equal(decode(await responses.next()).id, 2);
    await link.closeWrite();
    await settle(1);
    answer(1);
    assert.equal(decode(await responses.next()).id, 1);
    assert.equal(await link.read(), undefined);
    await settle(1);
    assert.equal(clock.timers, 0);
  });

  test('answers many queries of one read in turns, between which others go on', async () => {
    const { outbound, waiting, service } = start();
    // As from the cache.
    service.lookup = () => Promise.resolve({ addresses: ['192.0.2.1'], ttl: 9 });
    const link = await outbound.connect(resolver, { signal, origin });
    const queries = 1_000;
    const sent = Array.from({ length: queries }, (_, id) => frame(query(id, 'n.example')));
    const written = link.write(Buffer.concat(sent));
    const responses = new FramedMessageReader(link);
    let last = -1;
    const all = (async () => {
      for (let id = 0; id < queries; id++) last = decode(await responses.next()).id ?? -1;
    })();
    let turns = 0;
    for (; last < queries - 1; turns++) await settle(1);
    await Promise.all([all, written]);
    assert.equal(waiting.size, 0);
    const least = (queries * UnitCost.head) / (GRANTS_A_TURN * GRANT_UNITS);
    assert.ok(turns >= least, `${turns} turns`);
    link.destroy();
  });

  test('a stream that falls silent is closed', async () => {
    const { outbound, clock } = start();
    const link = await outbound.connect(resolver, { signal, origin });
    clock.advance(10_000);
    await link.closed;
    assert.equal(clock.timers, 0);
  });

  test('questions of a client that has left are aborted', async () => {
    const { outbound, signals } = start();
    const link = await outbound.connect(resolver, { signal, origin });
    await link.write(frame(query(1)));
    await settle(1);
    link.destroy();
    await settle(1);
    assert.equal(signals[0]?.aborted, true);
    const packets = await outbound.associate({ signal, origin });
    packets.send({ data: query(2), peer: resolver });
    packets.close();
    assert.equal(signals[1]?.aborted, true);
    assert.equal(await packets.closed, undefined);
  });

  test('a stream with more questions than are answered at once waits', async () => {
    const { outbound, waiting, answer } = start();
    const link = await outbound.connect(resolver, { signal, origin });
    for (let id = 0; id < 100; id++) void link.write(frame(query(id)));
    await settle(16);
    assert.equal(waiting.size, 64);
    answer(0);
    await settle(16);
    assert.equal(waiting.size, 65);
    link.destroy();
  });

  test('datagrams are answered from the address that they were sent to', async () => {
    const { outbound, answer } = start();
    const link = await outbound.associate({ signal, origin });
    link.send({ data: query(7), peer: resolver });
    answer(7);
    const response = await link.receive();
    assert.deepEqual(response?.peer, resolver);
    assert.equal(response && decode(Buffer.from(response.data)).id, 7);
    for (let id = 0; id < 65; id++) link.send({ data: query(id), peer: resolver });
    assert.equal(link.dropped, 1);
    link.close();
    assert.equal(await link.receive(), undefined);
  });
});
