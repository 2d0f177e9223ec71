import { basename } from 'node:path';
import type { ConfigLocation } from '@weir/config';
import type { RouteQuery } from '@weir/proxy/router';
import { formatEndpoint } from '@weir/io/addresses';
import type { Spec } from '@weir/proxy/spec';
import { printable } from '@weir/base/printable';
import { textTable } from '@weir/base/tables';
import type { FlowAnswer } from './explain-flow.ts';
import type { LoadedRoutes, RulePlaces } from './load-routes.ts';
import type { RouteAnswer } from './route-answer.ts';

/** Maximum number of skipped rules that the text explains; JSON has all. */
const SHOWN_RULES = 10;

/** The result as text. */
export function explainText(
  { spec, places }: Pick<LoadedRoutes, 'spec' | 'places'>,
  {
    query,
    answer,
    notes,
  }: Pick<FlowAnswer, 'query' | 'answer'> & { readonly notes: readonly string[] },
): string {
  const { rule, matcher, group, passed_over: passed } = answer;
  const place = placeText(places.of(rule ?? undefined));
  const lines = [
    flowText(query),
    '',
    `outbound  ${outboundText(spec, answer.outbound)}`,
    `rule      ${rule ?? 'none: the default route'}, ${place}`,
    `matcher   ${matcherText(matcher)}`,
    ...(group === null ? [] : [`group     ${group}`]),
  ];
  const text = `${lines.map(printable).join('\n')}\n`;
  const noteLines = notes.map((note) => `note: ${printable(note)}\n`).join('');
  return `${text}${noteLines === '' ? '' : `\n${noteLines}`}${passedText(passed, places)}`;
}

/** A flow in one line. */
export function flowText({ host, port, network, source, inbound, sniffed }: RouteQuery): string {
  const name = sniffed === undefined ? '' : ` (${sniffed})`;
  const client = source ?? 'a local client';
  return `${network} ${formatEndpoint({ host, port })}${name} from ${client} through inbound ${inbound === '' ? '-' : inbound}`;
}

function passedText(passed: RouteAnswer['passed_over'], places: RulePlaces): string {
  if (passed.length === 0) return '';
  const rows = passed.slice(0, SHOWN_RULES).map(({ rule, line, group, outbound, reason }) => {
    const file = places.of(rule)?.file;
    // Line numbers of a group are those of the subscribe file.
    const at = group === null || file === undefined ? line : `${basename(file)}:${line}`;
    return [rule, at, outbound, reason];
  });
  const more = passed.length - rows.length;
  const rest = more > 0 ? `and ${more} more, which --json shows\n` : '';
  return `\npassed over:\n${textTable(['RULE', 'LINE', 'OUTBOUND', 'WHY NOT'], rows)}${rest}`;
}

function outboundText(spec: Spec, outbound: RouteAnswer['outbound']): string {
  const named = (tag: string): string => {
    const protocol = spec.outbounds.find((each) => each.tag === tag)?.protocol;
    return protocol === undefined || protocol === tag ? tag : `${tag} (${protocol})`;
  };
  if (typeof outbound === 'string') return named(outbound);
  const { balancer, strategy, members } = outbound;
  return `${balancer} (balancer, ${strategy}: ${members.map(named).join(', ')})`;
}

function matcherText(matcher: RouteAnswer['matcher']): string {
  if (matcher === null) return '-';
  if (matcher.length === 0) return 'none: the rule matches everything';
  return matcher.map(({ key, value }) => `${key} ${JSON.stringify(value)}`).join(' and ');
}

export const placeText = (place: ConfigLocation | undefined): string =>
  place?.file === undefined
    ? `line ${place?.line ?? '-'} of the built-in configuration`
    : `${place.file}:${place.line}`;
