import type { FileHandle } from 'node:fs/promises';
import { realpath, stat } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import { codeOf, messageOf, WeirError } from '@weir/base';
import type { LocalExchange } from '@weir/server/local-http';
import { openRegularFile } from '@weir/io/files';

/** Maximum bytes of a dashboard's file; the largest have a few megabytes. */
const MAX_FILE = 32 << 20;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
  '.gif': 'image/gif',
  '.ico': 'image/x-icon',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.ttf': 'font/ttf',
  '.wasm': 'application/wasm',
  '.txt': 'text/plain; charset=utf-8',
  '.map': 'application/json',
};

const HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-cache',
};

/**
 * Serves the files of a dashboard below `/ui/`. No file outside the directory is served, even through a symbolic link
 * in it.
 */
export class StaticFiles {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Opens a directory. @throws {WeirError} unless it exists */
  static async of(folder: string): Promise<StaticFiles> {
    try {
      const real = await realpath(folder);
      if ((await stat(real)).isDirectory()) return new StaticFiles(real);
    } catch (error) {
      throw new WeirError('ui', `--ui ${folder}: ${messageOf(error)}`, { cause: error });
    }
    throw new WeirError('ui', `--ui ${folder}: it is not a folder`);
  }

  /** Serves a file. @param parts decoded segments of the path below `/ui` */
  async serve(exchange: LocalExchange, parts: readonly string[]): Promise<void> {
    const { method, path } = exchange;
    if (method !== 'GET' && method !== 'HEAD') {
      exchange.send(405, '', { Allow: 'GET, HEAD' });
      return;
    }
    if (parts.length === 0 && !path.endsWith('/')) {
      exchange.send(307, '', { Location: '/ui/' });
      return;
    }
    const found = await this.#read(parts, path.endsWith('/'));
    if (!found) {
      exchange.send(404, '404 page not found\n', { 'Content-Type': 'text/plain; charset=utf-8' });
      return;
    }
    const type = TYPES[extname(found.name).toLowerCase()] ?? 'application/octet-stream';
    exchange.send(200, found.bytes, { ...HEADERS, 'Content-Type': type });
  }

  async #read(
    parts: readonly string[],
    isFolder: boolean,
  ): Promise<{ readonly name: string; readonly bytes: Uint8Array } | undefined> {
    if (!parts.every(isPlain)) return undefined;
    const name = join(this.#folder, ...parts, ...(isFolder ? ['index.html'] : []));
    try {
      const real = await realpath(name);
      if (!real.startsWith(this.#folder + sep)) return undefined;
      await using file = await openRegularFile(real);
      const bytes = await contentOf(file);
      return bytes && { name: real, bytes };
    } catch (error) {
      // The path does not exist, is not a file, or is not readable for this user.
      if (codeOf(error) !== undefined) return undefined;
      throw error;
    }
  }
}

/** Whether a segment is the name of a directory entry, and not hidden. */
const isPlain = (part: string): boolean =>
  part !== '' && !part.startsWith('.') && !/[/\\\0]/.test(part);

async function contentOf(file: FileHandle): Promise<Uint8Array | undefined> {
  const { size } = await file.stat();
  return size > MAX_FILE ? undefined : file.readFile();
}
