import type { Via } from './flow.ts';

/** What the generator is asked to do; `via.target` is left out for the bare relay. */
export interface Job {
  readonly load: LoadName;
  readonly via: Via;
  /** Connections, flows or datagrams at once. */
  readonly parallel: number;
  /** Length of the measured part, after the warm-up. */
  readonly seconds: number;
}

export type LoadName =
  | 'download'
  | 'upload'
  | 'connect'
  | 'request'
  | 'idle'
  | 'sessions'
  | 'datagrams';

/** Figures by name; rates are per second, times in milliseconds. */
export type Figures = Readonly<Record<string, number>>;

/** The generator's side of the talk: its origin is up, the measured part begins, it has ended. */
export type Report =
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'begin' }
  /** What the origin of this process has discarded so far, when it is asked for. */
  | { readonly kind: 'discarded'; readonly bytes: number }
  | { readonly kind: 'end'; readonly figures: Figures }
  | { readonly kind: 'failed'; readonly message: string };
