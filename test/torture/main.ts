import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Child } from '../support/process/child.ts';
import { run } from './run.ts';
import { SCENARIOS } from './scenarios/all.ts';
import { NETWORK_SCENARIOS, type NetworkRun } from './scenarios/network-names.ts';
import type { Limits } from './torment.ts';

const NAMES = [...SCENARIOS.map(({ name }) => name), ...NETWORK_SCENARIOS];

const USAGE = `Usage: npm run torture [-- OPTIONS]

Makes every system call of a scenario fail, one in each run of it, and checks that
no byte is wrong, nothing is left, nothing hangs and the cause is reported.

  --scenario NAME   only this one, may be repeated: ${NAMES.join(', ')}
  --call NAME       only this call, such as recv or fs.rename
  --errno NAME      only this error, such as EMFILE, or short
  --from N, --to N  only the N-th calls in this range
  --every N         only each N-th of the failures
`;

const { values } = parseArgs({
  options: {
    scenario: { type: 'string', multiple: true, default: NAMES },
    call: { type: 'string' },
    errno: { type: 'string' },
    from: { type: 'string', default: '1' },
    to: { type: 'string', default: '1000000' },
    every: { type: 'string', default: '1' },
    help: { type: 'boolean' },
  },
});

if (values.help === true) console.log(USAGE);
else if (!(await runAll())) process.exitCode = 1;

async function runAll(): Promise<boolean> {
  const unknown = values.scenario.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw new Error(`no scenario ${unknown}`);
  const limits: Limits = {
    from: Number(values.from),
    to: Number(values.to),
    every: Number(values.every),
    call: values.call,
    fault: values.errno,
  };
  const here = SCENARIOS.filter(({ name }) => values.scenario.includes(name));
  const isKept = here.length === 0 || (await run(here, limits));
  const names = NETWORK_SCENARIOS.filter((name) => values.scenario.includes(name));
  return names.length === 0 ? isKept : (await runInNetwork({ names, limits })) && isKept;
}

/** Runs scenarios in a network of their own, which is that of another process. */
async function runInNetwork(what: NetworkRun): Promise<boolean> {
  const file = fileURLToPath(new URL('network.ts', import.meta.url));
  await using child = new Child(process.execPath, [file], {
    env: { WEIR_TORTURE_RUN: JSON.stringify(what) },
  });
  child.process.stdout?.pipe(process.stdout);
  child.process.stderr?.pipe(process.stderr);
  const { code } = await child.exited;
  return code === 0;
}
