import { parseArgs } from 'node:util';
import { fuzz, type FuzzFailure } from './run.ts';
import { startWatch } from './watch.ts';
import { FUZZ_TARGETS } from './targets.ts';

/**
 * Fuzzes all targets, or those named, with `--inputs` in all, divided by their shares. Prints a line
 * for each target; the exit code is 1 after a failure. `--only N` repeats one input.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    inputs: { type: 'string', default: '10000000' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
  },
});
const seed = Number(values.seed);
const all = Number(values.inputs);
const unknown = positionals.find((name) => !FUZZ_TARGETS.some((target) => target.name === name));
if (unknown !== undefined) {
  console.error(
    `no target is called ${unknown}: ${FUZZ_TARGETS.map(({ name }) => name).join(', ')}`,
  );
  process.exit(2);
}
const targets = FUZZ_TARGETS.filter(
  ({ name }) => positionals.length === 0 || positionals.includes(name),
);
const shares = targets.reduce((sum, { share }) => sum + share, 0);

const watch = startWatch();
let done = 0;
console.log('target                   inputs   rejected  inputs/s  failures');
for (const target of targets) {
  watch.begin(target.name);
  const first = values.only === undefined ? 0 : Number(values.only);
  const inputs = values.only === undefined ? Math.ceil((all * target.share) / shares) : 1;
  const before = performance.now();
  const { rejected, failure } = await fuzz({ target, seed, first, inputs, onInput: watch.onInput });
  const seconds = (performance.now() - before) / 1000;
  const ran = failure ? failure.index - first + 1 : inputs;
  done += ran;
  console.log(
    [
      target.name.padEnd(22),
      String(ran).padStart(8),
      String(rejected).padStart(10),
      Math.round(ran / seconds)
        .toString()
        .padStart(9),
      String(failure ? 1 : 0).padStart(9),
    ].join(' '),
  );
  if (failure) explain(target.name, failure);
}
watch.end();
console.log(`${done} inputs, seed ${seed}`);

function explain(name: string, { index, input, error }: FuzzFailure): void {
  process.exitCode = 1;
  console.log(`  repeat with: npm run fuzz:long -- ${name} --seed ${seed} --only ${index}`);
  console.log(`  input: ${input.toString('hex')}`);
  console.log(error);
}
