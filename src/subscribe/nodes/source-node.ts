import type { Trust } from './node-values.ts';

/** A node as a source sent it. */
export interface SourceNode {
  /** Name at the source; may be empty or not unique. */
  readonly there: string;
  /** See `identityOf`. */
  readonly identity: string;
  /** See `contentOf`. */
  readonly content: string;
  readonly trust: Trust;
  /** Formats its tables as whole lines, under a name. */
  readonly text: (name: string) => string;
}
