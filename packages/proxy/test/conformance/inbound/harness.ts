import type { DialErrorCode } from '@weir/io';
import { HANDSHAKE_MS } from '@weir/io/time';
import type { Endpoint } from '@weir/io/addresses';
import type { Carrier } from '@weir/io/links';
import type { InboundContext, InboundHandler } from '../../../src/protocols/contract.ts';
import type { AcceptedAccounts } from '../../../src/protocols/users/accounts.ts';
import type { Target } from '../../../../../test/support/protocols/inbounds/address.ts';
import type { End } from '../../../../../test/support/protocols/inbounds/engine.ts';

/** Ann and Bob have accounts, Eve has none. */
export type User = 'ann' | 'bob' | 'eve';

/** The client's side of one stream, as the documents of the protocol have it. */
export interface InboundClient {
  /** The request, and in the same segment the first payload, which may be empty. */
  first(payload: Uint8Array): Uint8Array;
  more(payload: Uint8Array): Uint8Array;
  /** What precedes the end of the stream, where the protocol has such a thing. */
  readonly end?: (() => Uint8Array) | undefined;
  /** Everything that the server has sent, opened. Throws where that is not as the protocol has it. */
  open(received: Buffer): Opened;
}

export interface Opened {
  readonly payload: Uint8Array;
  /** Whether the payload has ended within what was received. */
  readonly ended?: boolean;
  /** The payload as datagrams. */
  readonly datagrams?: readonly { readonly data: Uint8Array; readonly peer?: Endpoint }[];
}

/** What a client observes of its end. */
export interface Ending {
  readonly how: 'end' | 'closed' | 'reset';
  /** Milliseconds that the client stays without sending more. */
  readonly after: number;
  /** What it receives before; nothing where left out, and not looked at where that is `undefined`. */
  readonly says?: Uint8Array | RegExp | undefined;
}

/** By how much a time limit may be off for a client on a network. */
export const SLACK_MS = 250;

/** The connection ends at the time limit, as for a client that sends nothing. */
export const SILENCE: Ending = { how: 'end', after: HANDSHAKE_MS };

export interface Rejection {
  readonly name: string;
  readonly sends: Uint8Array;
  /** Of the message of the error that the connection ends with. */
  readonly error: RegExp;
  /** `rejected` of the harness where left out. */
  readonly ending?: Ending;
}

export interface DatagramHarness {
  /** Whether an association reaches any peer, or the one of its request alone. */
  readonly peers: 'any' | 'one';
  client(user: User, peer: Endpoint, seed: string): DatagramClient;
  /** Whether they are datagrams of the session, of whose end they tell nothing; or else the payload of a connection. */
  readonly ofSession?: boolean;
  /** What is sent in place of a datagram, and has to be dropped and counted. */
  readonly invalid: readonly Uint8Array[];
  readonly longest: number;
}

export interface DatagramClient extends Pick<InboundClient, 'open' | 'end'> {
  first(data: Uint8Array): Uint8Array;
  more(data: Uint8Array, peer: Endpoint): Uint8Array;
}

/** A client's end of what an inbound serves. */
export interface ClientEnd {
  readonly link: End;
  /** Serving it: rejects with what it failed with. */
  readonly served: Promise<unknown>;
}

/** An inbound whose clients are the test. */
export interface Inbound {
  readonly accounts?: AcceptedAccounts | undefined;
  connect(ends: Pick<Carrier, 'remote' | 'local'>, user: User): ClientEnd | Promise<ClientEnd>;
  /** An association of its own, where datagrams are not sent over a connection: each `write` is one, and each chunk. */
  associate?(user: User): Promise<ClientEnd>;
  /** Lets its network go on, for less than SLACK_MS. */
  settle?(): Promise<void>;
  /** Ends the connections of its clients, in their time. */
  close?(): Promise<void>;
}

/** One protocol: what its clients send, and what they may expect. */
export interface InboundHarness {
  create(users: readonly User[], context: InboundContext): InboundHandler | Inbound;
  /** Whether its listener owns its sessions, of which a connection is a stream; or else it serves accepted carriers. */
  readonly ownsSessions?: boolean;
  /** The label of a user's flows; left out where clients have no accounts. */
  readonly label?: (user: User) => string | undefined;
  /** Whether it serves every client when it is given no users. */
  readonly isOpenWithoutUsers?: boolean;
  /**
   * @param seed of what is random, so that no two clients send the same.
   * @returns `undefined` where the protocol cannot name that destination.
   */
  client(user: User, destination: Target, seed: string): InboundClient | undefined;
  /** The end of a client that is rejected. */
  readonly rejected: Ending;
  /** The end of a client that has sent that many bytes of its request; as that of a rejected one where left out,
   * and none where nobody sees it. */
  readonly stopped?: (sent: number) => Ending | undefined;
  /** The end of one whose destination has an invalid name; as `rejected` where left out. */
  readonly invalidName?: Ending;
  /** What else is rejected. */
  readonly rejections: readonly Rejection[];
  /** What a client receives when its destination is not reached, before its end; left out where it is reset. */
  readonly refusal?: (code: DialErrorCode) => Uint8Array | RegExp;
  /** Whether the connection stays for another request then. */
  readonly staysAfterRefusal?: boolean;
  /** Bytes that the first segment has to have. */
  readonly atOnce?: number;
  /** Whether all that the client sends is authenticated, and none of it accepted twice. */
  readonly sealed?: boolean;
  /** Runs of the property of any bytes; 40 where left out. */
  readonly runs?: number;
  /** Whether there is padding among that which is not authenticated. */
  readonly padded?: boolean;
  /** Bytes of a request by which its sender is authenticated, where it begins with them. */
  readonly secret?: number;
  readonly datagrams?: DatagramHarness;
}
