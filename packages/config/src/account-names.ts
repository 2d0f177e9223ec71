import type { InboundSpec } from '@weir/proxy/spec';
import { parseUuid } from '@weir/proxy/protocols';
import type { SourceText } from './sources/source-text.ts';

/**
 * Names of users whose entries have no key for one, from the comments beside them: by the tag of the inbound, and by
 * the user's UUID as 32 lower-case hex digits.
 */
export type AccountNames = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** Protocols whose users are UUIDs without a name. */
const NAMELESS: ReadonlySet<string> = new Set(['vless', 'vmess']);

/** The text in every comment with a name: a file without it is not parsed again. */
const MARK = 'name:';

/** Reads the names of accounts in a valid configuration. Of users with the same UUID the last one with a name counts. */
export async function readAccountNames(
  source: SourceText,
  inbounds: readonly InboundSpec[],
): Promise<AccountNames> {
  const names = new Map<string, ReadonlyMap<string, string>>();
  const nameless = inbounds.filter(({ protocol }) => NAMELESS.has(protocol));
  if (nameless.length === 0 || !source.text.includes(MARK)) return names;
  const { ConfigInbounds } = await import('./edit/lists/inbound-list.ts');
  const file = new ConfigInbounds(source);
  for (const { tag } of nameless) {
    const byId = new Map<string, string>();
    for (const { values, label } of file.list(tag, ['users'])?.elements ?? []) {
      const id = parseUuid(values.get('id') ?? '');
      if (id !== undefined && label !== undefined) byId.set(id, label);
    }
    if (byId.size > 0) names.set(tag, byId);
  }
  return names;
}
