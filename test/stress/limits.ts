/**
 * Limits of accounts, measured: how late and how far beyond its bytes an account is closed, and what rate it gets.
 *
 * `npm run stress -- limits`, with WEIR_STRESS_TRIALS (100) for each protocol and direction, and WEIR_STRESS_RATES=1 for the
 * table of rates in place of the trials, with WEIR_STRESS_WAYS to choose protocols by a part of their title. Exit status 1
 * when an account used more than 1 MB beyond its limit, was closed later than a second, or a rate was off by more than 5 %.
 */
import { writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { requestLimits, requestReload } from '@weir/server/control';
import { freedom, socksIn } from '../support/process/config.ts';
import { tcpServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { UdpPeer } from './udp-peer.ts';
import { carriesDatagrams, wayTitle, type Way } from '../support/ways/way.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { ACCOUNT_WAYS, asAccount, withAccount } from '../support/ways/accounts.ts';
import { scratch, Weir } from '../support/process/weir.ts';

const TRIALS = Number(process.env['WEIR_STRESS_TRIALS'] ?? 100);
const CHOSEN = process.env['WEIR_STRESS_WAYS'] ?? '';
const MB = 1e6;
const CHUNK = Buffer.alloc(64 << 10, 7);
const RATE_SECONDS = 10;
const WARM_UP_MS = 3000;

const WAYS = ACCOUNT_WAYS.filter((way) => wayTitle(way).includes(CHOSEN));

type Direction = 'up' | 'down';

/** A pair of programs with a way between them; every account of the server has the limits of one entry. */
async function openPair(way: Way, limit: string) {
  const inbound = withAccount(weirIn(way, { tag: 'in' }));
  const folder = await scratch();
  const limitsFile = join(folder.path, 'limits.toml');
  await writeFile(limitsFile, limit);
  const server = await Weir.start(inbound + freedom(), {
    control: true,
    args: ['--limits', limitsFile],
  });
  const out = asAccount(way, weirOut(way, server.address('in')));
  const client = await Weir.start(socksIn('socks', '[inbound.settings]\nudp = true') + out);
  return {
    server,
    socks: client.address('socks'),
    change: async (text: string): Promise<void> => {
      await writeFile(limitsFile, text);
      await requestReload(server.controlPath);
    },
    account: async () => (await requestLimits(server.controlPath)).accounts[0],
    events: async () => (await requestLimits(server.controlPath)).events,
    [Symbol.asyncDispose]: async () => {
      await client[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** A server that sends without end, or counts what it receives, and notes when its connection ends. */
const origin = {
  received: 0,
  endedAt: 0,
  ended: Promise.withResolvers<void>(),
  reset() {
    this.received = 0;
    this.endedAt = 0;
    this.ended = Promise.withResolvers();
  },
};
const source = await tcpServer((socket) => {
  socket.on('end', () => socket.destroy());
  flood(socket);
});
const sink = await tcpServer((socket) => {
  socket.on('data', ({ length }) => (origin.received += length));
  socket.on('end', () => socket.end());
  socket.on('close', () => {
    origin.endedAt = Date.now();
    origin.ended.resolve();
  });
});

/** Bytes per second that each sender sends; without, as many as it can. */
let pace: number | undefined;
const PIECE_MS = 50;

function flood(socket: Socket): void {
  if (pace !== undefined) {
    const piece = Buffer.alloc(Math.ceil((pace * PIECE_MS) / 1000), 7);
    const timer = setInterval(() => {
      if (!socket.writableNeedDrain) socket.write(piece);
    }, PIECE_MS);
    socket.on('error', () => undefined).on('close', () => clearInterval(timer));
    socket.resume();
    return;
  }
  const more = (): void => {
    while (!socket.destroyed && socket.write(CHUNK));
  };
  socket
    .on('drain', more)
    .on('error', () => undefined)
    .resume();
  more();
}

interface Worst {
  overshoot: number;
  /** Milliseconds from the limit to the end of the flow, and until both ends have noticed it behind what was sent before. */
  lateMs: number;
  seenMs: number;
}

async function trial(
  pair: Awaited<ReturnType<typeof openPair>>,
  direction: Direction,
  worst: Worst,
): Promise<void> {
  const used = (await pair.account())?.used ?? 0;
  const bytes = used + Math.ceil((1 + Math.random() * 7) * MB);
  await pair.change(`[[limit]]\nuser = "*"\nbytes = "${bytes} B"\n`);
  origin.reset();
  const socket = await socksConnect(pair.socks, (direction === 'up' ? sink : source).target);
  const closed = new Promise<number>((resolve) => {
    socket.on('close', () => resolve(Date.now())).on('error', () => undefined);
  });
  if (direction === 'up') flood(socket);
  else socket.resume();
  const clientAt = await closed;
  if (direction === 'up') await origin.ended.promise;
  const event = (await pair.events()).findLast(({ state }) => state === 'bytes');
  const account = await pair.account();
  const after = account?.used ?? 0;
  if (!event) throw new Error('no event of the limit');
  worst.overshoot = Math.max(worst.overshoot, after - bytes, origin.received - (bytes - used));
  worst.lateMs = Math.max(worst.lateMs, (account?.last_seen ?? Infinity) - event.at);
  worst.seenMs = Math.max(worst.seenMs, clientAt - event.at, origin.endedAt - event.at);
}

async function cut(way: Way): Promise<boolean> {
  await using pair = await openPair(way, '[[limit]]\nuser = "*"\nbytes = "1 B"\n');
  let passed = true;
  for (const direction of ['up', 'down'] as const) {
    const worst: Worst = { overshoot: -Infinity, lateMs: 0, seenMs: 0 };
    for (let i = 0; i < TRIALS; i++) await trial(pair, direction, worst);
    const isGood = worst.overshoot <= MB && worst.lateMs <= 1000;
    passed &&= isGood;
    report([
      wayTitle(way),
      direction,
      `${worst.overshoot} B`,
      `${worst.lateMs} ms`,
      `${worst.seenMs} ms`,
      isGood ? '' : 'FAILED',
    ]);
  }
  return passed;
}

/** Returns the bytes per second that flows of one account get together, after the first three seconds. */
async function streamRate(
  pair: Awaited<ReturnType<typeof openPair>>,
  direction: Direction,
  flows: number,
  asked: number,
): Promise<number> {
  origin.reset();
  // Not more: what waits in buffers of the kernel comes before the end of a flow.
  pace = (2 * asked) / flows;
  let received = 0;
  const sockets = await Promise.all(
    Array.from({ length: flows }, async () => {
      const socket = await socksConnect(pair.socks, (direction === 'up' ? sink : source).target);
      socket.on('error', () => undefined);
      if (direction === 'up') flood(socket);
      else socket.on('data', ({ length }) => (received += length));
      return socket;
    }),
  );
  const count = (): number => (direction === 'up' ? origin.received : received);
  await sleep(WARM_UP_MS);
  const [before, at] = [count(), performance.now()];
  await sleep(RATE_SECONDS * 1000);
  const rate = ((count() - before) / (performance.now() - at)) * 1000;
  for (const socket of sockets) socket.destroy();
  return rate;
}

/**
 * Lets what the ends of flows have left behind pass without a rate, and waits until it has: not for associations without
 * a connection, which end by themselves after minutes.
 */
async function atRest(pair: Awaited<ReturnType<typeof openPair>>): Promise<void> {
  await pair.change('[[limit]]\nuser = "*"\ndevices = 1000\n');
  for (let looks = 0; looks < 30 && ((await pair.account())?.flows ?? 0) > 0; looks++) {
    await sleep(100);
  }
}

/** The same for datagrams of 1200 bytes, of which twice as many are sent. */
async function datagramRate(
  pair: Awaited<ReturnType<typeof openPair>>,
  direction: Direction,
  asked: number,
): Promise<number> {
  using peer = await UdpPeer.open();
  using association = await UdpAssociation.open(pair.socks);
  const run =
    direction === 'up' ? peer.countFrom(association, asked) : peer.floodTo(association, asked);
  await sleep(WARM_UP_MS);
  const [before, at] = [run.received(), performance.now()];
  await sleep(RATE_SECONDS * 1000);
  const rate = ((run.received() - before) / (performance.now() - at)) * 1000;
  run.stop();
  return rate;
}

async function rates(way: Way): Promise<boolean> {
  await using pair = await openPair(way, '[[limit]]\nuser = "*"\ndown = "1 Mbps"\n');
  let passed = true;
  const show = (what: string, direction: Direction, asked: number, got: number): void => {
    const isGood = Math.abs(got / asked - 1) <= 0.05;
    passed &&= isGood;
    const mbps = (rate: number): string => `${((rate * 8) / 1e6).toFixed(2)} Mbit/s`;
    report([
      wayTitle(way),
      what,
      direction,
      mbps(asked),
      mbps(got),
      (got / asked).toFixed(3),
      isGood ? '' : 'FAILED',
    ]);
  };
  // Of one way, several rates.
  const list = way.protocol === 'socks' ? [1, 20, 200, 1000] : [20];
  for (const mbit of list) {
    const asked = mbit * 125_000;
    for (const direction of ['up', 'down'] as const) {
      const limit = `[[limit]]\nuser = "*"\n${direction} = "${mbit} Mbit/s"\n`;
      for (const flows of [1, 64]) {
        await pair.change(limit);
        show(`${flows} flows`, direction, asked, await streamRate(pair, direction, flows, asked));
        await atRest(pair);
      }
      if (!carriesDatagrams(way) || mbit > 20) continue;
      await pair.change(limit);
      show('UDP', direction, asked, await datagramRate(pair, direction, asked));
      await atRest(pair);
    }
  }
  return passed;
}

const report = (cells: readonly string[]): void =>
  void process.stdout.write(`| ${cells.join(' | ')} |\n`);

const measure = process.env['WEIR_STRESS_RATES'] === '1' ? rates : cut;
let passed = true;
for (const way of WAYS) passed = (await measure(way)) && passed;
await source[Symbol.asyncDispose]();
await sink[Symbol.asyncDispose]();
process.exitCode = passed ? 0 : 1;
