import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Child } from '../test/support/process/child.ts';
import { freedom, socksIn } from '../test/support/process/config.ts';
import { cpuSeconds } from '../test/support/process/proc.ts';
import { Weir } from '../test/support/process/weir.ts';
import { weirProgram } from '../test/support/ways/weir.ts';
import { socksTo, startRelay, type Contestant } from './contestants.ts';
import { Generator } from './load/generator.ts';
import type { LoadName } from './load/messages.ts';
import { median } from './statistics.ts';
import { TUNNEL_PROGRAMS } from './tunnel-contestants.ts';
import { TUNNELS } from './tunnels.ts';

const USAGE = `Usage: node bench/memory.ts [CASE...] [options]

Memory of both ends of a tunnel together, in MB: at rest, while a load runs (mean and most), and after
it. Resident memory counts pages of files, which processes share; anonymous memory is a process's own.

Cases: burst, burst-socks, and NAME-down, -up, -streams-down, -streams-up, -connect of the tunnels
  ${TUNNELS.map(({ name }) => name).join(', ')}
  (those whose names start with one of the words; default: trojan-tls). \`burst\` is --flows connections
  through Trojan over TLS at both ends, held, closed, and the memory of the --after seconds that
  follow; \`burst-socks\` the same through SOCKS in one process.

Options:
  --with LIST      sing-box, and NAME=COMMAND for a Weir (default: weir,sing-box)
  --seconds N      length of a load (default 3)
  --after N        seconds after it (default 2; of a burst 30)
  --rounds N       (default 1)
  --flows N        of a burst (default 10000)
  --hold N         seconds for which its connections stay (default 3)
  --bursts N       one after the other in the same processes (default 1)
  --trace          print each half second
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    with: { type: 'string', default: 'weir,sing-box' },
    seconds: { type: 'string', default: '3' },
    after: { type: 'string' },
    rounds: { type: 'string', default: '1' },
    flows: { type: 'string', default: '10000' },
    hold: { type: 'string', default: '3' },
    bursts: { type: 'string', default: '1' },
    trace: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (values.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}

interface Memory {
  readonly resident: number;
  readonly anonymous: number;
}

interface Test {
  readonly name: string;
  readonly tunnel: (typeof TUNNELS)[number] | undefined;
  readonly load: LoadName;
  readonly parallel: number;
}

const [trojan] = TUNNELS;
const TESTS: readonly Test[] = [
  { name: 'burst', tunnel: trojan, load: 'idle', parallel: Number(values.flows) },
  { name: 'burst-socks', tunnel: undefined, load: 'idle', parallel: Number(values.flows) },
  ...TUNNELS.flatMap((tunnel): Test[] => [
    { name: `${tunnel.name}-down`, tunnel, load: 'download', parallel: 1 },
    { name: `${tunnel.name}-up`, tunnel, load: 'upload', parallel: 1 },
    { name: `${tunnel.name}-streams-down`, tunnel, load: 'download', parallel: 64 },
    { name: `${tunnel.name}-streams-up`, tunnel, load: 'upload', parallel: 64 },
    { name: `${tunnel.name}-connect`, tunnel, load: 'connect', parallel: 32 },
  ]),
];

const words = positionals.length === 0 ? ['trojan-tls'] : positionals;
const tests = TESTS.filter(({ name }) =>
  words.some((word) => (word.startsWith('burst') ? name === word : name.startsWith(word))),
);
const subjects = values.with.split(',').map((text) => {
  const at = text.indexOf('=');
  return at < 0
    ? { name: text, command: undefined }
    : { name: text.slice(0, at), command: text.slice(at + 1).split(' ') };
});

const SAMPLE_MS = 20;
/** Longer than Weir waits before it releases what its start has used. */
const REST_MS = 6000;
const MB = 1024;

/** Sums over the processes, in MB. */
function memoryOf(children: readonly Child[]): Memory {
  let [resident, anonymous] = [0, 0];
  for (const { pid } of children) {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const megabytes = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? Number.NaN) / MB;
    resident += megabytes('VmRSS');
    anonymous += megabytes('RssAnon');
  }
  return { resident, anonymous };
}

/** Samples until it is stopped. */
class Sampler {
  readonly samples: Memory[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(children: readonly Child[]) {
    this.#timer = setInterval(() => this.samples.push(memoryOf(children)), SAMPLE_MS);
  }

  stop(): { readonly mean: Memory; readonly most: Memory } {
    clearInterval(this.#timer);
    const all = (figure: keyof Memory): number[] => this.samples.map((each) => each[figure]);
    const mean = (figure: keyof Memory): number =>
      all(figure).reduce((sum, value) => sum + value, 0) / this.samples.length;
    const most = (figure: keyof Memory): number => Math.max(...all(figure));
    return {
      mean: { resident: mean('resident'), anonymous: mean('anonymous') },
      most: { resident: most('resident'), anonymous: most('anonymous') },
    };
  }
}

async function startSubject(
  { name, command }: (typeof subjects)[number],
  { tunnel }: Test,
  port: number,
): Promise<Contestant> {
  if (name === 'sing-box') {
    return tunnel
      ? startPair(TUNNEL_PROGRAMS['sing-box'], tunnel, port)
      : startRelay(name, port, false);
  }
  if (tunnel) return startPair(weirProgram({ program: command }), tunnel, port);
  const weir = await Weir.start(socksIn() + freedom(), { program: command });
  return {
    via: socksTo(weir.address('socks'), port),
    children: [weir.child],
    [Symbol.asyncDispose]: () => weir[Symbol.asyncDispose](),
  };
}

async function startPair(
  program: (typeof TUNNEL_PROGRAMS)['weir'],
  tunnel: (typeof TUNNELS)[number],
  port: number,
): Promise<Contestant> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await program.server(tunnel.way));
  const client = stack.use(await program.client(tunnel.way, server.address));
  const started = stack.move();
  return {
    via: socksTo(client.address, port),
    children: [client.child, server.child],
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

type Row = Readonly<Record<string, number>>;

async function measure(subject: (typeof subjects)[number], test: Test): Promise<Row> {
  const isBurst = test.load === 'idle';
  await using origin = new Generator(['origin']);
  const port = await origin.ready();
  await using contestant = await startSubject(subject, test, port);
  const { children, via } = contestant;
  const cpu = (): number => children.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0);
  await sleep(REST_MS);
  const rest = memoryOf(children);
  const load = async (): Promise<Row> => {
    await using generator = new Generator();
    await generator.ready();
    let sampler: Sampler | undefined;
    let before = 0;
    const seconds = isBurst ? Number(values.hold) : Number(values.seconds);
    const discarded = test.load === 'upload' ? await origin.discarded() : 0;
    const figures = await generator.run(
      { load: test.load, via, parallel: test.parallel, seconds },
      () => {
        sampler = new Sampler(children);
        before = cpu();
      },
    );
    const used = cpu() - before;
    const held = memoryOf(children);
    const { mean, most } = sampler?.stop() ?? { mean: rest, most: rest };
    const sent = test.load === 'upload' ? (await origin.discarded()) - discarded : 0;
    // An upload's rate is that of the other process, its warm-up of a second included.
    const rate = sent > 0 ? sent / (seconds + 1) : (figures['rate'] ?? 0);
    const work = rate * seconds;
    return {
      'mean RSS': mean.resident,
      'mean anon': mean.anonymous,
      'most RSS': most.resident,
      'most anon': most.anonymous,
      ...(isBurst ? { 'held RSS': held.resident, flows: figures['flows'] ?? 0, cpu: used } : {}),
      ...(test.load === 'connect' ? { rate, 'ms/1000': (used / work) * 1e6 } : {}),
      ...(isBurst || test.load === 'connect'
        ? {}
        : { 'Gbit/s': rate / 1.25e8, 'ms/GB': (used / work) * 1e12 }),
    };
  };
  let row: Row = {};
  const after = Number(values.after ?? (isBurst ? 30 : 2));
  const times: [number, Memory][] = [];
  for (let burst = 0; burst < (isBurst ? Number(values.bursts) : 1); burst++) {
    row = await load();
    const ended = performance.now();
    const before = cpu();
    times.length = 0;
    while (performance.now() - ended < after * 1000) {
      await sleep(500);
      const memory = memoryOf(children);
      times.push([(performance.now() - ended) / 1000, memory]);
      if (values.trace) {
        process.stderr.write(
          `  ${((performance.now() - ended) / 1000).toFixed(1)} s: ${memory.resident.toFixed(1)} MB, ${memory.anonymous.toFixed(1)} anonymous\n`,
        );
      }
    }
    row = { ...row, 'cpu after': cpu() - before };
  }
  const end = memoryOf(children);
  const within = times.find(([, { resident }]) => resident <= rest.resident * 1.2)?.[0] ?? -1;
  return {
    'rest RSS': rest.resident,
    'rest anon': rest.anonymous,
    ...row,
    'after RSS': end.resident,
    'after anon': end.anonymous,
    ...(isBurst ? { 'after/rest': end.resident / rest.resident, 'within 1.2 at s': within } : {}),
  };
}

const rows = new Map<string, Row[]>();
for (let round = 0; round < Number(values.rounds); round++) {
  for (const test of tests) {
    for (const [i] of subjects.entries()) {
      const subject = subjects[(i + round) % subjects.length];
      if (!subject) continue;
      const key = `${test.name} ${subject.name}`;
      const row = await measure(subject, test);
      rows.set(key, [...(rows.get(key) ?? []), row]);
      process.stderr.write(`${key}: ${line(row)}\n`);
    }
  }
}

const medians = new Map(
  [...rows].map(([key, all]) => [
    key,
    Object.fromEntries(
      Object.keys(all[0] ?? {}).map((figure) => [
        figure,
        median(all.map((row) => row[figure] ?? NaN)),
      ]),
    ),
  ]),
);
process.stdout.write('\nMedians\n');
for (const [key, row] of medians) process.stdout.write(`${key}: ${line(row)}\n`);
const output = process.env['BENCH_JSON'];
if (output !== undefined) writeFileSync(output, JSON.stringify(Object.fromEntries(rows)));

function line(row: Row): string {
  return Object.entries(row)
    .map(([name, value]) => `${name} ${value.toFixed(value < 10 ? 2 : 0)}`)
    .join(', ');
}
