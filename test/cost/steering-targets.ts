import { portOf, open, parseAddress, type Address } from '../support/data/address.ts';
import { ClashProcess } from '../support/clash/clash-process.ts';
import { DashboardProcess } from '../support/browser/dashboard-process.ts';
import type { Child } from '../support/process/child.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { Weir } from '../support/process/weir.ts';
import { readHead } from '../support/read.ts';
import { OBSERVED, ObservedProcess } from './observed-process.ts';
import { http, NOISE } from './seeds.ts';
import type { RunningTarget, Target } from './target.ts';

const SECRET = 'correct-horse';
const CONFIG = `${socksIn()}${freedom()}[api]\nlisten = "127.0.0.1:0"\nsecret = "${SECRET}"\n`;
const SEEDS = [...NOISE, ...http('/v1/version'), ...http('/').slice(2, 5)];
/** Fields of the honest request that carry its payload: a head is bounded. */
const LONGEST_FIELD = 12_000;

/** A connection with one request that has the secret. */
const asking = (port: number, path: string, secret: string) => async (payload: number) => {
  const pad = 'p'.repeat(Math.min(payload, LONGEST_FIELD));
  const request =
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${secret}\r\n` +
    `X-Payload: ${pad}\r\nConnection: close\r\n\r\n`;
  const socket = await open({ host: '127.0.0.1', port });
  socket.write(request);
  await readHead(socket);
  socket.destroy();
  return request.length;
};

async function started(
  stack: AsyncDisposableStack,
  child: Child,
  port: number,
  path: string,
  secret: string,
): Promise<RunningTarget> {
  const observed = stack.use(await ObservedProcess.of(child));
  const kept = stack.move();
  return {
    observed,
    place: { kind: 'tcp', port },
    seeds: SEEDS,
    honest: asking(port, path, secret),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const apiOf = (weir: Weir): Promise<Address> =>
  weir.child.until('its API', ({ stderr }) => {
    const [, text] = /svc_app: API listening on (\S+)$/m.exec(stderr) ?? [];
    return text === undefined ? undefined : parseAddress(text);
  });

const runningWeir = async (
  stack: AsyncDisposableStack,
): Promise<{ readonly weir: Weir; readonly api: number }> => {
  const weir = stack.use(
    await Weir.start(CONFIG, { nodeArgs: OBSERVED, files: { secret: SECRET }, control: true }),
  );
  return { weir, api: portOf(await apiOf(weir)) };
};

async function startApi(): Promise<RunningTarget> {
  await using stack = new AsyncDisposableStack();
  const { weir, api } = await runningWeir(stack);
  return await started(stack, weir.child, api, '/v1/version', SECRET);
}

/** Arguments by which the programs beside Weir find it. */
const toward = ({ folder, controlPath }: Weir, api: number): readonly string[] => [
  '--api',
  `http://127.0.0.1:${api}`,
  '--secret-file',
  `${folder}/secret`,
  '--socket',
  controlPath,
];

async function startDashboard(): Promise<RunningTarget> {
  await using stack = new AsyncDisposableStack();
  const { weir, api } = await runningWeir(stack);
  const dashboard = stack.use(
    await DashboardProcess.start(toward(weir, api), { nodeArgs: OBSERVED }),
  );
  // The page itself needs no token, and is what an honest browser begins with.
  return await started(stack, dashboard.child, Number(new URL(dashboard.url).port), '/', '');
}

async function startClash(): Promise<RunningTarget> {
  await using stack = new AsyncDisposableStack();
  const { weir, api } = await runningWeir(stack);
  const clash = stack.use(await ClashProcess.start(toward(weir, api), { nodeArgs: OBSERVED }));
  return await started(
    stack,
    clash.child,
    Number(new URL(clash.url).port),
    '/version',
    clash.secret,
  );
}

/** What steers Weir by HTTP, for clients without its secret. */
export const STEERING_TARGETS: readonly Target[] = [
  {
    inbound: 'the API with a secret',
    carrier: 'http',
    bound:
      'MAX_UNAUTHENTICATED 256 clients, 128 of one source (`packages/server/src/api/http/server.ts`)',
    start: startApi,
  },
  {
    inbound: '`weir dashboard`',
    carrier: 'http',
    bound: 'MAX_CONNECTIONS 128 (`packages/server/src/local-http/local-server.ts`)',
    start: startDashboard,
  },
  {
    inbound: '`weir clash-api`',
    carrier: 'http',
    bound: 'MAX_CONNECTIONS 128 (`packages/server/src/local-http/local-server.ts`)',
    start: startClash,
  },
];
