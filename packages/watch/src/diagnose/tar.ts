/** A file of an archive. */
export interface TarFile {
  /** Up to 100 ASCII characters, with `/` between directories. */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** Permission bits; 0600 by default, for the user who unpacks it only. */
  readonly mode?: number;
}

const BLOCK = 512;
const MAX_PATH = 100;
/** The largest number of eleven octal digits. */
const MAX_SIZE = 0o77_777_777_777;

const FILE_MODE = 0o600;

/**
 * An archive in the ustar format of POSIX.1-1988 (pax(1), "ustar Interchange Format"): regular files without an owner.
 *
 * @param at the modification time of all files, in Unix milliseconds
 * @throws {RangeError} for a path or a size that the format does not support
 */
export function tarArchive(files: readonly TarFile[], at: number): Buffer {
  const parts = files.flatMap(({ path, bytes, mode = FILE_MODE }) => {
    const padding = Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK);
    return [header({ path, size: bytes.length, mode }, at), bytes, padding];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

interface Entry {
  readonly path: string;
  /** Size in bytes. */
  readonly size: number;
  readonly mode: number;
}

function header({ path, size, mode }: Entry, at: number): Buffer {
  if (path.length > MAX_PATH || !/^[\x21-\x7e]+$/.test(path)) {
    throw new RangeError(`${JSON.stringify(path)} cannot be the name of a file in the archive`);
  }
  if (size > MAX_SIZE) throw new RangeError(`${path} is too long for the archive`);
  const block = Buffer.alloc(BLOCK);
  block.write(path, 0, 'latin1');
  block.write(octal(mode, 7), 100);
  block.write(octal(0, 7), 108); // uid
  block.write(octal(0, 7), 116); // gid
  block.write(octal(size, 11), 124);
  block.write(octal(Math.floor(at / 1000), 11), 136);
  block.write(' '.repeat(8), 148); // the checksum field counts as spaces in its own sum
  block.write('0', 156);
  block.write('ustar\x0000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');
