import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { SystemRandomSource } from '@weir/base/random';
import { RegexCache } from '@weir/proxy/names';
import { type Logger, silentLogger } from '@weir/base/log';
import { systemClock } from '@weir/io/time';
import type { Endpoint } from '@weir/io/addresses';
import { MAX_HOPS, OwnListeners } from '@weir/io/net/own-listeners';
import { UdpLink } from '../../../../io/src/net/sockets/node/udp-socket.ts';
import { LegacyDatagramCodec } from '../../../../proxy/src/protocols/shadowsocks/legacy/datagrams.ts';
import { METHODS } from '@weir/proxy/protocols/shadowsocks/methods';
import type { OutboundSpec } from '@weir/proxy/spec';
import { Supervisor } from '../../../src/supervisor/supervisor.ts';
import {
  inboundSpec,
  outboundSpec,
  routeSpec,
  ruleSpec,
  spec,
  wantedOf,
} from '../../../../../test/support/data/specs.ts';
import { eventually } from '../../../../../test/support/wait.ts';
import { UpstreamAssociation } from '../../../../proxy/src/protocols/shadowsocks/outbound.ts';

const KEY = Buffer.alloc(16, 7);

/** A Shadowsocks inbound whose port is known, and a client of it. */
async function start(outbounds: (server: Endpoint) => readonly OutboundSpec[]) {
  const lines: string[] = [];
  const log: Logger = {
    ...silentLogger,
    info: (line) => lines.push(String(line)),
    warn: (line) => lines.push(String(line)),
    target: () => log,
  };
  const deps = { clock: systemClock, log, regexes: new RegexCache() };
  const supervisor = new Supervisor({ ...deps, ownListeners: new OwnListeners() });
  after(() => supervisor.stop(0));
  const inbound = inboundSpec('in', {
    protocol: 'shadowsocks',
    settings: { method: 'aes-128-gcm', key: KEY.toString('base64'), users: [] },
  });
  await supervisor.apply(wantedOf(spec({ inbounds: [inbound] })));
  const port = Number(lines.at(-1)?.split(':').at(-1));
  const server = { host: '127.0.0.1', port };
  const [first, ...others] = outbounds(server);
  assert.ok(first);
  await supervisor.apply(
    wantedOf(
      spec({
        inbounds: [inbound],
        outbounds: [first, ...others],
        route: routeSpec({ default: first.tag, rules: [ruleSpec(first.tag)] }),
      }),
    ),
  );
  const codec = new LegacyDatagramCodec(METHODS['aes-128-gcm'], KEY, new SystemRandomSource());
  const client = await UpstreamAssociation.open(server, codec);
  after(() => client.close());
  return { supervisor, server, client, lines };
}

test('datagrams whose outbound leads to their own inbound pass a bounded number of them', async () => {
  const { supervisor, client, lines } = await start(({ host, port }) => [
    outboundSpec('self', {
      protocol: 'shadowsocks',
      server: host,
      port,
      settings: { method: 'aes-128-gcm', keys: [KEY.toString('base64')] },
    }),
  ]);
  client.send({ data: Buffer.from('x'), peer: { host: '192.0.2.1', port: 9 } });
  const refusal = new RegExp(`passed ${MAX_HOPS} inbounds of this proxy`);
  await eventually('the end of the loop', () => lines.some((line) => refusal.test(line)));
  assert.equal(supervisor.tracker.sessions().length, MAX_HOPS + 1);
});

test('freedom sends no datagram to the inbound that it came in by, and logs that once', async () => {
  const { supervisor, server, client, lines } = await start(() => [outboundSpec('direct')]);
  const peer = await UdpLink.bind({ family: 4, address: '127.0.0.1' });
  for (const to of [server, server, peer.local]) client.send({ data: Buffer.from('x'), peer: to });
  assert.equal((await peer.receive())?.data.toString(), 'x');
  peer.close();
  assert.equal(supervisor.tracker.sessions().length, 1);
  const refusals = lines.filter((line) => line.includes('refused'));
  assert.deepEqual(refusals, [
    `in -> udp 127.0.0.1:${server.port} for 127.0.0.1 refused: 127.0.0.1:${server.port} is the inbound that the request came in by`,
  ]);
});
