import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, test } from 'node:test';
import { DialError, type FlowView, type Weir } from '../../packages/weir/src/index.ts';
import { startLibrary } from '../support/library/start.ts';
import {
  discardServer,
  echoServer,
  sendFirstServer,
  tcpServer,
  udpServer,
} from '../support/peers/servers.ts';
import { ownAddress } from '../support/process/load.ts';
import { blackhole, freedom, rule, socksIn } from '../support/process/config.ts';
import { type Body, bodyOf, receiveBody, sendBody } from '../support/data/pattern.ts';
import { openSockets } from '../support/process/proc.ts';
import { eventually, within } from '../support/wait.ts';

const TWO = freedom('direct') + freedom('other') + blackhole();

const flowOf = (weir: Weir): FlowView | undefined => weir.connections().flows[0];

/** Resolves with the error that a stream is destroyed with. */
const failureOf = async (stream: NodeJS.EventEmitter): Promise<Error> => {
  const [error] = (await once(stream, 'error')) as [Error];
  return error;
};

describe('connect', () => {
  test('opens a flow by the outbound that is named, and shows it', async () => {
    await using origin = await echoServer();
    await using host = await startLibrary(TWO);
    const { weir } = host;
    const { host: name, port } = origin;
    const socket = await weir.connect({ host: name, port, outbound: 'other', user: 'ann' });
    const flow = flowOf(weir);
    assert.equal(flow?.id, socket.flowId);
    const { inbound, user, outbound, session, source, rule: index } = flow;
    assert.deepEqual(
      { inbound, user, outbound, session, source, index },
      {
        inbound: 'library',
        user: 'ann',
        outbound: 'other',
        session: null,
        source: null,
        index: null,
      },
    );
    socket.end('hello');
    assert.equal(await text(socket), 'hello');
    await eventually('the end of the flow', () => weir.connections().flows.length === 0);
  });

  test('is routed by the rules without an outbound, under the inbound that it names', async () => {
    await using origin = await echoServer();
    const rules =
      rule('block', 'inbound_tag = ["web"]') + rule('other', 'inbound_tag = ["library"]');
    await using host = await startLibrary(TWO + rules);
    const target = { host: origin.host, port: origin.port };
    const socket = await host.weir.connect(target);
    assert.equal(flowOf(host.weir)?.outbound, 'other');
    assert.equal(flowOf(host.weir)?.rule, 1);
    await assert.rejects(host.weir.connect({ ...target, inbound: 'web' }), {
      name: 'DialError',
      code: 'blocked',
    });
    // The rules are not asked.
    const chosen = await host.weir.connect({ ...target, inbound: 'web', outbound: 'direct' });
    socket.destroy();
    chosen.destroy();
  });

  test('a half-close travels in both directions', async () => {
    const origin = await sendFirstServer(100_000);
    await using _ = origin;
    await using host = await startLibrary(TWO);
    const socket = await host.weir.connect({ host: origin.host, port: origin.port });
    assert.deepEqual(await receiveBody(socket), bodyOf(100_000));
    // The destination has ended its side; this side is still open.
    await sendBody(socket, 50_000);
    socket.end();
    assert.deepEqual(await origin.received, bodyOf(50_000));
  });

  test('ends by itself with the destination if it may not be half-open', async () => {
    await using origin = await tcpServer((socket) => void socket.resume().end('bye'));
    await using host = await startLibrary(TWO);
    const target = { host: origin.host, port: origin.port };
    const socket = await host.weir.connect({ ...target, allowHalfOpen: false });
    const closed = once(socket, 'close');
    assert.equal(await text(socket), 'bye');
    await within(closed, 'the close of the stream');
  });

  test('a side that does not read stops the other one, and nothing is lost', async () => {
    const size = 64 * 1024 * 1024;
    const go = Promise.withResolvers<void>();
    const received = Promise.withResolvers<Body>();
    await using origin = await tcpServer(async (socket) => {
      const sent = sendBody(socket, size);
      await go.promise;
      received.resolve(await receiveBody(socket));
      await sent;
      socket.end();
    });
    await using host = await startLibrary(TWO);
    const socket = await host.weir.connect({ host: origin.host, port: origin.port });
    const sent = sendBody(socket, size).then(() => socket.end());
    const both = await eventually('bytes of this side', () => {
      const flow = flowOf(host.weir);
      return flow && flow.up > 0 ? flow : undefined;
    });
    // No kernel keeps as much for a reader.
    assert.ok(both.up < size && both.down < size);
    assert.ok(socket.writableLength < size / 8 && socket.readableLength < size / 8);
    go.resolve();
    const [back] = await Promise.all([receiveBody(socket), sent]);
    assert.deepEqual(back, bodyOf(size));
    assert.deepEqual(await received.promise, bodyOf(size));
  });

  test('a failure has the code of its reason', async () => {
    await using host = await startLibrary(TWO);
    const { weir } = host;
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    assert.ok(address !== null && typeof address === 'object');
    const { port } = address;
    server.close();
    await once(server, 'close');
    const target = { host: '127.0.0.1', port };
    await assert.rejects(weir.connect(target), DialError);
    await assert.rejects(weir.connect(target), { name: 'DialError', code: 'refused' });
    await assert.rejects(weir.connect({ ...target, outbound: 'block' }), { code: 'blocked' });
    await assert.rejects(weir.connect({ ...target, outbound: 'absent' }), {
      name: 'DialError',
      code: 'unknown_outbound',
      message: 'no outbound or balancer has the tag "absent"',
    });
    await assert.rejects(weir.connect({ ...target, host: 'no host' }), { code: 'not_found' });
    await assert.rejects(weir.connect({ ...target, port: 65_536 }), RangeError);
    for (const wrong of [{ host: undefined }, { host: 5 }, { user: 5 }, { inbound: null }]) {
      const options = { ...target, ...wrong } as unknown as typeof target;
      await assert.rejects(weir.connect(options), TypeError);
    }
  });

  test('a reset of the destination is an error of the stream after what came before it', async () => {
    await using origin = await tcpServer((socket) => {
      socket.write('half');
      socket.once('data', () => socket.resetAndDestroy());
    });
    await using host = await startLibrary(TWO);
    const socket = await host.weir.connect({ host: origin.host, port: origin.port });
    const failed = failureOf(socket);
    let read = '';
    socket.on('data', (chunk: Buffer) => {
      read += chunk.toString();
      socket.write('now');
    });
    assert.match((await within(failed, 'the reset')).message, /reset/i);
    assert.equal(read, 'half');
  });

  test('a stream that is only written to learns of a reset', async () => {
    await using origin = await tcpServer(
      (socket) => void socket.once('data', () => socket.resetAndDestroy()),
    );
    await using host = await startLibrary(TWO);
    const socket = await host.weir.connect({ host: origin.host, port: origin.port });
    const failed = failureOf(socket);
    socket.write('x');
    await within(failed, 'the reset');
  });

  test('closeFlow destroys the stream, a reload leaves it on its outbound', async () => {
    await using origin = await echoServer();
    await using host = await startLibrary(TWO);
    const target = { host: origin.host, port: origin.port, outbound: 'other' };
    const socket = await host.weir.connect(target);
    await host.change(freedom('direct'));
    socket.write('still here');
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    assert.equal(chunk.toString(), 'still here');
    await assert.rejects(host.weir.connect(target), { code: 'unknown_outbound' });
    const failed = failureOf(socket);
    assert.equal(host.weir.closeFlow(socket.flowId), true);
    assert.match((await failed).message, /closed by the operator/);
  });

  test('a stop waits for streams within its grace period, and refuses new ones', async () => {
    await using origin = await echoServer();
    await using host = await startLibrary(TWO);
    const target = { host: origin.host, port: origin.port };
    const socket = await host.weir.connect(target);
    const stopped = host.weir.stop({ graceMs: 60_000 });
    await assert.rejects(host.weir.connect(target), { code: 'aborted' });
    await assert.rejects(host.weir.associate(), { code: 'aborted' });
    socket.end('last');
    assert.equal(await text(socket), 'last');
    await within(stopped, 'the stop');
  });

  test('a stop ends what is still open', async () => {
    await using origin = await discardServer();
    await using host = await startLibrary(TWO);
    const socket = await host.weir.connect({ host: origin.host, port: origin.port });
    const failed = failureOf(socket);
    await host.weir.stop({ graceMs: 0 });
    await within(failed, 'the end of the stream');
  });

  test('a connection to a listener of this process is none of that inbound, whatever its tag', async () => {
    await using host = await startLibrary(socksIn('library') + TWO);
    const listening = host.lines.find(({ message }) => message.startsWith('inbound library'));
    const port = Number(/:(\d+)$/.exec(listening?.message ?? '')?.[1]);
    const socket = await host.weir.connect({ host: '127.0.0.1', port });
    socket.write(Uint8Array.of(5, 1, 0));
    const [reply] = (await once(socket, 'data')) as [Buffer];
    assert.deepEqual([...reply], [5, 0]);
    socket.destroy();
  });
});

