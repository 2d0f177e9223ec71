import type { SharedAccess, SharedServer, SharedStream } from '../../../src/share/shared-server.ts';

export const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';

export const BARE: SharedStream = { tls: undefined, carrier: { kind: 'raw' } };

export const VERIFIED = {
  serverName: 'proxy.example.com',
  insecure: false,
  certificate: undefined,
} as const;

/** A server with what the test is about. */
export const serverWith = (
  access: SharedAccess,
  place: Partial<SharedServer> = {},
): SharedServer => ({ name: 'n', host: 'proxy.example.com', port: 443, access, ...place });
