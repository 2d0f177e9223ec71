import type { Node, Span } from '../schema/node.ts';
import { NotYet, type Findings } from './findings.ts';

/** What the specification has and this version does not: each line goes when its part lands. */

export const LATER_INBOUNDS: ReadonlySet<string> = new Set([
  'shadowsocks',
  'hysteria2',
  'hysteria',
  'hy2',
  'tun',
]);

export const LATER_OUTBOUNDS: ReadonlySet<string> = new Set([
  'shadowsocks',
  'hysteria2',
  'hysteria',
  'hy2',
  'wireguard',
]);

/** The refusal of a part that is written as it should be. */
export const notYet = (what: string, span: Span): NotYet =>
  new NotYet(`${what} is not in this version yet`, span);

/** Refuses top-level tables that have no meaning here so far. */
export function refuseLaterTables(
  tables: Readonly<Record<string, Node | undefined>>,
  findings: Findings,
): void {
  for (const [name, node] of Object.entries(tables)) {
    if (!node) continue;
    const table = node.kind === 'array' ? `[[${name}]]` : `[${name}]`;
    findings.about(name).add(notYet(table, node.span));
  }
}
