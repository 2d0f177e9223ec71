import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Http2ErrorCode, http2ErrorName } from '@weir/http/http2';
import { portOf } from '../../support/data/address.ts';
import { echoServer } from '../../support/peers/servers.ts';
import { socksConnect } from '../../support/peers/socks-client.ts';
import { Child } from '../../support/process/child.ts';
import { Weir } from '../../support/process/weir.ts';
import { within } from '../../support/wait.ts';
import { grpcConfig, grpcClientConfig, TUNNEL_PATH } from '../support/grpc-config.ts';
import { besideHonestClient, figuresOf, type Beside } from '../support/honest-client.ts';
import { programOrSkip } from '../support/program.ts';

const { path: python, skip } = programOrSkip('h2');
const CLIENT = fileURLToPath(new URL('client.py', import.meta.url));
const PATIENCE_MS = 200_000;

/** Frames of a flood, many more than any bound. */
const COUNT = 100_000;

interface Flooded {
  readonly sent: number;
  readonly ended: 'end' | 'reset' | 'timeout';
  readonly goaway: number | null;
  /** Whether what followed the flood was responded to. */
  readonly responded: boolean;
}

async function flood(weir: Weir, kind: string): Promise<Flooded> {
  const port = String(portOf(weir.address('grpc')));
  await using child = new Child(python, ['-B', CLIENT, port, TUNNEL_PATH, kind, String(COUNT)]);
  const { code } = await within(child.exited, () => `the end of ${child.name}`, PATIENCE_MS);
  assert.equal(code, 0, child.stderr);
  return JSON.parse(child.stdout) as Flooded;
}

/** Kinds of floods that end the connection; `client.py` has what each sends. */
const FLOODS = [
  'rapid reset',
  'refused streams',
  'wrong window updates',
  'CONTINUATION',
  'empty CONTINUATION',
  'SETTINGS',
  'window sizes',
  'PING',
  'unread PING',
  'empty DATA',
  'padding',
  'PRIORITY',
  'HEADERS on a closed stream',
];

/** Runs a flood against a Weir that serves an honest client through the same inbound. */
async function floodBeside(kind: string): Promise<Beside<Flooded>> {
  await using echo = await echoServer();
  await using weir = await Weir.start(grpcConfig('plain'), { control: true });
  await using client = await Weir.start(grpcClientConfig(weir.address('grpc')));
  const connect = (): Promise<Socket> => socksConnect(client.address('socks'), echo.target);
  // Awaited here, since both end with this block.
  return await besideHonestClient(weir, connect, () => flood(weir, kind));
}

for (const kind of FLOODS) {
  test(
    `a flood of HTTP/2 ends the connection and an honest client is served beside it: ${kind}`,
    {
      skip,
    },
    async (t) => {
      const outcome = await floodBeside(kind);
      const { sent, ended, goaway } = outcome.result;
      const code = goaway === null ? 'none' : http2ErrorName(goaway);
      t.diagnostic(`${sent} frames sent, GOAWAY ${code}, ${ended}; ${figuresOf(outcome)}`);
      assert.notEqual(ended, 'timeout');
      // A reset may overtake the GOAWAY, and one behind responses that are not read is not sent.
      if (goaway !== null) assert.equal(goaway, Http2ErrorCode.ENHANCE_YOUR_CALM);
    },
  );
}

test(
  'a flood of window updates costs little, so its connection and an honest client live on',
  {
    skip,
  },
  async (t) => {
    const outcome = await floodBeside('WINDOW_UPDATE');
    t.diagnostic(`${outcome.result.sent} frames sent; ${figuresOf(outcome)}`);
    assert.ok(outcome.result.responded);
  },
);
