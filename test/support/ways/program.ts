import type { Address } from '../data/address.ts';
import type { Child } from '../process/child.ts';
import type { PeerName } from '../programs/peers.ts';
import type { Lack } from './lack.ts';
import type { Way } from './way.ts';

export type ProgramName =
  | 'weir'
  | 'v2ray'
  | 'xray'
  | 'sing-box'
  | 'trojan'
  | 'ss-libev'
  | 'ss-rust'
  | 'hysteria';

/** A server takes the way's protocol in; a client has a SOCKS listener, UDP included. */
export type Role = 'server' | 'client';

/** One of the two processes of a way; disposing of it kills it. */
export interface End extends AsyncDisposable {
  readonly child: Child;
  /** The address at which it accepts connections. */
  readonly address: Address;
}

export interface ServerOptions {
  /** To reuse the port of an earlier process; absent: a free one. */
  readonly port?: number;
}

/** A program that can stand at either end of some ways. */
export interface Program {
  readonly name: ProgramName;
  /** What has to be installed for each role. */
  readonly needs: Readonly<Record<Role, readonly PeerName[]>>;
  /** Asks the program itself; `undefined` when it does not report one. */
  version(): string | undefined;
  /** Why it cannot stand there, as a note below a table; `undefined` when it can. */
  unable(way: Way, role: Role): string | undefined;
  /** What it does not support at that end, although it can stand there. */
  lacks(way: Way, role: Role): readonly Lack[];
  server(way: Way, options?: ServerOptions): Promise<End>;
  client(way: Way, server: Address): Promise<End>;
}
