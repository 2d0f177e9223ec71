import type { ReloadOutcome } from '../outcomes.ts';

/** The state of a running process in one line: what it serves, and the outcome of its last reload. */
export function statusOf(inbounds: number, last?: ReloadOutcome): string {
  const serving = `serving ${inbounds} ${inbounds === 1 ? 'inbound' : 'inbounds'}`;
  return last ? `${serving}; last reload: ${outcomeLine(last)}` : serving;
}

/** The outcome of a reload in one line. */
export function outcomeLine(outcome: ReloadOutcome): string {
  switch (outcome.kind) {
    case 'applied':
      return `applied, ${outcome.summary}`;
    case 'unchanged':
      return 'the files have not changed';
    case 'failed':
      return outcome.line;
    default:
      return outcome satisfies never;
  }
}
