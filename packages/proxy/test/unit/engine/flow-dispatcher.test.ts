import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as settle } from 'node:timers/promises';
import type { Endpoint } from '@weir/io/addresses';
import { DialError } from '@weir/io';
import { type ByteLink, linkPair } from '@weir/io/links';
import { DIAL_MS } from '@weir/io/time';
import { silentLogger } from '@weir/base/log';
import { FlowDispatcher } from '../../../src/engine/flow-dispatcher.ts';
import { WATCH_AFTER_MS } from '../../../src/engine/dial.ts';
import { OutboundVersion, type RoutingSnapshot } from '../../../src/engine/routing-snapshot.ts';
import type { DialOptions, Outbound, StreamRequest } from '../../../src/protocols/contract.ts';
import { Accounts, NO_ACCOUNTS } from '../../../src/protocols/users/accounts.ts';
import { Tracker } from '../../../src/tracker/tracker.ts';
import { readAll } from '../../../../io/test/conformance/byte-link.ts';
import { limitsOf } from '../../../../../test/support/engine/limits.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import { logLines } from '../../../../../test/support/engine/log-lines.ts';

/** An outbound with memory links, of which it keeps the other ends. */
class FakeOutbound implements Outbound {
  readonly servers: ByteLink[] = [];
  readonly dialled: Endpoint[] = [];
  closed = false;
  answer: (options: DialOptions) => Promise<ByteLink> = () => {
    const [near, far] = linkPair();
    this.servers.push(far);
    return Promise.resolve(near);
  };

  connect(destination: Endpoint, options: DialOptions): Promise<ByteLink> {
    this.dialled.push(destination);
    return this.answer(options);
  }

  associate(): Promise<never> {
    return Promise.reject(new DialError('unsupported', 'no datagrams here'));
  }

  close(): void {
    this.closed = true;
  }
}

/** A dispatcher whose route depends on the sniffed name when `byName` is set. */
function start({ byName = false, log = silentLogger } = {}) {
  const clock = new ManualClock();
  const tracker = new Tracker(clock);
  const outbound = new FakeOutbound();
  const named = new FakeOutbound();
  const versions = {
    plain: new OutboundVersion('plain', 1, outbound),
    named: new OutboundVersion('named', 3, named),
  };
  const snapshot: RoutingSnapshot = {
    epoch: 7,
    routes: {
      route: ({ host, sniffed }) =>
        (byName && sniffed === 'example.com') || host === 'named.example'
          ? { outbound: 'named', rule: 2 }
          : { outbound: 'plain', rule: undefined },
      needsDomain: () => byName,
    },
    targets: new Map([
      ['plain', { pick: () => versions.plain }],
      ['named', { pick: () => versions.named }],
    ]),
  };
  const resolver = new FakeOutbound();
  const dispatcher = new FlowDispatcher({
    tracker,
    clock,
    log,
    snapshot: () => snapshot,
    target: (tag) => snapshot.targets.get(tag),
    resolver,
  });
  const [client, near] = linkPair();
  let accepted = 0;
  const request: StreamRequest = {
    origin: { inbound: 'in', source: '10.0.0.9', user: 'ann', session: undefined },
    destination: { host: '192.0.2.1', port: 80 },
    sniff: false,
    client: near,
    accept: () => {
      accepted++;
      return Promise.resolve(near);
    },
  };
  return {
    clock,
    tracker,
    outbound,
    named,
    resolver,
    versions,
    dispatcher,
    client,
    request,
    accepted: () => accepted,
  };
}

const HTTP_HEAD = Buffer.from('GET / HTTP/1.1\r\nHost: example.com\r\n\r\n');

