import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { a } from '../peers/dns-server.ts';
import { namesOverUdp } from '../peers/names-over-udp.ts';

/*
 * The far end of the flows of `BusyWeir`, a process of its own: an origin at every address of this host, which sends
 * as many bytes as each four bytes of a client ask for, and a DNS server that has an address in 127/8 for every name.
 */

const ZEROS = Buffer.alloc(1 << 20);
const ASK = 4;
/** Long enough that names are asked for once. */
const TTL_SECONDS = 86_400;

process.on('disconnect', () => process.exit());

function serve(socket: Socket): void {
  let rest: Buffer = Buffer.alloc(0);
  socket
    .on('error', () => undefined)
    .on('data', (chunk: Buffer) => {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      for (; rest.length >= ASK; rest = rest.subarray(ASK)) {
        socket.write(ZEROS.subarray(0, Math.min(rest.readUInt32BE(), ZEROS.length)));
      }
    });
}

/** The same for a name each time; few names share one. */
function addressOf(name: string): string {
  let hash = 0;
  for (let at = 0; at < name.length; at++) hash = (Math.imul(hash, 31) + name.charCodeAt(at)) | 0;
  return `127.${1 + ((hash >>> 16) & 63)}.${(hash >>> 8) & 255}.${1 + ((hash & 255) % 254)}`;
}

const origin = createServer({ noDelay: true }, serve).listen(0, '0.0.0.0', 4096);
const listening = once(origin, 'listening');
const names = await namesOverUdp((name, type) => ({
  answers: type === 'A' ? [a(name, addressOf(name), TTL_SECONDS)] : [],
}));
await listening;
process.send?.({ port: (origin.address() as AddressInfo).port, dns: names.port });
