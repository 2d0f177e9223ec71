import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openTunnel } from '@weir/server/control';
import { bodyOf, receiveBody, sendBody } from '../support/data/pattern.ts';
import { blackhole, freedom, proxyOut, socksIn } from '../support/process/config.ts';
import { digestServer, echoServer, type Origin } from '../support/peers/servers.ts';
import { freePort } from '../support/ports.ts';
import { Weir } from '../support/process/weir.ts';

const SIZE = 4 << 20;

describe('connect on the control socket', () => {
  let weir: Weir;
  let digest: Origin;
  let echo: Origin;
  before(async () => {
    digest = await digestServer();
    echo = await echoServer();
    const dead = proxyOut('dead', 'socks', { host: '127.0.0.1', port: await freePort() });
    const group = '[[balancer]]\ntag = "group"\noutbounds = ["dead"]\n';
    const config = `${socksIn()}${freedom()}${blackhole()}${dead}${group}`;
    weir = await Weir.start(config, { control: true });
  });
  after(async () => {
    await digest[Symbol.asyncDispose]();
    await echo[Symbol.asyncDispose]();
    await weir[Symbol.asyncDispose]();
  });
  const through = (outbound: string, { host, port }: Origin) => ({ outbound, host, port });

  test('carries bytes both ways, and a half-close', async () => {
    const { stream, opened } = await openTunnel(weir.controlPath, through('direct', digest));
    assert.equal(opened.outbound, 'direct');
    assert.equal(opened.times.reused, undefined);
    await sendBody(stream, SIZE);
    stream.end();
    const chunks = await stream.toArray();
    assert.deepEqual(JSON.parse(Buffer.concat(chunks).toString()), bodyOf(SIZE));
  });

  test('a hundred at once', async () => {
    const all = Array.from({ length: 100 }, async (_, seed) => {
      const { stream } = await openTunnel(weir.controlPath, through('direct', echo));
      const back = receiveBody(stream);
      await sendBody(stream, 10_000, seed + 1);
      stream.end();
      assert.deepEqual(await back, bodyOf(10_000, seed + 1));
    });
    await Promise.all(all);
  });

  for (const [what, outbound, host, reason] of [
    ['an unknown tag', 'none', '127.0.0.1', /^no outbound or balancer has the tag "none"$/],
    ['a blackhole', 'block', '127.0.0.1', / by block: /],
    ['a server that refuses', 'dead', 'a.example', /^a\.example:80 by dead: .*refused/],
    ['a balancer, whose member is named', 'group', 'a.example', /^a\.example:80 by dead: /],
    ['an invalid host', 'direct', 'a b', /^"a b" is not a host$/],
  ] as const) {
    test(`fails with the reason: ${what}`, async () => {
      const failed = openTunnel(weir.controlPath, { outbound, host, port: 80 });
      await assert.rejects(failed, (error: Error) => {
        assert.equal(error.constructor.name, 'TunnelError');
        assert.match(error.message, reason);
        return true;
      });
    });
  }
});
