import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SystemRandomSource } from '@weir/base/random';
import { type Logger, silentLogger } from '@weir/base/log';
import { RegexCache } from '@weir/proxy/names';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { systemClock } from '@weir/io/time';
import { inboundProtocol } from '@weir/proxy/protocols';
import { METHODS } from '@weir/proxy/protocols/shadowsocks/methods';
import type { InboundSpec } from '@weir/proxy/spec';
import { LegacyDatagramCodec } from '../../../../proxy/src/protocols/shadowsocks/legacy/datagrams.ts';
import { UpstreamAssociation } from '../../../../proxy/src/protocols/shadowsocks/outbound.ts';
import { inboundFacts, type ProtocolOf } from '../../../src/supervisor/inbound-listener.ts';
import { Supervisor } from '../../../src/supervisor/supervisor.ts';
import { inboundSpec, spec, wantedOf } from '../../../../../test/support/data/specs.ts';
import { lines } from '../../../../../test/support/peers/own-session-protocol.ts';
import { udpEcho } from '../../../../../test/support/peers/servers.ts';
import { freePorts, isFree } from '../../../../../test/support/ports.ts';
import { eventually } from '../../../../../test/support/wait.ts';

const KEY = Buffer.alloc(16, 7);

const OTHER_KEY = Buffer.alloc(16, 8);

const shadowsocks = (port: number, host = '127.0.0.1', tag = 'in', key = KEY): InboundSpec =>
  inboundSpec(tag, {
    protocol: 'shadowsocks',
    listen: { kind: 'ip', host, port },
    settings: { method: 'aes-128-gcm', key: key.toString('base64'), users: [] },
  });

/** A supervisor with a Shadowsocks inbound, and an association through it to a server that echoes. */
async function start() {
  const stack = new AsyncDisposableStack();
  const warnings: string[] = [];
  const log: Logger = {
    ...silentLogger,
    warn: (line) => warnings.push(String(line)),
    target: () => log,
  };
  const fakeOf = new Map([['lines', lines().inbound]]);
  const protocolOf: ProtocolOf = (name) => fakeOf.get(name) ?? inboundProtocol(name);
  const facts = inboundFacts(protocolOf);
  const deps = { clock: systemClock, log, regexes: new RegexCache(), protocolOf };
  const supervisor = new Supervisor({ ...deps, ownListeners: new OwnListeners() });
  stack.defer(() => supervisor.stop(0));
  const [port = 0, other = 0] = await freePorts(2);
  const apply = (...inbounds: InboundSpec[]) =>
    supervisor.apply(wantedOf(spec({ inbounds }), facts));
  await apply(shadowsocks(port));
  const echo = stack.use(await udpEcho());
  const client = async (to: number, key = KEY): Promise<UpstreamAssociation> => {
    const codec = new LegacyDatagramCodec(METHODS['aes-128-gcm'], key, new SystemRandomSource());
    const association = await UpstreamAssociation.open({ host: '127.0.0.1', port: to }, codec);
    stack.defer(() => association.close());
    return association;
  };
  const association = await client(port);
  const exchange = async (through = association): Promise<void> => {
    const data = Buffer.from('hello');
    through.send({ data, peer: echo.target });
    assert.deepEqual((await through.receive())?.data, data);
  };
  const flows = () => supervisor.tracker.flows().map(({ id }) => id);
  await exchange();
  assert.deepEqual(flows(), [1]);
  return {
    supervisor,
    port,
    other,
    apply,
    client,
    exchange,
    flows,
    warnings,
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  };
}

