import { serverIn } from '../../protocols/forms/clash.ts';
import { ImportError, type Draft } from '../../protocols/forms/draft.ts';
import type { ForeignObject } from '../../protocols/forms/foreign-object.ts';
import { allForms } from '../../protocols/registry.ts';
import type { ImportedEntry } from '../entry.ts';
import { CLASH_KEYS } from '../keys/clash.ts';
import { readEntry, type EntryReader } from '../read-entry.ts';
import { bounded } from '../targets.ts';

const READER: EntryReader = {
  name: 'name',
  verdicts: CLASH_KEYS,
  read: readProxy,
  family: familyOf,
};

/** Reads the `proxies` of a configuration of Clash or mihomo. */
export const readProxies = (proxies: readonly unknown[]): readonly ImportedEntry[] =>
  bounded('servers', proxies).map((each) => readEntry(each, READER));

const FAMILIES: ReadonlyMap<string, string | undefined> = new Map([
  ['', undefined],
  ['dual', undefined],
  ['ipv4', 'ipv4_only'],
  ['ipv6', 'ipv6_only'],
  ['ipv4-prefer', 'prefer_ipv4'],
  ['ipv6-prefer', 'prefer_ipv6'],
]);

/** The address family of a proxy. @throws {ImportError} for an unknown version */
function familyOf(fields: ForeignObject): string | undefined {
  const version = fields.text('ip-version') ?? '';
  if (FAMILIES.has(version)) return FAMILIES.get(version);
  throw new ImportError(`the ip-version ${JSON.stringify(version)} is unknown`);
}

function readProxy(fields: ForeignObject): Draft {
  const type = fields.text('type') ?? '';
  const name = fields.text('name') ?? '';
  const form = allForms().find(({ clash }) => clash?.type === type)?.clash;
  if (form) return form.read(fields, name);
  serverIn(fields, name); // an entry without a server is reported as such, whatever its type
  throw new ImportError(`the type ${JSON.stringify(type)} is not supported`);
}
