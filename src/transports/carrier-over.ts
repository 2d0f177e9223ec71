import type { ByteLink, Carrier } from '../net/links/link.ts';

/** A carrier by a link over that of another carrier. */
export const carrierOver = (below: Carrier, link: ByteLink, wire = below.wire): Carrier => ({
  link,
  wire,
  remote: below.remote,
  // Read on demand: below, it may cost a system call, which most carriers never need.
  get local() {
    return below.local;
  },
});
