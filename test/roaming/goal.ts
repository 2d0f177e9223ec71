import { parseArgs } from 'node:util';
import type { Recoveries } from '../support/roaming/recovery.ts';

/** After a change every outbound works again within this time, without a restart. */
const GOAL_MS = 10_000;

/** Reads whole numbers of the command line, such as `--seconds 600`; `undefined` after `--help`. */
export function numbersOf<Name extends string>(
  usage: string,
  defaults: Readonly<Record<Name, number>>,
): Readonly<Record<Name, number>> | undefined {
  const names = Object.keys(defaults) as Name[];
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      ...Object.fromEntries(names.map((name) => [name, { type: 'string' } as const])),
    },
  });
  if (values.help === true) {
    process.stdout.write(usage);
    return undefined;
  }
  const given: Readonly<Record<string, string | boolean | undefined>> = values;
  const numbers: Record<Name, number> = { ...defaults };
  for (const name of names) {
    const text = given[name];
    if (text === undefined) continue;
    const value = Number(text);
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new Error(`--${name} is not a whole number: ${String(text)}`);
    }
    numbers[name] = value;
  }
  return numbers;
}

/** Prints a table in Markdown of the longest times, and makes the exit status 1 when one is beyond the goal. */
export function report(found: ReadonlyMap<string, readonly Recoveries[]>): void {
  const events = [...found.keys()];
  const whats = new Set(
    [...found.values()].flatMap((all) => all.flatMap((each) => [...each.keys()])),
  );
  const line = (cells: readonly string[]): void => console.log(`| ${cells.join(' | ')} |`);
  const worst = (event: string, what: string): number =>
    Math.max(...(found.get(event) ?? []).map((each) => each.get(what) ?? 0));
  line(['seconds', ...events]);
  line(['---', ...events.map(() => '---')]);
  for (const what of whats)
    line([what, ...events.map((event) => (worst(event, what) / 1000).toFixed(1))]);
  for (const event of events) {
    for (const what of whats) {
      if (worst(event, what) <= GOAL_MS) continue;
      console.log(`SLOW: ${what}, ${event}: more than ${GOAL_MS / 1000} s`);
      process.exitCode = 1;
    }
  }
}