describe('an association of a UDP port', () => {
  test('continues when its inbound moves; the old port serves nobody else', async () => {
    await using weir = await start();
    const { rebound } = await weir.apply(shadowsocks(weir.other));
    assert.deepEqual(rebound, ['in']);
    const late = await weir.client(weir.port);
    late.send({ data: Buffer.from('late'), peer: { host: '127.0.0.1', port: 9 } });
    await weir.exchange();
    await weir.exchange(await weir.client(weir.other));
    assert.deepEqual(weir.flows(), [1, 2]);
  });

  test('continues when its inbound moves back, which takes the old port over', async () => {
    await using weir = await start();
    await weir.apply(shadowsocks(weir.other));
    await weir.exchange();
    await weir.apply(shadowsocks(weir.port));
    await weir.exchange();
    await weir.exchange(await weir.client(weir.port));
    assert.deepEqual(weir.flows(), [1, 2]);
  });

  test('continues when its inbound listens on every address, and on one again', async () => {
    await using weir = await start();
    for (const host of ['0.0.0.0', '127.0.0.1']) {
      await weir.apply(shadowsocks(weir.port, host));
      await weir.exchange();
    }
    assert.deepEqual(weir.flows(), [1]);
  });

  for (const host of ['127.0.0.1', '0.0.0.0']) {
    test(`continues when another inbound takes the port, on ${host}`, async () => {
      await using weir = await start();
      await weir.apply(shadowsocks(weir.port, host, 'another', OTHER_KEY));
      await weir.exchange();
      assert.deepEqual(weir.flows(), [1]);
      await weir.exchange(await weir.client(weir.port, OTHER_KEY));
      assert.deepEqual(weir.flows(), [1, 2]);
    });
  }

  test('continues when an inbound takes the port for TCP alone', async () => {
    await using weir = await start();
    const listen = { kind: 'ip', host: '127.0.0.1', port: weir.port } as const;
    await weir.apply(inboundSpec('another', { listen }));
    await weir.exchange();
    await weir.apply();
    await weir.exchange();
    assert.deepEqual(weir.flows(), [1]);
    await weir.supervisor.tracker.killMatching({}).ended;
    await eventually('the release of the port', () => isFree(weir.port));
  });

  test('ends, with a line in the log, when an inbound of QUIC takes the port', async () => {
    await using weir = await start();
    const listen = { kind: 'ip', host: '127.0.0.1', port: weir.port } as const;
    await weir.apply(inboundSpec('quic', { protocol: 'lines', listen, settings: { name: '' } }));
    await eventually('the end of the flow', () => weir.flows().length === 0);
    assert.deepEqual(weir.warnings, [
      'inbound in: inbound quic has taken its UDP port, so that 1 association ends',
    ]);
  });

  test('ends when one inbound takes the port for TCP, and another one for QUIC', async () => {
    await using weir = await start();
    const listen = { kind: 'ip', host: '127.0.0.1', port: weir.port } as const;
    await weir.apply(
      inboundSpec('another', { listen }),
      inboundSpec('quic', { protocol: 'lines', listen, settings: { name: '' } }),
    );
    await eventually('the end of the flow', () => weir.flows().length === 0);
    assert.deepEqual(weir.warnings, [
      'inbound in: inbound quic has taken its UDP port, so that 1 association ends',
    ]);
  });

  test('continues after a reload that fails when the port was already closed', async () => {
    await using weir = await start();
    const failure = new Error('the API cannot be bound');
    const wanted = wantedOf(spec({ inbounds: [shadowsocks(weir.port, '0.0.0.0')] }));
    const bound = (): Promise<void> => Promise.reject(failure);
    await assert.rejects(weir.supervisor.apply(wanted, { bound }), failure);
    await weir.exchange();
    assert.deepEqual(weir.flows(), [1]);
  });

  test('continues after a reload that fails when it has closed the port that the inbound has left', async () => {
    await using weir = await start();
    await weir.apply(shadowsocks(weir.other));
    const failure = new Error('the API cannot be bound');
    const inbounds = [shadowsocks(weir.other), shadowsocks(weir.port, '127.0.0.1', 'another')];
    const bound = (): Promise<void> => Promise.reject(failure);
    await assert.rejects(weir.supervisor.apply(wantedOf(spec({ inbounds })), { bound }), failure);
    await weir.exchange();
    assert.deepEqual(weir.flows(), [1]);
    await weir.apply();
    await weir.supervisor.tracker.killMatching({}).ended;
    await eventually('the release of the port', () => isFree(weir.port));
  });

  test('continues when its inbound is removed, and the port is released with its last flow', async () => {
    await using weir = await start();
    await weir.apply();
    await weir.exchange();
    assert.deepEqual(weir.flows(), [1]);
    assert.equal(await isFree(weir.port), false);
    await weir.supervisor.tracker.killMatching({}).ended;
    await eventually('the release of the port', () => isFree(weir.port));
  });
});
