import { ImportError, type Draft } from '../../protocols/forms/draft.ts';
import type { ForeignObject } from '../../protocols/forms/foreign-object.ts';
import { allForms } from '../../protocols/registry.ts';
import type { ImportedEntry } from '../entry.ts';
import { XRAY_KEYS } from '../keys/xray.ts';
import { readEntry, type EntryReader } from '../read-entry.ts';
import { bounded } from '../targets.ts';

const READER: EntryReader = {
  name: 'tag',
  verdicts: XRAY_KEYS,
  read: readOutbound,
  family: familyOf,
};

/** Reads the servers of a configuration. */
export const readOutbounds = (servers: readonly unknown[]): readonly ImportedEntry[] =>
  bounded('servers', servers).map((each) => readEntry(each, READER));

/** Address families of Xray's strategies for resolving names, which require or prefer one. */
const FAMILIES: ReadonlyMap<string, string | undefined> = new Map([
  ['', undefined],
  ['asis', undefined],
  ['useip', undefined],
  ['forceip', undefined],
  ['useipv4', 'ipv4_only'],
  ['forceipv4', 'ipv4_only'],
  ['useipv6', 'ipv6_only'],
  ['forceipv6', 'ipv6_only'],
  ['useipv4v6', 'prefer_ipv4'],
  ['useipv46', 'prefer_ipv4'],
  ['forceipv4v6', 'prefer_ipv4'],
  ['forceipv46', 'prefer_ipv4'],
  ['useipv6v4', 'prefer_ipv6'],
  ['useipv64', 'prefer_ipv6'],
  ['forceipv6v4', 'prefer_ipv6'],
  ['forceipv64', 'prefer_ipv6'],
]);

/** The address family of an outbound. @throws {ImportError} for an unknown strategy */
function familyOf(fields: ForeignObject): string | undefined {
  const settings = fields.fields('settings');
  const socket = fields.fields('streamSettings').fields('sockopt');
  const strategies = [
    settings.text('domainStrategy'),
    settings.text('targetStrategy'),
    fields.text('targetStrategy'),
    socket.text('domainStrategy'),
  ];
  let family: string | undefined;
  for (const strategy of strategies) {
    const name = (strategy ?? '').toLowerCase();
    if (!FAMILIES.has(name)) {
      throw new ImportError(`the strategy ${JSON.stringify(strategy)} is unknown`);
    }
    family ??= FAMILIES.get(name);
  }
  return family;
}

function readOutbound(fields: ForeignObject): Draft {
  const name = fields.text('tag') ?? '';
  const protocol = (fields.text('protocol') ?? '').toLowerCase();
  const settings = fields.fields('settings');
  const form = allForms().find(({ xray }) => xray?.protocol === protocol)?.xray;
  if (form) return form.read(settings, name, fields);
  throw new ImportError(`the protocol ${JSON.stringify(protocol)} is not supported`);
}
