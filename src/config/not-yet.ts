import type { Span } from '../schema/node.ts';
import { NotYet } from './findings.ts';

/** What the specification has and this version does not: each line goes when its part lands. */

export const LATER_INBOUNDS: ReadonlySet<string> = new Set(['hysteria2', 'hysteria', 'hy2', 'tun']);

export const LATER_OUTBOUNDS: ReadonlySet<string> = new Set([
  'hysteria2',
  'hysteria',
  'hy2',
  'wireguard',
]);

/** The refusal of a part that is written as it should be. */
export const notYet = (what: string, span: Span): NotYet =>
  new NotYet(`${what} is not in this version yet`, span);
