import { domainToASCII } from 'node:url';
import { ImportError } from '@weir/proxy/protocols/forms';
import type { Matchers } from '../routing.ts';

/** The matchers of a Clash rule. */
export interface Matched {
  readonly any: readonly Matchers[];
  readonly notes: readonly string[];
  /** See `RuleEntry`. */
  readonly isPartial?: boolean;
}

/** Whether a rule is about the client and not the destination. */
export const isOfClient = (params: readonly string[]): boolean => params.includes('src');

/** A note for rules on IP addresses, for which Clash resolves names. */
export const NOT_RESOLVED =
  'it matches destinations that are addresses; names are not resolved for it, as with no-resolve';

/** A domain in lower case and in ASCII, as in flows. */
export function domainOf(text: string): string {
  const lower = text.toLowerCase();
  // oxlint-disable-next-line no-control-regex -- it asks for ASCII
  const ascii = /^[\u0000-\u007f]*$/.test(lower) ? lower : domainToASCII(lower);
  if (ascii === '') throw new ImportError('it is not a domain');
  return ascii;
}
