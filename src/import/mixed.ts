import { ImportError } from '../protocols/forms/draft.ts';
import type { InboundDraft } from './routing.ts';

/**
 * Drafts for SOCKS and HTTP on one port, which Weir serves on two: HTTP keeps the port, SOCKS gets the next free one.
 * @param taken the ports of the document; the new one is added
 */
export function mixedDrafts(
  base: Pick<InboundDraft, 'name' | 'tag' | 'listen' | 'sniffing'>,
  port: number,
  taken: Set<number>,
  settings: Readonly<Record<'socks' | 'http', InboundDraft['settings']>>,
): { readonly drafts: readonly InboundDraft[]; readonly notes: readonly string[] } {
  let other = port + 1;
  while (taken.has(other)) other++;
  if (other > 0xffff) throw new ImportError('there is no port after it for SOCKS');
  taken.add(other);
  const tagOf = (protocol: string): string =>
    base.tag === undefined ? `${base.name} ${protocol}` : protocol;
  return {
    drafts: [
      { ...base, tag: tagOf('http'), protocol: 'http', port, settings: settings.http },
      { ...base, tag: tagOf('socks'), protocol: 'socks', port: other, settings: settings.socks },
    ],
    notes: [`SOCKS and HTTP need a port each: HTTP keeps ${port}, SOCKS is on ${other}`],
  };
}
