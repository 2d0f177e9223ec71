import type { ForeignObject } from '../../protocols/forms/foreign-object.ts';
import { XRAY_DOCUMENT_KEYS } from '../keys/xray.ts';
import { levelOf } from '../values/log-level.ts';
import { portsOf } from '../read-inbound.ts';
import { nameOf } from '../read-entry.ts';
import type { ImportedEntry } from '../entry.ts';
import { NOT_RESOLVED } from '../not-resolved.ts';
import type { RuleEntry, Routing, Target } from '../routing.ts';
import { bounded, groupOrReason, MemberBudget, TargetNames } from '../targets.ts';
import { keysOf } from '../verdicts.ts';
import { readBalancer } from './balancers.ts';
import { readDns } from './dns.ts';
import { readInboundOf } from './inbounds.ts';
import { readOutbounds } from './outbounds.ts';
import { readRule } from './rules.ts';

/** Outbounds that are internal to the program. */
const INTERNAL: ReadonlySet<string> = new Set(['dns', 'loopback']);

const tagOf = (value: unknown): string => nameOf(value, 'tag');

/** Reads a configuration of Xray or v2ray; its first outbound receives flows that no rule matches. */
export function readXray(document: ForeignObject): Routing {
  const all = document.entries('outbounds');
  const isInternal = (each: unknown): boolean => INTERNAL.has(nameOf(each, 'protocol'));
  const servers = all.filter((each) => !isInternal(each));
  const names = new TargetNames({ entries: servers.map(tagOf), groups: [] });
  const entries = readOutbounds(servers);
  const routing = document.fields('routing');
  const balancers = bounded('groups', routing.entries('balancers'));
  const rules = bounded('rules', routing.entries('rules'));
  const scope = {
    names,
    balancers: new Map(
      balancers.map((each, index): [string, Target] => [tagOf(each), { kind: 'group', index }]),
    ),
    dnsOutbounds: new Set(all.filter((each) => nameOf(each, 'protocol') === 'dns').map(tagOf)),
    services: servicesOf(document),
  };
  const read = rules.map((rule, index) => readRule(rule, `routing.rules[${index}]`, scope));
  const at = servers.indexOf(all[0]);
  const inbounds = bounded('inbounds', document.entries('inbounds'));
  const taken = portsOf(inbounds, 'port');
  const dns = readDns(document.fields('dns'));
  const tags = servers
    .map(tagOf)
    .filter((tag) => tag !== '')
    .sort();
  const budget = new MemberBudget();
  return {
    entries,
    groups: balancers.map((each) =>
      groupOrReason(tagOf(each), () => readBalancer(each, tags, names, budget)),
    ),
    rules: [...resolving(routing, read, entries), ...read],
    standard: at < 0 ? { kind: 'missing', name: tagOf(all[0]) } : { kind: 'entry', index: at },
    inbounds: inbounds.map((each, index) => readInboundOf(each, `inbounds[${index}]`, taken)),
    dns: dns.dns,
    logLevel: levelOf(document.fields('log').text('loglevel') ?? ''),
    keys: [...dns.keys, ...keysOf(document, XRAY_DOCUMENT_KEYS)],
  };
}

/** Tags of the API and the metrics. They are peeked at here, and reported as keys. */
const servicesOf = (document: ForeignObject): ReadonlySet<string> =>
  new Set(
    ['api', 'metrics'].flatMap((key) => {
      const tag = nameOf(document.peek(key), 'tag');
      return tag === '' ? [] : [tag];
    }),
  );

/**
 * A skipped rule that reports `domainStrategy`, with which flows to names are also matched by their addresses; empty
 * without it.
 */
function resolving(
  routing: ForeignObject,
  rules: readonly RuleEntry[],
  entries: readonly ImportedEntry[],
): readonly RuleEntry[] {
  const strategy = (routing.text('domainStrategy') ?? '').toLowerCase();
  if (strategy !== 'ipifnonmatch' && strategy !== 'ipondemand') return [];
  const sends = rules.some(
    (rule) =>
      'any' in rule &&
      rule.any.some((each) => each.cidr ?? each.geoip) &&
      !isDirect(rule.target, entries),
  );
  return [
    {
      source: 'routing.domainStrategy',
      skipped: NOT_RESOLVED,
      target: sends ? undefined : { kind: 'direct' },
    },
  ];
}

const isDirect = (target: Target, entries: readonly ImportedEntry[]): boolean =>
  target.kind === 'direct' ||
  (target.kind === 'entry' && entries[target.index]?.draft?.protocol === 'freedom');
