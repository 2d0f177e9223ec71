import { quoted } from '../printable.ts';
import {
  ImportError,
  tlsSettings,
  type Draft,
  type Settings,
  type StreamDraft,
  type Tls,
} from './draft.ts';

/*
 * Creates drafts from the data that the documents of all programs contain. Protocol features that Weir lacks are
 * rejected here.
 */

/** The address of a server, and its name in the document. */
export type NamedServer = Pick<Draft, 'name' | 'server' | 'port'>;

export interface VlessAccount {
  readonly id: string;
  readonly flow?: string | undefined;
  readonly encryption?: string | undefined;
}

/** A VLESS outbound. @throws {ImportError} for a flow or an encryption */
export function vlessDraft(
  place: NamedServer,
  stream: StreamDraft | undefined,
  { id, flow = '', encryption = '' }: VlessAccount,
): Draft {
  if (flow !== '') {
    throw new ImportError(`the VLESS flow ${JSON.stringify(flow)} is not supported`);
  }
  if (encryption !== '' && encryption !== 'none') {
    throw new ImportError('VLESS encryption is not supported');
  }
  return { ...place, protocol: 'vless', stream, settings: { id: id.trim() } };
}

export interface VmessAccount {
  readonly id: string;
  readonly security?: string | undefined;
  readonly alterId?: string | undefined;
}

/** A VMess outbound. @throws {ImportError} for an account without AEAD headers, or an unsupported cipher */
export function vmessDraft(
  place: NamedServer,
  stream: StreamDraft | undefined,
  { id, security, alterId = '' }: VmessAccount,
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

export const trojanDraft = (
  place: NamedServer,
  stream: StreamDraft | undefined,
  password: string,
): Draft => ({ ...place, protocol: 'trojan', stream, settings: { password } });

export interface ShadowsocksAccount {
  readonly method: string;
  readonly password: string;
  readonly plugin?: string | undefined;
}

/** A Shadowsocks outbound. @throws {ImportError} for a plugin */
export function shadowsocksDraft(
  place: NamedServer,
  stream: StreamDraft | undefined,
  { method, password, plugin = '' }: ShadowsocksAccount,
): Draft {
  if (plugin !== '') {
    const name = plugin.split(';', 1)[0] ?? '';
    throw new ImportError(`the Shadowsocks plugin ${JSON.stringify(name)} is not supported`);
  }
  return { ...place, protocol: 'shadowsocks', stream, settings: { method, password } };
}

export interface Hysteria2Account {
  readonly password: string;
  readonly tls: Tls;
  readonly obfs?: string | undefined;
  readonly obfsPassword?: string | undefined;
}

export const hysteria2Draft = (
  place: NamedServer,
  { password, tls, obfs, obfsPassword }: Hysteria2Account,
): Draft => ({
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

/** The login of a SOCKS or HTTP proxy. */
export interface Login {
  readonly user?: string | undefined;
  readonly pass?: string | undefined;
}

/** An outbound to a SOCKS or HTTP proxy. */
export const proxyDraft = (
  protocol: 'socks' | 'http',
  place: NamedServer,
  stream: StreamDraft | undefined,
  { user, pass }: Login,
): Draft => ({ ...place, protocol, stream, settings: { user, pass } });

/**
 * An outbound to a SOCKS or HTTP proxy, for a program that offers authentication only with a user name. A password
 * without a user name is dropped with a note.
 */
export const namedProxyDraft = (
  protocol: 'socks' | 'http',
  place: NamedServer,
  stream: StreamDraft | undefined,
  { user = '', pass = '' }: Login,
): Draft =>
  user === ''
    ? { ...proxyDraft(protocol, place, stream, {}), notes: pass === '' ? [] : [PASSWORD_ALONE] }
    : proxyDraft(protocol, place, stream, { user, pass: pass === '' ? undefined : pass });

const PASSWORD_ALONE = 'its password is not carried over: it has no user name';
