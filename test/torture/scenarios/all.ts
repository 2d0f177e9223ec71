import type { Scenario } from '../scenario.ts';
import { torment, type Torture } from '../torment.ts';
import { DATAGRAMS } from './datagrams.ts';
import { FILES } from './files.ts';
import { RELAYS } from './relays.ts';

/** A scenario that is used again and again, as one that can be run. */
export const repeated = (scenario: Scenario): Torture => ({
  name: scenario.name,
  run: (limits, report) => torment(scenario, limits, report),
});

/** Every scenario that runs in this network. */
export const SCENARIOS: readonly Torture[] = [...RELAYS, ...DATAGRAMS, ...FILES].map(repeated);
