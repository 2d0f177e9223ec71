import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as http2 from 'node:http2';
import { test } from 'node:test';
import { UNPROVEN_TUNNELS } from '../../../../src/transports/limits.ts';
import { tunnelPath, tunnelPaths } from '../../../../src/transports/grpc/settings.ts';
import { CarrierPair, grpcPair } from '../../../../../../test/support/links/carriers.ts';

const REQUEST = {
  ':method': 'POST',
  ':path': '/GunService/Tun',
  'content-type': 'application/grpc',
} as const;

/** What one connection may make a server hold, in bytes. */
const BOUND = 512 << 20;

test('the more tunnels a connection has the smaller are their windows, and back', async () => {
  await using carriers = await CarrierPair.open(grpcPair(false));
  const session = http2.connect(`http://127.0.0.1:${carriers.port}`);
  await once(session, 'remoteSettings');
  const seen: [window: number, tunnels: number][] = [];
  const note = (): void => {
    const { initialWindowSize = 0, maxConcurrentStreams = Infinity } = session.remoteSettings;
    seen.push([initialWindowSize, maxConcurrentStreams]);
  };
  note();
  const windowOf = async (size: number): Promise<void> => {
    while (session.remoteSettings.initialWindowSize !== size) await once(session, 'remoteSettings');
  };
  const streams: http2.ClientHttp2Stream[] = [];
  for (let i = 0; i < 64; i++) {
    const stream = session.request(REQUEST, { endStream: false });
    stream.on('error', () => undefined);
    streams.push(stream);
    await carriers.accept();
  }
  await windowOf(1 << 20);
  note();
  for (const stream of streams) stream.destroy();
  await windowOf(2 << 20);
  note();
  assert.deepEqual(
    seen.map(([window]) => window),
    [2 << 20, 1 << 20, 2 << 20],
  );
  for (const [window, tunnels] of seen) assert.ok(window * tunnels <= BOUND);
  session.destroy();
});

test('a connection may have few tunnels until the first has authenticated, and many from then on', async () => {
  await using carriers = await CarrierPair.open(grpcPair(false));
  const session = http2.connect(`http://127.0.0.1:${carriers.port}`);
  await once(session, 'remoteSettings');
  assert.equal(session.remoteSettings.maxConcurrentStreams, UNPROVEN_TUNNELS);
  session.request(REQUEST, { endStream: false }).on('error', () => undefined);
  const raised = once(session, 'remoteSettings');
  await carriers.accept();
  await raised;
  assert.equal(session.remoteSettings.maxConcurrentStreams, 256);
  session.destroy();
});

// Tried with Xray 26.7.28 and sing-box 1.14.4 in both roles; v2ray does not escape a name.
for (const [name, path] of [
  ['GunService', '/GunService/Tun'],
  ['a b', '/a%20b/Tun'],
  ['a/b', '/a%2Fb/Tun'],
  ['a{b}', '/a%7Bb%7D/Tun'],
  ["a'b(c)*!", '/a%27b%28c%29%2A%21/Tun'],
  ['a;b,c=d:e@f$&', '/a%3Bb%2Cc=d:e@f$&/Tun'],
  ['a%20b', '/a%2520b/Tun'],
  ['\u00fc', '/%C3%BC/Tun'],
] as const) {
  test(`the service ${name} is called as by Go's clients, and serves v2ray's too`, () => {
    assert.equal(tunnelPath(name, 'Tun'), path);
    const paths = tunnelPaths(name, 'Tun');
    assert.ok(paths.includes(path) && paths.includes(`/${name}/Tun`));
  });
}
