import { quoted } from '../printable.ts';
import { ImportError, type Draft } from '../protocols/forms/draft.ts';

/** An entry of a document: a draft with notes on settings that it lacks, or the reason why it is skipped. */
export type ImportedEntry =
  | { readonly draft: Draft; readonly notes: readonly string[]; readonly skipped?: undefined }
  | { readonly draft?: undefined; readonly name: string; readonly skipped: string };

/** A draft, with notes on settings that it lacks. */
export interface Reading {
  readonly draft: Draft;
  readonly notes: readonly string[];
}

/** Converts an entry by `work`; an ImportError becomes the reason for skipping it. */
export function entryOf(name: string, work: () => Reading): ImportedEntry {
  try {
    const { draft, notes } = work();
    if (isBroken(draft)) throw new ImportError('its address, its login or a path is not UTF-8');
    const own = [
      ...(draft.notes ?? []),
      ...(draft.stream?.notes ?? []),
      ...pinNotes(draft),
      ...notes,
    ];
    return { draft, notes: isInsecure(draft) ? [...own, ANY_CERTIFICATE] : own };
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    return { name, skipped: error.message };
  }
}

/** Whether a value that the server compares contains U+FFFD, which stands for lost bytes; names may contain it. */
const isBroken = ({ server, stream, settings }: Draft): boolean =>
  JSON.stringify([server, stream, settings]).includes('\uFFFD');

const ANY_CERTIFICATE =
  'any certificate is accepted (allow_insecure), as the document says: anyone on the path can read the traffic';

const isInsecure = ({ stream, settings }: Draft): boolean =>
  stream?.tls?.['allow_insecure'] === true || settings['allow_insecure'] === true;

/** The key by which the document pins a server's certificate to a hash. */
export const pinOf = ({ pinnedBy, stream }: Draft): string | undefined =>
  pinnedBy ?? stream?.pinnedBy;

function pinNotes(draft: Draft): readonly string[] {
  const pin = pinOf(draft);
  if (pin === undefined) return [];
  const authority = draft.stream?.tls?.['ca_file'] ?? draft.settings['ca_file'];
  const advice =
    authority === undefined
      ? '; write a self-signed one to a PEM file, and name that as ca_file'
      : '';
  return [
    `${quoted(pin)} is not carried over: Weir cannot compare a certificate with a hash, and verifies its chain and its name instead${advice}`,
  ];
}

/** The lines of a document without surrounding white space. */
export const trimmedLines = (text: string): readonly string[] =>
  text.split(/\r\n?|\n/).map((line) => line.replace(/^\u200B+/, '').trim());
