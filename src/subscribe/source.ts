/** Where nodes are fetched from. */
export interface Source {
  /** See `isSourceName`. */
  readonly name: string;
  /** `http:` or `https:`; a secret. */
  readonly url: string;
  /** The outbound that it is fetched through; directly without one. */
  readonly outbound?: string | undefined;
  /** Providers choose the format of their answer by it. */
  readonly userAgent?: string | undefined;
  /** Seconds between updates; what the provider asks for without it, else `DEFAULT_INTERVAL`. */
  readonly interval?: number | undefined;
  /** Bytes of the largest answer. */
  readonly maxSize?: number | undefined;
  /** Seconds that a fetch may take. */
  readonly timeout?: number | undefined;
}

/** Seconds between updates when neither the source nor its provider says otherwise. */
export const DEFAULT_INTERVAL = 24 * 3600;
export const LEAST_INTERVAL = 60;
export const MOST_INTERVAL = 366 * 24 * 3600;

/** Bytes of an answer; lists of hundreds of nodes with rules have about one million. */
export const DEFAULT_MAX_SIZE = 4 * 1024 * 1024;
/** What `weir import` reads at most. */
export const MOST_MAX_SIZE = 16 * 1024 * 1024;

export const DEFAULT_TIMEOUT = 30;
export const MOST_TIMEOUT = 600;

/** Sources of one subscribe file. */
export const MOST_SOURCES = 64;

/** Nodes of one source. */
export const MOST_NODES = 10_000;

/** The host of a source's URL with its port: all of it that may be shown. */
export function hostOf({ url }: Pick<Source, 'url'>): string {
  return URL.parse(url)?.host ?? '';
}
