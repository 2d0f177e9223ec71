import type { Figures } from '../load/messages.ts';

/** The ends of a path for TCP. */
export const NEAR_ADDRESS = '10.8.8.1';
export const FAR_ADDRESS = '10.8.8.2';

/** What lies between a client and a server: the same both ways. */
export interface Path {
  /** Milliseconds that each datagram takes there and back, on top of what the machine takes. */
  readonly roundTrip: number;
  /** The probability with which a datagram is lost, each way. */
  readonly loss: number;
  /** Bytes that may pass in a second, each way. */
  readonly rate: number;
  /** Bytes that may wait for that; what finds no room is dropped. */
  readonly queue: number;
}

/** What the path's process is asked: to count from here on, or what it has counted. */
export type PathRequest = 'begin' | 'report';

/** What it sends: where it listens, or its figures. */
export type PathReport =
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'figures'; readonly figures: Figures };
