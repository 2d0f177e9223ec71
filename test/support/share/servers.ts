import type { SharedAccess, SharedServer } from '@weir/proxy/protocols/forms';
import type { SharedStream } from '../../../packages/proxy/src/protocols/forms/shared-server.ts';

export const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';

export const BARE: SharedStream = { tls: undefined, carrier: { kind: 'raw' } };

export const VERIFIED = {
  serverName: 'proxy.example.com',
  insecure: false,
  certificate: undefined,
} as const;

/** An access, with its parts side by side. */
export interface FlatAccess extends Pick<SharedAccess, 'protocol' | 'stream' | 'tls'> {
  readonly id?: string;
  readonly method?: string;
  readonly password?: string;
  readonly login?: { readonly user: string; readonly pass: string } | undefined;
  /** Of Hysteria 2. */
  readonly auth?: string;
  readonly obfuscation?: string | undefined;
}

export const accessOf = ({
  protocol,
  stream,
  tls,
  login,
  auth,
  obfuscation,
  ...settings
}: FlatAccess): SharedAccess => ({
  protocol,
  settings: {
    ...settings,
    ...login,
    ...(auth !== undefined && { password: auth }),
    ...(obfuscation !== undefined && { obfs: 'salamander', obfs_password: obfuscation }),
  },
  ...(stream && { stream }),
  ...(tls && { tls }),
});

/** A server with what the test is about. */
export const serverWith = (
  access: FlatAccess,
  place: Partial<SharedServer> = {},
): SharedServer => ({
  name: 'n',
  host: 'proxy.example.com',
  port: 443,
  access: accessOf(access),
  ...place,
});
