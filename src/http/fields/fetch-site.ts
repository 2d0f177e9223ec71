/**
 * Whether a `Sec-Fetch-Site` header (Fetch Metadata Request Headers, W3C) has a request made by a page of the same
 * origin, by the user, or by a program, which sends none. Browsers send it to loopback with every request, also with
 * those that have no `Origin`: `no-cors` reads, images, frames.
 */
export const isOwnSite = (site: string | readonly string[] | undefined): boolean =>
  site === undefined || site === 'same-origin' || site === 'none';
