import { CodedError, type WeirErrorOptions, WeirError } from '@weir/base';
import { printable } from '@weir/base/printable';
import type { Endpoint } from '@weir/io/addresses';
import type { DialTimes } from '@weir/io';
import type { ByteLink } from '@weir/io/links';

/** A GET or HEAD request for a document, with the limits of its response. */
export interface FetchRequest {
  /** `http:` or `https:`. User information becomes basic credentials for this host alone. */
  readonly url: string;
  readonly method?: 'GET' | 'HEAD' | undefined;
  /**
   * Headers that replace those of the client, in any case. A redirection to another host drops all but a few
   * that cannot be secret (`User-Agent`, `Accept`, conditions).
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds for the whole fetch, including redirections. */
  readonly timeoutMs: number;
  /** Maximum bytes of the decoded body. */
  readonly maxBytes: number;
}

/** A response of any status except a redirection that was followed. */
export interface FetchedDocument {
  readonly status: number;
  /** Headers by lower-case name; values of repeated fields are joined by `, `. Latin-1 text, as received. */
  readonly headers: ReadonlyMap<string, string>;
  /** The decoded body; empty for HEAD. */
  readonly body: Uint8Array;
  /** The URL after redirections, without user information. It may contain secrets and must not be printed. */
  readonly url: string;
}

/**
 * Fetches a document.
 *
 * @throws {FetchError} Aborting `signal` rejects with its reason.
 */
export type Fetch = (request: FetchRequest, signal?: AbortSignal) => Promise<FetchedDocument>;

/**
 * The kind of a failed fetch.
 *
 * - `url`: not an HTTP URL, or a header that cannot be sent
 * - `dial`: the host was not reached: its name, its address or the outbound towards it
 * - `tls`: the handshake failed, or the certificate is not trusted
 * - `timeout`: it took longer than the limit
 * - `too_large`: the body exceeds the limit
 * - `redirect`: too many redirections, or one that is not followed
 * - `protocol`: the response is not valid HTTP, or is truncated
 */
export type FetchErrorCode =
  | 'url'
  | 'dial'
  | 'tls'
  | 'timeout'
  | 'too_large'
  | 'redirect'
  | 'protocol';

/** Longer reasons are truncated: parts of them may come from the server. */
const LONGEST_REASON = 300;

/**
 * A failed fetch. The message is one line, `HOST: reason`, and never has more of the URL than its host, since paths,
 * queries and user information of subscriptions are secrets.
 */
export class FetchError extends CodedError<FetchErrorCode> {
  /** @param host with its port if it is not the default one; `undefined` when there is none */
  constructor(
    code: FetchErrorCode,
    host: string | undefined,
    reason: string,
    options?: WeirErrorOptions,
  ) {
    const text = printable(
      reason.length > LONGEST_REASON ? `${reason.slice(0, LONGEST_REASON)}…` : reason,
    );
    super(code, host === undefined ? text : `${printable(host)}: ${text}`, options);
  }
}

/** A flow opened through a named outbound, bypassing the rules. Its owner destroys the link. */
export interface OpenedFlow {
  readonly link: ByteLink;
  /** Tag of the outbound; for a balancer, that of the member it has picked. */
  readonly outbound: string;
  readonly times: DialTimes;
  /** See `Outbound.suspect`; `undefined` also where it is not known here. */
  readonly suspect: string | undefined;
}

/** An outbound failed to open a flow; the message is the reason. */
export class FlowError extends WeirError {
  /** Times of the steps that were completed. */
  readonly times: DialTimes;

  constructor(message: string, times: DialTimes, options?: WeirErrorOptions) {
    super('flow', printable(message), options);
    this.times = times;
  }
}

/** Opens flows through the outbounds of one configuration. */
export interface OutboundFlows extends AsyncDisposable {
  /**
   * @param outbound tag of an outbound, or of a balancer
   * @throws {FlowError} when opening has failed; waiting for it ends with `signal`
   */
  open(outbound: string, target: Endpoint, signal: AbortSignal): Promise<OpenedFlow>;
}
