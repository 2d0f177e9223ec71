import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadConfigFile } from '@weir/server/loading';
import type { Endpoint } from '@weir/io/addresses';
import { protocolNames } from '@weir/proxy/protocols';
import type { OutboundSpec } from '@weir/proxy/spec';
import { Weir } from '../../src/library/weir.ts';
import { parseAddress, portOf } from '../../../../test/support/data/address.ts';
import { blackhole, freedom } from '../../../../test/support/process/config.ts';
import { scratch } from '../../../../test/support/process/weir.ts';
import { weirIn, weirOut } from '../../../../test/support/ways/weir-config.ts';
import { type Way, wayTitle } from '../../../../test/support/ways/way.ts';
import {
  outboundConformance,
  type OutboundHarness,
  type OutboundServer,
} from '../../../server/test/conformance/outbound.ts';

const TAG = 'server';
const LISTENING = new RegExp(`inbound ${TAG} listening on (\\S+)$`);

/** Weir in this process, with one inbound in front of freedom. */
async function weirServer(inbound: string): Promise<OutboundServer> {
  await using folder = await scratch();
  const config = join(folder.path, 'weir.toml');
  await writeFile(config, inbound + freedom());
  const lines: string[] = [];
  const weir = await Weir.start({ config, onLog: ({ message }) => lines.push(message) });
  const [, address = ''] = lines.map((line) => LISTENING.exec(line)).find((found) => found) ?? [];
  return {
    address: { host: '127.0.0.1', port: portOf(parseAddress(address)) },
    live() {
      const { sessions, flows } = weir.connections();
      return sessions.length + flows.length;
    },
    [Symbol.asyncDispose]: () => weir.stop({ graceMs: 0 }),
  };
}

/** The only outbound of a configuration, as the supervisor gets it. */
async function outboundOf(toml: string): Promise<OutboundSpec> {
  await using folder = await scratch();
  const config = join(folder.path, 'weir.toml');
  await writeFile(config, toml);
  const { spec } = await loadConfigFile(config);
  const [outbound] = spec.outbounds;
  assert.ok(outbound);
  return outbound;
}

/** What differs from protocol to protocol. */
type Facts = Partial<Omit<OutboundHarness, 'server' | 'spec'>>;

const CARRIED = {
  streams: 'carried',
  packets: 'carried',
  refused: 'a link that ends',
  awaitsServer: false,
  shares: false,
  endsBySilence: false,
} as const;

/** An outbound in front of Weir's own inbound of the same protocol. */
const inFrontOf = (way: Way, facts: Facts = {}): OutboundHarness => ({
  ...CARRIED,
  ...facts,
  server: () => weirServer(weirIn(way, { tag: TAG })),
  spec: (server: Endpoint) => outboundOf(weirOut(way, server)),
});

const WAYS: readonly (readonly [way: Way, facts?: Facts])[] = [
  [
    { protocol: 'socks', login: true },
    { refused: 'refused', awaitsServer: true },
  ],
  [
    { protocol: 'http', login: true },
    { refused: 'upstream', packets: 'unsupported', awaitsServer: true },
  ],
  [{ protocol: 'trojan' }],
  [{ protocol: 'vless' }],
  [{ protocol: 'vmess', cipher: 'aes-128-gcm' }],
  [{ protocol: 'shadowsocks', cipher: 'aes-128-gcm' }, { endsBySilence: true }],
  [
    { protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm', users: true },
    { endsBySilence: true },
  ],
  [{ protocol: 'hysteria2' }, { refused: 'upstream', awaitsServer: true, shares: true }],
  [
    { protocol: 'hysteria2', obfuscated: true },
    { refused: 'upstream', awaitsServer: true, shares: true },
  ],
];

const HARNESSES: readonly (readonly [protocol: string, title: string, harness: OutboundHarness])[] =
  [
    ['freedom', 'freedom', { ...CARRIED, refused: 'refused', spec: () => outboundOf(freedom()) }],
    [
      'blackhole',
      'blackhole',
      { ...CARRIED, streams: 'blocked', packets: 'blocked', spec: () => outboundOf(blackhole()) },
    ],
    ...WAYS.map(([way, facts]) => [way.protocol, wayTitle(way), inFrontOf(way, facts)] as const),
  ];

for (const [, title, harness] of HARNESSES) {
  outboundConformance(`${title} keeps the contract of an outbound`, harness);
}

/**
 * A WireGuard peer is no inbound of Weir, and a tunnel carries nothing to the loopback addresses of this
 * suite's origins: `test/interop/wireguard*.test.ts` have its streams, datagrams and failures.
 */
const TESTED_ELSEWHERE: readonly string[] = ['wireguard'];

test('every protocol with an outbound is among them', () => {
  const folder = fileURLToPath(new URL('../../../proxy/src/protocols', import.meta.url));
  const names = readdirSync(folder).filter((name) => protocolNames('outbound').includes(name));
  const tested = HARNESSES.map(([protocol]) => protocol);
  assert.deepEqual(new Set([...tested, ...TESTED_ELSEWHERE]), new Set(names));
});
