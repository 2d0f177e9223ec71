import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { ipVersion } from '../net/address.ts';
import { normalizeHost } from '../net/host-name.ts';
import { canonicalName } from './names.ts';

/** Addresses by canonical name, of both families. */
export type HostsTable = ReadonlyMap<string, readonly string[]>;

/** Addresses of one name that are kept. */
const MAX_ADDRESSES = 32;
const BLANKS = /[ \t]+/;

/**
 * Reads hosts(5). Names on several lines have the addresses of all of them; lines without an address
 * in front are passed over. Long lists are read piece by piece, so that other work goes on.
 *
 * @throws {Error} when the stream fails.
 */
export async function readHosts(file: Readable): Promise<HostsTable> {
  const table = new Map<string, string[]>();
  // A failure of the stream ends the lines without an error of theirs.
  let failure: Error | undefined;
  file.on('error', (error) => (failure = error));
  for await (const line of createInterface({ input: file, crlfDelay: Infinity })) {
    const comment = line.indexOf('#');
    const text = comment < 0 ? line : line.slice(0, comment);
    const [written = '', ...names] = text.trim().split(BLANKS);
    if (ipVersion(written) === 0) continue;
    const address = normalizeHost(written);
    if (address === undefined) continue;
    for (const each of names) {
      const name = canonicalName(each);
      if (name === undefined) continue;
      const known = table.get(name);
      if (!known) table.set(name, [address]);
      else if (known.length < MAX_ADDRESSES && !known.includes(address)) known.push(address);
    }
  }
  if (failure) throw failure;
  return table;
}
