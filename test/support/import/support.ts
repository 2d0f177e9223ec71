import { loadConfigFile } from '@weir/server/loading';
import type { ImportedEntry } from '../../../packages/nodes/src/import/routing.ts';
import { outboundText } from '@weir/nodes/import/write/tables';
import type { OutboundSpec } from '@weir/proxy/spec';

/** The outbound that a text describes, as the configuration is understood. */
export async function specOf(text: string): Promise<OutboundSpec | undefined> {
  const { spec } = await loadConfigFile('imported', { bytes: Buffer.from(text), serveApi: false });
  return spec.outbounds[0];
}

/** The TOML of the only entry, or why there is none. */
export function textOf(entries: readonly ImportedEntry[]): string {
  const [entry, ...others] = entries;
  if (!entry || others.length > 0) return `${entries.length} entries`;
  return entry.draft ? outboundText('out', entry.draft) : `left out: ${entry.skipped}`;
}

/** The lines of the only entry without its header and tag. */
export const linesOf = (entries: readonly ImportedEntry[]): string[] =>
  textOf(entries)
    .split('\n')
    .filter((line) => line !== '' && line !== '[[outbound]]' && line !== 'tag = "out"');
