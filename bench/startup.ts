import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/*
 * `node bench/startup.ts [--rounds N] [NAME=COMMAND...]`: how long a program takes until its SOCKS port
 * accepts, the processor time until then, and the memory after it. `@CONFIG` in a command stands for a
 * configuration of Weir, `@SING_BOX` for one of sing-box. Linux only.
 */

const ROOT = fileURLToPath(new URL('../', import.meta.url));

const CONTESTANTS: Readonly<Record<string, string>> = {
  source: `node ${join(ROOT, 'src/main.ts')} --config @CONFIG`,
  bundle: `node ${join(ROOT, 'dist/main.js')} --config @CONFIG`,
  executable: `${join(ROOT, 'out/weir')} --config @CONFIG`,
  'sing-box': 'sing-box run --config @SING_BOX',
};

const TICKS_PER_SECOND = 100;
const PAUSE_MS = 1;
/** After the port accepts: what is still done then counts as well. */
const SETTLE_MS = 500;

interface Start {
  readonly wallMs: number;
  readonly processorMs: number;
  readonly residentMb: number;
  /** Of that, what is no page of a file. */
  readonly anonymousMb: number;
}

const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '11' } },
  allowPositionals: true,
});
const contestants =
  positionals.length === 0
    ? CONTESTANTS
    : Object.fromEntries(
        positionals.map((text) => {
          const [name = '', ...command] = text.split('=');
          return [name, command.join('=')];
        }),
      );

const folder = await mkdtemp(join(tmpdir(), 'weir-startup-'));
try {
  const starts = new Map(Object.keys(contestants).map((name) => [name, [] as Start[]]));
  // The first round fills the cache of files.
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const [name, command] of Object.entries(contestants)) {
      const start = await measure(command);
      if (round > 0) starts.get(name)?.push(start);
    }
  }
  print(starts);
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function measure(command: string): Promise<Start> {
  const port = await freePort();
  const config = join(folder, 'weir.toml');
  const singBox = join(folder, 'sing-box.json');
  await writeFile(
    config,
    `[[inbound]]\ntag = "s"\nprotocol = "socks"\nport = ${port}\n\n[[outbound]]\ntag = "d"\nprotocol = "freedom"\n`,
  );
  const inbounds = [{ type: 'socks', listen: '127.0.0.1', listen_port: port }];
  await writeFile(singBox, JSON.stringify({ inbounds, outbounds: [{ type: 'direct' }] }));
  const words = command.replace('@CONFIG', config).replace('@SING_BOX', singBox).split(' ');
  const [program = '', ...args] = words;
  const begin = performance.now();
  const child = spawn(program, args, { stdio: 'ignore' });
  const { pid } = child;
  if (pid === undefined) throw new Error(`cannot start ${command}`);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    while (!(await accepts(port))) {
      if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`);
      await sleep(PAUSE_MS);
    }
    const wallMs = performance.now() - begin;
    await sleep(SETTLE_MS);
    const family = await withChildren(pid);
    const figures = await Promise.all(family.map(figuresOf));
    const sum = (figure: Exclude<keyof Start, 'wallMs'>): number =>
      figures.reduce((total, process) => total + process[figure], 0);
    return {
      wallMs,
      processorMs: sum('processorMs'),
      residentMb: sum('residentMb'),
      anonymousMb: sum('anonymousMb'),
    };
  } finally {
    child.kill();
    await ended;
  }
}

/** A launcher may have the program as its child. */
async function withChildren(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  const children = await Promise.all((text.match(/\d+/g) ?? []).map(Number).map(withChildren));
  return [pid, ...children.flat()];
}

async function figuresOf(pid: number): Promise<Omit<Start, 'wallMs'>> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name of the program, in parentheses, may contain spaces; utime and stime are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? Number.NaN) / 1024;
  return {
    processorMs: (ticks * 1000) / TICKS_PER_SECOND,
    residentMb: megabytes('VmRSS'),
    anonymousMb: megabytes('RssAnon'),
  };
}

function accepts(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1');
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => void server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

function print(starts: ReadonlyMap<string, readonly Start[]>): void {
  const rows = [
    '| started as | time, ms | processor, ms | resident, MB | anonymous, MB |',
    '|---|---|---|---|---|',
  ];
  for (const [name, all] of starts) {
    const cells = (['wallMs', 'processorMs', 'residentMb', 'anonymousMb'] as const).map((figure) =>
      median(all.map((start) => start[figure])).toFixed(0),
    );
    rows.push(`| ${name} | ${cells.join(' | ')} |`);
  }
  process.stdout.write(`${rows.join('\n')}\n`);
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
