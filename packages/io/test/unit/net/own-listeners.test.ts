import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import {
  MAX_HOPS,
  OwnListeners,
  chainGroup,
  type DialOrigin,
  type ConnectionChain,
} from '../../../src/net/own-listeners.ts';

const PORT = 1080;

/** A request that came in by another inbound than those of the tests. */
const from = (source: string | undefined, chain?: ConnectionChain): DialOrigin => ({
  inbound: 'entrance',
  source,
  session: { chain },
});

const LOCAL = from('127.0.0.1');
const FOREIGN = from('192.0.2.1');

/** Whether a dial to `host` is one to an inbound that listens on `bound`. */
function isOwn(bound: string, host: string): boolean {
  const own = new OwnListeners();
  own.setInbounds([{ inbound: 'in', endpoint: { host: bound, port: PORT }, network: 'tcp' }]);
  return own.check({ host, port: PORT }, LOCAL, true) !== undefined;
}

test('a listener is known by every address that reaches it', () => {
  const cases: readonly [bound: string, host: string, own: boolean][] = [
    ['127.0.0.1', '127.0.0.1', true],
    ['127.0.0.1', '0.0.0.0', true],
    ['127.0.0.1', '::ffff:127.0.0.1', true],
    ['127.0.0.1', '::ffff:7f00:1', true],
    ['127.0.0.1', '127.0.0.2', false],
    ['127.0.0.1', '::1', false],
    ['::1', '::', true],
    ['::1', '0:0:0:0:0:0:0:1', true],
    ['::1', '127.0.0.1', false],
    ['::ffff:127.0.0.1', '127.0.0.1', true],
    ['0.0.0.0', '127.3.2.1', true],
    ['0.0.0.0', '::ffff:127.3.2.1', true],
    ['0.0.0.0', '::1', false],
    ['0.0.0.0', '192.0.2.77', false],
    ['::', '127.3.2.1', true],
    ['::', '::1', true],
    ['::', '2001:db8::1', false],
    ['fe80::1', 'fe80::1%lo', true],
    ['fe80::1%lo', 'fe80::1', true],
    ['fe80::1%lo', 'FE80:0::1%eth0', true],
  ];
  for (const [bound, host, own] of cases) {
    assert.equal(isOwn(bound, host), own, `${host} with a listener on ${bound}`);
  }
});

test('a listener on a wildcard is reached by the addresses of the interfaces', () => {
  for (const { address, family } of Object.values(networkInterfaces()).flatMap((x) => x ?? [])) {
    assert.ok(isOwn('::', address), address);
    assert.equal(isOwn('0.0.0.0', address), family === 'IPv4', address);
  }
});

test('another port is not the listener', () => {
  const own = new OwnListeners();
  own.setInbounds([{ inbound: 'in', endpoint: { host: '::', port: PORT }, network: 'tcp' }]);
  assert.equal(own.check({ host: '127.0.0.1', port: PORT + 1 }, LOCAL, true), undefined);
});

test('a direct dial to the inbound of the request is a loop, one by an outbound a hop', () => {
  const own = new OwnListeners();
  own.setInbounds([
    { inbound: LOCAL.inbound, endpoint: { host: '::', port: PORT }, network: 'tcp' },
  ]);
  const to = { host: '::ffff:127.0.0.1', port: PORT };
  assert.throws(() => own.check(to, LOCAL, true), { code: 'loop' });
  assert.ok(own.check(to, LOCAL, false));
});

test('the inbounds of a reload take the place of those before, and leave the API', () => {
  const own = new OwnListeners();
  const loopback = (port: number) => ({ host: '127.0.0.1', port });
  own.setOpenApi(loopback(9090));
  own.setInbounds([
    { inbound: 'stays', endpoint: loopback(1), network: 'tcp' },
    { inbound: 'goes', endpoint: loopback(2), network: 'tcp' },
  ]);
  own.setInbounds([
    { inbound: 'stays', endpoint: loopback(1), network: 'tcp' },
    { inbound: 'new', endpoint: loopback(3), network: 'tcp' },
  ]);
  const known = [1, 2, 3].map((port) => own.check(loopback(port), LOCAL, true) !== undefined);
  assert.deepEqual(known, [true, false, true]);
  assert.throws(() => own.check(loopback(9090), FOREIGN, true), { code: 'forbidden' });
  own.setInbounds([]);
  assert.equal(own.check(loopback(1), LOCAL, true), undefined);
  assert.throws(() => own.check(loopback(9090), FOREIGN, true), { code: 'forbidden' });
});

test('an API that has moved or has a secret is no longer kept from clients of other hosts', () => {
  const own = new OwnListeners();
  const before = { host: '127.0.0.1', port: 9090 };
  const after = { host: '127.0.0.1', port: 9091 };
  own.setOpenApi(before);
  own.setOpenApi(after);
  assert.equal(own.check(before, FOREIGN, true), undefined);
  assert.throws(() => own.check(after, FOREIGN, true), { code: 'forbidden' });
  own.setOpenApi(undefined);
  assert.equal(own.check(after, FOREIGN, true), undefined);
});

test('clients of loopback and of unix sockets are of this host, others are not', () => {
  const own = new OwnListeners();
  const to = { host: '127.0.0.1', port: 9090 };
  own.setOpenApi(to);
  for (const source of [undefined, '127.9.9.9', '::1', '::ffff:127.0.0.1']) {
    assert.equal(own.check(to, from(source), true), undefined, String(source));
  }
  for (const source of ['192.0.2.1', '::ffff:192.0.2.1', '2001:db8::1', 'fe80::1%eth0']) {
    assert.throws(() => own.check(to, from(source), true), { code: 'forbidden' }, source);
  }
});

