import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RegexCache } from '@weir/proxy/names';
import { silentLogger } from '@weir/base/log';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { Supervisor } from '../../../src/supervisor/supervisor.ts';
import type { DesiredState } from '../../../src/supervisor/desired-state.ts';
import type { InboundSpec, OutboundSpec, OutboundStreamSpec } from '@weir/proxy/spec';
import {
  balancerSpec,
  inboundSpec,
  outboundSpec,
  spec,
  upstreamSpec,
  wantedOf,
} from '../../../../../test/support/data/specs.ts';
import { TestAuthority } from '../../../../../test/support/data/test-certificates.ts';
import { openSockets } from '../../../../../test/support/process/proc.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';

const TLS = { serverName: 'server.test', allowInsecure: true, ca: undefined };
const GRPC: OutboundStreamSpec = {
  tls: TLS,
  carrier: { kind: 'grpc', serviceName: 'Gun', authority: 'server.test' },
};
const KEY = Buffer.alloc(32, 1).toString('base64');

/** Outbounds whose flows share something: a connection, a tunnel, ciphers. */
const SHARING: readonly OutboundSpec[] = [
  { ...upstreamSpec('grpc'), stream: GRPC },
  outboundSpec('hysteria2', {
    protocol: 'hysteria2',
    server: '127.0.0.1',
    port: 1,
    settings: {
      password: 'x',
      ...TLS,
      obfuscation: undefined,
      maxConcurrentStreams: 8,
    },
  }),
  outboundSpec('wireguard', {
    protocol: 'wireguard',
    settings: {
      privateKey: KEY,
      peerPublicKey: KEY,
      presharedKey: undefined,
      endpoint: { host: '127.0.0.1', port: 1 },
      addresses: ['10.0.0.2'],
      mtu: 1420,
      keepalive: 25,
      reserved: undefined,
    },
  }),
  outboundSpec('shadowsocks', {
    protocol: 'shadowsocks',
    server: '127.0.0.1',
    port: 1,
    settings: { method: '2022-blake3-chacha20-poly1305', keys: [KEY] },
  }),
];

test('what is built for a check or before a failure has started no timer and opened nothing', async () => {
  const { cert, key } = new TestAuthority().issue({ dns: ['server.test'] });
  const clock = new ManualClock();
  const supervisor = new Supervisor({
    clock,
    log: silentLogger,
    regexes: new RegexCache(),
    ownListeners: new OwnListeners(),
  });
  const carrier = { kind: 'grpc', serviceName: 'Gun' } as const;
  const shadowsocks = {
    protocol: 'shadowsocks',
    settings: { method: '2022-blake3-chacha20-poly1305', key: KEY, users: [] },
  } as const;
  const bad = inboundSpec('bad', { stream: { tls: { certificates: 'none', key }, carrier } });
  const wanted = (more: readonly InboundSpec[]): DesiredState =>
    wantedOf(
      spec({
        dns: {
          backend: 'https',
          server: { host: '127.0.0.1', port: 1 },
          host: 'server.test',
          ca: undefined,
          path: '/',
        },
        outbounds: [outboundSpec('direct'), ...SHARING],
        balancers: [balancerSpec('either', ['grpc', 'shadowsocks'])],
        inbounds: [
          inboundSpec('good', { stream: { tls: { certificates: cert, key }, carrier } }),
          inboundSpec('datagrams', shadowsocks),
          ...more,
        ],
      }),
    );
  const bound = (): Promise<never> => Promise.reject(new Error('the API has failed'));
  const attempts = [
    () => assert.rejects(supervisor.apply(wanted([bad])), { code: 'build_failed' }),
    () =>
      assert.rejects(supervisor.apply(wanted([]), { bound }), { message: 'the API has failed' }),
    () => supervisor.check(wanted([])),
  ];
  // The first one loads the modules of the protocols, some of which open what they keep.
  for (const attempt of attempts) await attempt();
  const { timers } = clock;
  const resources = process.getActiveResourcesInfo();
  const sockets = openSockets();
  for (const attempt of attempts) {
    await attempt();
    assert.equal(clock.timers, timers);
    assert.deepEqual(process.getActiveResourcesInfo(), resources);
    assert.equal(openSockets(), sockets);
  }
  await supervisor.stop(0);
});
