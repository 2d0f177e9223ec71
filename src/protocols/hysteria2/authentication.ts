import type { RandomSource } from '../../crypto/random-source.ts';
import type { RequestHead, ResponseHead } from '../../http3/message.ts';

/** The status of a successful authentication. */
export const AUTHENTICATED = 233;

/** What a server says about itself to an authenticated client. */
export interface ServerTerms {
  readonly udp: boolean;
  /** The rate it wants to receive, in bytes a second; 0 without a limit, `auto` to estimate it. */
  readonly receiveRate: number | 'auto';
}

/** Whether a request is for the authentication: POST to `hysteria`, `/auth`. */
export declare function isAuthentication(request: RequestHead): boolean;

/** The authentication of a client that states no rate. */
export declare function authenticationRequest(auth: string, random: RandomSource): RequestHead;

/** What a client states: its credential, and the rate in bytes a second that it receives, 0 for none. */
export declare function readAuthentication(request: RequestHead): {
  readonly auth: string;
  readonly receiveRate: number;
};

/** The response to a successful authentication. */
export declare function authenticationResponse(
  terms: ServerTerms,
  random: RandomSource,
): ResponseHead;

/** What the server says, when the status is AUTHENTICATED. */
export declare function readTerms(response: ResponseHead): ServerTerms;

/** The credentials of an inbound: one password for all clients, or users. */
export type Credentials =
  | { readonly password: string }
  | {
      readonly users: readonly {
        readonly user: string;
        readonly pass: string;
        readonly label: string;
      }[];
    };

/** Compares credentials in a time that does not depend on which part is wrong. */
export declare class Authenticator {
  constructor(credentials: Credentials);
  /** The label of the user: empty with one password for all. `undefined` for a wrong credential. */
  authenticate(auth: string): string | undefined;
}
