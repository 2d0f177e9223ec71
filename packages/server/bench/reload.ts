/**
 * How long a large configuration holds up traffic: while it is loaded, changed, picked in and shown.
 *
 *     node packages/server/bench/reload.ts [SIZE[,SIZE…] [KIND…]]
 *
 * A size is in KiB; all sizes and kinds when left out. One process for each of both takes the
 * configuration in, changes one place of it, writes a pick, shows its routes and drops it again,
 * while a second connection asks `GET /v1/health` without a pause. Four figures each: the longest
 * time that the main thread was busy in one piece by its processor time and by the clock, the longest
 * pause of the garbage collector, and the longest wait for a response.
 */
import { writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ApiClient } from '../test/conformance/api-client.ts';
import { Control } from '../../../test/support/process/control.ts';
import { Weir } from '../../../test/support/process/weir.ts';
import { KINDS, SMALL, type LargeConfig } from './large-configs.ts';

const PROBE =
  process.env['STALL_PROBE'] ??
  fileURLToPath(new URL('../../../bench/stall-probe.ts', import.meta.url));

/** A reload of the largest takes this long on a busy machine. */
const PATIENCE_MS = 120_000;

const [sizes = '245,1024,5120', ...named] = process.argv.slice(2);
const wanted = named.length > 0 ? named : Object.keys(KINDS);

interface Figures {
  readonly wall: number;
  readonly cpu: number;
  readonly gc: number;
  readonly wait: number;
  readonly took: number;
}

/** One process under observation. */
class Subject {
  readonly weir: Weir;
  readonly control: Control;
  #asked = 0;

  constructor(weir: Weir, control: Control) {
    this.weir = weir;
    this.control = control;
  }

  async write({ config, files }: LargeConfig): Promise<void> {
    for (const [name, content] of Object.entries(files)) {
      await writeFile(join(this.weir.folder, name), content);
    }
    await this.control.write(config);
  }

  async measure(work: () => Promise<unknown>): Promise<Figures> {
    await this.#probe();
    let asking = true;
    let wait = 0;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const health = new ApiClient(this.control.api.address);
    const asker = (async (): Promise<void> => {
      while (asking) {
        const sent = performance.now();
        await health.get('/v1/health', { agent });
        wait = Math.max(wait, performance.now() - sent);
        // A pause, so that this process has time for other things; it is not in the figures.
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    })();
    const started = performance.now();
    try {
      await work();
    } finally {
      asking = false;
    }
    const took = performance.now() - started;
    await asker;
    agent.destroy();
    return { ...(await this.#probe()), wait, took };
  }

  /** What the probe saw since the last time. */
  async #probe(): Promise<{ readonly wall: number; readonly cpu: number; readonly gc: number }> {
    this.weir.child.signal('SIGUSR2');
    this.#asked++;
    return this.weir.child.until('the figures of the probe', ({ stderr }) => {
      const found = [...stderr.matchAll(/stall-probe wall=(\S+) cpu=(\S+) gc=(\S+) \./g)];
      const [, wall, cpu, gc] = found[this.#asked - 1] ?? [];
      return cpu === undefined
        ? undefined
        : { wall: Number(wall), cpu: Number(cpu), gc: Number(gc) };
    });
  }
}

const rows: Record<string, Record<string, string>> = {};

async function observe(kind: string, kib: number): Promise<void> {
  const write = KINDS[kind];
  if (!write) throw new Error(`no such kind: ${kind}`);
  await using weir = await Weir.start(SMALL, { nodeArgs: ['--import', PROBE] });
  const subject = new Subject(weir, await Control.of(weir));
  const { control } = subject;
  const record = async (step: string, work: () => Promise<unknown>): Promise<void> => {
    const { wall, cpu, gc, wait, took } = await subject.measure(work);
    rows[`${kind}, ${kib} KiB: ${step}`] = {
      'busy, processor ms': cpu.toFixed(0),
      'busy, clock ms': wall.toFixed(0),
      'collector ms': gc.toFixed(0),
      'longest wait ms': wait.toFixed(0),
      'took ms': took.toFixed(0),
    };
    console.log(
      `${kind}, ${kib} KiB: ${step}: cpu ${cpu.toFixed(0)} wall ${wall.toFixed(0)} gc ${gc.toFixed(0)} wait ${wait.toFixed(0)} took ${took.toFixed(0)}`,
    );
    if (process.env['STALL_PROBE'] !== undefined) {
      const reports = weir.child.stderr.split('stall-report\n');
      if (reports.length > seen) console.log(reports.at(-1)?.split('stall-probe')[0]);
      seen = reports.length;
    }
  };
  let seen = 1;
  const reload = (): Promise<unknown> =>
    control.api.json('POST', '/v1/reload', { patience: PATIENCE_MS });
  await subject.write(write(kib * 1024, weir.folder, false));
  await record('taken in', reload);
  await record('files unchanged', reload);
  await subject.write(write(kib * 1024, weir.folder, true));
  await record('changed', reload);
  await record('GET /v1/routes', () =>
    control.api.json('GET', '/v1/routes', { patience: PATIENCE_MS }),
  );
  await record('PUT of a pick', async () => {
    const { status, text } = await control.api.pick(
      'default',
      'direct',
      {},
      { patience: PATIENCE_MS },
    );
    if (status !== 200) throw new Error(text);
  });
  await record('PUT of a pick, again', async () => {
    const { status, text } = await control.api.pick(
      'default',
      'blackhole',
      {},
      { patience: PATIENCE_MS },
    );
    if (status !== 200) throw new Error(text);
  });
  await subject.write({ config: SMALL, files: {} });
  await record('dropped', reload);
}

for (const kind of wanted) {
  for (const size of sizes.split(',')) await observe(kind, Number(size));
}
console.table(rows);
