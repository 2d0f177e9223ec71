import { createHash } from 'node:crypto';
import { PASSWORD } from '../../support/ways/secrets.ts';

/** A request of the Trojan protocol for a TCP port of this machine, in hex. */
export function trojanRequest(port: number): string {
  const key = createHash('sha224').update(PASSWORD).digest('hex');
  const address = Buffer.from([1, 127, 0, 0, 1, port >> 8, port & 0xff]);
  const parts = [Buffer.from(`${key}\r\n\x01`), address, Buffer.from('\r\n')];
  return Buffer.concat(parts).toString('hex');
}
