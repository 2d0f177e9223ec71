import { bytes } from '../text/amounts.ts';
import { textTable } from '../text/text-table.ts';
import { PART_SUMMARIES, type Diagnosis } from './diagnosis.ts';

/** The available and missing parts of a diagnosis: shown before it is written, and part of its README. */
export function contentsText({ parts, missing }: Diagnosis): string {
  const table = textTable(
    ['FILE', 'SIZE', 'CONTENTS'],
    parts.map(({ name, file, text }) => [
      file,
      bytes(Buffer.byteLength(text)),
      PART_SUMMARIES[name],
    ]),
  );
  const lacking = textTable(
    ['MISSING', 'REASON'],
    missing.map(({ name, reason }) => [name, reason.split('\n')[0] ?? '']),
  );
  return missing.length === 0 ? table : `${table}\n${lacking}`;
}

/** The README of the archive. */
export const readmeText = (diagnosis: Diagnosis): string =>
  `weir diagnose, ${new Date(diagnosis.at).toISOString()}

${contentsText(diagnosis)}
Passwords, keys and ids of the configuration are ***, and so are paths of WebSockets, names of gRPC services and
the path of a DNS URL. WEIR_LOG_ADDRESSES decides which addresses the log has; --without log leaves it out.
`;
