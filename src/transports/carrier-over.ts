import type { ByteLink, Carrier } from '../net/links/link.ts';

/** A carrier by a link over that of another carrier. */
export const carrierOver = (below: Carrier, link: ByteLink, wire = below.wire): Carrier => ({
  link,
  wire,
  remote: below.remote,
  get local() {
    return below.local;
  },
});
