import { hintsOf } from '../errors.ts';
import { age } from '../text/amounts.ts';
import { foreign, span, type Line } from './line.ts';
import type { Snapshot } from './snapshot.ts';

/** Maximum number of lines about balancer members, and about outbounds. */
const MOST_OF_A_KIND = 3;

/**
 * Current troubles: of sources of data, the last reload, members of balancers, outbounds.
 * @param most maximum number of lines, at least 1
 */
export function troubleLines(snapshot: Snapshot, most: number): readonly Line[] {
  const members = memberLines(snapshot);
  const outbounds = outboundLines(snapshot);
  const lines = [
    ...sourceLines(snapshot),
    ...reloadLines(snapshot),
    ...members.slice(0, MOST_OF_A_KIND),
    ...outbounds.slice(0, MOST_OF_A_KIND),
  ];
  const hidden = [members, outbounds].reduce(
    (sum, list) => sum + Math.max(0, list.length - MOST_OF_A_KIND),
    0,
  );
  if (hidden === 0 && lines.length <= most) return lines;
  const shown = lines.slice(0, Math.max(0, most - 1));
  return [...shown, [span(`  and ${lines.length - shown.length + hidden} more`, 'dim')]];
}

function sourceLines({ monitor }: Snapshot): readonly Line[] {
  const lines: Line[] = [];
  for (const [what, state] of [
    ['API', monitor.api],
    ['control socket', monitor.socket],
  ] as const) {
    if (state.kind === 'lost') {
      const hint = hintsOf(state.error)[0];
      lines.push([
        span(`! ${what}: `, 'bad'),
        foreign(state.error.message),
        foreign(hint === undefined ? '' : ` (${hint})`, 'dim'),
      ]);
    } else if (state.kind === 'absent') {
      const missing =
        what === 'API'
          ? 'the configuration has no [api]: add it, and reload'
          : 'not found: no failures, balancers and limits here';
      lines.push([span(`! ${what}: `, 'warn'), span(missing)]);
    }
  }
  return lines;
}

function reloadLines({ monitor }: Snapshot): readonly Line[] {
  const outcome = monitor.status?.value.last_reload?.outcome;
  return outcome?.kind === 'failed' ? [[span('! reload: ', 'bad'), foreign(outcome.line)]] : [];
}

const memberLines = ({ monitor }: Snapshot): readonly Line[] =>
  (monitor.status?.value.balancers ?? []).flatMap(({ tag, members }) =>
    members
      .filter(({ health }) => health === 'unavailable')
      .map(({ outbound, error }) => [
        span('! ', 'bad'),
        foreign(`${outbound} of ${tag} is down`),
        foreign(error === null ? '' : `: ${error}`),
      ]),
  );

const outboundLines = ({ failing, now }: Snapshot): readonly Line[] =>
  failing.map(({ outbound, cause, count, last }) => [
    span('! ', 'bad'),
    foreign(`${outbound}: ${count} failed, the last ${age(now - last)} ago: ${cause}`),
  ]);
