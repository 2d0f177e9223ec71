import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { DIRECT } from '../../support/config/support.ts';
import { DashboardProcess } from '../../support/browser/dashboard-process.ts';
import { hostPort } from '../../support/data/address.ts';
import { echoServer, type Origin } from '../../support/peers/servers.ts';
import { socksConnect } from '../../support/peers/socks-client.ts';
import { Child } from '../../support/process/child.ts';
import { API, Control } from '../../support/process/control.ts';
import { Weir } from '../../support/process/weir.ts';
import { within } from '../../support/wait.ts';
import { ID } from '../../support/ways/secrets.ts';
import { besideHonestClient, figuresOf } from '../support/honest-client.ts';
import { programOrSkip, type Program } from '../support/program.ts';
import { shared } from '../../support/shared.ts';

const CONFIG = `${API}secret = "s3cret"
${DIRECT}
[[inbound]]
tag = "socks"
protocol = "socks"
port = 0
[[inbound]]
tag = "http"
protocol = "http"
port = 0
[[inbound]]
tag = "ws"
protocol = "vless"
port = 0
[inbound.settings]
users = [{ id = "${ID}" }]
[inbound.stream]
network = "ws"
[inbound.stream.ws]
path = "/ws"
`;

const TARGETS = ['http', 'ws', 'api', 'dashboard'] as const;
type Target = (typeof TARGETS)[number];

/** Connections of slowhttptest, and seconds until it gives up: longer than any limit of Weir's. */
const SLOW_CONNECTIONS = 60;
const LIMIT_S = 100;
const PATIENCE_MS = 150_000;

const slowhttptest = programOrSkip('slowhttptest');
const wrk = programOrSkip('wrk');
const hey = programOrSkip('hey');

let weir: Weir;
let dashboard: DashboardProcess;
let echo: Origin;
const urls = new Map<Target, string>();

const urlOf = (target: Target): string => urls.get(target) ?? '';

/** The output of a program that ends by itself. */
async function run({ path }: Program, args: readonly string[]): Promise<string> {
  await using child = new Child(path, args);
  const { code } = await within(child.exited, () => child.stdout.slice(-2000), PATIENCE_MS);
  assert.equal(code, 0, child.stdout + child.stderr);
  return child.stdout.replaceAll(COLOURS, '');
}

// eslint-disable-next-line no-control-regex
const COLOURS = /\u001b\[[\d;]*m/g;

async function beside(work: () => Promise<string>): Promise<{ text: string; figures: string }> {
  const connect = (): Promise<Socket> => socksConnect(weir.address('socks'), echo.target);
  const outcome = await besideHonestClient(weir, connect, work);
  return { text: outcome.result, figures: figuresOf(outcome) };
}

describe('slow and heavy clients of HTTP', () => {
  shared(async (use) => {
    echo = use(await echoServer());
    weir = use(await Weir.start(CONFIG, { control: true }));
    const { api } = await Control.of(weir);
    dashboard = use(await DashboardProcess.start(['--socket', weir.controlPath]));
    urls.set('http', `http://${hostPort(weir.address('http'))}/`);
    urls.set('ws', `http://${hostPort(weir.address('ws'))}/ws`);
    urls.set('api', `http://${hostPort(api.address)}/v1/version`);
    urls.set('dashboard', `${dashboard.url}/`);
  });

  for (const target of TARGETS) {
    for (const [what, mode] of [
      ['headers', ['-H']],
      ['bodies', ['-B', '-s', '8192']],
    ] as const) {
      test(
        `slow ${what} are not waited for by ${target}, and an honest client is served`,
        {
          skip: slowhttptest.skip,
        },
        async (t) => {
          const count = String(SLOW_CONNECTIONS);
          const size = ['-c', count, '-r', count, '-i', '3', '-x', '16', '-l', String(LIMIT_S)];
          const { text, figures } = await beside(() =>
            run(slowhttptest, [...mode, ...size, '-p', '30', '-u', urlOf(target)]),
          );
          const [, second = ''] = /Test ended on (\d+)/.exec(text) ?? [];
          t.diagnostic(`over after ${second} s; ${figures}`);
          assert.match(text, /No open connections left/);
        },
      );
    }

    test(`wrk's many requests to ${target} all get a response`, { skip: wrk.skip }, async (t) => {
      const { text, figures } = await beside(() =>
        run(wrk, [
          '--threads=1',
          '--connections=50',
          '--duration=3s',
          '--timeout=60s',
          urlOf(target),
        ]),
      );
      const [, requests = '0'] = /(\d+) requests in/.exec(text) ?? [];
      t.diagnostic(`${requests} requests; ${figures}`);
      assert.ok(Number(requests) > 0, text);
      assert.doesNotMatch(text, /timeout [1-9]/);
    });

    test(`hey's many requests to ${target} all get a response`, { skip: hey.skip }, async (t) => {
      const { text, figures } = await beside(() =>
        run(hey, ['-n', '2000', '-c', '50', urlOf(target)]),
      );
      const statuses = Array.from(text.matchAll(/\[(\d+)\]\s+(\d+) responses/g), ([, a, b]) => [
        a,
        b,
      ]);
      t.diagnostic(`${JSON.stringify(statuses)}; ${figures}`);
      assert.equal(
        statuses.reduce((sum, [, count]) => sum + Number(count), 0),
        2000,
        text,
      );
      assert.ok(
        statuses.every(([status]) => Number(status) < 500),
        text,
      );
    });
  }
});
