import type { Limits } from '../torment.ts';

/** Scenarios that need a network of their own. */
export const NETWORK_SCENARIOS: readonly string[] = ['tun', 'start', 'tun-start'];

/** What is to be run in it. */
export interface NetworkRun {
  readonly names: readonly string[];
  readonly limits: Limits;
}
