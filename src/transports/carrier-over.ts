import type { ByteLink, Carrier } from '../net/links/link.ts';

/** Creates a carrier whose link runs over that of the carrier `below`. */
export const carrierOver = (below: Carrier, link: ByteLink, wire = below.wire): Carrier => ({
  link,
  wire,
  remote: below.remote,
  // Read on demand: it may cost a system call, which most carriers never need.
  get local() {
    return below.local;
  },
});
