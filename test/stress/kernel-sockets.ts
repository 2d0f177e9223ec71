/**
 * Flows of every kind through a relay of kernel links, every byte compared, beside processes that
 * burn the processor, with the debug mode and the watchdog on.
 *
 * `npm run stress`, with WEIR_STRESS_SECONDS (60), CLIENTS (64), BURNERS (4), STOPS=1 for
 * bursts of SIGSTOP, KIND=node for a comparison. Exit status 1 when a byte was wrong, a flow got no
 * answer for 10 s, an event was lost or a descriptor was left open.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const number = (name: string, otherwise: number): number => Number(process.env[name] ?? otherwise);
const SECONDS = number('WEIR_STRESS_SECONDS', 60);
const CLIENTS = number('CLIENTS', 64);
const BURNERS = number('BURNERS', 4);
const STALL_MS = 10_000;

const BLOCK = Buffer.alloc(2 << 20);
for (let i = 0; i < BLOCK.length; i++) BLOCK[i] = (i * 31 + (i >> 8)) & 0xff;

/** The destination: the first byte says what it is to do. */
function behave(socket: Socket): void {
  socket.on('error', () => undefined);
  // A client may leave before it has said anything.
  socket.once('end', () => {
    if (socket.bytesRead === 0) socket.end();
  });
  socket.once('data', (data: Buffer) => {
    switch (String.fromCharCode(data[0] ?? 0)) {
      case 'E':
        socket.write(data.subarray(1));
        socket.on('data', (more: Buffer) => socket.write(more));
        socket.on('end', () => socket.end());
        break;
      case 'G':
        socket.end(BLOCK.subarray(0, data.readUInt32LE(1)));
        break;
      case 'R':
        socket.resetAndDestroy();
        break;
      case 'S':
        socket.resume();
        socket.on('end', () => socket.end());
        break;
      default:
        socket.end();
    }
  });
}

type Kind = 'echo' | 'get' | 'reset' | 'close' | 'cut' | 'leave';
const KINDS: readonly Kind[] = (
  process.env['KINDS'] ?? 'echo echo get get reset close cut leave'
).split(' ') as Kind[];
const counts: Record<string, number> = {};
const bad: string[] = [];

async function flow(port: number, kind: Kind): Promise<void> {
  counts[kind] = (counts[kind] ?? 0) + 1;
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  let failure: Error | undefined;
  let ended = false;
  let got = 0;
  let wrong = false;
  let wake: () => void = () => undefined;
  socket.on('data', (chunk: Buffer) => {
    if (!chunk.equals(BLOCK.subarray(got, got + chunk.length))) wrong = true;
    got += chunk.length;
    wake();
  });
  socket.on('end', () => ((ended = true), wake()));
  socket.on('error', (error) => ((failure = error), wake()));
  socket.on('close', () => wake());
  const until = async (done: () => boolean): Promise<boolean> => {
    const deadline = performance.now() + STALL_MS;
    while (!done()) {
      if (failure || ended || socket.destroyed) return false;
      const left = deadline - performance.now();
      if (left <= 0) {
        bad.push(`${kind}: no answer for ${STALL_MS} ms after ${got} bytes`);
        return false;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      const timer = setTimeout(resolve, left);
      await promise;
      clearTimeout(timer);
    }
    return true;
  };
  if (kind === 'echo' || kind === 'get') {
    const length = 1 + Math.floor(Math.random() * (kind === 'get' ? BLOCK.length : 400_000));
    const request = Buffer.from('G____');
    request.writeUInt32LE(length, 1);
    socket.end(
      kind === 'get' ? request : Buffer.concat([Buffer.from('E'), BLOCK.subarray(0, length)]),
    );
    await until(() => got >= length);
    await until(() => ended);
    if (wrong || got !== length || !ended) {
      bad.push(`${kind}: ${got} of ${length} bytes, ${String(failure ?? 'no error')}`);
    }
  } else if (kind === 'reset') {
    socket.write('R');
    await until(() => failure !== undefined);
    if (!failure) bad.push('a reset arrived as an end');
  } else if (kind === 'close') {
    socket.end('C');
    await until(() => ended);
    if (!ended) bad.push(`close: ${String(failure)}`);
  } else if (kind === 'cut') {
    const request = Buffer.from('G____');
    request.writeUInt32LE(BLOCK.length, 1);
    socket.write(request);
    await until(() => got > 0);
    socket.resetAndDestroy();
  } else {
    socket.write('S');
    await sleep(Math.random() * 20);
  }
  socket.destroy();
}

interface Report {
  readonly cpuMs: number;
  readonly descriptors: number;
  readonly residentMb: number;
  readonly flows: number;
  readonly lost: readonly object[];
}

const origin = createServer({ allowHalfOpen: true, noDelay: true }, behave);
origin.listen({ port: 0, host: '127.0.0.1', backlog: 4096 });
await once(origin, 'listening');
const { port: originPort } = origin.address() as AddressInfo;

const child = spawn(
  process.execPath,
  [
    new URL('relay-process.ts', import.meta.url).pathname,
    process.env['KIND'] ?? 'kernel',
    String(originPort),
  ],
  {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, WEIR_IO_CHECK: process.env['WEIR_IO_CHECK'] ?? '1' },
  },
);
const lines = createInterface({ input: child.stdout });
const line = async (): Promise<unknown> => JSON.parse(String((await once(lines, 'line'))[0]));
const ask = async (): Promise<Report> => {
  const answer = line();
  child.stdin.write('\n');
  return (await answer) as Report;
};
const { port } = (await line()) as { port: number };

const burners: ChildProcess[] = Array.from({ length: BURNERS }, () =>
  spawn(process.execPath, ['--eval', 'for (;;);'], { stdio: 'ignore' }),
);
let stopped = false;
const stops = setInterval(() => {
  if (process.env['STOPS'] !== '1') return;
  child.kill('SIGSTOP');
  stopped = true;
  setTimeout(() => {
    child.kill('SIGCONT');
    stopped = false;
  }, 200);
}, 900);

await Promise.all(Array.from({ length: 50 }, () => flow(port, 'get')));
await sleep(Number(process.env['SETTLE'] ?? 7_000)); // idle pipes and lingering links are gone
const before = await ask();
const end = performance.now() + SECONDS * 1000;
await Promise.all(
  Array.from({ length: CLIENTS }, async () => {
    while (performance.now() < end) {
      await flow(port, KINDS[Math.floor(Math.random() * KINDS.length)] ?? 'echo');
    }
  }),
);
clearInterval(stops);
if (stopped) child.kill('SIGCONT');
for (const burner of burners) burner.kill('SIGKILL');
await sleep(Number(process.env['SETTLE'] ?? 12_000));
const after = await ask();
child.stdin.end();
origin.close();

const flows = Object.values(counts).reduce((sum, count) => sum + count, 0);
const ok =
  bad.length === 0 &&
  after.lost.length === 0 &&
  after.flows === 0 &&
  after.descriptors <= before.descriptors;
console.log(
  JSON.stringify(
    { ok, flows, counts, bad: bad.length, first: bad.slice(0, 5), before, after },
    undefined,
    1,
  ),
);
process.exit(ok ? 0 : 1);
