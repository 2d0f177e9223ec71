import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as settle } from 'node:timers/promises';
import { UDP_DNS_IDLE_MS, UDP_IDLE_MS } from '@weir/io/time';
import { DialError } from '@weir/io';
import type { PacketLink } from '@weir/io/links';
import { silentLogger } from '@weir/base/log';
import { FlowDispatcher } from '../../../src/engine/flow-dispatcher.ts';
import { OutboundVersion, type RoutingSnapshot } from '../../../src/engine/routing-snapshot.ts';
import { KEPT_ROOM } from '../../../../io/src/net/bounds/queue-bounds.ts';
import { MAX_ALL_KEPT_BYTES } from '../../../../io/src/net/bounds/queue-bounds.ts';
import type { DialOptions, Outbound } from '../../../src/protocols/contract.ts';
import {
  Accounts,
  type AccountValidity,
  NO_ACCOUNTS,
  OPEN_TO_ALL,
} from '../../../src/protocols/users/accounts.ts';
import { Tracker } from '../../../src/tracker/tracker.ts';
import { limitsOf } from '../../../../../test/support/engine/limits.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import type { AccountRule } from '../../../src/limits/spec.ts';
import { NO_LIMITS } from '../../../src/limits/spec.ts';
import { packetPair } from '../../../../../test/support/links/packet-pair.ts';

class FakeOutbound implements Outbound {
  readonly remotes: PacketLink[] = [];
  readonly nears: PacketLink[] = [];
  attempts = 0;
  failure: DialError | undefined;

  connect(): Promise<never> {
    return Promise.reject(new DialError('unsupported', 'no streams here'));
  }

  associate(_options: DialOptions): Promise<PacketLink> {
    this.attempts++;
    if (this.failure) return Promise.reject(this.failure);
    const [near, far] = packetPair();
    this.remotes.push(far);
    this.nears.push(near);
    return Promise.resolve(near);
  }

  close(): void {
    this.failure = new DialError('aborted', 'closed');
  }
}

/** An association whose packets to port 53 go by `dns` and all others by `plain`. */
function start({
  endsWithFlows = false,
  account,
}: { readonly endsWithFlows?: boolean; readonly account?: AccountValidity } = {}) {
  const clock = new ManualClock();
  const tracker = new Tracker(clock);
  const plain = new FakeOutbound();
  const dns = new FakeOutbound();
  const resolver = new FakeOutbound();
  const versions = new Map([
    ['plain', new OutboundVersion('plain', 1, plain)],
    ['dns', new OutboundVersion('dns', 1, dns)],
  ]);
  const snapshotOf = (epoch: number): RoutingSnapshot => ({
    epoch,
    routes: {
      route: ({ host, port }) =>
        port === 53 || host === 'dns.example'
          ? { outbound: 'dns', rule: 0 }
          : { outbound: 'plain', rule: undefined },
      needsDomain: () => false,
    },
    targets: new Map([...versions.keys()].map((tag) => [tag, { pick: () => pickOf(tag) }])),
  });
  const pickOf = (tag: string): OutboundVersion => {
    const version = versions.get(tag);
    assert.ok(version);
    return version;
  };
  const state = { snapshot: snapshotOf(1) };
  const dispatcher = new FlowDispatcher({
    tracker,
    clock,
    log: silentLogger,
    target: () => undefined,
    snapshot: () => state.snapshot,
    resolver,
  });
  const [client, near] = packetPair();
  const refusals: string[] = [];
  near.refuse = ({ host, port }, reason) => void refusals.push(`${host}:${port} ${reason}`);
  const done = dispatcher.packets({
    origin: { inbound: 'in', source: '10.0.0.9', user: undefined, session: undefined, account },
    client: near,
    isResolver: ({ host, port }) => port === 53 && host === '172.19.0.2',
    endsWithFlows,
  });
  const send = (text: string, port: number, host = '192.0.2.1'): void =>
    client.send({ data: Buffer.from(text), peer: { host, port } });
  const end = async (): Promise<void> => {
    near.close();
    await done;
  };
  return {
    clock,
    tracker,
    plain,
    dns,
    resolver,
    versions,
    state,
    snapshotOf,
    client,
    refusals,
    near,
    send,
    end,
    done,
  };
}

