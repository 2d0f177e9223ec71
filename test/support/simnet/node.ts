import type { Endpoint } from '@weir/io/addresses';

/** One datagram on a simulated path. */
export interface Datagram {
  readonly data: Uint8Array;
  readonly from: Endpoint;
  readonly to: Endpoint;
}

/**
 * What a node does after it was asked: it sends a datagram, it wants to be asked again at a time, or
 * it has nothing to do until a datagram comes.
 */
export type Output =
  | { readonly kind: 'datagram'; readonly datagram: Datagram }
  | { readonly kind: 'wait'; readonly until: number }
  | { readonly kind: 'idle' };

export const IDLE: Output = { kind: 'idle' };
export const send = (datagram: Datagram): Output => ({ kind: 'datagram', datagram });
export const wait = (until: number): Output => ({ kind: 'wait', until });

/** An endpoint, or something on the path between two of them. */
export interface Node {
  /** Named when a simulation fails. */
  readonly name: string;
  /**
   * Takes a datagram, if there is one, and returns what to do at `now` (milliseconds). Called again
   * without a datagram for as long as it returns datagrams.
   */
  process(datagram: Datagram | undefined, now: number): Output;
  /** Whether it has reached what it was to reach; nodes without goals leave it out. */
  readonly done?: boolean;
  /** Throws when something that must hold at any time does not. Called after each step. */
  check?(now: number): void;
}
