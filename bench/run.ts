import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { messageOf } from '@weir/base';
import type { Case } from './case.ts';
import { CASES, chosen } from './cases.ts';
import { CONTESTANTS, unable, type ContestantName } from './contestants.ts';
import { measure } from './measure.ts';
import { possible } from './possible.ts';
import { json, markdown } from './report.ts';
import { judge, type Rounds } from './results.ts';

const USAGE = `Usage: npm run bench -- [case ...] [options]

Weir beside v2ray, Xray, sing-box, a bare relay in Node and the direct connection, interleaved, in
one run; Weir's tunnels, two processes each, beside those of other programs; TUN devices (\`tun-\`); and
WireGuard tunnels to one wireguard-go (\`wireguard-\`).

Cases (those whose names start with one of the words; without words, those of one process that relays):
${CASES.map(({ name, title }) => `  ${name.padEnd(35)}${title}`).join('\n')}

Options:
  --rounds N     number of measurements of each case (default 3)
  --seconds N    length of each measurement after its warm-up (default 3)
  --with LIST    contestants, separated by commas (default: all that are installed)
  --json FILE    write all figures to FILE as JSON
  --markdown FILE  write the tables to FILE as well
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    with: { type: 'string' },
    json: { type: 'string' },
    markdown: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (values.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}

const asked = chosen(positionals);
const { cases, notes: leftOut } = possible(asked);
const wanted = values.with?.split(',');
const contestants = CONTESTANTS.filter(
  (name) =>
    (wanted === undefined || wanted.includes(name)) &&
    cases.some(({ contestants }) => contestants.includes(name)),
);
const notes = [...leftOut, ...contestants.map(unable).filter((note) => note !== false)];
const names = contestants.filter((name) => unable(name) === false);
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
for (const note of notes) process.stderr.write(`${note}\n`);
// All that was asked for is left out, which the notes explain.
if (asked.length > 0 && cases.length === 0) process.exit(0);
if (cases.length === 0 || names.length === 0 || !(rounds >= 1) || !(seconds > 0)) {
  process.stderr.write(USAGE);
  process.exit(2);
}

const results: Rounds = new Map();
let failures = 0;
for (let round = 1; round <= rounds; round++) {
  for (const test of cases) {
    const subjects = names.filter((name) => test.contestants.includes(name));
    // Each round begins with another, so that none has the same place in all of them.
    for (const [i] of subjects.entries()) {
      const name = subjects[(i + round - 1) % subjects.length];
      if (name !== undefined) await once(test, name, round);
    }
  }
}

const text = markdown(cases, names, results, notes);
process.stdout.write(`\n${text}\n`);
if (values.markdown !== undefined) writeFileSync(values.markdown, `${text}\n`);
if (values.json !== undefined) {
  writeFileSync(values.json, `${JSON.stringify(json(cases, results), undefined, 2)}\n`);
}
for (const test of cases) {
  for (const { text: goal, value, met } of judge(test, results.get(test.name) ?? new Map())) {
    const verdict = met ? 'met' : 'MISSED';
    process.stdout.write(`${verdict}: ${test.title}: ${goal} (${value.toFixed(2)})\n`);
  }
}
process.exit(failures > 0 ? 1 : 0);

async function once(test: Case, name: ContestantName, round: number): Promise<void> {
  const label = `round ${round}: ${test.title}: ${name}`;
  try {
    const figures = await measure(test, name, seconds);
    const value = (figures[test.figure] ?? NaN) / test.divisor;
    process.stderr.write(`${label}: ${value.toFixed(test.digits)} ${test.unit}\n`);
    const byName = results.get(test.name) ?? new Map<ContestantName, (typeof figures)[]>();
    results.set(test.name, byName.set(name, [...(byName.get(name) ?? []), figures]));
  } catch (error) {
    failures++;
    process.stderr.write(`${label}: FAILED: ${messageOf(error)}\n`);
  }
}