describe('a UDP association', () => {
  test('packets to every spelling of a name go the same way, to the name in one spelling', async () => {
    const { tracker, dns, plain, send, end } = start();
    const spellings = ['ｄns.Example.', 'DNS.example', 'dns。example'];
    for (const host of spellings) send('to', 1000, host);
    await settle();
    const [remote] = dns.remotes;
    for (const _ of spellings) {
      assert.deepEqual((await remote?.receive())?.peer, { host: 'dns.example', port: 1000 });
    }
    assert.equal(plain.attempts, 0);
    assert.deepEqual(
      tracker.flows().map(({ info }) => info.destination.host),
      ['ｄns.Example.'],
    );
    await end();
  });

  test('packets to what is not a host are lost and open nothing', async () => {
    const { dns, plain, send, end } = start();
    for (let i = 0; i < 3; i++) send('to', 1000, 'a..b');
    await settle();
    assert.equal(dns.attempts + plain.attempts, 0);
    await end();
  });

  test('packets to the own resolver are a flow of no outbound that no rule decided', async () => {
    const { tracker, dns, resolver, client, send, end } = start();
    send('query', 53, '172.19.0.2');
    await settle();
    assert.equal(dns.attempts, 0);
    const [flow] = tracker.flows();
    const { outbound, outboundVersion, rule, routingEpoch } = flow?.info ?? {};
    assert.deepEqual([outbound, outboundVersion, rule, routingEpoch], ['', 0, undefined, 1]);
    assert.equal((await resolver.remotes[0]?.receive())?.data.toString(), 'query');
    const peer = { host: '172.19.0.2', port: 53 };
    resolver.remotes[0]?.send({ data: Buffer.from('answer'), peer });
    assert.deepEqual((await client.receive())?.peer, peer);
    await end();
  });

  test('packets to one outbound share a flow, whatever their peer', async () => {
    const { tracker, plain, dns, client, send, end } = start();
    send('one', 1000);
    send('two', 2000, '192.0.2.2');
    send('ask', 53);
    await settle();
    assert.equal(tracker.flowCount, 2);
    const [first, second] = tracker.flows();
    assert.deepEqual(first?.info.destination, { host: '192.0.2.1', port: 1000, network: 'udp' });
    assert.equal(first?.up, 6);
    assert.equal(second?.info.outbound, 'dns');
    assert.equal(second?.info.rule, 0);
    assert.equal((await plain.remotes[0]?.receive())?.data.toString(), 'one');
    assert.deepEqual((await plain.remotes[0]?.receive())?.peer, { host: '192.0.2.2', port: 2000 });
    dns.remotes[0]?.send({ data: Buffer.from('answer'), peer: { host: '192.0.2.1', port: 53 } });
    const answer = await client.receive();
    assert.equal(answer?.data.toString(), 'answer');
    assert.equal(second?.down, 6);
    await end();
    assert.equal(tracker.flowCount, 0);
  });

  test('answers come back with the source they came from, asked or not', async () => {
    const { plain, client, send, end } = start();
    send('hello', 1000);
    await settle();
    const elsewhere = { host: '198.51.100.7', port: 9 };
    plain.remotes[0]?.send({ data: Buffer.from('from elsewhere'), peer: elsewhere });
    assert.deepEqual((await client.receive())?.peer, elsewhere);
    await end();
  });

  test('what all associations keep while their outbounds open is bounded, and given back', async () => {
    const before = KEPT_ROOM.bytes;
    const all = Array.from({ length: 400 }, () => start());
    const silent = new Promise<never>(() => undefined);
    const large = 'x'.repeat(4000);
    for (const { plain, send } of all) {
      plain.associate = () => silent;
      send('first', 1000);
      for (let i = 0; i < 60; i++) send(large, 1000);
    }
    await settle();
    const kept = KEPT_ROOM.bytes - before;
    assert.ok(kept > MAX_ALL_KEPT_BYTES / 2 && kept <= MAX_ALL_KEPT_BYTES, `${kept} bytes`);
    // A newcomer's first datagrams are kept beside them.
    const last = start();
    for (const text of ['one', 'two']) last.send(text, 1000);
    await settle();
    for (const text of ['one', 'two']) {
      assert.equal((await last.plain.remotes[0]?.receive())?.data.toString(), text);
    }
    await Promise.all([...all, last].map(({ end }) => end()));
    assert.equal(KEPT_ROOM.bytes, before);
  });

  test('a flow that cannot be registered leaves nothing open, and the next packet tries again', async () => {
    const { tracker, plain, versions, send, end } = start();
    const openFlow = tracker.openFlow.bind(tracker);
    tracker.openFlow = () => {
      throw new Error('injected');
    };
    send('lost', 1000);
    await settle();
    assert.equal(await plain.nears[0]?.closed, undefined);
    tracker.openFlow = openFlow;
    send('next', 1000);
    await settle();
    assert.equal((await plain.remotes[1]?.receive())?.data.toString(), 'next');
    assert.equal(tracker.flowCount, 1);
    await end();
    versions.get('plain')?.retire();
    assert.ok(plain.failure, 'the version is no longer in use');
  });

  test('without a carrier it ends with its last flow, and with one it does not', async () => {
    const { tracker, clock, send, done } = start({ endsWithFlows: true });
    send('one', 1000);
    send('ask', 53);
    await settle();
    clock.advance(UDP_DNS_IDLE_MS);
    await settle();
    assert.equal(tracker.flowCount, 1);
    tracker.flows()[0]?.kill();
    await done;

    const carried = start();
    carried.send('one', 1000);
    await settle();
    carried.tracker.flows()[0]?.kill();
    await settle();
    carried.send('again', 1000);
    await settle();
    assert.equal(carried.tracker.flowCount, 1);
    await carried.end();
  });

  test('a killed sub-link leaves the others, and a later packet opens a new flow', async () => {
    const { tracker, plain, send, end } = start();
    send('one', 1000);
    send('ask', 53);
    await settle();
    const [first, second] = tracker.flows();
    assert.ok(first);
    assert.ok(first.kill());
    await settle();
    assert.deepEqual(tracker.flows(), [second]);
    send('again', 1000);
    await settle();
    assert.equal(plain.remotes.length, 2);
    assert.ok((tracker.flows()[1]?.id ?? 0) > first.id);
    await end();
  });

  test('a sub-link ends after 300 s without a datagram in either direction', async () => {
    const { clock, tracker, plain, send, end } = start();
    send('one', 1000);
    await settle();
    clock.advance(UDP_IDLE_MS - 1);
    plain.remotes[0]?.send({ data: Buffer.from('.'), peer: { host: '192.0.2.1', port: 1000 } });
    await settle();
    clock.advance(UDP_IDLE_MS - 1);
    await settle();
    assert.equal(tracker.flowCount, 1);
    clock.advance(1);
    await settle();
    assert.equal(tracker.flowCount, 0);
    await end();
    assert.equal(clock.timers, 0);
  });

  test('one that only asked port 53 ends after 10 s', async () => {
    const { clock, tracker, send, end } = start();
    send('ask', 53);
    await settle();
    clock.advance(UDP_DNS_IDLE_MS);
    await settle();
    assert.equal(tracker.flowCount, 0);
    await end();
  });

  test('an outbound that refuses costs one attempt a second, and no flow', async () => {
    const { clock, tracker, plain, send, end } = start();
    plain.failure = new DialError('blocked', 'blocked');
    for (let i = 0; i < 10; i++) send('x', 1000);
    await settle();
    send('x', 1000);
    await settle();
    assert.equal(plain.attempts, 1);
    assert.equal(tracker.flowCount, 0);
    clock.advance(1000);
    await settle();
    send('x', 1000);
    await settle();
    assert.equal(plain.attempts, 2);
    await end();
  });

  test('an outbound that is still being opened is given up when the client leaves', async () => {
    const { clock, plain, versions, send, end } = start();
    let signal: AbortSignal | undefined;
    plain.associate = (options) => {
      signal = options.signal;
      return new Promise((_resolve, reject) => {
        options.signal.addEventListener('abort', () => reject(new Error('given up')));
      });
    };
    send('hello', 5000);
    await settle();
    assert.equal(signal?.aborted, false);
    await end();
    assert.equal(signal.aborted, true);
    await settle();
    assert.equal(clock.timers, 0);
    assert.equal(versions.get('plain')?.users, 0);
  });

  test('after a reload new packets follow the new snapshot, and the old outbound is released', async () => {
    const { tracker, versions, state, snapshotOf, send, end } = start();
    send('one', 1000);
    await settle();
    const old = versions.get('plain');
    const replacement = new FakeOutbound();
    versions.set('plain', new OutboundVersion('plain', 2, replacement));
    state.snapshot = snapshotOf(2);
    old?.retire();
    assert.equal(old?.closed, false);
    send('two', 1000);
    await settle();
    assert.equal(replacement.remotes.length, 1);
    const flows = tracker.flows();
    assert.deepEqual(
      flows.map(({ info }) => [info.outboundVersion, info.routingEpoch]),
      [
        [1, 1],
        [2, 2],
      ],
    );
    await end();
    assert.equal(old?.closed, true);
  });

  test('the client learns of peers without a route, those before the dial has failed included', async () => {
    const { plain, refusals, send, end, clock } = start();
    plain.failure = new DialError('unreachable_network', 'the server has no route');
    send('one', 1000);
    await settle();
    send('two', 1001);
    await settle();
    assert.deepEqual(refusals, [
      '192.0.2.1:1000 network unreachable',
      '192.0.2.1:1001 network unreachable',
    ]);
    refusals.length = 0;
    plain.failure = new DialError('timed_out', 'silence');
    clock.advance(1000);
    send('three', 1000);
    await settle();
    assert.deepEqual(refusals, []);
    plain.failure = undefined;
    clock.advance(1000);
    send('four', 1000);
    await settle();
    plain.nears[0]?.onUnreachable?.({ host: '192.0.2.1', port: 1000 }, 'host unreachable');
    assert.deepEqual(refusals, ['192.0.2.1:1000 host unreachable']);
    await end();
  });
});

