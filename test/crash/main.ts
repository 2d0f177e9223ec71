import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ApiClient } from '../../packages/server/test/conformance/api-client.ts';
import { parseAddress } from '../support/data/address.ts';
import { Child } from '../support/process/child.ts';
import { keepCompiled } from '../support/process/keep-compiled.ts';
import { weirCommand } from '../support/process/weir.ts';
import { within } from '../support/wait.ts';
import { CrashStage, LISTS, PICKS } from './stage.ts';

/**
 * `npm run crash -- --kills 1000`: a Weir takes picks and reloads by its API while another process
 * updates the subscribe file, and both are killed with SIGKILL at random moments. Then each file is
 * whole, Weir starts from it, and the next pick and the next update work.
 */
const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    parallel: { type: 'string', default: '2' },
  },
});
const kills = Number(values.kills);

const UPDATER = join(import.meta.dirname, '../support/subscribe/killed-updater.ts');
/** Milliseconds after a first change within which a process is killed: some ten updates, some picks. */
const MOMENTS = 150;

/** What was done before the kills. */
const done = { kills: 0, starts: 0, picks: 0, reloads: 0, interrupted: 0, drafts: 0 };

/** Hundreds of kills that were reported. */
let reported = 0;

/** A Weir on a configuration, once its API listens. */
async function startWeir(config: string): Promise<{ child: Child; api: ApiClient }> {
  const child = weirCommand(['run', '--config', config, '--no-control-socket']);
  const where = await child.until(
    'its API',
    ({ stderr }) => /API listening on (\S+)$/m.exec(stderr)?.[1],
  );
  done.starts++;
  return { child, api: new ApiClient(parseAddress(where)) };
}

/** Asks again and again; a response that is not a success fails, the end of the process ends it. */
async function repeat(child: Child, ask: () => Promise<{ status: number; text: string }>) {
  for (;;) {
    let reply;
    try {
      reply = await ask();
    } catch (error) {
      if (child.process.killed) return;
      throw error;
    }
    if (reply.status !== 200) throw new Error(`${reply.status}: ${reply.text}`);
  }
}

async function kill(child: Child): Promise<void> {
  await sleep(randomInt(MOMENTS));
  child.signal('SIGKILL');
  await within(child.exited, 'the end of a killed process');
  done.kills++;
}

async function killWeir(stage: CrashStage): Promise<void> {
  const { child, api } = await startWeir(stage.config);
  await using _ = child;
  const first = Promise.withResolvers<void>();
  const picks = repeat(child, async () => {
    const reply = await api.pick('default', PICKS[randomInt(PICKS.length)] ?? '');
    done.picks++;
    first.resolve();
    return reply;
  });
  const reloads = repeat(child, async () => {
    const reply = await api.ask('POST', '/v1/reload');
    done.reloads++;
    return reply;
  });
  await Promise.all([picks, reloads, first.promise.then(() => kill(child))]);
}

async function killUpdater(stage: CrashStage): Promise<void> {
  await using child = new Child(process.execPath, [UPDATER, stage.config, ...LISTS]);
  await child.until('its first update', ({ stdout }) => stdout.includes('started') || undefined);
  await kill(child);
}

async function work(): Promise<void> {
  await using stage = await CrashStage.make(async (config, node) => {
    const { child, api } = await startWeir(config);
    await using _ = child;
    const { status, text } = await api.pick('default', node);
    if (status !== 200) throw new Error(text);
  });
  while (done.kills < kills) {
    await Promise.all([killWeir(stage), killUpdater(stage)]);
    await stage.check();
    if ((await stage.leftovers()).length > 0) done.interrupted++;
    if (Math.floor(done.kills / 100) > reported) {
      reported = Math.floor(done.kills / 100);
      console.log(`${done.kills} killed`);
    }
  }
  done.drafts += (await stage.leftovers()).length;
}

const compiled = mkdtempSync(join(tmpdir(), 'weir-compiled-'));
process.once('exit', () => rmSync(compiled, { recursive: true, force: true }));
await keepCompiled(compiled);
const began = performance.now();
await Promise.all(Array.from({ length: Number(values.parallel) }, work));
const seconds = ((performance.now() - began) / 1000).toFixed(0);
console.log(
  `${done.kills} processes killed in ${seconds} s: ${done.starts} starts, ${done.picks} picks, ` +
    `${done.reloads} reloads; files of an edit were left after ${done.interrupted} rounds, ` +
    `${done.drafts} at the end`,
);
