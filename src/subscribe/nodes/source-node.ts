import type { Trust } from './node-values.ts';

/** A node as a source sent it. */
export interface SourceNode {
  /** Its name at the source; may be empty or not unique. */
  readonly there: string;
  /** See `identityOf`. */
  readonly identity: string;
  /** See `contentOf`. */
  readonly content: string;
  readonly trust: Trust;
  /** Its tables under a name: whole lines. */
  readonly text: (name: string) => string;
}
