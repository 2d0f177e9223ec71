import { getRawAsset } from 'node:sea';

/** The bytes of a file in the executable, not copied: they must not be written to. */
export const readAsset = (name: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(getRawAsset(name));