describe('a UDP association of an account with limits', () => {
  const LABEL = { ...OPEN_TO_ALL, label: 'ann' };

  function limited(rule: Partial<AccountRule>) {
    const accounts = new Accounts();
    accounts.replace(OPEN_TO_ALL);
    const flow = start({ account: accounts.validityOf(LABEL) });
    const apply = (next: Partial<AccountRule>): void =>
      void flow.tracker.applyLimits(limitsOf({ ann: next }));
    apply(rule);
    return { ...flow, apply };
  }

  test('counts each datagram, is closed at the limit and opens no other flow', async () => {
    const { clock, client, plain, send, tracker, done } = limited({ bytes: 100 });
    send('x'.repeat(60), 1000);
    await settle();
    assert.equal(tracker.limits.meterOf('ann')?.used, 60);
    plain.remotes[0]?.send({ data: Buffer.alloc(40), peer: { host: '192.0.2.1', port: 1000 } });
    await settle();
    assert.equal((await client.receive())?.data.length, 40);
    clock.advance(0);
    await settle();
    assert.equal(tracker.flowCount, 0);
    send('more', 1000);
    await done;
    assert.equal(tracker.outcomes.limited, 1);
    assert.equal(plain.attempts, 1);
  });

  test('delays datagrams beyond the rate, in order, and drops the newest', async () => {
    const { clock, plain, send, tracker, end } = limited({ up: 1000 });
    for (let i = 0; i < 100; i++) send(String(i).padStart(100), 1000);
    await settle();
    const [remote] = plain.remotes;
    assert.ok(remote);
    const received: number[] = [];
    void remote.receiveAll(({ data }) => received.push(Number(data.toString())));
    const flowOf = () => tracker.flows()[0];
    clock.advance(2_000);
    await settle();
    // Two seconds, what had been saved up, and one share that is overdrawn.
    assert.ok(received.length >= 20 && received.length <= 31, String(received.length));
    assert.deepEqual(
      received,
      Array.from(received, (_, i) => i),
    );
    clock.advance(100_000);
    await settle();
    const sent = received.length;
    assert.ok(sent > 60 && sent < 75, String(sent));
    assert.equal(flowOf()?.up, sent * 100);
    await end();
  });

  test('sends what waits when the limit is taken back', async () => {
    const { clock, plain, send, tracker, end } = limited({ up: 1000 });
    for (let i = 0; i < 30; i++) send('x'.repeat(100), 1000);
    await settle();
    const received: number[] = [];
    void plain.remotes[0]?.receiveAll(({ data }) => received.push(data.length));
    await tracker.applyLimits(NO_LIMITS);
    clock.advance(0);
    await settle();
    assert.equal(received.length, 30);
    await end();
  });
});

