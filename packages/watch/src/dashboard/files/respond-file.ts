import { type LocalExchange, LocalHttpError } from '@weir/server/local-http';
import type { PageEncoding, PageFile, PageFiles } from './page-files.ts';

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
