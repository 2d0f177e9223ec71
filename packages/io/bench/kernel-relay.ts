/**
 * Processor time of a bare relay process, by kernel links and by Node's sockets: a GB of one stream
 * and of 64, down and up, and 1,000 new connections. `node packages/io/bench/kernel-relay.ts`, with ROUNDS
 * (3) and MB (1024). Both kinds take turns in one run.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

const ROUNDS = Number(process.env['ROUNDS'] ?? 3);
const BYTES = Number(process.env['MB'] ?? 1024) << 20;
const CONNECTIONS = 2000;
const chunk = Buffer.alloc(256 << 10, 1);

/** The first byte asks for a download of so many bytes, or announces an upload. */
const origin = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => undefined);
  socket.once('data', (data: Buffer) => {
    if (data[0] !== 0x64) {
      let left = data.readDoubleLE(1) - (data.length - 9);
      const finish = (): void => void (left <= 0 && socket.end('k'));
      socket.on('data', ({ length }: Buffer) => ((left -= length), finish()));
      finish();
      return;
    }
    let left = data.readDoubleLE(1);
    const more = (): void => {
      while (left > 0) {
        const piece = left < chunk.length ? chunk.subarray(0, left) : chunk;
        left -= piece.length;
        if (!socket.write(piece)) {
          socket.once('drain', more);
          return;
        }
      }
      socket.end();
    };
    more();
  });
});
origin.listen({ port: 0, host: '127.0.0.1', backlog: 4096 });
await once(origin, 'listening');
const { port: originPort } = origin.address() as AddressInfo;

const open = (port: number): Socket => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('error', (error) => console.error(error.message));
  return socket;
};
const head = (letter: string, bytes: number): Buffer => {
  const request = Buffer.alloc(9, letter);
  request.writeDoubleLE(bytes, 1);
  return request;
};
async function down(port: number, bytes: number): Promise<void> {
  const socket = open(port);
  socket.write(head('d', bytes));
  socket.resume();
  await once(socket, 'close');
}
async function up(port: number, bytes: number): Promise<void> {
  const socket = open(port);
  socket.resume();
  socket.write(head('u', bytes));
  for (let left = bytes; left > 0;) {
    const piece = left < chunk.length ? chunk.subarray(0, left) : chunk;
    left -= piece.length;
    if (!socket.write(piece)) await once(socket, 'drain');
  }
  await once(socket, 'close');
}
const many = (count: number, one: () => Promise<void>): Promise<unknown> =>
  Promise.all(Array.from({ length: count }, one));

const CASES: Readonly<Record<string, (port: number) => Promise<unknown>>> = {
  'stream down': (port) => down(port, BYTES),
  'stream up': (port) => up(port, BYTES),
  '64 down': (port) => many(64, () => down(port, BYTES / 64)),
  '64 up': (port) => many(64, () => up(port, BYTES / 64)),
  connections: (port) =>
    many(32, async () => {
      for (let i = 0; i < CONNECTIONS / 32; i++) await down(port, 1);
    }),
};

const figures = new Map<string, number[]>();
for (let round = 0; round < ROUNDS; round++) {
  for (const kind of ['kernel', 'node']) {
    const path = new URL('../../../test/stress/relay-process.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, [path, kind, String(originPort)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout });
    const line = async (): Promise<unknown> => JSON.parse(String((await once(lines, 'line'))[0]));
    const cpu = async (): Promise<number> => {
      const answer = line();
      child.stdin.write('\n');
      return ((await answer) as { cpuMs: number }).cpuMs;
    };
    const { port } = (await line()) as { port: number };
    for (const [name, run] of Object.entries(CASES)) {
      const before = await cpu();
      const start = performance.now();
      await run(port);
      const seconds = (performance.now() - start) / 1000;
      const isBytes = name !== 'connections';
      const cost = ((await cpu()) - before) * (isBytes ? 1e9 / BYTES : 1000 / CONNECTIONS);
      const rate = isBytes ? (BYTES * 8) / 1e9 / seconds : CONNECTIONS / seconds;
      for (const [what, value] of [
        [`${name}, ${kind}, ms`, cost],
        [`${name}, ${kind}, rate`, rate],
      ] as const) {
        figures.set(what, [...(figures.get(what) ?? []), value]);
      }
    }
    child.stdin.end();
    await once(child, 'close');
  }
}
origin.close();
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
for (const [what, values] of figures) console.log(what, median(values).toFixed(1));
