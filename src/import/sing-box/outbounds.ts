import { ImportError, type Draft } from '../../protocols/forms/draft.ts';
import type { ForeignObject } from '../../protocols/forms/foreign-object.ts';
import { serverIn } from '../../protocols/forms/sing-box.ts';
import { allForms } from '../../protocols/registry.ts';
import type { ImportedEntry } from '../entry.ts';
import { SING_BOX_KEYS } from '../keys/sing-box.ts';
import { readEntry, type EntryReader } from '../read-entry.ts';
import { bounded } from '../targets.ts';

const READER: EntryReader = {
  name: 'tag',
  verdicts: SING_BOX_KEYS,
  read: readOutbound,
  family: familyOf,
};

/** Reads the servers of a configuration. */
export const readOutbounds = (servers: readonly unknown[]): readonly ImportedEntry[] =>
  bounded('servers', servers).map((each) => readEntry(each, READER));

/** The `domain_strategy` of an outbound, or that of its resolver; Weir accepts the same values. */
function familyOf(fields: ForeignObject): string | undefined {
  const own = fields.text('domain_strategy') ?? '';
  const resolver = fields.list('domain_resolver')[0];
  const strategy =
    own === '' && typeof resolver === 'object'
      ? fields.fields('domain_resolver').text('strategy')
      : own;
  return strategy === '' ? undefined : strategy;
}

function readOutbound(fields: ForeignObject): Draft {
  const type = fields.text('type') ?? '';
  const name = fields.text('tag') ?? '';
  const form = allForms().find(({ singBox }) => singBox?.type === type)?.singBox;
  if (form) return form.read(fields, name);
  serverIn(fields, name); // an entry without a server is reported as such, whatever its type
  throw new ImportError(`the type ${JSON.stringify(type)} is not supported`);
}
