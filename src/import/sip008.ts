import { bareHost, toPort, type Draft } from '../protocols/forms/draft.ts';
import { ForeignObject } from '../protocols/forms/foreign-object.ts';
import { shadowsocksDraft } from '../protocols/shadowsocks/forms.ts';
import { serversAlone, type Routing } from './routing.ts';
import { bounded } from './targets.ts';
import { keysOf, keyTable } from './verdicts.ts';
import { readEntry, type EntryReader } from './read-entry.ts';

/** Keys of a server (https://shadowsocks.org/doc/sip008.html) that are not carried over. */
const SERVER_KEYS = keyTable({ same: 'id plugin_opts group owner' });

/** Keys of a document in addition to `servers`. */
const DOCUMENT_KEYS = keyTable({
  same: 'version username user_uuid',
  dropped: { 'it is what the provider counts': 'bytes_used bytes_remaining' },
});

const READER: EntryReader = {
  name: 'remarks',
  verdicts: SERVER_KEYS,
  read: readServer,
  family: () => undefined,
};

/** Whether a JSON value is a list of Shadowsocks servers: SIP008, or only its servers. */
export function isSip008(value: unknown): boolean {
  if (Array.isArray(value)) return value.some((each) => isServer(each));
  if (isServer(value)) return true;
  if (typeof value !== 'object' || value === null || !('servers' in value)) return false;
  return Array.isArray(value.servers) && !('outbounds' in value);
}

const isServer = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  'server' in value &&
  'method' in value &&
  // An outbound of sing-box has the same keys, and `type` as well.
  !('type' in value);

/** Reads SIP008 version 1, or an array of its servers, or a single server. */
export function readSip008(value: unknown): Routing {
  const document = new ForeignObject(
    Array.isArray(value) || isServer(value) ? { servers: value } : value,
  );
  const servers = bounded('servers', document.list('servers'));
  return {
    ...serversAlone(servers.map((each) => readEntry(each, READER))),
    keys: keysOf(document, DOCUMENT_KEYS),
  };
}

function readServer(fields: ForeignObject): Draft {
  const place = {
    name: fields.text('remarks') ?? '',
    server: bareHost(fields.needText('server')),
    port: toPort(fields.text('server_port')),
  };
  return shadowsocksDraft(place, undefined, {
    method: fields.needText('method'),
    password: fields.needText('password'),
    plugin: fields.text('plugin'),
  });
}
