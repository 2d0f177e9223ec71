import { ImportError } from '../../protocols/forms/draft.ts';
import { ForeignObject } from '../../protocols/forms/foreign-object.ts';
import { XRAY_DNS_KEYS } from '../keys/xray.ts';
import type { DnsDraft, DocumentKey } from '../routing.ts';
import { dnsDraft, dnsUrlOf } from '../values/dns-server.ts';
import { notesOn } from '../verdicts.ts';

/** Reads the first server of Xray's `dns` that Weir supports; Weir has no equivalent for the others. */
export function readDns(dns: ForeignObject): {
  readonly dns?: DnsDraft | undefined;
  readonly keys: readonly DocumentKey[];
} {
  const keys: DocumentKey[] = [];
  let draft: DnsDraft | undefined;
  for (const [index, each] of dns.entries('servers').entries()) {
    const path = `dns.servers[${index}]`;
    if (draft) {
      keys.push({ path, status: 'skipped', reason: 'Weir has one DNS server' });
      continue;
    }
    try {
      const found = serverOf(each, path);
      draft = found.dns;
      keys.push(...found.notes.map((reason) => ({ path, status: 'skipped' as const, reason })));
      if (!draft) {
        keys.push({ path, status: 'same', reason: "the system's resolver" });
        return { keys };
      }
    } catch (error) {
      if (!(error instanceof ImportError)) throw error;
      keys.push({ path, status: 'skipped', reason: error.message });
    }
  }
  return { dns: draft, keys };
}

interface ServerReading {
  /** Absent for the system's resolver. */
  readonly dns?: DnsDraft;
  readonly notes: readonly string[];
}

/** Reads a server. @throws {ImportError} for one that Weir does not support, or that is not for all names */
function serverOf(value: unknown, source: string): ServerReading {
  if (typeof value === 'string') return byAddress(value, undefined, source);
  const fields = new ForeignObject(value);
  const port = fields.number('port') || undefined;
  const found = byAddress(fields.needText('address'), port, source);
  return { ...found, notes: [...found.notes, ...notesOn(fields, XRAY_DNS_KEYS)] };
}

/** Note on servers without `+local`, which Xray queries by its rules. */
const BY_RULES = 'queries go directly, not by rules';

function byAddress(address: string, given: number | undefined, source: string): ServerReading {
  if (address.toLowerCase() === 'localhost') return { notes: [] };
  const { scheme, host, port = given, path } = dnsUrlOf(address);
  const isLocal = scheme.endsWith('+local');
  const notes = isLocal ? [] : [BY_RULES];
  switch (scheme) {
    case '':
      return { dns: dnsDraft({ source, backend: 'udp', host, port }), notes };
    case 'https':
    case 'https+local':
      return {
        dns: dnsDraft({ source, backend: 'https', host, port, path: path === '' ? '/' : path }),
        notes,
      };
    default:
      throw new ImportError(`DNS by ${JSON.stringify(scheme)} is not supported`);
  }
}
