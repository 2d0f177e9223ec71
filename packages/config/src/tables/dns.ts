import {
  type DnsSettings,
  DnsSettingsError,
  lowerDns as lowerSettings,
} from '@weir/proxy/dns/settings';
import {
  type Decoded,
  disclosed,
  located,
  narrowed,
  optional,
  type Span,
  str,
  struct,
} from '@weir/proxy/schema';
import type { DnsSpec } from '@weir/proxy/spec';
import { Finding, type Findings } from '../findings.ts';
import type { InputFiles } from '../sources/input-files.ts';

/** Confidential: providers give each customer a path. */
const url = optional(located(str));
const text = optional(located(disclosed(str)));

/** The table `[dns]` as written. */
export const dnsTable = located(
  struct(
    {
      backend: optional(
        narrowed(located(str), { enum: ['system', 'udp', 'tls', 'https'], default: 'system' }),
      ),
      server: text,
      serverName: text,
      url,
      caFile: text,
    },
    {
      backend: 'system, udp, tls (DNS over TLS) or https (DNS over HTTPS)',
      server: 'Address and port of the server, never a name',
      serverName: 'For tls: the name that the certificate must be for',
      url: 'For https: https://NAME/PATH',
      caFile: 'PEM file of further authorities',
    },
  ),
);
export type DnsTable = Decoded<typeof dnsTable>;

/** Lowers `[dns]`; `undefined` when it is invalid. */
export function lowerDnsTable(
  table: DnsTable | undefined,
  files: InputFiles,
  findings: Findings,
): DnsSpec | undefined {
  if (!table) return lowerSettings({});
  const { backend, server, serverName, url, caFile } = table.value;
  const part = findings.about('dns');
  // For every backend: a file that is named must exist.
  const content = caFile && part.attempt(() => files.content(caFile, 'dns: cannot read ca_file'));
  const settings: DnsSettings = {
    backend: backend?.value,
    server: server?.value,
    server_name: serverName?.value,
    url: url?.value,
    ca_file: caFile && content && { file: caFile.value, content },
  };
  const places = { backend, server, server_name: serverName, url, ca_file: caFile };
  const spec = part.attempt(() => checked(settings, (key) => places[key]?.span ?? table.span));
  return part.failed ? undefined : spec;
}

function checked(settings: DnsSettings, spanOf: (key: keyof DnsSettings) => Span): DnsSpec {
  try {
    return lowerSettings(settings);
  } catch (error) {
    if (!(error instanceof DnsSettingsError)) throw error;
    throw new Finding(error.message, spanOf(error.key), { cause: error });
  }
}
