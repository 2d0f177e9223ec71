import type { ReloadOutcome } from '../outcomes.ts';

/** The state of a running process in a line: what it serves, and how its last reload ended. */
export function statusOf(inbounds: number, last?: ReloadOutcome): string {
  const serving = `serving ${inbounds} ${inbounds === 1 ? 'inbound' : 'inbounds'}`;
  return last ? `${serving}; last reload: ${outcomeLine(last)}` : serving;
}

/** One line. */
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
