/** A file of the page. */
export interface PageFile {
  readonly type: string;
  /** Changes whenever the content does. */
  readonly etag: string;
  /** Whether the content of this path never changes. */
  readonly immutable: boolean;
  /** By content encoding, `identity` always among them. */
  readonly bodies: ReadonlyMap<PageEncoding, Uint8Array>;
}

export type PageEncoding = 'br' | 'gzip' | 'identity';

/** The files of the page by request path; any other path is not found. */
export interface PageFiles {
  readonly get: (path: string) => Promise<PageFile | undefined>;
  /** Hashes of the scripts in the document, for its Content-Security-Policy: `sha256-…`. */
  readonly scriptHashes: readonly string[];
}

/** Content types by file name extension. */
export const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.ts': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
};
