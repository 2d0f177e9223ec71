/**
 * Tells whether a `Sec-Fetch-Site` header (Fetch Metadata Request Headers, W3C) belongs to a request by a page of the same
 * origin, by the user, or by a program, which sends no such header. Browsers send it to loopback with every request,
 * including requests without `Origin`: `no-cors` reads, images, frames.
 */
export const isOwnSite = (site: string | readonly string[] | undefined): boolean =>
  site === undefined || site === 'same-origin' || site === 'none';
