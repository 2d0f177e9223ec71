import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfigFile } from '@weir/server/loading';
import { OwnEngine } from '../../packages/nodes/src/fetch/open-flows.ts';
import { systemClock } from '@weir/io/time';
import type { ProbePhase, ProbedOutbound } from '../../packages/nodes/src/probe/contract.ts';
import { probeAll } from '@weir/nodes/probe';
import { webServer } from '../support/peers/servers.ts';
import { without } from '../support/programs/peers.ts';
import type { ProgramName } from '../support/ways/program.ts';
import { PROGRAMS } from '../support/ways/programs.ts';
import { GRPC_TLS, TLS, wayTitle, WS_TLS, type Way } from '../support/ways/way.ts';
import { weirOut } from '../support/ways/weir-config.ts';

/** A server, and where a probe with wrong credentials fails, with the cause that it names. */
const NODES: readonly (readonly [ProgramName, Way, ProbePhase, RegExp])[] = [
  [
    'sing-box',
    { protocol: 'trojan', carrier: TLS },
    'first_byte',
    /wrong password looks like this/,
  ],
  ['sing-box', { protocol: 'vless', carrier: GRPC_TLS }, 'first_byte', /.+/],
  ['xray', { protocol: 'vless', carrier: WS_TLS }, 'first_byte', /unknown id looks like this/],
  ['xray', { protocol: 'vmess', cipher: 'aes-128-gcm' }, 'first_byte', /looks like this/],
  ['hysteria', { protocol: 'hysteria2' }, 'handshake', /rejected the password/],
  ['ss-libev', { protocol: 'shadowsocks', cipher: 'aes-256-gcm' }, 'first_byte', /looks like this/],
];

/** Milliseconds of a try, all of which a server takes that is silent to wrong credentials. */
const TRY_MS = 10_000;

async function probe(config: string, port: number, tries: number): Promise<ProbedOutbound> {
  const { spec } = await loadConfigFile('probed', { bytes: Buffer.from(config) });
  await using flows = await OwnEngine.start(spec);
  const url = new URL(`http://127.0.0.1:${port}/hello`);
  const bytesUrl = new URL(`http://127.0.0.1:${port}/bytes/600000`);
  const plan = { url, tries, bytes: 200_000, bytesUrl, timeoutMs: TRY_MS, totalMs: 10 * TRY_MS };
  const [result] = await Array.fromAsync(
    probeAll(spec.outbounds, plan, { flows, clock: systemClock }),
  );
  assert.ok(result);
  return result;
}

for (const [name, way, phase, cause] of NODES) {
  const program = PROGRAMS[name];
  const skip = without(...program.needs.server);
  test(`a probe of ${name}: ${wayTitle(way)}`, { skip }, async () => {
    await using web = await webServer();
    await using server = await program.server(way);
    const good = await probe(weirOut(way, server.address), web.port, 2);
    assert.ok(good.ok, JSON.stringify(good));
    assert.equal(good.succeeded, 2);
    assert.ok(good.median.second_ms !== null && good.throughput !== null);
    const bad = await probe(weirOut({ ...way, credentials: 'wrong' }, server.address), web.port, 1);
    assert.equal(bad.succeeded, 0);
    for (const one of bad.tries) {
      assert.equal(one.phase, phase, JSON.stringify(one));
      assert.match(one.error ?? '', cause);
    }
  });
}
