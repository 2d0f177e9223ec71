import { domainName } from './domain-name.ts';
import { MORE, NO_NAME, type Sniffed } from './sniffed.ts';

/**
 * Methods have the form of the registered ones (IANA: capital letters and hyphens, 17 at most; they
 * are case-sensitive, RFC 9110 §9.1), so that small letters of another protocol are let through at
 * once. A target is anything visible, raw UTF-8 included.
 */
const REQUEST_LINE = /^([A-Z][A-Z-]{0,19}) +([!-~\u0080-\u00ff]+) +HTTP\/1\.[0-9]\r?$/;
/** The same, cut off at any character. */
const REQUEST_LINE_PART = /^([A-Z][A-Z-]{0,19})(?: +([!-~\u0080-\u00ff]*)(?: +([!-~]*\r?))?)?$/;
const VERSION = /^HTTP\/1\.[0-9]\r?$/;

/** RFC 9112 §3.2: origin, absolute and asterisk form; only CONNECT has the authority form. */
const TARGET_STARTS = ['/', 'http://', 'https://', '*'];
const AUTHORITY = /^https?:\/\/([^/?#]*)/i;

/**
 * The host of an HTTP/1 request (RFC 9112 §3.2): of its target in absolute form, else of its Host
 * field.
 */
export function sniffHttp(bytes: Uint8Array): Sniffed {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const lines = text.split('\n');
  const partial = lines.pop() ?? '';
  const [requestLine, ...fields] = lines;
  if (requestLine === undefined) return canBecomeRequestLine(partial) ? MORE : NO_NAME;

  const [, method = '', target] = REQUEST_LINE.exec(requestLine) ?? [];
  if (target === undefined || !canBeTarget(method, target)) return NO_NAME;
  const authority = AUTHORITY.exec(target)?.[1];
  if (authority !== undefined) return named(authority.slice(authority.lastIndexOf('@') + 1));
  return hostField(fields);
}

/** Decides early: what is not HTTP must not wait for a line end that never comes. */
function canBecomeRequestLine(line: string): boolean {
  const match = REQUEST_LINE_PART.exec(line);
  if (!match) return false;
  const [, method = '', target = '', version] = match;
  if (version === undefined) return canBeTarget(method, target, true);
  return canBeTarget(method, target) && ('HTTP/1.'.startsWith(version) || VERSION.test(version));
}

/** Whether `target` can be the target of this method, or with `partial` the beginning of one. */
function canBeTarget(method: string, target: string, partial = false): boolean {
  if (method === 'CONNECT') return true;
  const lower = target.toLowerCase();
  return TARGET_STARTS.some(
    (start) => lower.startsWith(start) || (partial && start.startsWith(lower)),
  );
}

function hostField(lines: readonly string[]): Sniffed {
  for (const raw of lines) {
    const line = trimReturn(raw);
    if (line === '') return NO_NAME; // the end of the header section
    if (line.startsWith(' ') || line.startsWith('\t')) continue; // a folded field (RFC 9112 §5.2)
    const colon = line.indexOf(':');
    if (colon <= 0) return NO_NAME;
    if (line.slice(0, colon).toLowerCase() === 'host') return named(line.slice(colon + 1).trim());
  }
  return MORE;
}

/** The name in `host[:port]`; an IP address in brackets or without is none. */
function named(authority: string): Sniffed {
  return { done: true, domain: domainName(authority.replace(/:[0-9]*$/, '')) };
}

const trimReturn = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line);
