import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { ipVersion } from '../../net/addresses/address.ts';
import { normalizeHost, normalizeDomain } from '../../net/addresses/host-name.ts';

/** Addresses by canonical name, of both families. */
export type HostsTable = ReadonlyMap<string, readonly string[]>;

/** Addresses of one name that are kept. */
const MAX_ADDRESSES = 32;
const BLANKS = /[ \t]+/;

/**
 * Reads hosts(5). A name on several lines has the addresses of all of them; lines that do not start
 * with an address are skipped. Long files are read in pieces, so that other work continues.
 *
 * @throws {Error} when the stream fails.
 */
export async function readHosts(file: Readable): Promise<HostsTable> {
  const table = new Map<string, string[]>();
  // readline ends its lines without an error when the stream fails.
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
      const name = normalizeDomain(each);
      if (name === undefined) continue;
      const known = table.get(name);
      if (!known) table.set(name, [address]);
      else if (known.length < MAX_ADDRESSES && !known.includes(address)) known.push(address);
    }
  }
  if (failure) throw failure;
  return table;
}
