import type { ByteLink } from '@weir/io/links';
import { systemClock } from '@weir/io/time';
import { createDialer } from '@weir/proxy/transports';
import { portOf, type Address } from '../data/address.ts';
import { loopback } from '../links/carriers.ts';
import { ID } from '../ways/secrets.ts';
import { MuxClient } from './mux-client.ts';

/** A client of Mux.Cool in VLESS, whose response header is read with the first data. */
export async function muxOver(server: Address) {
  const dialer = createDialer({ host: '127.0.0.1', port: portOf(server) }, undefined, {
    resolver: loopback,
    family: 'auto',
    clock: systemClock,
  });
  const { link } = await dialer.dial({ signal: new AbortController().signal });
  const request = [Buffer.of(0), Buffer.from(ID.replaceAll('-', ''), 'hex'), Buffer.of(0, 3)];
  await link.write(Buffer.concat(request));
  let isFirst = true;
  const read = async (signal?: AbortSignal): Promise<Uint8Array | undefined> => {
    const chunk = await link.read(signal);
    const rest = isFirst ? chunk?.subarray(2) : chunk;
    isFirst = false;
    return rest;
  };
  const behind: ByteLink = {
    read,
    unread: (chunk) => link.unread(chunk),
    write: (chunk) => link.write(chunk),
    writeOutput: (chunks) => link.writeOutput(chunks),
    closeWrite: () => link.closeWrite(),
    destroy: (cause) => link.destroy(cause),
    resetAfterData: (cause) => link.resetAfterData(cause),
    closed: link.closed,
  };
  return { client: new MuxClient(behind), link: behind };
}