describe('an abort', () => {
  test('before the call and during the dial rejects with the reason of the signal', async () => {
    await using host = await startLibrary(TWO);
    const reason = new Error('not any more');
    const target = { host: '127.0.0.1', port: 9 };
    const aborted = AbortSignal.abort(reason);
    await assert.rejects(host.weir.connect({ ...target, signal: aborted }), reason);
    await assert.rejects(host.weir.associate({ signal: aborted }), reason);
    const later = new AbortController();
    const dial = host.weir.connect({ ...target, signal: later.signal });
    later.abort(reason);
    await assert.rejects(dial, reason);
    assert.deepEqual(host.weir.connections().flows, []);
  });

  test('has no effect on an open stream', async () => {
    await using origin = await echoServer();
    await using host = await startLibrary(TWO);
    const { signal, abort } = controller();
    const socket = await host.weir.connect({ host: origin.host, port: origin.port, signal });
    abort();
    socket.end('hello');
    assert.equal(await text(socket), 'hello');
  });

  test('at any moment leaves no flow, socket or listener behind', async () => {
    await using origin = await tcpServer((socket) => void socket.resume().end('x'));
    await using host = await startLibrary(TWO);
    const target = { host: origin.host, port: origin.port };
    const sockets = openSockets();
    const shared = controller();
    for (let turns = 0; turns < 300; turns++) {
      const { signal, abort } = controller();
      const dial = host.weir.connect({
        ...target,
        signal: turns % 3 === 0 ? shared.signal : signal,
      });
      // A different number of turns of the event loop and of the queue of promises each time.
      for (let turn = 0; turn < turns % 7; turn++) await nextTurn();
      for (let turn = 0; turn < turns % 11; turn++) await Promise.resolve();
      abort();
      const socket = await dial.catch(() => undefined);
      socket?.on('error', () => undefined).destroy();
    }
    await eventually('the flows to end', () => host.weir.connections().flows.length === 0);
    await eventually('the sockets to close', () => openSockets() <= sockets);
  });
});

