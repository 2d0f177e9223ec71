import * as clash from '../forms/clash.ts';
import { defineForms, type SharedContext } from '../forms/contract.ts';
import {
  type Draft,
  ImportError,
  type NamedServer,
  type Settings,
  type Tls,
  tlsSettings,
} from '../forms/draft.ts';
import { encoded, linkText, pinIn, readLink, sniOf } from '../forms/link.ts';
import type { ForeignObject } from '../forms/foreign-object.ts';
import {
  namedUser,
  type SharedAccess,
  type SharedTls,
  type SharedUser,
  ShareError,
  UNNAMED_USER,
} from '../forms/shared-server.ts';
import * as singBox from '../forms/sing-box.ts';
import * as xray from '../forms/xray.ts';
import type { Hysteria2InboundSettings } from './settings.ts';

interface Hysteria2Access extends SharedAccess<{
  /** `user:pass`, or the one password. */
  readonly password: string;
  readonly obfs?: 'salamander' | undefined;
  readonly obfs_password?: string | undefined;
}> {
  readonly tls: SharedTls;
}

interface Account {
  readonly password: string;
  readonly tls: Tls;
  readonly obfs?: string | undefined;
  readonly obfsPassword?: string | undefined;
}

const draft = (place: NamedServer, { password, tls, obfs, obfsPassword }: Account): Draft => ({
  ...place,
  protocol: 'hysteria2',
  settings: { password, ...tlsSettings(tls), ...obfsSettings(obfs, obfsPassword) },
  ...(tls.pinnedBy !== undefined && { pinnedBy: tls.pinnedBy }),
});

/** Settings of obfuscation; some panels write `none`, without a password, for no obfuscation. */
function obfsSettings(obfs: string | undefined = '', password: string | undefined): Settings {
  const kind = obfs.trim().toLowerCase();
  return kind === '' || kind === 'none' ? {} : { obfs: kind, obfs_password: password };
}

/** Reads the form of Xray 26: a protocol and a transport, with Salamander as a mask of datagrams. */
function readXray(settings: ForeignObject, name: string, outbound: ForeignObject): Draft {
  const stream = outbound.fields('streamSettings');
  const transport = stream.fields('hysteriaSettings');
  if (settings.number('version') !== 2 || transport.number('version') !== 2) {
    throw new ImportError('only version 2 of Hysteria is supported');
  }
  const network = xray.transportOf(stream);
  const tls = xray.tlsIn(stream);
  if (network !== 'hysteria' || !tls) {
    throw new ImportError('Hysteria over another transport, or without TLS, is not supported');
  }
  const masks = stream.fields('finalmask');
  const hops = [transport.fields('udphop'), masks.fields('quicParams').fields('udpHop')];
  if (hops.some((hop) => hop.firstText('ports') !== undefined)) {
    throw new ImportError('several ports (port hopping) are not supported');
  }
  const mask = masks.only('udp');
  const obfs = mask.text('type');
  return draft(xray.placeOf(settings, name), {
    password: transport.needText('auth'),
    tls,
    obfs,
    obfsPassword: obfs === undefined ? undefined : mask.fields('settings').text('password'),
  });
}

/** Writes the form of Xray 26 and later, which cannot accept any certificate. */
function writeXray(
  { settings: { password: auth, obfs, obfs_password }, tls }: Hysteria2Access,
  place: object,
): object {
  if (tls.insecure && !tls.certificate) {
    throw new ShareError('Xray with Hysteria 2 cannot accept any certificate');
  }
  const mask = { type: obfs, settings: { password: obfs_password } };
  return {
    settings: { version: 2, ...place },
    streamSettings: {
      network: 'hysteria',
      hysteriaSettings: { version: 2, auth },
      ...(obfs === undefined ? {} : { finalmask: { udp: [mask] } }),
      security: 'tls',
      tlsSettings: { ...xray.tlsForm(tls), alpn: ['h3'] },
    },
  };
}

/** Percent-encodes a text around its first colon, which clients look for before they decode. */
function encodedPair(text: string): string {
  const colon = text.indexOf(':');
  return colon < 0
    ? encoded(text)
    : `${encoded(text.slice(0, colon))}:${encoded(text.slice(colon + 1))}`;
}

