import type { Span } from '../schema/node.ts';
import { NotYet } from './findings.ts';

// Protocols of the specification that this version does not support yet.

export const LATER_INBOUNDS: ReadonlySet<string> = new Set(['tun']);

/** The rejection of a part that is valid but not supported yet. */
export const notYet = (what: string, span: Span): NotYet =>
  new NotYet(`${what} is not in this version yet`, span);