test('the chain of a request counts for more than its source', () => {
  const own = new OwnListeners();
  const to = { host: '127.0.0.1', port: 9090 };
  own.setOpenApi(to);
  const carried = from('127.0.0.1', { hops: 1, foreign: true });
  assert.throws(() => own.check(to, carried, true), { code: 'forbidden' });
  assert.equal(own.check(to, from('192.0.2.1', { hops: 1, foreign: false }), true), undefined);
});

test('a request passes a bounded number of inbounds', () => {
  const own = new OwnListeners();
  const to = { host: '127.0.0.1', port: PORT };
  own.setInbounds([{ inbound: 'in', endpoint: to, network: 'tcp' }]);
  const after = (hops: number): DialOrigin => from('127.0.0.1', { hops, foreign: false });
  assert.ok(own.check(to, after(MAX_HOPS - 1), false));
  assert.throws(() => own.check(to, after(MAX_HOPS), false), { code: 'loop' });
  assert.equal(own.check({ host: '192.0.2.1', port: PORT }, after(MAX_HOPS), false), undefined);
});

test('an accepted connection inherits from the one that this process has made, until it closes', async () => {
  const own = new OwnListeners();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const to = { host: '127.0.0.1', port };
  own.setInbounds([{ inbound: 'in', endpoint: { host: '0.0.0.0', port }, network: 'tcp' }]);
  const accepted = async (socket: Socket) => {
    const [peer] = (await once(server, 'connection')) as [Socket];
    if (socket.connecting) await once(socket, 'connect');
    const { remoteAddress = '', remotePort = 0 } = peer;
    peer.resume();
    return {
      peer,
      chain: () => own.chainOf({ host: `::ffff:${remoteAddress}`, port: remotePort }, to),
    };
  };

  const made = connect(to);
  own.check(
    { host: '0.0.0.0', port },
    from('192.0.2.1', { hops: 2, foreign: true }),
    true,
  )?.({
    get local() {
      const { localAddress: host, localPort } = made;
      return host === undefined || localPort === undefined ? undefined : { host, port: localPort };
    },
    onClose: (callback) => void made.once('close', callback),
  });
  const first = await accepted(made);
  assert.deepEqual(first.chain(), { hops: 3, foreign: true });

  // A connection of another process, for which nothing is known.
  const other = connect(to);
  const second = await accepted(other);
  assert.equal(second.chain(), undefined);
  assert.equal(own.chainOf(undefined, to), undefined);

  const closed = once(made, 'close');
  made.destroy();
  await closed;
  assert.equal(first.chain(), undefined);
  for (const socket of [other, first.peer, second.peer]) socket.destroy();
  server.close();
});

test('requests of one group have one chain', () => {
  const groups = [
    LOCAL,
    FOREIGN,
    from('127.0.0.1', { hops: 1, foreign: false }),
    from('127.0.0.1', { hops: 1, foreign: true }),
    from('127.0.0.1', { hops: 2, foreign: true }),
  ].map(chainGroup);
  assert.equal(new Set(groups).size, groups.length);
  assert.equal(chainGroup(from(undefined)), chainGroup(LOCAL));
  assert.equal(chainGroup(from('192.0.2.9')), chainGroup(FOREIGN));
});

test('an accepted connection is looked at beside those that share its port alone', () => {
  const own = new OwnListeners();
  const to = { host: '127.0.0.1', port: PORT };
  own.setInbounds([{ inbound: 'in', endpoint: to, network: 'tcp' }]);
  let looks = 0;
  const closers: (() => void)[] = [];
  const made = (port: number): void =>
    own.check(
      to,
      LOCAL,
      false,
    )?.({
      get local() {
        looks++;
        return { host: '127.0.0.1', port };
      },
      onClose: (callback) => void closers.push(callback),
    });
  for (let port = 20_000; port < 24_000; port++) made(port);
  looks = 0;
  for (let port = 20_000; port < 20_100; port++) {
    assert.deepEqual(own.chainOf({ host: '127.0.0.1', port }, to), { hops: 1, foreign: false });
    assert.equal(own.chainOf({ host: '127.0.0.1', port: port - 10_000 }, to), undefined);
  }
  assert.equal(looks, 100);
  for (const close of closers) close();
  assert.equal(own.chainOf({ host: '127.0.0.1', port: 20_000 }, to), undefined);
});

test('a connection whose port is not known yet is found when it is accepted', () => {
  const own = new OwnListeners();
  const to = { host: '127.0.0.1', port: PORT };
  own.setInbounds([{ inbound: 'in', endpoint: to, network: 'tcp' }]);
  const known: { local?: { host: string; port: number } } = {};
  let close = (): void => undefined;
  own.check(
    to,
    LOCAL,
    false,
  )?.({
    get local() {
      return known.local;
    },
    onClose: (callback) => void (close = callback),
  });
  assert.equal(own.chainOf({ host: '127.0.0.1', port: 20_000 }, to), undefined);
  known.local = { host: '127.0.0.1', port: 20_000 };
  assert.ok(own.chainOf({ host: '127.0.0.1', port: 20_000 }, to));
  close();
  assert.equal(own.chainOf({ host: '127.0.0.1', port: 20_000 }, to), undefined);
});