/** A signal, and what aborts it. */
function controller(): { readonly signal: AbortSignal; readonly abort: () => void } {
  const own = new AbortController();
  return { signal: own.signal, abort: () => own.abort() };
}

describe('an association', () => {
  const upper = (): ReturnType<typeof udpServer> =>
    udpServer((message) => Buffer.from(message.toString().toUpperCase()));

  test('sends to several peers, and reads by iteration', async () => {
    await using first = await upper();
    await using second = await upper();
    await using host = await startLibrary(TWO);
    await using association = await host.weir.associate({ outbound: 'direct', user: 'ann' });
    association.send('one', first);
    association.send(Buffer.from('two'), second);
    const seen = new Map<number, string>();
    for await (const { data, host: from, port } of association) {
      assert.equal(from, '127.0.0.1');
      seen.set(port, data.toString());
      if (seen.size === 2) break;
    }
    assert.deepEqual(
      seen,
      new Map([
        [first.port, 'ONE'],
        [second.port, 'TWO'],
      ]),
    );
    await eventually('the end of the flow', () => host.weir.connections().flows.length === 0);
  });

  test('is one flow with its counts', async () => {
    await using peer = await upper();
    await using host = await startLibrary(TWO);
    await using association = await host.weir.associate();
    const read = once(association, 'message');
    association.send('hello', peer);
    const [data, from] = (await read) as [Buffer, { host: string; port: number }];
    assert.equal(data.toString(), 'HELLO');
    assert.equal(from.port, peer.port);
    const { network, inbound, up, down } = flowOf(host.weir) ?? {};
    assert.deepEqual(
      { network, inbound, up, down },
      { network: 'udp', inbound: 'library', up: 5, down: 5 },
    );
    const closed = once(association, 'close');
    host.weir.closeFlows();
    association.close();
    await within(closed, 'the end of the association');
    association.send('too late', peer);
    assert.equal(association.dropped, 1);
  });

  test('keeps a bounded number of datagrams for its reader, and counts those that it drops', async () => {
    await using peer = await udpServer((message) => message);
    await using host = await startLibrary(TWO);
    await using association = await host.weir.associate();
    const count = 400;
    let bytes = 0;
    // One at a time, so that no queue of the kernel drops any.
    for (let sent = 0; sent < count; sent++) {
      association.send(String(sent), peer);
      bytes += String(sent).length;
      while (flowOf(host.weir)?.down !== bytes) await nextTurn();
    }
    assert.equal(association.dropped, count - 256);
    let first: string | undefined;
    association.on('message', (data) => (first ??= data.toString()));
    await eventually('a datagram', () => first);
    assert.equal(first, '0');
  });

  test('reports peers that its outbound cannot reach', async () => {
    await using host = await startLibrary(
      `${freedom('direct')}[[outbound]]\ntag = "web"\nprotocol = "http"\nserver = "127.0.0.1"\nport = 9\n`,
    );
    await assert.rejects(host.weir.associate({ outbound: 'absent' }), { code: 'unknown_outbound' });
    await using association = await host.weir.associate({ outbound: 'web' });
    const reported = once(association, 'unreachable');
    association.send('x', { host: ownAddress(), port: 9 });
    const [error] = (await reported) as [DialError];
    assert.equal(error.code, 'unsupported');
    assert.throws(() => association.send('x', { host: 'a.example', port: 0 }), RangeError);
  });

  test('ends with its signal, and with the proxy', async () => {
    await using host = await startLibrary(TWO);
    const { signal, abort } = controller();
    const first = await host.weir.associate({ signal });
    const second = await host.weir.associate();
    const closed = [once(first, 'close'), once(second, 'close')];
    abort();
    await within(Promise.resolve(closed[0]), 'the first');
    await host.weir.stop({ graceMs: 0 });
    await within(Promise.resolve(closed[1]), 'the second');
  });
});
