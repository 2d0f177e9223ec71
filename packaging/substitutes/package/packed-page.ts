import { brotliDecompressSync } from 'node:zlib';
import type {
  PageFile,
  PageFiles,
} from '../../../packages/watch/src/dashboard/files/page-files.ts';

/** The name of the asset with the page. */
export const PACKED_PAGE = 'dashboard-page.json';

export type PackedPage = readonly PackedFile[];

export interface PackedFile {
  readonly path: string;
  readonly type: string;
  readonly etag: string;
  readonly immutable: boolean;
  /** Compressed, in Base64. */
  readonly br: string;
  readonly gzip: string;
}

/** The files as the server of the dashboard takes them. */
export function filesOf(page: PackedPage): PageFiles {
  const files = new Map(page.map((file) => [file.path, unpack(file)]));
  return { get: async (path) => files.get(path), scriptHashes: [] };
}

function unpack({ type, etag, immutable, br, gzip }: PackedFile): PageFile {
  const best = Buffer.from(br, 'base64');
  const bodies = new Map([
    ['br', best],
    ['gzip', Buffer.from(gzip, 'base64')],
    // For clients without compression, such as scripts.
    ['identity', brotliDecompressSync(best)],
  ] as const);
  return { type, etag, immutable, bodies };
}
