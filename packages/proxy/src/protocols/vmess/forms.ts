import { quoted } from '@weir/base/printable';
import * as clash from '../forms/clash.ts';
import { defineForms, type LinkReading } from '../forms/contract.ts';
import {
  bareHost,
  type Draft,
  ImportError,
  type NamedServer,
  type StreamDraft,
  streamOf,
  toPort,
  type Transport,
  withNameOfHost,
} from '../forms/draft.ts';
import {
  linkText,
  looselyFromBase64,
  parsedJson,
  pinIn,
  readLink,
  sniOf,
  streamQuery,
  WITHOUT_PCS,
} from '../forms/link.ts';
import { ForeignObject } from '../forms/foreign-object.ts';
import type { SharedServer, StreamAccess } from '../forms/shared-server.ts';
import * as singBox from '../forms/sing-box.ts';
import { sharedUuidUsers, UUID_USER, uuidUserLines } from '../forms/users.ts';
import * as xray from '../forms/xray.ts';

/** The id is a hyphenated UUID. */
type VmessAccess = StreamAccess<{ readonly id: string }>;

interface Account {
  readonly id: string;
  readonly security?: string | undefined;
  readonly alterId?: string | undefined;
}

/** @throws {ImportError} for an account without AEAD headers, or an unsupported cipher */
function draft(
  place: NamedServer,
  stream: StreamDraft | undefined,
  { id, security, alterId = '' }: Account,
): Draft {
  if (Number(alterId) !== 0) {
    throw new ImportError('VMess with an alterId is not supported; most servers accept 0');
  }
  return { ...place, protocol: 'vmess', stream, ...cipherOf(id.trim(), security) };
}

/**
 * The cipher of the body, which only the client chooses; servers accept any. `auto` is AES-128-GCM, or no encryption
 * for sing-box over TLS; Weir always encrypts.
 */
function cipherOf(id: string, security = ''): Pick<Draft, 'settings' | 'notes'> {
  const cipher = security.toLowerCase();
  switch (cipher) {
    case '':
    case 'auto':
    case 'aes-128-gcm':
      return { settings: { id } };
    case 'chacha20-poly1305':
      return { settings: { id, security: cipher } };
    case 'none':
    case 'zero':
      return {
        settings: { id },
        notes: [`the cipher ${quoted(cipher)} becomes aes-128-gcm, which servers take too`],
      };
    default:
      throw new ImportError(`VMess security ${quoted(security)} is not supported`);
  }
}

/** Reads a VMess link: base64 of JSON, as in v2rayN, or the form of VLESS links. */
function readVmessLink(text: string): LinkReading {
  const body = text.slice(text.indexOf('://') + 3).split('#', 1)[0] ?? '';
  const json = looselyFromBase64(body);
  if (json === undefined || !json.trimStart().startsWith('{')) return readPlainLink(text);
  const parameters = new ForeignObject(parsedJson(json));
  return { draft: readJson(parameters), parameters };
}

const readPlainLink = readLink((link) =>
  draft(link.place, link.stream('none', withNameOfHost), {
    id: link.needUser('id'),
    security: link.get('encryption', 'scy'),
    alterId: link.get('alterId', 'aid'),
  }),
);

function readJson(fields: ForeignObject): Draft {
  const net = fields.text('net') ?? '';
  const header = fields.text('type') ?? '';
  if (net !== 'grpc' && header !== '' && header !== 'none') {
    throw new ImportError(`the header type ${JSON.stringify(header)} is not supported`);
  }
  const tls = (fields.text('tls') ?? '').trim().toLowerCase();
  const isTls = tls === 'tls' || fields.flag('tls');
  if (!isTls && !['', 'none', 'false', '0'].includes(tls)) {
    throw new ImportError(`the security ${quoted(tls)} is not supported`);
  }
  const host = fields.header('host');
  const path = fields.text('path');
  const transport: Transport = {
    kind: net,
    path,
    host,
    serviceName: path,
    authority: fields.firstText('authority') ?? host,
  };
  const insecure = ['insecure', 'allowInsecure'].filter((key) => fields.flag(key));
  const named = withNameOfHost(
    {
      serverName: fields.text('sni'),
      allowInsecure: insecure.length > 0,
      pinnedBy: fields.firstText('pcs') === undefined ? undefined : 'pcs',
    },
    transport,
  );
  const stream = streamOf(transport, isTls ? named : undefined);
  const place = {
    name: fields.text('ps') ?? '',
    server: bareHost(fields.needText('add')),
    port: toPort(fields.text('port')),
  };
  return draft(place, stream, {
    id: fields.needText('id'),
    security: fields.text('scy'),
    alterId: fields.text('aid'),
  });
}

