import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { singBoxConfig, weirConfig, type Served } from './startup/configs.ts';
import { figuresOf, type Figures } from './startup/figures.ts';
import { median } from './statistics.ts';

/*
 * `node bench/startup.ts [--rounds N] [--served socks|all] [NAME=COMMAND...]`: how long a program takes until
 * its SOCKS port accepts, and its processor time, memory and threads half a second later. `@CONFIG` in a command
 * stands for a configuration of Weir, `@SING_BOX` for one of sing-box. Linux only.
 */

const ROOT = fileURLToPath(new URL('../', import.meta.url));

const CONTESTANTS: Readonly<Record<string, string>> = {
  source: `node ${join(ROOT, 'packages/weir/src/main.js')} --config @CONFIG`,
  bundle: `node ${join(ROOT, 'dist/main.js')} --config @CONFIG`,
  executable: `${join(ROOT, 'out/weir')} --config @CONFIG`,
  'sing-box': 'sing-box run --config @SING_BOX',
};

const PAUSE_MS = 1;
/** After the port accepts: what is still done then counts as well. */
const SETTLE_MS = 500;

interface Start extends Figures {
  readonly wallMs: number;
}

const { values, positionals } = parseArgs({
  options: {
    rounds: { type: 'string', default: '11' },
    served: { type: 'string', multiple: true, default: ['socks', 'all'] },
  },
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

interface Case {
  readonly name: string;
  readonly served: Served;
  readonly command: string;
  readonly starts: Start[];
}

const cases = Object.entries(contestants).flatMap(([name, command]) =>
  values.served
    .filter((served) => served === 'socks' || command.includes('@CONFIG'))
    .map((served): Case => ({ name, command, served: toServed(served), starts: [] })),
);

function toServed(text: string): Served {
  if (text === 'socks' || text === 'all') return text;
  throw new Error('--served takes socks and all');
}

const folder = await mkdtemp(join(tmpdir(), 'weir-startup-'));
try {
  for (const [program = ''] of Object.values(contestants).map((command) => command.split(' '))) {
    if (program.includes('/')) await readAnew(program);
  }
  // The first round fills the cache of files.
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const { command, served, starts } of cases) {
      const start = await measure(command, served);
      if (round > 0) starts.push(start);
    }
  }
  print(cases);
} finally {
  await rm(folder, { recursive: true, force: true });
}

/**
 * Drops a file from the cache of the kernel. A file that has just been written may be cached in pages of
 * 2 MB, which are mapped as a whole: 30 MB more that are resident, until the machine restarts.
 */
async function readAnew(file: string): Promise<void> {
  // Pages that are not written yet would stay.
  await promisify(execFile)('sync', [file]);
  await promisify(execFile)('dd', [`if=${file}`, 'iflag=nocache', 'count=0', 'status=none']);
}

async function measure(command: string, served: Served): Promise<Start> {
  const port = await freePort();
  const config = join(folder, 'weir.toml');
  const singBox = join(folder, 'sing-box.json');
  await writeFile(config, weirConfig(served, port));
  await writeFile(singBox, singBoxConfig(port));
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
    return { wallMs, ...(await figuresOf(pid)) };
  } finally {
    child.kill();
    await ended;
  }
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

function print(all: readonly Case[]): void {
  const columns = {
    wallMs: 'time, ms',
    processorMs: 'processor, ms',
    residentMb: 'resident, MB',
    anonymousMb: 'anonymous, MB',
    ownCleanMb: 'clean pages of its own, MB',
    threads: 'threads',
  } as const satisfies Record<keyof Start, string>;
  const titles = Object.values(columns);
  const rows = [
    `| started as | serves | ${titles.join(' | ')} |`,
    `|---|---|${titles.map(() => '---|').join('')}`,
  ];
  for (const { name, served, starts } of all) {
    const cells = Object.keys(columns).map((figure) =>
      median(starts.map((start) => start[figure as keyof Start])).toFixed(0),
    );
    rows.push(`| ${name} | ${served} | ${cells.join(' | ')} |`);
  }
  process.stdout.write(`${rows.join('\n')}\n`);
}