describe('the dispatcher', () => {
  test('a removed account gets no flow, nor is anything dialled for it', async () => {
    const { tracker, dispatcher, outbound, request, accepted } = start();
    const accounts = new Accounts();
    accounts.replace(NO_ACCOUNTS);
    const origin = {
      ...request.origin,
      account: accounts.validityOf({ label: 'ann', credential: 'ann' }),
    };
    await assert.rejects(dispatcher.stream({ ...request, origin }), { code: 'forbidden' });
    assert.deepEqual([outbound.dialled, tracker.flowCount, accepted()], [[], 0, 0]);
  });

  test('an account at a limit gets no flow, and its open ones are closed with the reason', async () => {
    const { tracker, clock, dispatcher, outbound, request, client, accepted } = start();
    const accounts = new Accounts();
    const account = accounts.validityOf({ label: 'ann', credential: 'ann' });
    const origin = { ...request.origin, account };
    void tracker.applyLimits(limitsOf({ ann: { bytes: 5 } }));
    const served = dispatcher.stream({ ...request, origin });
    void client.write(Buffer.from('sixty'));
    await settle();
    assert.equal(tracker.limits.meterOf('ann')?.used, 5);
    clock.advance(0);
    await served;
    assert.match((await client.closed)?.message ?? '', /the account "ann" has used its bytes/);
    await assert.rejects(dispatcher.stream({ ...request, origin }), {
      code: 'forbidden',
      message: 'the account "ann" has used its bytes',
    });
    assert.deepEqual([outbound.dialled.length, accepted(), tracker.outcomes.limited], [1, 1, 1]);
  });

  for (const byName of [false, true]) {
    test(`an account that is removed during the dial gets no flow${byName ? ', after a success that was sent early' : ''}`, async () => {
      const { tracker, dispatcher, outbound, versions, request, client } = start({ byName });
      const accounts = new Accounts();
      const origin = {
        ...request.origin,
        account: accounts.validityOf({ label: 'ann', credential: 'ann' }),
      };
      const { answer } = outbound;
      outbound.answer = (options) => {
        accounts.replace(NO_ACCOUNTS);
        return answer(options);
      };
      await client.write(HTTP_HEAD.subarray(0, 4));
      await client.closeWrite();
      const done = dispatcher.stream({ ...request, origin, sniff: true });
      if (byName) await done;
      else await assert.rejects(done, { code: 'forbidden' });
      assert.equal(outbound.dialled.length, 1);
      assert.equal(tracker.flowCount, 0);
      assert.equal(versions.plain.users, 0);
    });
  }

  for (const host of ['Named.EXAMPLE.', 'ｎamed。example', 'na\u00admed.example']) {
    test(`${JSON.stringify(host)} is judged and dialled as the name that it is`, async () => {
      const { tracker, dispatcher, named, client, request } = start();
      const done = dispatcher.stream({ ...request, destination: { host, port: 80 } });
      await settle();
      assert.deepEqual(named.dialled, [{ host: 'named.example', port: 80 }]);
      assert.equal(tracker.flows()[0]?.info.destination.host, host);
      client.destroy();
      await done;
    });
  }

  test('a stream to the own resolver is a flow of no outbound that no rule decided', async () => {
    const { tracker, dispatcher, outbound, named, resolver, client, request } = start({
      byName: true,
    });
    const destination = { host: '172.19.0.2', port: 53 };
    const done = dispatcher.stream({ ...request, destination, sniff: true, toResolver: true });
    await settle();
    assert.deepEqual([...outbound.dialled, ...named.dialled], []);
    assert.deepEqual(resolver.dialled, [destination]);
    const { outbound: tag, outboundVersion, rule, sniffed } = tracker.flows()[0]?.info ?? {};
    assert.deepEqual([tag, outboundVersion, rule, sniffed], ['', 0, undefined, undefined]);
    client.destroy();
    await done;
  });

  test('a name that means an address is sniffed and dialled as that address', async () => {
    const { dispatcher, named, client, request } = start({ byName: true });
    const destination = { host: '0x7f.1', port: 80 };
    const done = dispatcher.stream({ ...request, destination, sniff: true });
    await client.write(HTTP_HEAD);
    await settle();
    assert.deepEqual(named.dialled, [{ host: '127.0.0.1', port: 80 }]);
    client.destroy();
    await done;
  });

  test('what is not a host name is dialled by no outbound', async () => {
    const { dispatcher, outbound, request } = start();
    const destination = { host: 'ex%61mple.com', port: 80 };
    await assert.rejects(dispatcher.stream({ ...request, destination }), {
      code: 'not_found',
      message: '"ex%61mple.com" is not a host name',
    });
    assert.deepEqual(outbound.dialled, []);
  });

  test('dials, accepts the client, registers the flow and unregisters it with final counts', async () => {
    const { tracker, dispatcher, outbound, client, request, accepted } = start();
    const events = tracker.events.subscribe();
    const done = dispatcher.stream(request);
    await settle();
    const [flow] = tracker.flows();
    assert.ok(flow);
    assert.deepEqual(flow.info, {
      session: undefined,
      inbound: 'in',
      user: 'ann',
      source: '10.0.0.9',
      destination: { network: 'tcp', host: '192.0.2.1', port: 80 },
      sniffed: undefined,
      outbound: 'plain',
      outboundVersion: 1,
      rule: undefined,
      routingEpoch: 7,
      isChosen: undefined,
      account: undefined,
    });
    await client.write(Buffer.from('hello'));
    const [server] = outbound.servers;
    assert.equal((await server?.read())?.length, 5);
    await client.closeWrite();
    await server?.closeWrite();
    await done;
    assert.equal(accepted(), 1);
    assert.equal(tracker.flowCount, 0);
    assert.deepEqual([flow.up, flow.down], [5, 0]);
    assert.deepEqual([events.poll()?.kind, events.poll()?.kind], ['opened', 'closed']);
  });

  test('a failed dial reaches the inbound, and the client is never accepted', async () => {
    const { tracker, dispatcher, outbound, versions, request, accepted } = start();
    outbound.answer = () => Promise.reject(new DialError('refused', 'connection refused'));
    await assert.rejects(dispatcher.stream(request), { code: 'refused' });
    assert.equal(accepted(), 0);
    assert.equal(tracker.flowCount, 0);
    assert.equal(versions.plain.users, 0);
  });

  test('a dial that takes 10 s is given up', async () => {
    const { clock, dispatcher, outbound, request } = start();
    outbound.answer = ({ signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('given up')));
      });
    const failed = assert.rejects(dispatcher.stream(request), { code: 'timed_out' });
    clock.advance(DIAL_MS);
    await failed;
    assert.equal(clock.timers, 0);
  });

  describe('while it dials', () => {
    /** A dial that goes on until it is aborted. */
    const dialling = () => {
      const all = start();
      const dialled = Promise.withResolvers<ByteLink>();
      all.outbound.answer = ({ signal }) => {
        signal.addEventListener('abort', () => dialled.reject(new Error('given up')));
        return dialled.promise;
      };
      return { ...all, dialled };
    };

    test('is aborted with a client that resets', async () => {
      const { clock, versions, dispatcher, client, request, accepted } = dialling();
      const failed = assert.rejects(dispatcher.stream(request), {
        code: 'aborted',
        message: 'the client has left',
      });
      clock.advance(WATCH_AFTER_MS);
      client.destroy(new Error('reset'));
      await failed;
      assert.equal(accepted(), 0);
      assert.equal(clock.timers, 0);
      assert.equal(versions.plain.users, 0);
    });

    test('is aborted with a client that resets after it has sent, or has ended as well', async () => {
      for (const ends of [false, true]) {
        const { clock, dispatcher, client, request } = dialling();
        const failed = assert.rejects(dispatcher.stream(request), { code: 'aborted' });
        clock.advance(WATCH_AFTER_MS);
        await client.write(Buffer.from('hello'));
        if (ends) await client.closeWrite();
        await settle();
        request.client.destroy(new Error('reset'));
        await failed;
      }
    });

    test('is aborted with a client that was accepted', async () => {
      const { dispatcher, outbound, client, clock, request } = start({ byName: true });
      let signal: AbortSignal | undefined;
      outbound.answer = (options) => {
        signal = options.signal;
        return new Promise((_resolve, reject) => {
          options.signal.addEventListener('abort', () => reject(new Error('given up')));
        });
      };
      const done = dispatcher.stream({ ...request, sniff: true });
      await settle();
      clock.advance(300);
      await settle();
      assert.equal(signal?.aborted, false);
      clock.advance(WATCH_AFTER_MS);
      client.destroy(new Error('reset'));
      await done;
      assert.equal(signal?.aborted, true);
    });

    test('goes on for a client that has half-closed, and passes that on with what it sent', async () => {
      const { clock, dispatcher, dialled, client, request } = dialling();
      const done = dispatcher.stream(request);
      clock.advance(WATCH_AFTER_MS);
      await client.write(Buffer.from('one '));
      await client.write(Buffer.from('two'));
      await client.closeWrite();
      await settle();
      const [near, server] = linkPair();
      dialled.resolve(near);
      assert.equal((await readAll(server)).toString(), 'one two');
      await server.write(Buffer.from('answer'));
      await server.closeWrite();
      assert.equal((await readAll(client)).toString(), 'answer');
      await done;
    });

    for (const [length, most] of [
      [8 * 1024, 2],
      [1, 16],
    ] as const) {
      test(`reads at most ${most} pieces of ${length} bytes ahead, and unreads them in order`, async () => {
        const { clock, dispatcher, dialled, client, request } = dialling();
        let reads = 0;
        const read = request.client.read.bind(request.client);
        request.client.read = (signal) => {
          reads++;
          return read(signal);
        };
        const done = dispatcher.stream(request);
        clock.advance(WATCH_AFTER_MS);
        for (let i = 0; i < 50; i++) void client.write(new Uint8Array(length).fill(i));
        await settle();
        assert.equal(reads, most);
        const [near, server] = linkPair();
        dialled.resolve(near);
        await client.closeWrite();
        const all = await readAll(server);
        assert.equal(all.length, 50 * length);
        for (let i = 0; i < 50; i++) assert.equal(all[i * length], i);
        await server.closeWrite();
        await done;
      });
    }
  });

  test('a client that left meanwhile leaves nothing behind', async () => {
    const { tracker, dispatcher, outbound, versions, request } = start();
    await dispatcher.stream({ ...request, accept: () => Promise.reject(new Error('gone')) });
    assert.equal(tracker.flowCount, 0);
    assert.equal(versions.plain.users, 0);
    await assert.rejects(async () => outbound.servers[0]?.read());
  });

  test('when a name could change the route, the client is accepted first and the name decides', async () => {
    const { tracker, dispatcher, named, client, request, accepted } = start({ byName: true });
    const done = dispatcher.stream({ ...request, sniff: true });
    await settle();
    assert.equal(accepted(), 1);
    assert.equal(tracker.flowCount, 0);
    await client.write(HTTP_HEAD);
    await settle();
    const [flow] = tracker.flows();
    assert.equal(flow?.info.outbound, 'named');
    assert.equal(flow?.info.outboundVersion, 3);
    assert.equal(flow?.info.rule, 2);
    assert.equal(flow?.info.sniffed, 'example.com');
    assert.equal(flow?.info.destination.host, '192.0.2.1');
    const [server] = named.servers;
    assert.equal((await server?.read())?.length, HTTP_HEAD.length);
    client.destroy();
    await done;
  });

  test('a silent client is routed without a name after 300 ms', async () => {
    const { clock, tracker, dispatcher, client, request } = start({ byName: true });
    const done = dispatcher.stream({ ...request, sniff: true });
    await settle();
    clock.advance(300);
    await settle();
    assert.equal(tracker.flows()[0]?.info.outbound, 'plain');
    client.destroy();
    await done;
  });

  test('a failed dial after an early accept only ends the client', async () => {
    const { clock, dispatcher, outbound, client, request } = start({ byName: true });
    outbound.answer = () => Promise.reject(new DialError('refused', 'connection refused'));
    const done = dispatcher.stream({ ...request, sniff: true });
    await settle();
    clock.advance(300);
    await done;
    await assert.rejects(client.read(), /connection refused/);
  });

  test('a name that cannot change the route is recorded, and a refused dial still reaches the client', async () => {
    const { tracker, dispatcher, outbound, client, request, accepted } = start();
    const done = dispatcher.stream({ ...request, sniff: true });
    await settle();
    assert.equal(accepted(), 1);
    await client.write(HTTP_HEAD);
    await settle();
    assert.equal(tracker.flows()[0]?.info.sniffed, 'example.com');
    client.destroy();
    await done;
    outbound.answer = () => Promise.reject(new DialError('refused', 'connection refused'));
    await assert.rejects(dispatcher.stream({ ...request, sniff: true }), { code: 'refused' });
    assert.equal(accepted(), 1);
  });

  test('a server that sends first is not kept waiting for the name', async () => {
    const { clock, tracker, dispatcher, outbound, client, request } = start();
    const done = dispatcher.stream({ ...request, sniff: true });
    await settle();
    assert.equal(tracker.flowCount, 0);
    await outbound.servers[0]?.write(Buffer.from('220 ready\r\n'));
    assert.equal((await client.read())?.toString(), '220 ready\r\n');
    assert.equal(tracker.flowCount, 1);
    assert.equal(clock.timers, 0);
    client.destroy();
    await done;
  });

  test('the read of the server beside the sniffing is the first one of the relay', async () => {
    const { tracker, dispatcher, outbound, client, request } = start();
    let reads = 0;
    const { answer } = outbound;
    outbound.answer = async (options) => {
      const link = await answer(options);
      const read = link.read.bind(link);
      link.read = (signal) => {
        reads++;
        assert.equal(signal, undefined);
        return read(signal);
      };
      return link;
    };
    const done = dispatcher.stream({ ...request, sniff: true });
    await settle();
    await client.write(HTTP_HEAD);
    await settle();
    assert.equal(tracker.flows()[0]?.info.sniffed, 'example.com');
    assert.equal(reads, 1);
    await outbound.servers[0]?.write(Buffer.from('HTTP/1.1 200 OK\r\n\r\n'));
    assert.equal((await client.read())?.toString(), 'HTTP/1.1 200 OK\r\n\r\n');
    client.destroy();
    await done;
  });

  test('a killed flow ends both sides and nothing else', async () => {
    const { tracker, dispatcher, outbound, client, request } = start();
    const done = dispatcher.stream(request);
    await settle();
    assert.equal(tracker.flows()[0]?.kill(), true);
    await done;
    await assert.rejects(client.read(), /closed by the operator/);
    await assert.rejects(async () => outbound.servers[0]?.read(), /closed by the operator/);
    assert.equal(tracker.flowCount, 0);
  });

  test('a flow that cannot be registered, or whose end cannot be, leaves nothing open', async () => {
    for (const call of ['openFlow', 'close'] as const) {
      const { tracker, outbound, versions, dispatcher, client, request } = start();
      const fail = (): never => {
        throw new Error('injected');
      };
      if (call === 'openFlow') tracker.openFlow = fail;
      else {
        const openFlow = tracker.openFlow.bind(tracker);
        tracker.openFlow = (...all) => Object.assign(openFlow(...all), { close: fail });
      }
      const done = dispatcher.stream(request);
      const failed = assert.rejects(done, /injected/);
      await settle();
      if (call === 'close') {
        await client.closeWrite();
        await outbound.servers[0]?.closeWrite();
      }
      await failed;
      assert.equal(await outbound.servers[0]?.closed, undefined);
      versions.plain.retire();
      assert.ok(outbound.closed, 'the version is no longer in use');
    }
  });

  test('a retired outbound closes with its last flow', async () => {
    const { dispatcher, outbound, versions, client, request } = start();
    const done = dispatcher.stream(request);
    await settle();
    versions.plain.retire();
    assert.equal(outbound.closed, false);
    client.destroy();
    await done;
    assert.equal(outbound.closed, true);
  });

  test('stopping aborts dials that are under way', async () => {
    const { dispatcher, outbound, request } = start();
    outbound.answer = ({ signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('given up')));
      });
    const failed = assert.rejects(dispatcher.stream(request), { code: 'aborted' });
    dispatcher.stop();
    await failed;
  });
});

