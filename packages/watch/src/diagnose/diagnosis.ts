import { bytes } from '@weir/base/text/amounts';
import { textTable } from '@weir/base/tables';

/** Names of all parts, in the order in which they are listed. */
export const PART_NAMES = [
  'status',
  'versions',
  'config',
  'log',
  'profile',
  'heap',
  'environment',
  'tun',
] as const;

export type PartName = (typeof PART_NAMES)[number];

/** One file of a diagnosis. */
export interface DiagnosisPart {
  readonly name: PartName;
  /** Name of the file in the archive. */
  readonly file: string;
  readonly text: string;
}

export interface Diagnosis {
  /** Unix milliseconds. */
  readonly at: number;
  readonly parts: readonly DiagnosisPart[];
  /** Parts that were requested and are not available, with the reason. */
  readonly missing: readonly { readonly name: PartName; readonly reason: string }[];
}

/** The contents of each part, and the private data that it may have. */
export const PART_SUMMARIES: Readonly<Record<PartName, string>> = {
  status: 'state, limits and figures; tags of inbounds and outbounds, errors of probes',
  versions: 'versions of Weir, Node.js, OpenSSL and libc; the machine, without its name',
  config: 'the configuration in force, secrets starred; addresses of servers, labels of users',
  log: 'the last lines of the log, which may have destinations, clients and labels of users',
  profile: 'what the processor did, by functions of Weir: for Chrome, Edge or VS Code',
  heap: 'sizes of the memory by kind, without its contents',
  environment: 'settings in the environment of Weir; other values are left out',
  tun: 'what weir tun check says: addresses and routes of this machine',
};

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
