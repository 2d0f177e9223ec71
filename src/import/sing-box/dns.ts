import { ImportError } from '../../protocols/forms/draft.ts';
import { ForeignObject, isEmpty } from '../../protocols/forms/foreign-object.ts';
import { SING_BOX_DNS_KEYS } from '../keys/sing-box.ts';
import type { DnsDraft, DocumentKey } from '../routing.ts';
import { notesOn } from '../verdicts.ts';
import { dnsDraft, dnsUrlOf } from '../values/dns-server.ts';
import { nameOf } from '../read-entry.ts';

/** The DNS settings of a document. */
export interface DnsReading {
  readonly dns?: DnsDraft | undefined;
  readonly keys: readonly DocumentKey[];
  /** Whether a server is reached through an outbound other than a direct one. */
  readonly isDetoured: boolean;
}

/**
 * The server by which sing-box's own connections are resolved: `route.default_domain_resolver`, `dns.final`, or the
 * first. Weir has no equivalent for the others.
 * @param isDirect whether an outbound name is a direct one
 */
export function readDns(
  dns: ForeignObject,
  resolver: string,
  isDirect: (outbound: string) => boolean,
): DnsReading {
  const servers = dns.entries('servers');
  const final = dns.text('final') ?? '';
  const wanted = [resolver, final].find((each) => each !== '');
  const at = servers.findIndex((each) =>
    wanted === undefined ? !isEmpty(each) : nameOf(each, 'tag') === wanted,
  );
  const keys: DocumentKey[] = [];
  let draft: DnsDraft | undefined;
  for (const [index, each] of servers.entries()) {
    const path = `dns.servers[${index}]`;
    if (index !== at) {
      keys.push({ path, status: 'skipped', reason: 'Weir has one DNS server' });
      continue;
    }
    try {
      const { dns: found, notes } = serverOf(each, path, isDirect);
      draft = found;
      if (found) keys.push(...notes.map((reason) => skipped(path, reason)));
      else keys.push({ path, status: 'same', reason: "the system's resolver" });
    } catch (error) {
      if (!(error instanceof ImportError)) throw error;
      keys.push(skipped(path, `${error.message}; the system's resolver is used`));
    }
  }
  return { dns: draft, keys, isDetoured: servers.some((each) => isDetoured(each, isDirect)) };
}

const skipped = (path: string, reason: string): DocumentKey => ({
  path,
  status: 'skipped',
  reason,
});

function isDetoured(server: unknown, isDirect: (outbound: string) => boolean): boolean {
  const detour = nameOf(server, 'detour');
  return detour !== '' && !isDirect(detour);
}

interface ServerReading {
  /** Absent for the system's resolver. */
  readonly dns?: DnsDraft;
  readonly notes: readonly string[];
}

/** Reads a server. @throws {ImportError} for one that Weir does not support */
function serverOf(
  value: unknown,
  source: string,
  isDirect: (outbound: string) => boolean,
): ServerReading {
  const fields = new ForeignObject(value);
  const detour = fields.text('detour') ?? '';
  if (detour !== '' && !isDirect(detour)) {
    throw new ImportError(
      `queries go through the outbound ${JSON.stringify(detour)}, which Weir's cannot`,
    );
  }
  fields.text('tag');
  const type = fields.text('type') ?? '';
  const dns =
    type === '' || type === 'legacy' ? byUrl(fields, source) : byType(type, fields, source);
  return { ...(dns && { dns }), notes: notesOn(fields, SING_BOX_DNS_KEYS) };
}

/** Reads a server in the older form, in which `address` is a URL. */
function byUrl(fields: ForeignObject, source: string): DnsDraft | undefined {
  const { scheme, host, port, path } = dnsUrlOf(fields.needText('address'));
  switch (scheme) {
    case '':
      if (host === 'local') return undefined;
      return dnsDraft({ source, backend: 'udp', host, port });
    case 'udp':
    case 'tls':
      return dnsDraft({ source, backend: scheme, host, port });
    case 'https':
      return dnsDraft({ source, backend: scheme, host, port, path: path === '' ? '/' : path });
    default:
      throw new ImportError(`DNS by ${JSON.stringify(scheme)} is not supported`);
  }
}

function byType(type: string, fields: ForeignObject, source: string): DnsDraft | undefined {
  switch (type) {
    case 'local':
      fields.flag('prefer_go');
      return undefined;
    case 'udp':
    case 'tls':
    case 'https': {
      const tls = fields.fields('tls');
      return dnsDraft({
        source,
        backend: type,
        host: fields.needText('server'),
        port: fields.number('server_port') || undefined,
        serverName: tls.text('server_name'),
        caFile: tls.text('certificate_path'),
        path: fields.text('path'),
      });
    }
    default:
      throw new ImportError(`DNS by ${JSON.stringify(type)} is not supported`);
  }
}
