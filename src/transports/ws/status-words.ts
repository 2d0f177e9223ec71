import { shownForeign } from '../../net/addresses/shown-address.ts';

const MEANINGS: Readonly<Record<number, string>> = {
  200: 'it is a web server, or the path is one of its pages',
  400: 'it takes the request for no upgrade; a proxy before it may not pass upgrades on',
  401: 'a web server before it requires a password',
  403: 'a web server before it forbids the path',
  404: 'path and host have to be those of the server',
  426: 'it requires another protocol at this path',
  502: 'a web server before it cannot reach the proxy behind',
  503: 'a web server before it cannot reach the proxy behind',
  504: 'a web server before it cannot reach the proxy behind',
};

const LONGEST_LOCATION = 200;

/**
 * Describes a response that does not upgrade, and its likely cause.
 * @param location the target of a redirect.
 */
export function statusInWords(statusCode: number, location: string | undefined): string {
  const status = `the server responded with HTTP status ${statusCode}`;
  if (statusCode >= 300 && statusCode < 400 && location !== undefined) {
    const where = shownForeign(JSON.stringify(location.slice(0, LONGEST_LOCATION)));
    const advice = /^https:/i.test(location) ? '; security = "tls" may be missing' : '';
    return `${status} (it redirects to ${where}${advice})`;
  }
  const meaning = MEANINGS[statusCode];
  return meaning === undefined ? status : `${status} (${meaning})`;
}
