import { readFileSync } from 'node:fs';

/** The bytes of a file that lies beside the bundle. */
export const readAsset = (name: string): Uint8Array<ArrayBuffer> =>
  readFileSync(new URL(name, import.meta.url));
