import { inOwnNetwork } from '../support/netns/own-network.ts';
import { Site } from '../support/netns/site.ts';
import { run } from './run.ts';
import type { NetworkRun } from './scenarios/network-names.ts';
import { repeated } from './scenarios/all.ts';
import { STARTS } from './scenarios/starts.ts';
import { TUN_RELAY } from './scenarios/tun.ts';

/*
 * Scenarios with a TUN device, in a network namespace of their own; skipped with the reason where
 * none can be made. `main.ts` starts it, and says by a variable what to run.
 */
inOwnNetwork(import.meta.url, () => {
  void main();
});

async function main(): Promise<void> {
  const { names, limits } = JSON.parse(process.env['WEIR_TORTURE_RUN'] ?? '') as NetworkRun;
  await using _ = await Site.make();
  const scenarios = [repeated(TUN_RELAY), ...STARTS].filter(({ name }) => names.includes(name));
  if (!(await run(scenarios, limits))) process.exitCode = 1;
}