/**
 * The body cipher that clients are given. With `auto`, sing-box encrypts nothing below TLS, which Weir's servers
 * reject.
 */
const CIPHER = 'aes-128-gcm';

/** A link with version 2 of v2rayN's JSON, in which all values are text. */
function jsonLink({ name, host, port, access }: SharedServer<VmessAccess>): string {
  const { tls, carrier } = access.stream;
  const transport = {
    raw: { net: 'tcp', type: 'none', host: '', path: '' },
    ws: { net: 'ws', type: 'none', host: '', path: '' },
    grpc: { net: 'grpc', type: 'gun', host: '', path: '' },
  }[carrier.kind];
  const fields = {
    v: '2',
    ps: name,
    add: host,
    port: String(port),
    id: access.settings.id,
    aid: '0',
    scy: CIPHER,
    ...transport,
    ...(carrier.kind === 'ws' ? { path: carrier.path, host: carrier.host ?? '' } : {}),
    ...(carrier.kind === 'grpc' ? { path: carrier.serviceName } : {}),
    ...(carrier.kind === 'grpc' && carrier.authority !== undefined
      ? { authority: carrier.authority }
      : {}),
    tls: tls ? 'tls' : '',
    sni: (tls && sniOf(tls, carrier)) ?? '',
    alpn: '',
    fp: '',
    ...(tls?.insecure === true ? { insecure: '1' } : {}),
  };
  return `vmess://${Buffer.from(JSON.stringify(fields)).toString('base64')}`;
}

export const vmessForms = defineForms<VmessAccess>({
  link: {
    schemes: ['vmess'],
    unpinned: WITHOUT_PCS,
    read: readVmessLink,
    // A pinned certificate has a parameter in the form of VLESS links alone.
    write: (server) =>
      pinIn(server.access.stream.tls) === undefined
        ? jsonLink(server)
        : linkText(server, 'vmess', server.access.settings.id, [
            ['encryption', CIPHER],
            ...streamQuery(server.access.stream),
          ]),
  },
  singBox: {
    type: 'vmess',
    read: (fields, name) =>
      draft(singBox.serverIn(fields, name), singBox.streamIn(fields), {
        id: fields.needText('uuid'),
        security: fields.text('security'),
        alterId: fields.text('alter_id'),
      }),
    write: ({ settings, stream }) => ({
      uuid: settings.id,
      security: CIPHER,
      alter_id: 0,
      ...singBox.streamForm(stream),
    }),
  },
  clash: {
    type: 'vmess',
    read: (fields, name) =>
      draft(
        clash.serverIn(fields, name),
        clash.streamIn(fields, fields.flag('tls'), withNameOfHost),
        {
          id: fields.needText('uuid'),
          security: fields.text('cipher'),
          alterId: fields.text('alterId'),
        },
      ),
    write: ({ settings, stream }) => ({
      uuid: settings.id,
      alterId: 0,
      cipher: CIPHER,
      udp: true,
      ...clash.streamForm(stream, 'servername'),
    }),
  },
  xray: {
    protocol: 'vmess',
    read(settings, name, outbound) {
      const server = xray.serverOf(settings, 'vnext');
      const account = xray.userOf(server);
      return draft(xray.placeOf(server, name), xray.streamIn(outbound), {
        id: account.needText('id'),
        security: account.text('security'),
        alterId: account.text('alterId'),
      });
    },
    write: ({ settings, stream }, place) => ({
      settings: { vnext: [{ ...place, users: [{ id: settings.id, security: CIPHER }] }] },
      ...xray.streamForm(stream),
    }),
  },
  clashApi: { outbound: 'Vmess', inbound: 'Vmess' },
  user: UUID_USER,
  sharedUsers: sharedUuidUsers,
  generated: {
    port: 2083,
    network: 'TCP',
    access(_user, tls, secrets) {
      const serviceName = secrets.path();
      return {
        protocol: 'vmess',
        settings: { id: secrets.uuid() },
        stream: { tls, carrier: { kind: 'grpc', serviceName, authority: undefined } },
      };
    },
    settings: ({ settings }, { comment }) => uuidUserLines(settings.id, comment),
  },
});