describe('a UDP association of an account that is removed', () => {
  /** What a reload does to the inbound of the association. */
  function begin() {
    const accounts = new Accounts();
    accounts.replace(OPEN_TO_ALL);
    const account = accounts.validityOf(OPEN_TO_ALL);
    const reload = (accepted = NO_ACCOUNTS): void => {
      accounts.replace(accepted);
      void accounts.endIdle({ due: false, next: settle }, assert.ifError);
    };
    return { account, reload };
  }

  test('keeps its flow, opens no other, and ends with it', async () => {
    const { account, reload } = begin();
    const { tracker, plain, dns, send, done, near, clock } = start({ account });
    send('one', 1000);
    await settle();
    reload();
    send('two', 1001);
    send('refused', 53);
    await settle();
    assert.equal(tracker.flows()[0]?.up, 6);
    assert.deepEqual([plain.attempts, dns.attempts], [1, 0]);
    tracker.flows()[0]?.kill();
    assert.equal(await near.closed, undefined);
    await done;
    assert.equal(clock.timers, 0);
  });

  test('ends with the reload when it has no flow', async () => {
    const { account, reload } = begin();
    const { near, done } = start({ account });
    reload();
    assert.equal(await near.closed, undefined);
    await done;
  });

  test('opens no flow that was being dialled, and ends', async () => {
    const { account, reload } = begin();
    const { tracker, plain, versions, clock, send, near, done } = start({ account });
    const associate = plain.associate.bind(plain);
    plain.associate = (options) => {
      reload();
      return associate(options);
    };
    send('one', 1000);
    await settle();
    assert.equal(plain.attempts, 1);
    assert.equal(tracker.flowCount, 0);
    assert.equal(versions.get('plain')?.users, 0);
    clock.advance(1000);
    assert.equal(await near.closed, undefined);
    await done;
  });

  test('is refused when it begins after the reload', async () => {
    const { account, reload } = begin();
    reload();
    const { near, plain, send, done } = start({ account });
    send('refused', 1000);
    assert.match(String(await near.closed), /the account has been removed/);
    await done;
    assert.equal(plain.attempts, 0);
  });

  test('opens flows again when the account is back', async () => {
    const { account, reload } = begin();
    const { dns, send, end } = start({ account });
    send('one', 1000);
    await settle();
    reload();
    send('refused', 53);
    await settle();
    reload(OPEN_TO_ALL);
    send('two', 53);
    await settle();
    assert.equal(dns.attempts, 1);
    await end();
  });

  test('watches its account no longer than it lives', async () => {
    const { account, reload } = begin();
    const { near, end } = start({ account });
    await end();
    let closes = 0;
    near.close = () => closes++;
    reload();
    assert.equal(closes, 0);
  });
});
