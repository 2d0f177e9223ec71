import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { confirm, type Row } from './confirm.ts';
import { evaluate, type Cost } from './evaluate.ts';
import { LASTING, measureLasting } from './lasting.ts';
import { measureHonest } from './honest.ts';
import { HELP, parseOptions } from './options.ts';
import { report } from './report.ts';
import { OBJECTIVES, searchWorst } from './search.ts';
import { STEERING_TARGETS } from './steering-targets.ts';
import { nameOf, type Target } from './target.ts';
import { longestTurns } from './turns.ts';
import { WAY_TARGETS } from './way-targets.ts';
import { inputsOf, type WorstInputs } from './worst-inputs.ts';

/** `npm run cost`: for each inbound the costliest input of a client without a password, by search. */

const options = parseOptions(process.argv.slice(2));
const TARGETS = [...WAY_TARGETS, ...STEERING_TARGETS];
/** Seconds of each case of `--lasting`. */
const LASTING_SECONDS = 4;
const note = (text: string): void => void process.stderr.write(`${text}\n`);

/** Searches against one process, and measures what was found against a fresh one. */
async function examine(target: Target): Promise<Row> {
  const name = nameOf(target);
  note(`${name}: starting`);
  const { best, tried } = await search(target);
  for (const [objective, { attack, cost }] of best) {
    const score = OBJECTIVES[objective](cost).toFixed(2);
    note(`  ${objective}: ${score}, ${attack.story.join(' + ')}`);
  }
  const row = await confirm(target, best, tried);
  if (options.worst !== undefined) await writeWorst(options.worst, name, row);
  return row;
}

async function search(target: Target): ReturnType<typeof searchWorst> {
  await using running = await target.start();
  const { observed, place, seeds } = running;
  const honest = await measureHonest(running.honest, observed);
  note(
    `  honest: ${honest.connection.toFixed(0)} µs and ${(honest.byte * 1000).toFixed(2)} ns a byte`,
  );
  return await searchWorst({
    seeds,
    seed: options.seed,
    milliseconds: options.seconds * 1000,
    evaluate: async (attack) => {
      const cost = await evaluate(attack, place, observed, honest);
      if (options.verbose) note(`    ${shown(cost)}: ${attack.story.join(' + ')}`);
      return cost;
    },
  });
}

const shown = ({ bytes, micros, ratio, held, longestTurn }: Cost): string =>
  `${bytes.toFixed(0)} bytes, ${micros.toFixed(0)} µs, ${ratio.toFixed(1)} times, ` +
  `${held.toFixed(0)} bytes held, a turn of ${longestTurn.toFixed(1)} ms`;

async function showTurns(target: Target): Promise<void> {
  const SHOWN = 4;
  const turns = await longestTurns(target, options.turns);
  const cells = turns
    .slice(0, SHOWN)
    .map(({ milliseconds, story }) => `${milliseconds.toFixed(1)} ${story}`);
  process.stdout.write(`| ${nameOf(target)} | ${cells[0]} | ${cells.slice(1).join('; ')} |\n`);
}

async function showLasting(): Promise<void> {
  const chosen = LASTING.filter(
    ({ name, isBulk }) =>
      isBulk === true ||
      options.inbounds.length === 0 ||
      options.inbounds.some((text) => name.includes(text)),
  );
  process.stdout.write(
    '| What is sent without end | ns a byte | echo of another, ms | slowest | longest turn, ms | MB |\n' +
      '| --- | --- | --- | --- | --- | --- |\n',
  );
  for await (const cost of measureLasting(chosen, options.lasting, LASTING_SECONDS)) {
    const cells = [
      cost.name,
      cost.nanosecondsOfByte.toFixed(1),
      cost.median.toFixed(1),
      cost.slowest.toFixed(0),
      cost.longestTurn.toFixed(0),
      (cost.resident / (1 << 20)).toFixed(0),
    ];
    process.stdout.write(`| ${cells.join(' | ')} |${cost.delays ? ' delays others' : ''}\n`);
    if (cost.delays) process.exitCode = 1;
  }
}

async function writeWorst(folder: string, name: string, row: Row): Promise<void> {
  await mkdir(folder, { recursive: true });
  const document: WorstInputs = { target: name, seed: options.seed, inputs: inputsOf(row.worst) };
  const file = `${name.replaceAll(/[^\w]+/g, '-').replaceAll(/^-|-$/g, '')}.json`;
  await writeFile(join(folder, file), `${JSON.stringify(document, undefined, 2)}\n`);
}

async function main(): Promise<void> {
  if (options.help) {
    process.stdout.write(HELP);
    return;
  }
  const chosen = TARGETS.filter(
    (target) =>
      options.inbounds.length === 0 ||
      options.inbounds.some((text) => nameOf(target).includes(text)),
  );
  if (options.list) {
    process.stdout.write(`${chosen.map(nameOf).join('\n')}\n`);
    return;
  }
  if (options.turns > 0) {
    process.stdout.write('| Inbound | ms | the next ones |\n| --- | --- | --- |\n');
    for (const target of chosen) await showTurns(target);
    return;
  }
  if (options.lasting > 0) {
    await showLasting();
    return;
  }
  const rows: Row[] = [];
  for (const target of chosen) {
    try {
      rows.push(await examine(target));
    } catch (error) {
      // The others are examined all the same; a run takes long.
      note(`${nameOf(target)} failed: ${error instanceof Error ? error.stack : String(error)}`);
      process.exitCode = 1;
      continue;
    }
    if (options.markdown !== undefined) await writeFile(options.markdown, report(rows));
  }
  process.stdout.write(report(rows));
}

// The processes that it has started end with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
await main();