function sharedUsers(
  { credentials, obfuscation }: Hysteria2InboundSettings,
  { protocol, tls }: SharedContext,
): readonly SharedUser[] {
  if (!tls) throw new RangeError('Hysteria 2 has TLS');
  const obfs =
    obfuscation === undefined ? {} : { obfs: 'salamander' as const, obfs_password: obfuscation };
  const access = (password: string): Hysteria2Access => ({
    protocol,
    settings: { password, ...obfs },
    tls,
  });
  return 'password' in credentials
    ? [{ ...UNNAMED_USER, access: access(credentials.password) }]
    : credentials.users.map(({ user, pass, label }, index) => ({
        ...namedUser(index, [label, user]),
        access: access(`${user}:${pass}`),
      }));
}

export const hysteria2Forms = defineForms<Hysteria2Access>({
  link: {
    schemes: ['hysteria2', 'hy2'],
    unpinned:
      '; one that does not know "pinSHA256" accepts any, and anyone on the path can read its traffic',
    read: readLink((link) =>
      draft(link.placeOr(443), {
        password: link.needUser('password'),
        tls: link.tls,
        obfs: link.get('obfs'),
        obfsPassword: link.get('obfs-password'),
      }),
    ),
    write(server) {
      const { settings, tls } = server.access;
      return linkText(
        server,
        'hysteria2',
        encodedPair(settings.password),
        [
          ['sni', sniOf(tls)],
          // hysteria checks a pin in addition to the chain, so a self-signed certificate needs `insecure` as well.
          ['insecure', tls.insecure || tls.certificate ? '1' : undefined],
          ['pinSHA256', pinIn(tls)],
          ['obfs', settings.obfs],
          ['obfs-password', settings.obfs_password],
        ],
        '/',
      );
    },
  },
  singBox: {
    type: 'hysteria2',
    read(fields, name) {
      const place = singBox.serverIn(fields, name);
      const obfs = fields.fields('obfs');
      return draft(place, {
        password: fields.needText('password'),
        tls: singBox.tlsIn(fields) ?? {},
        obfs: obfs.text('type'),
        obfsPassword: obfs.text('password'),
      });
    },
    write: ({ settings: { password, obfs, obfs_password }, tls }) => ({
      password,
      ...(obfs === undefined ? {} : { obfs: { type: obfs, password: obfs_password } }),
      tls: singBox.tlsForm(tls),
    }),
  },
  clash: {
    type: 'hysteria2',
    read(fields, name) {
      fields.needText('server');
      if (fields.states('ports')) {
        throw new ImportError('several ports (port hopping) are not supported');
      }
      return draft(clash.serverIn(fields, name), {
        password: fields.needText('password'),
        tls: { ...clash.tlsIn(fields), caFile: fields.firstText('ca') },
        obfs: fields.text('obfs'),
        obfsPassword: fields.text('obfs-password'),
      });
    },
    write: ({ settings: { password, obfs, obfs_password }, tls }) => ({
      password,
      ...(obfs === undefined ? {} : { obfs, 'obfs-password': obfs_password }),
      ...clash.tlsForm(tls, 'sni'),
    }),
  },
  xray: { protocol: 'hysteria', read: readXray, write: writeXray },
  clashApi: { outbound: 'Hysteria2', inbound: 'Hysteria2' },
  user: {
    lists: ['users'],
    name: 'user',
    secret: 'pass',
    refusedName: (name) =>
      name.includes(':')
        ? 'the protocol ends the name at the first ":"'
        : /[^\x20-\x7e]/.test(name)
          ? 'the protocol allows ASCII only'
          : undefined,
    onAdd: (inbound, settings) =>
      settings.has('password')
        ? {
            kind: 'impossible',
            message: `${inbound} has one password for all clients, and a hysteria2 inbound has either that or users: replace its "password" by "users" first`,
          }
        : undefined,
    onRemoveLast: (inbound) => ({
      kind: 'impossible',
      message: `a hysteria2 inbound needs a user or a password, and this is the last user of ${inbound}`,
    }),
  },
  sharedUsers,
  drafted: ({ settings: { password, ...obfs } }, tls) => ({ password, ...tls, ...obfs }),
  generated: {
    port: 443,
    network: 'UDP',
    access: (user, tls, secrets) => ({
      protocol: 'hysteria2',
      settings: { password: `${user}:${secrets.password()}` },
      tls,
    }),
    settings({ settings }, { tls }) {
      const [user = '', pass = ''] = settings.password.split(':');
      return [
        tls,
        'udp = true',
        'users = [',
        `  { user = ${JSON.stringify(user)}, pass = ${JSON.stringify(pass)} },`,
        ']',
      ];
    },
  },
});
