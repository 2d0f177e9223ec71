import { ImportError, tlsSettings, type Draft, type StreamDraft, type Tls } from './draft.ts';

/*
 * Creates drafts from data that the documents of all programs contain. Protocol features that Weir
 * lacks are refused here.
 */

/** The address of a server, and its name in the document. */
export type NamedServer = Pick<Draft, 'name' | 'server' | 'port'>;

export interface VlessAccount {
  readonly id: string;
  readonly flow?: string | undefined;
  readonly encryption?: string | undefined;
}

/** @throws {ImportError} for a flow or an encryption. */
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
  return { ...place, protocol: 'vless', stream, settings: { id } };
}

export interface VmessAccount {
  readonly id: string;
  readonly security?: string | undefined;
  readonly alterId?: string | undefined;
}

/** @throws {ImportError} for an account without AEAD headers, or an unsupported cipher. */
export function vmessDraft(
  place: NamedServer,
  stream: StreamDraft | undefined,
  { id, security, alterId = '' }: VmessAccount,
): Draft {
  if (Number(alterId) !== 0) {
    throw new ImportError('VMess with an alterId is not supported; most servers accept 0');
  }
  return { ...place, protocol: 'vmess', stream, settings: { id, security: cipherOf(security) } };
}

/** The body cipher in Weir's spelling; `undefined` for the default. */
function cipherOf(security = ''): string | undefined {
  const cipher = security.toLowerCase();
  if (cipher === '' || cipher === 'auto' || cipher === 'aes-128-gcm') return undefined;
  if (cipher === 'chacha20-poly1305') return cipher;
  throw new ImportError(`VMess security ${JSON.stringify(security)} is not supported`);
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

/** @throws {ImportError} for a plugin. */
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
  settings: { password, ...tlsSettings(tls), obfs, obfs_password: obfsPassword },
});

/** A SOCKS or HTTP proxy. */
export const proxyDraft = (
  protocol: 'socks' | 'http',
  place: NamedServer,
  stream: StreamDraft | undefined,
  login: { readonly user?: string | undefined; readonly pass?: string | undefined },
): Draft => ({ ...place, protocol, stream, settings: login });
