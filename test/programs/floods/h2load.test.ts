import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { hostPort } from '../../support/data/address.ts';
import { echoServer } from '../../support/peers/servers.ts';
import { socksConnect } from '../../support/peers/socks-client.ts';
import { Child } from '../../support/process/child.ts';
import { Weir } from '../../support/process/weir.ts';
import { within } from '../../support/wait.ts';
import { grpcClientConfig, grpcConfig, TUNNEL_PATH } from '../support/grpc-config.ts';
import { besideHonestClient, figuresOf } from '../support/honest-client.ts';
import { programOrSkip } from '../support/program.ts';

const { path: h2load, skip } = programOrSkip('h2load');
const PATIENCE_MS = 200_000;
const REQUESTS = 20_000;

async function load(weir: Weir, options: readonly string[]): Promise<string> {
  const url = `http://${hostPort(weir.address('grpc'))}${TUNNEL_PATH}`;
  const many = [`--requests=${REQUESTS}`, '--clients=20', '--max-concurrent-streams=100'];
  await using child = new Child(h2load, [...many, ...options, url]);
  const { code } = await within(child.exited, () => child.stdout, PATIENCE_MS);
  assert.equal(code, 0, child.stderr);
  return child.stdout;
}

for (const [what, options, expected] of [
  ['requests that are refused', [], `${REQUESTS} 4xx`],
  ['tunnels whose clients do not authenticate', ['-H', 'content-type: application/grpc'], '2xx'],
] as const) {
  test(
    `h2load gets each of many responses on many streams, and an honest client too: ${what}`,
    {
      skip,
    },
    async (t) => {
      await using echo = await echoServer();
      const files = { garbage: randomBytes(64) };
      await using weir = await Weir.start(grpcConfig('plain'), { control: true, files });
      await using client = await Weir.start(grpcClientConfig(weir.address('grpc')));
      const connect = (): Promise<Socket> => socksConnect(client.address('socks'), echo.target);
      const body = options.length > 0 ? ['-d', join(weir.folder, 'garbage')] : [];
      const outcome = await besideHonestClient(weir, connect, () =>
        load(weir, [...options, ...body]),
      );
      const [statuses = ''] = /^status codes: .*$/m.exec(outcome.result) ?? [];
      const [requests = ''] = /^requests: .*$/m.exec(outcome.result) ?? [];
      t.diagnostic(`${requests}; ${statuses}; ${figuresOf(outcome)}`);
      assert.ok(statuses.includes(expected), statuses);
      assert.ok(requests.includes(`${REQUESTS} done`), requests);
      assert.ok(requests.includes(' 0 timeout'), requests);
    },
  );
}
