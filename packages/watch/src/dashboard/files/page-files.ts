import { type LocalExchange, LocalHttpError } from '@weir/server/local-http';

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

type PageEncoding = 'br' | 'gzip' | 'identity';

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

const IMMUTABLE = 'public, max-age=31536000, immutable';
/** Caches may store the response, and revalidate it at each use. */
const REVALIDATE = 'no-cache';

/** Responds with a file of the page. @throws {LocalHttpError} 404 */
export async function respondFile(exchange: LocalExchange, files: PageFiles): Promise<void> {
  const file = await files.get(exchange.path);
  if (!file) throw new LocalHttpError(404, 'not-found', 'there is no such file');
  const headers = {
    'Content-Type': file.type,
    'Cache-Control': file.immutable ? IMMUTABLE : REVALIDATE,
    ETag: file.etag,
    Vary: 'Accept-Encoding',
  };
  if (exchange.headers['if-none-match'] === file.etag) {
    exchange.send(304, '', headers);
    return;
  }
  const encoding = chooseEncoding(exchange.headers['accept-encoding'], file);
  const more = encoding === 'identity' ? {} : { 'Content-Encoding': encoding };
  exchange.send(200, file.bodies.get(encoding), { ...headers, ...more });
}

/** The best content encoding that the client accepts; q-values other than 0 are not compared. */
export function chooseEncoding(
  accepted: string | string[] | undefined,
  { bodies }: Pick<PageFile, 'bodies'>,
): PageEncoding {
  const header = String(accepted ?? '').slice(0, 1000);
  const names = new Set(
    header
      .split(',')
      .map((part) => part.split(';').map((piece) => piece.trim().toLowerCase()))
      .filter(([, quality]) => !/^q=0(?:\.0{1,3})?$/.test(quality ?? ''))
      .map(([name]) => name),
  );
  const found = (['br', 'gzip'] as const).find((name) => bodies.has(name) && names.has(name));
  return found ?? 'identity';
}
