import { WeirError, type WeirErrorOptions } from '@weir/base';

/** A source of nodes. */
export interface Source {
  /** See `isSourceName`. */
  readonly name: string;
  /** `http:` or `https:`; a secret. */
  readonly url: string;
  /** The outbound that it is fetched through; without one it is fetched directly. */
  readonly outbound?: string | undefined;
  /** The `User-Agent` of requests; providers choose the format of their response by it. */
  readonly userAgent?: string | undefined;
  /** Update interval in seconds; by default the provider's, otherwise `DEFAULT_INTERVAL`. */
  readonly interval?: number | undefined;
  /** Maximum bytes of a response. */
  readonly maxSize?: number | undefined;
  /** Time limit of a fetch, in seconds. */
  readonly timeout?: number | undefined;
}

/** Update interval in seconds when neither the source nor its provider specifies one. */
export const DEFAULT_INTERVAL = 24 * 3600;
export const LEAST_INTERVAL = 60;
export const MOST_INTERVAL = 366 * 24 * 3600;

/** Default maximum bytes of a response; lists of hundreds of nodes with rules have about one million. */
export const DEFAULT_MAX_SIZE = 4 * 1024 * 1024;
/** The limit of `weir import`, in bytes. */
export const MOST_MAX_SIZE = 16 * 1024 * 1024;

export const DEFAULT_TIMEOUT = 30;
export const MOST_TIMEOUT = 600;

/** Maximum number of sources of a subscribe file. */
export const MOST_SOURCES = 64;

/** Maximum number of nodes of a source. */
export const MOST_NODES = 10_000;

/** The host of a source's URL with its port, the only part that may be shown. */
export function hostOf({ url }: Pick<Source, 'url'>): string {
  return URL.parse(url)?.host ?? '';
}

/** A failed command about sources; the message is for users and has no secrets. */
export class SubscribeError extends WeirError {
  constructor(message: string, options?: WeirErrorOptions) {
    super('subscribe', message, options);
  }
}

/** An unusable response of a source, whose nodes are left unchanged. The message is the reason. */
export class RefusedAnswerError extends WeirError {
  constructor(message: string, options?: WeirErrorOptions) {
    super('refused_answer', message, options);
  }
}
