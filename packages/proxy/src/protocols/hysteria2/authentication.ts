import { type HttpField, valueOf } from '@weir/http/fields';
import { hash, timingSafeEqual } from 'node:crypto';
import type { RandomSource } from '@weir/base/random';
import type { Http3Request, Http3ResponseHead } from '@weir/http/http3';
import type { Steps } from '@weir/io/time';
import type { AcceptedAccounts } from '../users/accounts.ts';
import { padding, PADDING_RANGES } from './wire.ts';

/** The status of a successful authentication. */
export const AUTHENTICATED = 233;

const AUTHORITY = 'hysteria';
const PATH = '/auth';

/** The terms that a server announces to an authenticated client. */
export interface ServerTerms {
  readonly udp: boolean;
  /**
   * The rate at which the server wants to receive, in bytes per second; 0 for no limit, `auto` to have it estimated.
   */
  readonly receiveRate: number | 'auto';
}

/** The fields of a client's authentication request. */
export interface ClientStatement {
  /** The client's credential; latin1, one character per byte. */
  readonly auth: string;
  /** The rate at which the client receives, in bytes per second; 0 when it states none. */
  readonly receiveRate: number;
}

/** Whether a request is an authentication: POST to `hysteria`, `/auth`. */
export const isAuthentication = ({ method, authority, path }: Http3Request): boolean =>
  method === 'POST' && authority === AUTHORITY && path.split('?', 1)[0] === PATH;

/** Returns the request of a client that states no rate; the fields are in the order of the reference. */
export const authenticationRequest = (auth: string, random: RandomSource): Http3Request => ({
  method: 'POST',
  scheme: 'https',
  authority: AUTHORITY,
  path: PATH,
  fields: [
    paddingField(random),
    { name: 'hysteria-auth', value: Buffer.from(auth).toString('latin1') },
    { name: 'hysteria-cc-rx', value: '0' },
    { name: 'content-length', value: '0' },
  ],
});

/** Decodes a client's request; missing fields are empty and 0. */
export const readAuthentication = ({ fields }: Http3Request): ClientStatement => ({
  auth: valueOf(fields, 'hysteria-auth') ?? '',
  receiveRate: rateOf(fields),
});

/** Returns the response to a successful authentication, which has no body. */
export const authenticationResponse = (
  { udp, receiveRate }: ServerTerms,
  random: RandomSource,
): Http3ResponseHead => ({
  status: AUTHENTICATED,
  fields: [
    { name: 'hysteria-udp', value: String(udp) },
    { name: 'hysteria-cc-rx', value: String(receiveRate) },
    paddingField(random),
  ],
});

/** The spellings of true in Go's `strconv.ParseBool`, which the reference uses for this field. */
const TRUE: ReadonlySet<string | undefined> = new Set(['1', 't', 'T', 'true', 'True', 'TRUE']);

/** Decodes the server's response, whose status is AUTHENTICATED. */
export const readTerms = ({ fields }: Http3ResponseHead): ServerTerms => ({
  udp: TRUE.has(valueOf(fields, 'hysteria-udp')),
  receiveRate: valueOf(fields, 'hysteria-cc-rx') === 'auto' ? 'auto' : rateOf(fields),
});

const paddingField = (random: RandomSource): HttpField => ({
  name: 'hysteria-padding',
  value: padding(PADDING_RANGES.authentication, random).toString('latin1'),
});

/** Decodes a rate. One beyond the safe integers is clamped, since it limits nothing. */
function rateOf(fields: readonly HttpField[]): number {
  const text = valueOf(fields, 'hysteria-cc-rx') ?? '';
  return /^[0-9]+$/.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : 0;
}

/** A user of an inbound; the credential that its clients send is `user:pass`. */
export interface Hysteria2User {
  readonly user: string;
  readonly pass: string;
  /** The label of the user's flows. */
  readonly label: string;
}

/** The credentials of an inbound: one password for all clients, or users. */
export type Hysteria2Credentials =
  | { readonly password: string }
  | { readonly users: readonly Hysteria2User[] };

interface Secret {
  readonly digest: Buffer;
  readonly label: string;
}

const DIGEST_BYTES = 32;
/** Compared against when the user is unknown, so that the comparison takes as long as for a wrong password. */
const NO_SECRET: Secret = { digest: Buffer.alloc(DIGEST_BYTES), label: '' };
const PRINTABLE = /^[\x20-\x7e]+$/;

/**
 * Compares digests of credentials in constant time, which reveals neither which part is wrong nor
 * how much of it. Credentials that are not printable ASCII never match.
 */
export class Authenticator implements AcceptedAccounts {
  readonly #password: Secret | undefined;
  readonly #users = new Map<string, Secret>();

  private constructor(password: string | undefined) {
    this.#password = password === undefined ? undefined : secretOf(password, '');
  }

  /** Creates the authenticator in steps, since the number of users is unlimited. */
  static *of(credentials: Hysteria2Credentials): Steps<Authenticator> {
    if ('password' in credentials) return new Authenticator(credentials.password);
    const made = new Authenticator(undefined);
    for (const { user, pass, label } of credentials.users) {
      if (PRINTABLE.test(user)) made.#users.set(lowerAscii(user), secretOf(pass, label));
      yield;
    }
    return made;
  }

  /**
   * Checks the credential of a client: the password, or `user:pass`, divided at the first colon, with the
   * user in ASCII letters of any case.
   * @returns the user's label, empty with one password for all; `undefined` for a wrong credential.
   */
  authenticate(auth: string): string | undefined {
    const colon = this.#password === undefined ? auth.indexOf(':') : -1;
    const user = lowerAscii(auth.slice(0, Math.max(0, colon)));
    const secret = this.#password ?? (colon < 0 ? undefined : this.#users.get(user)) ?? NO_SECRET;
    const matches = timingSafeEqual(digestOf(auth.slice(colon + 1)), secret.digest);
    return matches ? secret.label : undefined;
  }

  /** Returns the server's record of an authenticated client's credential: a digest, then `:` and the user. */
  credentialOf(auth: string): string {
    const colon = this.#password === undefined ? auth.indexOf(':') : -1;
    const digest = digestOf(auth.slice(colon + 1)).toString('latin1');
    return colon < 0 ? digest : `${digest}:${lowerAscii(auth.slice(0, colon))}`;
  }

  accepts(credential: string): boolean {
    const hasUser = credential.length > DIGEST_BYTES;
    const secret = hasUser ? this.#users.get(credential.slice(DIGEST_BYTES + 1)) : this.#password;
    const digest = Buffer.from(credential.slice(0, DIGEST_BYTES), 'latin1');
    return secret !== undefined && timingSafeEqual(secret.digest, digest);
  }
}

const digestOf = (latin1: string): Buffer =>
  hash('sha256', Buffer.from(latin1, 'latin1'), 'buffer');

const secretOf = (text: string, label: string): Secret =>
  PRINTABLE.test(text) ? { digest: digestOf(text), label } : NO_SECRET;

const lowerAscii = (text: string): string =>
  text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