describe('a flow that ends without a byte of response', () => {
  const LINE = 'INFO in -> tcp 192.0.2.1:80 by plain: ';
  /** Runs one flow to its end and returns the lines about it. */
  async function linesOf(
    play: (sides: {
      readonly client: ByteLink;
      readonly server: ByteLink;
      readonly parts: ReturnType<typeof start>;
    }) => void | Promise<void>,
    toResolver = false,
  ): Promise<string[]> {
    const { log, lines } = logLines('info');
    const parts = start({ log });
    const done = parts.dispatcher.stream({ ...parts.request, toResolver });
    await settle();
    const [server] = (toResolver ? parts.resolver : parts.outbound).servers;
    assert.ok(server);
    await play({ client: parts.client, server, parts });
    await settle();
    parts.client.destroy();
    server.destroy();
    await done;
    return lines;
  }

  test('because the server closed it is a line', async () => {
    const lines = await linesOf(async ({ client, server }) => {
      await client.write(Buffer.from('request'));
      await server.closeWrite();
      await client.closeWrite();
      await readAll(server);
    });
    const cause = 'the server closed the connection without sending anything (default route)';
    assert.deepEqual(lines, [LINE + cause]);
  });

  test('because its client stopped waiting is a line', async () => {
    const lines = await linesOf(async ({ client }) => {
      await client.write(Buffer.from('request'));
      client.destroy(new Error('reset'));
    });
    assert.deepEqual(lines, [`${LINE}nothing came back before the client left (default route)`]);
  });

  test('with the error of the server has it as its cause', async () => {
    const lines = await linesOf(({ server }) => server.destroy(new Error('a strange status')));
    assert.deepEqual(lines, [`${LINE}a strange status (default route)`]);
  });

  const quiet: readonly (readonly [string, Parameters<typeof linesOf>[0], boolean?])[] = [
    ['whose client sent nothing', ({ client }) => client.closeWrite()],
    ['that was killed', ({ parts }) => void parts.tracker.flows()[0]?.kill()],
    ['to the own resolver', ({ server }) => server.destroy(new Error('over')), true],
    [
      'that a stop ends',
      async ({ client, parts }) => {
        await client.write(Buffer.from('request'));
        parts.dispatcher.stop();
        client.destroy(new Error('the proxy is stopping'));
      },
    ],
  ];
  for (const [what, play, toResolver] of quiet) {
    test(`${what} is no line`, async () => {
      assert.deepEqual(await linesOf(play, toResolver), []);
    });
  }
});
