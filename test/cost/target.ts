import type { Attack } from './attack.ts';
import type { Place } from './flood.ts';
import type { HonestFlow } from './honest.ts';
import type { ObservedProcess } from './observed-process.ts';

/** A started program that clients without a password reach. */
export interface RunningTarget extends AsyncDisposable {
  readonly observed: ObservedProcess;
  readonly place: Place;
  readonly seeds: readonly Attack[];
  readonly honest: HonestFlow;
}

/** An inbound on a carrier, or an interface that steers Weir. */
export interface Target {
  readonly inbound: string;
  readonly carrier: string;
  /** What bounds the memory of all clients together, and where. */
  readonly bound: string;
  readonly start: () => Promise<RunningTarget>;
}

export const nameOf = ({ inbound, carrier }: Target): string => `${inbound} over ${carrier}`;
