import type { MonitoredFlow } from '../contract.ts';
import type { AmountFacet, Term, TextFacet } from './terms.ts';

/** Whether a flow matches a filter at a time. */
export type FlowMatcher = (flow: MonitoredFlow, now: number) => boolean;

/** A matcher for flows that match all terms. */
export function matcherOf(terms: readonly Term[]): FlowMatcher {
  const matchers = terms.map((term) => {
    const matches = termMatcher(term);
    return term.negated ? (flow: MonitoredFlow, now: number) => !matches(flow, now) : matches;
  });
  return (flow, now) => {
    for (const matches of matchers) if (!matches(flow, now)) return false;
    return true;
  };
}

function termMatcher(term: Term): FlowMatcher {
  switch (term.kind) {
    case 'text': {
      const { text } = term;
      return ({ view }) =>
        has(view.host, text) ||
        has(view.sniffed, text) ||
        has(view.user, text) ||
        has(view.source, text) ||
        has(view.outbound, text) ||
        has(view.inbound, text);
    }
    case 'equals':
      return textMatcher(term.facet, wildcardMatcher(term.pattern));
    case 'rule':
      return ({ view }) => view.rule === term.rule;
    case 'number':
      return ({ view }) => view[term.facet] === term.value;
    case 'closed':
      return ({ closedAt }) => (closedAt !== undefined) === term.closed;
    case 'compare': {
      const { facet, over, amount } = term;
      return (flow, now) => {
        const value = amountOf(facet, flow, now);
        return over ? value > amount : value < amount;
      };
    }
    default:
      return term satisfies never;
  }
}

function textMatcher(facet: TextFacet, matches: (text: string) => boolean): FlowMatcher {
  switch (facet) {
    case 'user':
      return ({ view }) => matches(view.user ?? '');
    case 'out':
      return ({ view }) => matches(view.outbound);
    case 'in':
      return ({ view }) => matches(view.inbound);
    case 'host':
      return ({ view }) => matches(view.host) || (view.sniffed !== null && matches(view.sniffed));
    case 'src':
      return ({ view }) => matches(view.source ?? '');
    case 'net':
      return ({ view }) => matches(view.network);
    default:
      return facet satisfies never;
  }
}

function amountOf(facet: AmountFacet, flow: MonitoredFlow, now: number): number {
  switch (facet) {
    case 'age':
      return (flow.closedAt ?? now) - flow.view.started_at;
    case 'up':
      return flow.view.up;
    case 'down':
      return flow.view.down;
    case 'rate':
      return flow.upRate + flow.downRate;
    default:
      return facet satisfies never;
  }
}

const has = (text: string | null, part: string): boolean =>
  text !== null && text.toLowerCase().includes(part);

/**
 * A matcher for texts in any case; `pattern` is in lower case, and each `*` in it matches any characters. The parts
 * between are searched from left to right, so that the work is bounded by the product of the lengths.
 */
export function wildcardMatcher(pattern: string): (text: string) => boolean {
  const parts = pattern.split('*');
  const [first = '', ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return (text) => text.toLowerCase() === first;
  return (text) => {
    const lower = text.toLowerCase();
    if (!lower.startsWith(first) || !lower.endsWith(last)) return false;
    let at = first.length;
    for (const part of rest) {
      const found = lower.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return at + last.length <= lower.length;
  };
}
